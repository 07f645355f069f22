//! A workspace with the tools in it, and what tests look for.

use std::path::Path;
use std::time::{Duration, Instant};

use ptk_protocol::{Arguments, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::tools::bash::Bash;
use ptk_tools::{AllowAll, CallOutcome, CallRequest, Limits, Registry, Sandbox, ToolManager};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::pipe::Pipe;

/// Longer than anything takes that works.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) tools: ToolManager,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(Bash::default())
    }

    pub(crate) fn with(bash: Bash) -> Self {
        Self::at(tempfile::tempdir().unwrap(), bash)
    }

    pub(crate) fn at(folder: TempDir, bash: Bash) -> Self {
        Self::within(folder, bash, Sandbox::default())
    }

    /// Commands may do whatever the user may.
    pub(crate) fn unprotected() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::within(folder, Bash::default(), Sandbox::off())
    }

    fn within(folder: TempDir, bash: Bash, sandbox: Sandbox) -> Self {
        let mut registry = Registry::new();
        bash.register(&mut registry).unwrap();
        let tools = ToolManager::builder(Workspace::open(folder.path()).unwrap())
            .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
            .sandbox(sandbox)
            .tools(registry)
            .approver(AllowAll)
            .limits(Limits {
                preview_lines: 4,
                ..Limits::default()
            })
            .build();
        Self { folder, tools }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A pipe of this name.
    pub(crate) fn pipe(&self, name: &str) -> Pipe {
        Pipe::new(self.path(), name)
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> ToolResult {
        self.outcome(tool, args).await.result
    }

    pub(crate) async fn outcome(&self, tool: &str, args: Value) -> CallOutcome {
        let execution = self.tools.execute(request(tool, &args));
        tokio::time::timeout(LONG, execution)
            .await
            .expect("it ends")
    }

    pub(crate) async fn bash(&self, command: &str) -> ToolResult {
        self.call("bash", json!({ "command": command })).await
    }

    pub(crate) async fn bash_within(&self, command: &str, seconds: f64) -> ToolResult {
        self.call("bash", json!({ "command": command, "timeout": seconds }))
            .await
    }

    pub(crate) async fn job(&self, command: &str) -> String {
        let args = json!({ "command": command, "run_in_background": true });
        let result = self.call("bash", args).await;
        field(&result, "job").to_owned()
    }

    /// The error of a failure, without the name of the workspace.
    pub(crate) fn told(&self, result: &ToolResult) -> String {
        assert!(!result.success, "{result:?}");
        let kind = serde_json::to_value(result.error_type).unwrap();
        let suggestion = result.suggestion.as_deref().unwrap_or("NONE");
        let text = format!(
            "{}: {}\n→ {suggestion}",
            kind.as_str().unwrap(),
            result.error
        );
        let root = self.path().canonicalize().unwrap();
        text.replace(root.to_str().unwrap(), "WORKSPACE")
    }
}

pub(crate) fn request(tool: &str, args: &Value) -> CallRequest {
    let args = Arguments::from_json(&args.to_string()).unwrap();
    CallRequest::new(ToolCall::new(tool, args))
}

pub(crate) fn field<'a>(result: &'a ToolResult, name: &str) -> &'a str {
    let value = result.fields.get(name).and_then(Value::as_str);
    value.unwrap_or_else(|| panic!("no {name} in {result:?}"))
}

pub(crate) fn code(result: &ToolResult) -> i64 {
    result
        .fields
        .get("return_code")
        .and_then(Value::as_i64)
        .expect("a code")
}

/// The processes, alive, whose command line holds this text.
pub(crate) fn alive(text: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse::<u32>().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (pid != std::process::id() && line.contains(text)).then_some(line)
    })
    .collect()
}

/// Children of this process that were not waited for.
pub(crate) fn zombies() -> usize {
    let own = std::process::id().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.to_owned())
            .unwrap_or_default();
        let mut fields = fields.split_ascii_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(&own)
    })
    .count()
}

/// Waits until a condition holds that no event reports.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LONG, "in vain: {what}");
        tokio::task::yield_now().await;
    }
}

/// Waits until no child is left that was not waited for: the runtime does so
/// between two tasks.
pub(crate) async fn no_zombies() {
    until("no zombies", || zombies() == 0).await;
}

/// A duration for `sleep` that no other process has, by which to find it.
pub(crate) fn unique() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("7{}.{number:04}", std::process::id())
}
