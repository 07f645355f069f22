//! A workspace with the tool in it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptk_events::Bus;
use ptk_protocol::{Arguments, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::tools::get_diagnostics::{Diagnostics, GetDiagnostics};
use ptk_tools::{
    AllowAll, Approver, CallOutcome, CallRequest, Limits, Registry, ToolManager, Typed,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::pipe::Pipe;

/// Longer than anything takes that works, on a machine that has other things
/// to do too.
const LONG: Duration = Duration::from_secs(150);

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) bus: Bus,
    tools: Option<ToolManager>,
}

impl Scene {
    /// An empty workspace; its name is not plain either.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("wörk space ").tempdir();
        let scene = Self {
            folder: folder.unwrap(),
            bus: Bus::default(),
            tools: None,
        };
        scene.with(GetDiagnostics::default())
    }

    /// The same scene with this tool.
    pub(crate) fn with(self, tool: GetDiagnostics) -> Self {
        self.made(tool, AllowAll)
    }

    /// The same scene with this approver.
    pub(crate) fn approved_by(self, approver: impl Approver + 'static) -> Self {
        self.made(GetDiagnostics::default(), approver)
    }

    fn made(mut self, tool: GetDiagnostics, approver: impl Approver + 'static) -> Self {
        let mut registry = Registry::new();
        registry.register(Typed::new(tool)).unwrap();
        let tools = ToolManager::builder(Workspace::open(self.path()).unwrap())
            .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
            .tools(registry)
            .approver(approver)
            .bus(self.bus.clone())
            .limits(Limits {
                preview_lines: 4,
                ..Limits::default()
            })
            .build();
        self.tools = Some(tools);
        self
    }

    /// The same scene with this configuration.
    pub(crate) fn configured(self, declared: Value) -> Self {
        self.with(GetDiagnostics::new(configuration(declared)))
    }

    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// The same scene with a program that is this shell script.
    pub(crate) fn script(self, path: &str, lines: &str) -> Self {
        let scene = self.file(path, &format!("#!/bin/sh\n{lines}\n"));
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(scene.path().join(path), runs).unwrap();
        scene
    }

    /// The same scene with a program that writes what a real one wrote here.
    pub(crate) fn recording(self, path: &str, stdout: &str, stderr: &str, code: i32) -> Self {
        let root = self.root();
        let here = |text: &str| text.replace("WORKSPACE", &root);
        let (out, err) = (format!("{path}.out"), format!("{path}.err"));
        let script = format!("cat \"$0.out\"; cat \"$0.err\" >&2; exit {code}");
        self.script(path, &script)
            .file(&out, &here(stdout))
            .file(&err, &here(stderr))
    }

    /// A pipe of this name.
    pub(crate) fn pipe(&self, name: &str) -> Pipe {
        Pipe::new(self.path(), name)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn root(&self) -> String {
        let root = self.path().canonicalize().unwrap();
        root.to_str().unwrap().to_owned()
    }

    pub(crate) async fn outcome(&self, args: Value) -> CallOutcome {
        let args = Arguments::from_json(&args.to_string()).unwrap();
        let request = CallRequest::new(ToolCall::new("get_diagnostics", args));
        self.execute(request).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> CallOutcome {
        let execution = self.tools.as_ref().unwrap().execute(request);
        let outcome = tokio::time::timeout(LONG, execution).await;
        outcome.expect("it ends")
    }

    pub(crate) async fn call(&self, args: Value) -> ToolResult {
        self.outcome(args).await.result
    }

    /// The text of a success: the summary, each diagnostic, each checker that
    /// has a note.
    pub(crate) fn found(&self, result: &ToolResult) -> String {
        assert!(result.success, "{result:?}");
        let mut lines = vec![text(&result.fields["summary"])];
        for one in result.fields["diagnostics"].as_array().unwrap() {
            lines.push(line(one));
        }
        for checker in result.fields["checkers"].as_array().unwrap() {
            if let Some(note) = checker.get("note") {
                let (name, status) = (text(&checker["name"]), text(&checker["status"]));
                lines.push(format!("{name} {status}: {}", text(note)));
            }
        }
        lines.extend(result.fields.get("next").map(text));
        self.plain(&lines.join("\n"))
    }

    /// The text of a failure.
    pub(crate) fn told(&self, result: &ToolResult) -> String {
        assert!(!result.success, "{result:?}");
        let kind = serde_json::to_value(result.error_type).unwrap();
        let suggestion = result.suggestion.as_deref().unwrap_or("NONE");
        self.plain(&format!(
            "{}: {}\n→ {suggestion}",
            text(&kind),
            result.error
        ))
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&self.root(), "WORKSPACE")
    }
}

pub(crate) fn configuration(declared: Value) -> Diagnostics {
    serde_json::from_value(declared).unwrap()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn line(one: &Value) -> String {
    let number = |name: &str, before: &str| {
        let value = one.get(name).map(|value| format!("{before}{value}"));
        value.unwrap_or_default()
    };
    let code = one.get("code").map(|code| format!(" [{}]", text(code)));
    format!(
        "{}:{}{}{} {}: {}{} ({})",
        text(&one["file"]),
        one["line"],
        number("column", ":"),
        number("end_line", "-"),
        text(&one["severity"]),
        text(&one["message"]).replace('\n', " / "),
        code.unwrap_or_default(),
        text(&one["source"]),
    )
}

/// The folder in which the tests' own ruff is, as `scripts/test` installs it.
pub(crate) fn ruff() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cached = cache.or(home).map(|cache| cache.join("ptk/tools/bin"));
    let mut folders = std::env::split_paths(&path).chain(cached);
    let found = folders.find(|folder| folder.join("ruff").is_file());
    found.expect("ruff is missing; `scripts/test test` installs it")
}

pub(crate) fn no_args() -> Value {
    json!({})
}
