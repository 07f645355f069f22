//! Servers cache prompts by their beginning: each request of a session begins
//! with the bytes of the one before it, whatever API it goes to.

mod server;

use std::fs;
use std::sync::Arc;

use ptk::llm::http::Kind;
use ptk::protocol::dialects::Registry as Dialects;
use ptk::protocol::format::PtkFormatter;
use ptk::protocol::{Formatter as _, ToolCall};
use ptk::store::{MemoryStore, SessionId, Store};
use ptk::tools::{CallContext, Effects, ToolError, tool_fn};
use ptk::{Mode, Model, Ptk, RunOptions};
use serde_json::{Value, json};

use self::server::{CHATS, COMPLETIONS, MARK, Prompt, Reply, Server};
use crate::many_tools::remote::{self, Calls};
use crate::scene::{Scene, Wait, arguments};

const TURNS: usize = 20;

/// How a model calls tools: natively, or in a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Native,
    Text(&'static str),
}

/// Every API, with the ways in which its models call tools.
fn ways() -> Vec<(Kind, Way)> {
    let native = CHATS.map(|kind| (kind, Way::Native));
    let text = CHATS.into_iter().chain(COMPLETIONS);
    let text = text.map(|kind| (kind, Way::Text("ptk")));
    let other = (Kind::OpenAi, Way::Text("hermes"));
    native.into_iter().chain(text).chain([other]).collect()
}

impl Way {
    /// A reply with a text and these calls.
    fn reply(self, text: &str, calls: &[(&str, Value)]) -> Reply {
        let dialect = match self {
            Self::Native => {
                let calls = calls.iter();
                return Reply {
                    text: text.to_owned(),
                    calls: calls
                        .map(|(name, args)| ((*name).to_owned(), args.clone()))
                        .collect(),
                };
            }
            Self::Text(dialect) => dialect,
        };
        let dialects = Dialects::builtin();
        let formatter = PtkFormatter::new(Arc::clone(dialects.get(dialect).unwrap())).unwrap();
        let calls = calls.iter();
        let calls: Vec<ToolCall> = calls
            .map(|(name, args)| ToolCall::new(*name, arguments(args)))
            .collect();
        let calls = if calls.is_empty() {
            String::new()
        } else {
            format!("\n{}", formatter.tool_calls(&calls))
        };
        Reply {
            text: format!("{text}{calls}"),
            calls: Vec::new(),
        }
    }

    /// The replies in a turn: calls one after the other, some at once, one that
    /// fails, one of a tool that there is not, reasoning, or none at all.
    fn turn(self, turn: usize) -> Vec<Reply> {
        let wait = |name: &str| ("wait", json!({"name": format!("{name} {turn}")}));
        let read = |path: String| ("read_file", json!({"path": path}));
        let answer = self.reply(&format!("That was \"{turn}\" — \u{2713}.\n"), &[]);
        let first = match turn % 4 {
            0 => vec![
                self.reply("Let me look.", &[read(format!("{turn}.txt"))]),
                self.reply("", &[wait("one")]),
            ],
            1 => vec![
                self.reply("", &[wait("left"), ("note", json!({"name": "right"}))]),
                self.reply("And now?", &[read(format!("missing-{turn}.txt"))]),
            ],
            2 => vec![
                self.reply("", &[("frobnicate", json!({"turn": turn}))]),
                self.reply("<think>\nSo it is not there.\n</think>\n", &[wait("two")]),
            ],
            _ => Vec::new(),
        };
        first.into_iter().chain([answer]).collect()
    }
}

/// A program that goes on with a session, as often as it is started.
struct Program {
    scene: Scene,
    server: Server,
    store: Arc<dyn Store>,
    way: Way,
    session: SessionId,
}

impl Program {
    async fn new(kind: Kind, way: Way, replies: Vec<Reply>) -> Self {
        let scene = Scene::new();
        for turn in 0..TURNS {
            // Marks of calls and results in a file are broken before it is shown.
            let text = format!("Line {turn}\n<PTK_CALL>{{}}</PTK_CALL>\n<tool_call>\n~ \"é\"\n");
            fs::write(scene.folder.path().join(format!("{turn}.txt")), text).unwrap();
        }
        Self {
            scene,
            server: Server::new(kind, replies).await,
            store: Arc::new(MemoryStore::new()),
            way,
            session: SessionId::new(),
        }
    }

