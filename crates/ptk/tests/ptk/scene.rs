//! A workspace with files, the built-in tools, and some of our own.

use std::fs;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use ptk::llm::{Capabilities, Delta, Deltas, FinishReason, Message, Provider, Request, Script};
use ptk::protocol::Arguments;
use ptk::tools::tools::{Edit, Glob, Grep, ListFiles, ReadFile, WriteFile};
use ptk::tools::{
    AllowAll, ApprovalRequest, Approver, CallContext, Decision, Effects, Registry, ToolError,
    Typed, tool_fn,
};
use ptk::{Ptk, PtkBuilder};
use serde_json::Value;
use tempfile::TempDir;

/// What the tools did, in order.
pub(crate) type Diary = Arc<Mutex<Vec<String>>>;

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    /// What our own tools did.
    pub(crate) diary: Diary,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Wait {
    /// What to write into the diary
    pub(crate) name: String,
    /// How long to wait, in milliseconds
    #[serde(default)]
    pub(crate) ms: u64,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let package = "{\n  \"name\": \"demo\",\n  \"version\": \"1.0.0\"\n}\n";
        fs::write(folder.path().join("package.json"), package).unwrap();
        fs::write(folder.path().join("notes.txt"), "Buy milk.\n").unwrap();
        Self {
            folder,
            diary: Diary::default(),
        }
    }

    /// The tools: files, `wait`, which only reads, and `note`, which changes
    /// something.
    pub(crate) fn registry(&self) -> Registry {
        let mut registry = Registry::new();
        registry
            .register(Typed::new(ReadFile))
            .unwrap()
            .register(Typed::new(WriteFile))
            .unwrap()
            .register(Typed::new(Edit))
            .unwrap()
            .register(Typed::new(ListFiles))
            .unwrap()
            .register(Typed::new(Glob))
            .unwrap()
            .register(Typed::new(Grep))
            .unwrap()
            .register(self.writing("wait", Effects::NONE))
            .unwrap()
            .register(self.writing("note", Effects::WRITE))
            .unwrap();
        registry
    }

    fn writing(&self, name: &'static str, effects: Effects) -> impl ptk::tools::Tool + 'static {
        let diary = Arc::clone(&self.diary);
        tool_fn(
            name,
            "Write into the diary when it begins and when it ends",
            effects,
            move |_: CallContext, args: Wait| {
                let diary = Arc::clone(&diary);
                async move {
                    write(&diary, format!("{} begins", args.name));
                    tokio::time::sleep(Duration::from_millis(args.ms)).await;
                    write(&diary, format!("{} ends", args.name));
                    Ok::<_, ToolError>(format!("{} is done", args.name))
                }
            },
        )
    }

    pub(crate) fn builder(&self, provider: impl Provider + 'static) -> PtkBuilder {
        Ptk::builder()
            .provider(provider)
            .workspace(self.folder.path())
            .tools(self.registry())
            .approver(AllowAll)
    }

    /// Everything, with this script.
    pub(crate) fn ptk(&self, replies: &[&str]) -> Ptk {
        let script = Script::new(replies.iter().copied());
        self.builder(script).build().unwrap()
    }

    pub(crate) fn diary(&self) -> Vec<String> {
        self.diary.lock().unwrap().clone()
    }
}

pub(crate) fn write(diary: &Diary, line: impl Into<String>) {
    diary.lock().unwrap().push(line.into());
}

/// A call in PTK's own dialect.
pub(crate) fn call(tool: &str, args: &Value) -> String {
    format!(r#"<PTK_CALL>{{"tool": "{tool}", "args": {args}}}</PTK_CALL>"#)
}

pub(crate) fn arguments(value: &Value) -> Arguments {
    Arguments::from_json(&value.to_string()).unwrap()
}

type Answer = dyn Fn(&Request) -> Vec<Delta> + Send + Sync;

/// A model that is asked for each reply, and remembers what it was asked.
#[derive(Clone)]
pub(crate) struct Model {
    answer: Arc<Answer>,
    pub(crate) requests: Arc<Mutex<Vec<Request>>>,
    pub(crate) capabilities: Capabilities,
}

impl Model {
    pub(crate) fn new(answer: impl Fn(&Request) -> Vec<Delta> + Send + Sync + 'static) -> Self {
        Self {
            answer: Arc::new(answer),
            requests: Arc::default(),
            capabilities: Capabilities::default(),
        }
    }

    /// The n-th reply to the n-th request of a conversation, however often it
    /// is asked for it, as of a model that has not forgotten anything.
    pub(crate) fn of_replies(replies: Vec<String>) -> Self {
        Self::new(move |request| {
            let is_said = |message: &&Message| matches!(message, Message::Assistant { .. });
            let said = request.messages.iter().filter(is_said).count();
            // When it is asked to answer now, it is not shown its calls.
            let is_closing = |it: &Message| it.text().contains("Answer from this: ");
            let said = match request.messages.last() {
                Some(last) if is_closing(last) => replies.len() - 1,
                _ => said,
            };
            text(
                replies
                    .get(said)
                    .map_or("nothing left to say", String::as_str),
            )
        })
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Model")
    }
}

pub(crate) fn text(words: &str) -> Vec<Delta> {
    vec![
        Delta::Text(words.to_owned()),
        Delta::Finish(FinishReason::Stop),
    ]
}

impl Provider for Model {
    fn name(&self) -> &'static str {
        "model"
    }

    fn capabilities(&self, _: Option<&str>) -> Capabilities {
        self.capabilities
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let deltas = async move {
            self.requests.lock().unwrap().push(request.clone());
            stream::iter((self.answer)(request).into_iter().map(Ok))
        };
        deltas.flatten_stream().boxed()
    }
}

/// A person who always gives the same answer, and remembers the questions.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) says: Decision,
    pub(crate) asked: Diary,
}

impl Person {
    pub(crate) fn who_says(says: Decision) -> Self {
        Self {
            says,
            asked: Diary::default(),
        }
    }
}

impl Approver for Person {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        write(
            &self.asked,
            format!("{}: {}", request.tool, request.plan.warnings.join(" ")),
        );
        std::future::ready(self.says.clone()).boxed()
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// Waits for the work, but not for longer than this.
pub(crate) async fn within<T>(seconds: u64, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), work)
        .await
        .expect("it takes too long")
}
