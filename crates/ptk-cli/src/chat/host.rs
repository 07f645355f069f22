//! Runs the model, the tools and the session. One thing runs at a time; other
//! requests wait, or are rejected.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use ptk::events::{Delivery, Filter, Subscription};
use ptk::protocol::{Arguments, ToolCall, ToolResult};
use ptk::store::{
    NewEntry, Note, Overview, RanByHand, SessionId, SqliteStore, Store as _, Stretch,
};
use ptk::tools::{Approver, CallOutcome, CallRequest, ToolManager};
use ptk::view::Conversation;
use ptk::{
    CancellationToken, Compacted, ContextUse, Execution, Prompt, RunError, RunOptions, Session,
};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use super::fence::fenced;
use super::mention;
use super::typed::{Typed, Typist};
use crate::agent::{Agent, Face, SessionHandle};
use crate::args::AgentArgs;
use crate::ask::QuestionTarget;
use crate::config::Settings;
use crate::mcp::Servers;
use crate::sessions;
use crate::view::{Screen, count};

/// How many entries are read at once.
const PAGE: usize = 500;
/// The most characters of each of a command's outputs that the model is sent.
const MAX_TOLD: usize = 8000;
/// The most time to measure how full the context window is.
const MEASURING: Duration = Duration::from_secs(2);
/// The tool that runs command lines after `!`.
const SHELL: &str = "bash";
/// The parameter of that tool for the command line.
const COMMAND: &str = "command";

/// The state of a chat: its session, agent and running work.
pub(crate) struct Host {
    pub(crate) args: AgentArgs,
    /// Read again for each session.
    pub(crate) settings: Arc<Settings>,
    /// The arguments of the command line, which apply to each session again.
    given: AgentArgs,
    servers: Arc<Servers>,
    pub(crate) screen: Screen,
    pub(crate) handle: SessionHandle,
    pub(crate) agent: Agent,
    pub(crate) events: Subscription,
    /// The ids of undos in this chat, the last one last.
    pub(crate) undone: Vec<String>,
    asking: QuestionTarget,
    typed: Typed,
    session: Option<Session>,
    work: Option<Work>,
    /// The use of the context window when the last work ended.
    pub(crate) context: Option<ContextUse>,
}

/// The running work.
struct Work {
    cancel: CancellationToken,
    running: JoinHandle<Ended>,
}

/// The next event or result.
pub(crate) enum News {
    /// An event.
    Event(Delivery),
    /// The running work has ended.
    Done(Result<Done>),
}

/// The end of work.
pub(crate) struct Ended {
    session: Session,
    done: Done,
    /// The use of the context window now, if it could be measured.
    context: Option<ContextUse>,
    /// The names of the tools that are offered from now on, if they may have
    /// changed.
    offered: Option<Vec<String>>,
}

/// The result of finished work.
pub(crate) enum Done {
    Turn(Box<Execution>),
    /// The outcome of a command line, and whether it was logged.
    Command(Box<CallOutcome>, Result<()>),
    /// A message for the user.
    Said(Result<String>),
    /// An undo, with its id and a message.
    Undone(Result<(String, String)>),
    /// An undo that was reverted, with a message.
    Redone(Result<String>),
}

impl Host {
    pub(crate) async fn open(
        args: AgentArgs,
        settings: Arc<Settings>,
        handle: SessionHandle,
        screen: Screen,
        asking: QuestionTarget,
    ) -> Result<Self> {
        let typed = Typed::default();
        let servers = handle.servers(&args, &settings, asking.asker(&screen));
        let servers = Arc::new(servers.await?);
        servers.look_for_offers();
        let agent = build(
            &args,
            &settings,
            &handle,
            None,
            &Surroundings {
                screen: &screen,
                asking: &asking,
                typed: &typed,
                servers: &servers,
            },
        )?;
        let events = agent.ptk.tools().bus().subscribe(Filter::all());
        Ok(Self {
            given: args.clone(),
            servers,
            args,
            settings,
            screen,
            handle,
            agent,
            events,
            undone: Vec::new(),
            asking,
            typed,
            session: None,
            work: None,
            context: None,
        })
    }

