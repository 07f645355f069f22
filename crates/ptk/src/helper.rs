//! The tasks of the small model in a run. Each is logged and published; where one
//! fails, the run goes on without it.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use ptk_events::{CallId, Channel, Event, EventKind};
use ptk_llm::{Message, Request, ResponseFormat, complete};
use ptk_protocol::{Arguments, Message as Said, Role, ToolResult, json as tolerant};
use ptk_store::{
    Call, CallState, ChosenFile, Content, HelperAsked, HelperReplied, HelperTask, NewEntry, Usage,
};
use ptk_tools::tools::{ListFiles, ReadFile};
use ptk_tools::{CallOutcome, CallRequest, Tool, Typed};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::ask::counted;
use crate::engine::TurnConfig;
use crate::helper_model::{ChooseFiles, MAX_FILES, Shorten, SmallModel};
use crate::render::{self, Renderer};
use crate::session::millis;
use crate::{RunError, Session, spans};

/// The most tokens of a choice, and of a shortened result.
const CHOICE: u32 = 512;
const SHORT: u32 = 1024;
/// The prefix of outputs that were kept whole. Reading one means that it is
/// wanted whole, so it is not shortened again.
const KEPT: &str = "output:";

const CHOOSE: &str = "You choose which files of a project another model should see before it works on a task. Answer with JSON only, such as {\"files\": [\"src/main.rs\"]}: the paths as they are listed, the most useful first. If none would help, answer {\"files\": []}.";
const SHOWN: &str = "Files that may matter here, chosen beforehand by another model:";
const SHORTEN: &str = "You shorten the result of a tool for another model, which works on a task. Keep what matters for the task, and keep names, paths, numbers, line numbers and messages of errors as they are. Add nothing. Answer with the shortened text only.";

impl Session {
    /// Lets the small model choose files, once a turn, if that is configured.
    pub(crate) async fn choose_files(&mut self, config: &TurnConfig) -> Result<(), RunError> {
        let engine = Arc::clone(&self.engine);
        let Some(small) = &engine.small else {
            return Ok(());
        };
        let Some(choose) = small.choose.as_ref().filter(|_| !self.log.turn.has_chosen) else {
            return Ok(());
        };
        self.ask_for(small, HelperTask::ChooseFiles, None).await?;
        let start = Instant::now();
        let stop = self.stop.clone();
        let chosen = stop.unless(self.chosen(small, choose)).await?;
        let mut replied = reply(small, HelperTask::ChooseFiles);
        let mut told = Vec::new();
        match chosen {
            Err(error) => replied.error = Some(error),
            Ok(answer) => {
                replied.usage = answer.usage;
                match paths(&answer.text) {
                    Err(error) => replied.error = Some(error),
                    Ok(paths) => {
                        let read = self.read_files(choose, paths);
                        let (files, shown) = stop.unless(read).await?;
                        replied.files = files;
                        told = shown;
                    }
                }
                replied.text = answer.text;
            }
        }
        replied.duration_ms = millis(start.elapsed());
        self.tell(&replied, None);
        let mut entries = vec![self.log.entry(replied)];
        if !told.is_empty() {
            let text = shown_files(config, &told);
            entries.push(self.log.entry(Said::system(text)));
        }
        self.log.append(entries).await
    }

    /// Lets the small model shorten the long results of the last reply.
    pub(crate) async fn shorten_results(&mut self, config: &TurnConfig) -> Result<(), RunError> {
        let engine = Arc::clone(&self.engine);
        let Some(small) = &engine.small else {
            return Ok(());
        };
        let Some(shorten) = &small.shorten else {
            return Ok(());
        };
        let items = self.log.transcript.items();
        let last = items.iter().rev().find_map(|item| match &item.content {
            Content::Reply(reply) => Some(reply),
            _ => None,
        });
        let calls = last.map_or(&[][..], |reply| reply.calls.as_slice());
        let tried = &self.log.turn.shortened;
        let long = calls.iter().filter_map(|call| {
            let text = long_text(config, shorten, call)?;
            (!tried.contains(&call.id)).then(|| (call.id.clone(), call.name.clone(), text))
        });
        let long: Vec<(CallId, String, String)> = long.collect();
        for (id, tool, text) in long {
            self.shorten(config, small, &id, &tool, text).await?;
        }
        Ok(())
    }