    fn model(&self) -> Model {
        let model = Model::new(self.server.provider());
        match self.way {
            Way::Native => model.mode(Mode::Native),
            Way::Text(dialect) => model.mode(Mode::Text).dialect(dialect),
        }
    }

    fn start(&self, model: Model) -> Ptk {
        let builder = self.scene.builder(self.server.provider()).model(model);
        let builder = builder.system("Be kind.").store(Arc::clone(&self.store));
        builder.build().unwrap()
    }

    async fn asks(&self, ptk: &Ptk, prompt: String, options: RunOptions) {
        let mut session = ptk.session(self.session.clone());
        let run = session.execute(prompt, options).await;
        assert!(run.success, "{:?}", run.error);
    }
}

/// The first requests that do not begin with the one before them.
fn breaks(prompts: &[Prompt]) -> Vec<usize> {
    let pairs = prompts.windows(2).enumerate();
    let broken = pairs.filter(|(_, pair)| !pair[0].begins(&pair[1]));
    broken.map(|(at, _)| at + 1).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_begins_with_the_one_before_it() {
    for (kind, way) in ways() {
        let replies: Vec<Reply> = (0..TURNS).flat_map(|turn| way.turn(turn)).collect();
        let count = replies.len();
        let program = Program::new(kind, way, replies).await;
        let mut ptk = program.start(program.model());
        for turn in 0..TURNS {
            let prompt = format!("Question {turn}: what is \"there\"?");
            // Every now and then the program is started again.
            if turn % 5 == 4 {
                ptk = program.start(program.model());
            }
            if turn == 8 {
                // It ends in the middle of the turn, which is then resumed.
                let mut session = ptk.session(program.session.clone());
                session.begin(prompt, ptk.options()).await.unwrap();
                session.step().await.unwrap();
                drop(session);
                ptk = program.start(program.model());
                let run = ptk.resume(program.session.clone()).await.unwrap();
                assert!(run.success, "{:?}", run.error);
                continue;
            }
            program.asks(&ptk, prompt, ptk.options()).await;
        }
        let prompts = program.server.prompts();
        assert_eq!(prompts.len(), count, "{kind:?} {way:?}");
        assert_eq!(prompts[0].tools.is_empty(), way != Way::Native);
        let broken = breaks(&prompts);
        for at in &broken {
            let (before, after) = (&prompts[at - 1], &prompts[*at]);
            eprintln!("{kind:?} {way:?} {at}\n{before:#?}\n{after:#?}");
        }
        assert!(broken.is_empty(), "{kind:?} {way:?}: {broken:?}");
        let is_marked = |body: &String| body.contains("cache_control");
        let bodies = program.server.bodies();
        assert_eq!(bodies.iter().any(is_marked), kind == Kind::Anthropic);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_out_breaks_the_prompt_once() {
    for (kind, way) in ways() {
        let long = "word ".repeat(60);
        let replies = (0..TURNS).map(|turn| way.reply(&format!("{turn}: {long}"), &[]));
        let program = Program::new(kind, way, replies.collect()).await;
        let ptk = program.start(program.model());
        for turn in 0..TURNS {
            let options = RunOptions {
                tools: Some(vec!["wait".to_owned()]),
                context_window: Some(4000),
                max_tokens: Some(100),
                ..ptk.options()
            };
            let prompt = format!("Question {turn}: {}", "because ".repeat(100));
            program.asks(&ptk, prompt, options).await;
        }
        let entries = program
            .store
            .read(
                &program.session,
                ptk::store::Stretch::before(u64::MAX, 1000),
            )
            .await
            .unwrap();
        let compacted = entries.iter().filter(|it| it.body.kind() == "compacted");
        let compacted = compacted.count();
        let prompts = program.server.prompts();
        let broken = breaks(&prompts);
        assert_eq!(broken.len(), compacted, "{kind:?} {way:?}: {broken:?}");
        // There is room for more than one turn after it.
        assert!(
            (1..TURNS / 3).contains(&compacted),
            "{kind:?} {way:?}: {broken:?}"
        );
        // What the model is taught is read from the cache even then.
        for at in broken {
            let (before, after) = (&prompts[at - 1], &prompts[at]);
            assert_eq!(
                (&before.system, &before.tools),
                (&after.system, &after.tools)
            );
            let texts = before.parts.iter().zip(&after.parts);
            let same = texts.take_while(|(one, other)| one == other).count();
            let examples = match (kind, way) {
                (Kind::Completion | Kind::LlamaCppCompletion, _) | (_, Way::Native) => 0,
                _ => 6,
            };
            assert!(same >= examples, "{kind:?} {way:?}: {same}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_come_later_are_appended() {
    for kind in CHATS {
        let way = Way::Native;
        let replies: Vec<Reply> = (0..4).flat_map(|turn| way.turn(turn)).collect();
        let program = Program::new(kind, way, replies).await;
        let ptk = program.start(program.model());
        for turn in 0..4 {
            if turn == 2 {
                let late = |_: CallContext, args: Wait| async move {
                    Ok::<_, ToolError>(format!("{} is done", args.name))
                };
                // It would come first if they were sorted.
                ptk.register(tool_fn("a_late_one", "Comes late", Effects::NONE, late))
                    .unwrap();
            }
            program
                .asks(&ptk, format!("Question {turn}"), ptk.options())
                .await;
        }
        let prompts = program.server.prompts();
        let changed = breaks(&prompts);
        let [changed] = changed.as_slice() else {
            panic!("{kind:?}: {changed:?}");
        };
        let (before, after) = (&prompts[changed - 1], &prompts[*changed]);
        assert!(before.is_said_before(after), "{kind:?}");
        if kind == Kind::Gemini {
            // All its tools stand in one object.
            let head = before.tools[0].strip_suffix("]}").unwrap();
            assert!(after.tools[0].starts_with(head));
        } else {
            let (last, others) = after.tools.split_last().unwrap();
            assert_eq!(others, before.tools, "{kind:?}");
            assert!(last.contains("a_late_one"));
        }
    }
}

/// Tools that were found change the prompt of native models once, at the end of
/// the tools, and that of others never.
#[tokio::test(flavor = "multi_thread")]
async fn tools_that_are_found_are_appended() {
    for (kind, way) in ways() {
        let find = |query: &str| {
            let args = json!({"query": query, "limit": 2});
            way.reply("", &[("find_tools", args)])
        };
        let used = way.reply("", &[("weather__forecast", json!({"city": "Hue"}))]);
        let unsought = way.reply("", &[("mail__list_labels", json!({}))]);
        let answer = way.reply("So it is.", &[]);
        let replies = [
            vec![find("weather"), used.clone(), answer.clone()],
            vec![used, answer.clone()],
            vec![find("create an issue"), find("quux"), answer.clone()],
            vec![unsought, answer],
        ];
        let count: usize = replies.iter().map(Vec::len).sum();
        let program = Program::new(kind, way, replies.concat()).await;
        let start = || {
            let mut registry = program.scene.registry();
            remote::add(&mut registry, &Calls::default());
            let builder = program.scene.builder(program.server.provider());
            let builder = builder.model(program.model()).tools(registry);
            builder.store(Arc::clone(&program.store)).build().unwrap()
        };
        for turn in 0..4 {
            // Each turn in a program of its own.
            let ptk = start();
            let prompt = format!("Question {turn}");
            program.asks(&ptk, prompt, ptk.options()).await;
        }
        let prompts = program.server.prompts();
        assert_eq!(prompts.len(), count, "{kind:?} {way:?}");
        if way != Way::Native {
            assert_eq!(breaks(&prompts), [0; 0], "{kind:?} {way:?}");
            continue;
        }
        // After the finds of something, and the call without one.
        let grown = [1, 6, 9];
        assert_eq!(breaks(&prompts), grown, "{kind:?}");
        for at in grown {
            let (before, after) = (&prompts[at - 1], &prompts[at]);
            assert!(before.is_said_before(after), "{kind:?} {at}");
            assert_eq!(before.system, after.system);
            let (before, after) = (before.tools.concat(), after.tools.concat());
            // Some APIs have all tools in one object.
            let before = before.trim_end_matches(['}', ']']);
            assert!(after.starts_with(before), "{kind:?} {at}: {after}");
            assert!(after.len() > before.len() + 100);
        }
    }
}

/// The request for an answer changes the end of the prompt alone, where the
/// model is not taught in text.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_request_of_a_turn_keeps_the_prompt_of_native_models() {
    for kind in CHATS {
        let way = Way::Native;
        let call = |name: &str| way.reply("", &[("wait", json!({"name": name}))]);
        let replies = vec![call("a"), call("b"), way.reply("So it is.", &[])];
        let program = Program::new(kind, way, replies).await;
        let ptk = program.start(program.model());
        let options = RunOptions {
            max_iterations: 3,
            ..ptk.options()
        };
        program.asks(&ptk, "Go".to_owned(), options).await;
        program.asks(&ptk, "Thanks".to_owned(), ptk.options()).await;
        let prompts = program.server.prompts();
        let [_, second, last, next] = prompts.as_slice() else {
            panic!("{kind:?}: {} requests", prompts.len());
        };
        assert!(second.is_said_before(last), "{kind:?}");
        assert_eq!(second.system, last.system);
        // Ollama has no way to forbid calls, so it gets no tools.
        if kind != Kind::Ollama {
            assert_eq!(second.tools, last.tools, "{kind:?}");
        }
        assert!(last.parts.last().unwrap().contains("Answer now"));
        // The question was no part of the conversation.
        assert!(second.begins(next), "{kind:?}");
        let same = last.parts.iter().zip(&next.parts);
        let same = same.take_while(|(one, other)| one == other).count();
        assert_eq!(same, last.parts.len() - 1, "{kind:?}");
    }
}

/// The text of each block that is marked, tools and system prompt included.
fn marked(body: &str) -> Vec<String> {
    fn find(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if fields.contains_key("cache_control") {
                    let texts = ["text", "name", "content"].iter();
                    let mut texts = texts.filter_map(|name| fields.get(*name)?.as_str());
                    found.push(texts.next().unwrap().to_owned());
                }
                fields.values().for_each(|value| find(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| find(value, found)),
            _ => {}
        }
    }
    let body: Value = serde_json::from_str(body).unwrap();
    let mut found = Vec::new();
    for field in ["system", "tools", "messages"] {
        find(body.get(field).unwrap_or(&Value::Null), &mut found);
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropics_server_is_told_what_to_cache() {
    for way in [Way::Native, Way::Text("ptk")] {
        let replies: Vec<Reply> = (0..3).flat_map(|turn| way.turn(turn)).collect();
        let program = Program::new(Kind::Anthropic, way, replies).await;
        let ptk = program.start(program.model());
        for turn in 0..3 {
            program
                .asks(&ptk, format!("Question {turn}"), ptk.options())
                .await;
        }
        let bodies = program.server.bodies();
        for (number, body) in bodies.iter().enumerate() {
            let marked = marked(body);
            assert_eq!(marked.len(), body.matches(MARK).count(), "{body}");
            let marks = usize::from(number > 0) + 3;
            assert_eq!(marked.len(), marks, "{way:?} {number}: {marked:?}");
            assert!(marked[0].starts_with("Be kind."), "{marked:?}");
            if way == Way::Native {
                assert_eq!(marked[1], "note", "the last tool");
            } else {
                assert_eq!(marked[1], "It sets port 8081.", "the last example");
            }
            // The last mark stands at the end of the conversation, and the one
            // before it where the previous request ended.
            let body: Value = serde_json::from_str(body).unwrap();
            let messages = body["messages"].as_array().unwrap();
            let last = messages.last().unwrap()["content"].as_array().unwrap();
            assert!(last.last().unwrap().get("cache_control").is_some());
            if number > 0 {
                let before = self::marked(&bodies[number - 1]);
                assert_eq!(before.last(), marked.iter().rev().nth(1), "{way:?}");
            }
        }

        let plain = program.model().prompt_cache(false);
        let ptk = program.start(plain);
        program.asks(&ptk, "More?".to_owned(), ptk.options()).await;
        let last = program.server.bodies().pop().unwrap();
        assert!(!last.contains("cache_control"), "{last}");
        assert!(last.contains(r#""system":"Be kind."#), "{last}");
    }
}