    pub(crate) fn tools(&self) -> &ToolManager {
        self.agent.ptk.tools()
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            screen: &self.screen,
            asking: &self.asking,
            typed: &self.typed,
            servers: &self.servers,
        }
    }

    pub(crate) fn store(&self) -> &SqliteStore {
        &self.handle.store
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.handle.id
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.work.is_some()
    }

    /// Loads the conversation.
    pub(crate) async fn conversation(&self) -> Result<Conversation> {
        let mut conversation = Conversation::new();
        let mut after = 0;
        loop {
            let stretch = Stretch::after(after, PAGE);
            let page = self.handle.store.read(&self.handle.id, stretch).await?;
            let Some(last) = page.last() else {
                return Ok(conversation);
            };
            after = last.seq;
            for entry in &page {
                conversation.entry(entry);
            }
        }
    }

    /// Changes the model, the tools or the dialect. If that fails, nothing
    /// changes.
    pub(crate) fn change(&mut self, args: AgentArgs) -> Result<()> {
        let tools = Some(self.tools().clone());
        let mut settings = self.handle.settings.clone();
        if args.model != self.args.model {
            // The recorded provider does not apply to another model.
            settings.remove("provider");
            settings.remove("model");
        }
        let handle = SessionHandle {
            store: self.handle.store.clone(),
            id: self.handle.id.clone(),
            known: self.handle.known.clone(),
            settings,
            given: 0,
        };
        let agent = build(&args, &self.settings, &handle, tools, &self.surroundings())?;
        self.agent = agent;
        self.args = args;
        self.handle = handle;
        self.session = None;
        self.context = None;
        Ok(())
    }

    /// Switches to another session.
    pub(crate) async fn switch(&mut self, handle: SessionHandle) -> Result<()> {
        // Settings that were changed in a session apply only to that session.
        let args = if handle.known.is_some() {
            self.given.clone()
        } else {
            self.args.clone()
        };
        // With what the user has trusted and allowed since.
        let settings = Arc::new(Settings::read(&args.config)?);
        let agent = build(&args, &settings, &handle, None, &self.surroundings())?;
        self.handle.store.release(&self.handle.id).await?;
        self.events = agent.ptk.tools().bus().subscribe(Filter::all());
        self.agent = agent;
        self.args = args;
        self.settings = settings;
        self.handle = handle;
        self.session = None;
        self.context = None;
        self.undone.clear();
        Ok(())
    }

    /// A new session.
    pub(crate) fn fresh(&self) -> SessionHandle {
        SessionHandle {
            store: self.handle.store.clone(),
            id: SessionId::new(),
            known: None,
            settings: Map::new(),
            given: 0,
        }
    }

    /// An existing session.
    pub(crate) async fn known(&self, found: Overview) -> Result<SessionHandle> {
        let store = self.handle.store.clone();
        SessionHandle::here(store, found, self.settings.folder()).await
    }

    /// The session, which must not be in use.
    pub(crate) fn take_session(&mut self) -> Session {
        let id = &self.handle.id;
        let session = self.session.take();
        session.unwrap_or_else(|| self.agent.ptk.session(id.clone()))
    }

    pub(crate) fn give_back(&mut self, session: Session) {
        self.session = Some(session);
    }

    /// The options for the next run, with a new cancellation token.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            cancel: CancellationToken::new(),
            ..self.agent.options.clone()
        }
    }

    /// Measures how full the context window is.
    pub(crate) async fn measure(&mut self) {
        let options = self.options();
        let mut session = self.take_session();
        self.context = measured(&mut session, options).await;
        self.give_back(session);
    }

    /// Sends a prompt to the model, with the plain names of the files that it
    /// mentions.
    pub(crate) fn ask(&mut self, prompt: &str) {
        let prompt = mention::plain(prompt, self.tools().workspace().root());
        let servers = Arc::clone(&self.servers);
        self.work(|session, options| async move {
            let prompt = servers.with_mentioned(prompt);
            Box::pin(sent(session, options, prompt)).await
        });
    }

    /// Sends a prompt of an MCP server to the model.
    pub(crate) fn ask_server_prompt(&mut self, name: String, rest: String) {
        let servers = Arc::clone(&self.servers);
        self.work(|session, options| async move {
            let prompt = servers.prompt(&name, &rest);
            Box::pin(sent(session, options, prompt)).await
        });
    }

    /// The prompts of MCP servers, each with what it is for.
    pub(crate) fn prompts(&self) -> Vec<(String, String)> {
        self.servers.prompts()
    }

    /// What MCP servers offer, for completion.
    pub(crate) fn servers(&self) -> Arc<Servers> {
        Arc::clone(&self.servers)
    }

    /// Resumes an interrupted turn.
    pub(crate) fn resume(&mut self) {
        self.work(|mut session, options| async move {
            let done = match session.resume(options).await {
                Some(execution) => Done::Turn(Box::new(execution)),
                None => Done::Said(Ok(String::new())),
            };
            (session, done)
        });
    }

    /// Compacts the conversation, to free space in the context window.
    pub(crate) fn compact(&mut self) {
        self.work(|mut session, options| async move {
            let said = compacted(session.compact(options).await);
            (session, Done::Said(said))
        });
    }

    fn work<F>(&mut self, run: impl FnOnce(Session, RunOptions) -> F + Send + 'static)
    where
        F: Future<Output = (Session, Done)> + Send + 'static,
    {
        let mut options = self.options();
        let cancel = options.cancel.clone();
        // Work that was stopped is measured, too.
        let mut measuring = self.options();
        let (servers, tools) = (Arc::clone(&self.servers), self.tools().clone());
        let session = self.take_session();
        let running = tokio::spawn(async move {
            servers.refresh(&tools, &mut options).await;
            measuring.tools.clone_from(&options.tools);
            let offered = options.tools.clone();
            let (mut session, done) = run(session, options).await;
            let context = measured(&mut session, measuring).await;
            Ended {
                session,
                done,
                context,
                offered,
            }
        });
        self.work = Some(Work { cancel, running });
    }

    /// Runs a command line of the user as a tool call, so that it is sandboxed,
    /// shown and can be undone like one.
    pub(crate) fn run(&mut self, line: &str) -> Result<()> {
        let arguments = Arguments::from_json(&json!({COMMAND: line}).to_string())
            .map_err(|error| anyhow!("{error}"))?;
        self.typed.clear();
        self.typed.add(line);
        let cancel = CancellationToken::new();
        let call = ToolCall::new(SHELL, arguments.clone());
        let tools = self.tools().clone();
        let line = line.to_owned();
        let measuring = self.options();
        let mut session = self.take_session();
        let request = CallRequest::new(call)
            .in_conversation(session.conversation())
            .cancelled_by(&cancel);
        let running = tokio::spawn(async move {
            let outcome = tools.execute(request).await;
            let ran = by_hand(&line, arguments, &outcome);
            let written = session.aside(ran).await.map_err(anyhow::Error::from);
            let context = measured(&mut session, measuring).await;
            Ended {
                session,
                done: Done::Command(Box::new(outcome), written),
                context,
                offered: None,
            }
        });
        self.work = Some(Work { cancel, running });
        Ok(())
    }

    /// Runs blocking work that cannot be stopped half-way. Changes to the
    /// workspace are logged.
    pub(crate) fn block(&mut self, work: impl FnOnce() -> Done + Send + 'static) {
        let before = self.context;
        let mut session = self.take_session();
        let running = tokio::spawn(async move {
            let done = tokio::task::spawn_blocking(work).await;
            let mut done = done.unwrap_or_else(|error| Done::Said(Err(error.into())));
            if let Done::Undone(Ok((_, text))) | Done::Redone(Ok(text)) = &mut done {
                let note = NewEntry::new(Note::new(text.clone()));
                if let Err(error) = session.aside(note).await {
                    text.push_str(&unwritten(&error.into()));
                }
            }
            Ended {
                session,
                done,
                context: before,
                offered: None,
            }
        });
        self.work = Some(Work {
            cancel: CancellationToken::new(),
            running,
        });
    }

    /// Stops the running work.
    pub(crate) fn stop(&self) {
        if let Some(work) = &self.work {
            work.cancel.cancel();
        }
    }

    /// Waits for the next event or result.
    pub(crate) async fn news(&mut self) -> News {
        let work = &mut self.work;
        let ended = async {
            match work {
                Some(work) => (&mut work.running).await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            delivery = self.events.recv() => match delivery {
                Some(delivery) => return News::Event(delivery),
                None => return std::future::pending().await,
            },
            ended = ended => ended,
        };
        self.work = None;
        News::Done(match ended {
            Ok(ended) => Ok(self.finish(ended)),
            Err(error) => Err(anyhow!(
                "it broke down: {error}; `ptk resume` goes on with it"
            )),
        })
    }

    /// Takes the running work, for a caller that waits for it itself.
    pub(crate) fn take_work(&mut self) -> Option<(JoinHandle<Ended>, CancellationToken)> {
        let work = self.work.take()?;
        Some((work.running, work.cancel))
    }

    /// Records the result of the running work.
    pub(crate) fn finish(&mut self, ended: Ended) -> Done {
        self.typed.clear();
        self.session = Some(ended.session);
        self.context = ended.context;
        if ended.offered.is_some() {
            self.agent.options.tools = ended.offered;
        }
        ended.done
    }

    /// Aborts the running work, as if the process had been killed. Processes of
    /// the tools end with it.
    pub(crate) async fn leave(&mut self) -> Result<()> {
        if let Some(work) = self.work.take() {
            work.running.abort();
            let _ = work.running.await;
        }
        self.servers.close().await;
        self.handle.store.release(&self.handle.id).await?;
        let retention = self.settings.retention()?;
        Ok(sessions::tidy(&self.handle.store, retention).await?)
    }
}

/// What an agent of a chat is built with, whatever its session.
struct Surroundings<'a> {
    screen: &'a Screen,
    asking: &'a QuestionTarget,
    typed: &'a Typed,
    servers: &'a Servers,
}