    async fn shorten(
        &mut self,
        config: &TurnConfig,
        small: &SmallModel,
        id: &CallId,
        tool: &str,
        text: String,
    ) -> Result<(), RunError> {
        self.ask_for(small, HelperTask::Shorten, Some(id)).await?;
        let start = Instant::now();
        let question = format!(
            "The task:\n{}\n\nThe result of {tool}:\n{text}",
            self.task()
        );
        let request = request(small, SHORTEN, question, SHORT, ResponseFormat::Text);
        let asked = self.asked(small, request);
        let answer = self.stop.unless(asked).await?;
        let mut replied = reply(small, HelperTask::Shorten);
        match answer {
            Err(error) => replied.error = Some(error),
            Ok(answer) => {
                replied.usage = answer.usage;
                let short = answer.text.trim();
                let is_shorter = config.tokens.count(short) * 2 < config.tokens.count(&text);
                if short.is_empty() || !is_shorter {
                    replied.error = Some("what it gave back is not shorter".to_owned());
                }
                let whole = self.engine.tools.outputs().keep(&text);
                replied.text = match whole {
                    Ok(handle) => format!(
                        "{short}\n[Shortened by another model. The whole: read_file(path=\"{handle}\")]"
                    ),
                    Err(_) => format!("{short}\n[Shortened by another model.]"),
                };
            }
        }
        replied.duration_ms = millis(start.elapsed());
        self.tell(&replied, Some(id));
        // The reply is rendered again.
        self.shown.clear();
        if replied.error.is_none() {
            self.hide_files_of(id);
        }
        let entry = self.log.entry(replied).about(id.clone());
        self.log.append(vec![entry]).await
    }

    /// Logs that the small model is about to be asked.
    async fn ask_for(
        &mut self,
        small: &SmallModel,
        task: HelperTask,
        call: Option<&CallId>,
    ) -> Result<(), RunError> {
        let asked = HelperAsked {
            task,
            provider: small.provider.name().to_owned(),
            model: small.name().map(str::to_owned),
        };
        let entry: NewEntry = self.log.entry(asked);
        let entry = match call {
            Some(id) => entry.about(id.clone()),
            None => entry,
        };
        self.log.append(vec![entry]).await
    }

    /// Publishes the reply of a helper model.
    pub(crate) fn tell(&self, replied: &HelperReplied, call: Option<&CallId>) {
        let mut correlation = self.log.turn.correlation();
        correlation.call_id = call.cloned();
        let model = replied.model.as_ref().unwrap_or(&replied.provider);
        let paths = replied.files.iter().map(|file| file.path.clone());
        if let Some(error) = &replied.error {
            tracing::warn!(%model, %error, task = replied.task.as_str(), "another model did not help");
        }
        let kind = EventKind::HelperReplied {
            task: replied.task.as_str().to_owned(),
            model: model.clone(),
            files: paths.collect(),
            error: replied.error.clone(),
            duration_ms: replied.duration_ms,
        };
        let event = Event::new(correlation, Channel::Realtime, kind);
        self.engine.tools.bus().publish(event);
    }

    /// Asks the small model, within its timeout.
    async fn asked(&self, small: &SmallModel, request: Request) -> Result<Answer, String> {
        let span = spans::request(&*small.provider, &request, &self.log.turn.correlation());
        let asked = complete(&*small.provider, &request).instrument(span.clone());
        let completion = match timeout(small.timeout, asked).await {
            Err(_) => {
                let error = RunError::TimedOut(small.timeout);
                spans::unanswered(&span, &error);
                return Err(format!(
                    "it took longer than {} ms",
                    small.timeout.as_millis()
                ));
            }
            Ok(Err(error)) => {
                let told = error.to_string();
                spans::unanswered(&span, &error.into());
                return Err(told);
            }
            Ok(Ok(completion)) => completion,
        };
        spans::replied(&span, &completion);
        Ok(Answer {
            usage: counted(completion.usage, small.prices),
            text: completion.text,
        })
    }

    /// The small model's choice among the files there are.
    async fn chosen(&self, small: &SmallModel, choose: &ChooseFiles) -> Result<Answer, String> {
        let names = self.names(choose).await?;
        let most = choose.files.min(MAX_FILES);
        let question = format!(
            "The task:\n{}\n\nThe files of the project:\n{names}\n\nAt most {most} files.",
            self.task()
        );
        let list = json!({"type": "array", "items": {"type": "string"}, "maxItems": most});
        let format = ResponseFormat::Schema(json!({
            "type": "object",
            "properties": {"files": list},
            "required": ["files"],
        }));
        self.asked(small, request(small, CHOOSE, question, CHOICE, format))
            .await
    }

    /// The names of files, as the tool lists them: without those that are
    /// ignored or hidden.
    async fn names(&self, choose: &ChooseFiles) -> Result<String, String> {
        let levels = (1..=choose.depth.max(1)).map(|depth| vec!["*"; depth].join("/"));
        let levels: Vec<String> = levels.collect();
        let pattern = match levels.as_slice() {
            [one] => one.clone(),
            levels => format!("{{{}}}", levels.join(",")),
        };
        let args = json!({"pattern": pattern, "limit": choose.names.clamp(1, 1000)});
        let listed = self.run_tool(Arc::new(Typed::new(ListFiles)), args).await;
        if !listed.result.success {
            return Err(listed.result.error);
        }
        let files = listed.result.fields.get("files").and_then(Value::as_array);
        let names = files.into_iter().flatten().filter_map(Value::as_str);
        let names: Vec<&str> = names.collect();
        if names.is_empty() {
            return Err("there are no files to choose from".to_owned());
        }
        Ok(names.join("\n"))
    }

