//! A workspace with some files, and a person who gives prepared answers.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ptk_permission::{Declaration, Entry};
use ptk_protocol::{Arguments, ErrorType, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_tools::tools::get_diagnostics::Diagnostics;
use ptk_tools::{
    ApprovalRequest, Approver, Around, CallRequest, Decision, Fields, Middleware, Next, Passing,
    Permissions, Registry, Sandbox, ToolManager, ToolManagerBuilder, tools,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A question, as it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) tool: String,
    pub(crate) summary: String,
    pub(crate) warnings: Vec<String>,
    pub(crate) rules: Vec<String>,
    pub(crate) is_edit: bool,
    pub(crate) because: Option<String>,
    pub(crate) unprotected: Option<String>,
}

/// A person who gives one answer after the other, and denies when none is left.
#[derive(Clone, Default)]
pub(crate) struct Person {
    questions: Arc<Mutex<Vec<Question>>>,
    answers: Arc<Mutex<VecDeque<Decision>>>,
}

impl Person {
    /// The questions since the last time.
    pub(crate) fn take(&self) -> Vec<Question> {
        std::mem::take(&mut *self.questions.lock().unwrap())
    }
}

impl Approver for Person {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        let question = Question {
            tool: request.tool.to_owned(),
            summary: request.plan.summary.clone(),
            warnings: request.plan.warnings.clone(),
            rules: request.rules.iter().map(ToString::to_string).collect(),
            is_edit: request.is_edit,
            because: request.because.map(ToString::to_string),
            unprotected: request.unprotected.map(ToString::to_string),
        };
        self.questions.lock().unwrap().push(question);
        let answer = self.answers.lock().unwrap().pop_front();
        let answer = answer.unwrap_or_else(|| Decision::DenyOnce("nobody is there".to_owned()));
        Box::pin(std::future::ready(answer))
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// A layer in the place of the tool: what is let through is not run.
struct Pretend;

impl Middleware for Pretend {
    fn handle<'a>(&'a self, _call: Passing<'a>, _next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        Box::pin(std::future::ready(ToolResult::success(Fields::new())))
    }

    fn around(&self) -> Around {
        Around::Run
    }
}

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) person: Person,
    pub(crate) tools: ToolManager,
}

/// Rules, written `allow bash(ls *)`.
pub(crate) fn entries(rules: &[&str]) -> Vec<Entry> {
    let mut declaration = Declaration::default();
    for rule in rules {
        let (action, rule) = rule.split_once(' ').unwrap();
        let list = match action {
            "allow" => &mut declaration.allow,
            "ask" => &mut declaration.ask,
            _ => &mut declaration.deny,
        };
        list.push(rule.to_owned());
    }
    declaration.entries("test").unwrap()
}

/// All tools.
pub(crate) fn registry() -> Registry {
    tools::all(Diagnostics::default()).unwrap()
}

/// The result of a call.
pub(crate) async fn called(tools: &ToolManager, tool: &str, args: &Value) -> ToolResult {
    let args = Arguments::from_json(&args.to_string()).unwrap();
    let request = CallRequest::new(ToolCall::new(tool, args));
    tools.execute(request).await.result
}

impl Scene {
    pub(crate) fn new(rules: &[&str]) -> Self {
        Self::with(Permissions::default().rules(entries(rules)))
    }

    pub(crate) fn with(permissions: Permissions) -> Self {
        Self::built(permissions, |builder| {
            builder.sandbox(Sandbox::off()).layer(Pretend)
        })
    }

    /// A scene with further settings of the tools.
    pub(crate) fn built(
        permissions: Permissions,
        more: impl FnOnce(ToolManagerBuilder) -> ToolManagerBuilder,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [
            ("space/a.txt", "one\n"),
            ("space/src/main.rs", "fn main() {}\n"),
            ("space/build/x/1.o", "1234"),
            ("space/build/2.o", "123456"),
            ("outside/secret.txt", "secret"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let person = Person::default();
        let builder = ToolManager::builder(Workspace::open(folder.path().join("space")).unwrap())
            .tools(registry())
            .approver(person.clone())
            .permissions(permissions);
        let tools = more(builder).build();
        Self {
            folder,
            person,
            tools,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder
            .path()
            .canonicalize()
            .unwrap()
            .join("space")
            .join(name)
    }

    pub(crate) fn answer(&self, answer: Decision) {
        self.person.answers.lock().unwrap().push_back(answer);
    }

    /// The questions since the last time.
    pub(crate) fn questions(&self) -> Vec<Question> {
        self.person.take()
    }

    pub(crate) async fn call(&self, tool: &str, args: &Value) -> ToolResult {
        called(&self.tools, tool, args).await
    }

    pub(crate) async fn bash(&self, command: &str) -> ToolResult {
        self.call("bash", &json!({"command": command})).await
    }

    /// The outcome of a command: `runs`, `asks`, `denied` or `blocked`. It is
    /// never approved.
    pub(crate) async fn verdict(&self, command: &str) -> &'static str {
        let result = self.bash(command).await;
        let is_asked = !self.questions().is_empty();
        match result.error_type {
            Some(ErrorType::SecurityError) => "blocked",
            Some(ErrorType::PermissionError) if is_asked => "asks",
            Some(ErrorType::PermissionError) => "denied",
            None => "runs",
            Some(_) => "fails",
        }
    }

    /// A failure as the model sees it, without this scene's folder.
    pub(crate) fn told(&self, result: &ToolResult) -> String {
        let kind = serde_json::to_value(result.error_type).unwrap();
        let suggestion = result.suggestion.clone().unwrap_or_default();
        let told = format!(
            "{}: {}\n→ {suggestion}",
            kind.as_str().unwrap_or(""),
            result.error
        );
        told.replace(
            self.path("").to_str().unwrap().trim_end_matches('/'),
            "WORKSPACE",
        )
    }
}