fn build(
    args: &AgentArgs,
    settings: &Settings,
    handle: &SessionHandle,
    tools: Option<ToolManager>,
    around: &Surroundings<'_>,
) -> Result<Agent> {
    let Surroundings {
        screen,
        asking,
        typed,
        servers,
    } = *around;
    let who = |workspace: PathBuf, note: Option<String>| -> Arc<dyn Approver> {
        Arc::new(Typist {
            typed: typed.clone(),
            other: asking.approver(workspace, note, screen),
        })
    };
    let face = Face {
        screen,
        approver: &who,
        tools,
        servers,
    };
    Agent::new(args, settings, handle, 0, &face)
}

/// Sends a prompt to the model, once it is made.
async fn sent(
    mut session: Session,
    options: RunOptions,
    prompt: impl Future<Output = Result<Prompt>>,
) -> (Session, Done) {
    let cancel = options.cancel.clone();
    let prompt = cancel.run_until_cancelled(prompt).await;
    let done = match prompt.unwrap_or_else(|| Err(RunError::Cancelled.into())) {
        Ok(prompt) => Done::Turn(Box::new(session.execute(prompt, options).await)),
        Err(error) => Done::Said(Err(error)),
    };
    (session, done)
}

/// The use of the context window, if it is known in time.
async fn measured(session: &mut Session, options: RunOptions) -> Option<ContextUse> {
    let context = tokio::time::timeout(MEASURING, session.context(options)).await;
    context.ok()?.ok()
}