    /// Reads the chosen files, by the rules that hold for tools.
    async fn read_files(
        &self,
        choose: &ChooseFiles,
        paths: Vec<String>,
    ) -> (Vec<ChosenFile>, Vec<(String, Result<ToolResult, String>)>) {
        let most = choose.files.min(MAX_FILES);
        let tool: Arc<dyn Tool> = Arc::new(Typed::new(ReadFile));
        let read = paths.into_iter().take(most).map(|path| {
            let tool = Arc::clone(&tool);
            async move {
                if Path::new(&path).is_absolute() || path.starts_with(KEPT) {
                    return (path, Err("it is not a path in the workspace".to_owned()));
                }
                let outcome = self.run_tool(tool, json!({"path": path})).await;
                let result = outcome.result;
                let read = if result.success {
                    Ok(result)
                } else {
                    Err(outcome
                        .failure
                        .map_or(result.error, |failure| failure.message))
                };
                (path, read)
            }
        });
        let mut left = choose.bytes;
        let mut shown = Vec::new();
        for (path, read) in join_all(read).await {
            let read = read.and_then(|result| {
                let length = render::plain_text(&result).len();
                left = left
                    .checked_sub(length)
                    .ok_or("it is too long to be shown here")?;
                Ok(result)
            });
            shown.push((path, read));
        }
        let files = shown.iter().map(|(path, read)| ChosenFile {
            path: path.clone(),
            error: read.as_ref().err().cloned(),
            content: read.as_ref().ok().map(render::plain_text),
        });
        (files.collect(), shown)
    }

    async fn run_tool(&self, tool: Arc<dyn Tool>, args: Value) -> CallOutcome {
        let args = Arguments::from_json(&args.to_string()).unwrap_or_default();
        let mut request = CallRequest::of_tool(tool, args)
            .in_conversation(self.conversation())
            .cancelled_by(&self.stop.token());
        if let Some(id) = self.log.turn.id {
            request = request.in_request(id);
        }
        self.engine.tools.execute(request).await
    }

    /// The last prompt of the user.
    fn task(&self) -> &str {
        let items = self.log.transcript.items().iter().rev();
        let mut said = items.filter_map(|item| match &item.content {
            Content::Message(message) if message.role == Role::User => Some(&*message.content),
            _ => None,
        });
        said.next().unwrap_or_default()
    }
}

/// The message that shows the main model the files.
fn shown_files(config: &TurnConfig, files: &[(String, Result<ToolResult, String>)]) -> String {
    let renderer = Renderer::new(config);
    let files = files.iter().map(|(path, read)| match read {
        Ok(result) => format!("{path}\n{}", renderer.result(result)),
        Err(error) => format!("{path}\nIt could not be read: {error}"),
    });
    let files: Vec<String> = files.collect();
    format!("{SHOWN}\n\n{}", files.join("\n\n"))
}

/// The result of a call, if it is to be shortened.
fn long_text(config: &TurnConfig, shorten: &Shorten, call: &Call) -> Option<String> {
    let CallState::Ended { result, .. } = &call.state else {
        return None;
    };
    let is_exempt = shorten.except.contains(&call.name) || config.prompt.is_search(&call.name);
    let is_kept = call.arguments.as_map().values().any(|value| {
        let text = value.as_str();
        text.is_some_and(|text| text.starts_with(KEPT))
    });
    if is_exempt || is_kept || !result.success || call.shortened.is_some() {
        return None;
    }
    let text = render::plain_text(result);
    (config.tokens.count(&text) > shorten.above).then_some(text)
}

/// A reply of the small model.
struct Answer {
    text: String,
    usage: Option<Usage>,
}

fn request(
    small: &SmallModel,
    system: &str,
    question: String,
    most: u32,
    format: ResponseFormat,
) -> Request {
    Request {
        model: small.model.clone(),
        format,
        ..Request::new([Message::user(question)])
            .system(system)
            .sampling(small.sampling)
            .max_tokens(most)
    }
}

fn reply(small: &SmallModel, task: HelperTask) -> HelperReplied {
    HelperReplied {
        task,
        provider: small.provider.name().to_owned(),
        model: small.name().map(str::to_owned),
        text: String::new(),
        files: Vec::new(),
        error: None,
        usage: None,
        duration_ms: 0,
    }
}

/// The paths in a reply, however it is wrapped.
fn paths(text: &str) -> Result<Vec<String>, String> {
    let unreadable = || "its answer has no list of files".to_owned();
    let start = text.find('{').ok_or_else(unreadable)?;
    let end = text.rfind('}').map_or(text.len(), |end| end + 1);
    let object = text.get(start..end.max(start)).unwrap_or_default();
    let mended = tolerant::repair(object).map_err(|_| unreadable())?;
    let value: Value = serde_json::from_str(&mended.json).map_err(|_| unreadable())?;
    let files = value.get("files").and_then(Value::as_array);
    let files = files.ok_or_else(unreadable)?.iter();
    let mut paths: Vec<String> = files.filter_map(Value::as_str).map(str::to_owned).collect();
    paths.dedup();
    Ok(paths)
}