/// The log entry for a command that the user has run.
fn by_hand(line: &str, arguments: Arguments, outcome: &CallOutcome) -> NewEntry {
    let ran = RanByHand {
        tool: outcome.tool.clone(),
        arguments,
        duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        result: outcome.result.clone(),
        told: told(line, &outcome.result),
    };
    NewEntry::new(ran).about(outcome.call_id.clone())
}

/// The message about a compaction.
fn compacted(done: Result<Option<Compacted>, RunError>) -> Result<String> {
    match done {
        Ok(Some(done)) => Ok(format!(
            "A request takes about {} tokens from now on instead of {}.",
            count(done.after),
            count(done.before)
        )),
        Ok(None) => Ok("There is nothing that could be shortened.".to_owned()),
        Err(error) => Err(error.into()),
    }
}

/// The message if something could not be logged.
pub(crate) fn unwritten(error: &anyhow::Error) -> String {
    format!("\nThis is not in the log of the session: {error:#}")
}

/// The text for the model about a command that the user has run.
fn told(line: &str, result: &ToolResult) -> String {
    let field = |name: &str| result.fields.get(name);
    let code = field("return_code").and_then(Value::as_i64);
    let signal = field("signal").and_then(Value::as_i64);
    let mut told = format!("I have run `{line}` myself.");
    if !result.success {
        let _ = write!(told, " {}", result.error);
    } else if let Some(signal) = signal {
        let _ = write!(told, " It was ended by signal {signal}.");
    } else if let Some(code) = code {
        let _ = write!(told, " Its exit code was {code}.");
    }
    let mut is_silent = true;
    for (name, heading) in [("output", "Its output:"), ("stderr", "Its stderr:")] {
        let text = field(name).and_then(Value::as_str).unwrap_or_default();
        if text.trim().is_empty() {
            continue;
        }
        is_silent = false;
        let mut shown: String = text.chars().take(MAX_TOLD).collect();
        if shown.len() < text.len() {
            shown.push_str("\n… (cut)");
        }
        let _ = write!(told, "\n\n{heading}\n{}", fenced("", &shown));
    }
    if is_silent && result.success {
        told.push_str(" It printed nothing.");
    }
    told
}

#[cfg(test)]
mod tests {
    use ptk::protocol::ErrorType;

    use super::*;

    #[test]
    fn the_model_is_told_how_a_command_ended_and_all_that_it_printed() {
        let result = |output: &str, stderr: &str, code: i64| {
            let fields = [
                ("output", json!(output)),
                ("stderr", json!(stderr)),
                ("return_code", json!(code)),
            ];
            ToolResult::success(fields)
        };
        assert_eq!(
            told("make", &result("built\n", "a warning\n", 2)),
            "I have run `make` myself. Its exit code was 2.\n\n\
             Its output:\n```\nbuilt\n```\n\nIts stderr:\n```\na warning\n```"
        );
        assert_eq!(
            told("true", &result("", "", 0)),
            "I have run `true` myself. Its exit code was 0. It printed nothing."
        );
        let long = told("yes", &result(&"y\n".repeat(MAX_TOLD), "e", 0));
        assert!(long.contains("… (cut)") && long.ends_with("```\ne\n```"));
        let late = ToolResult::failure(ErrorType::SystemError, "The command timed out");
        assert_eq!(
            told("sleep 9", &late),
            "I have run `sleep 9` myself. The command timed out"
        );
    }
}
