//! A workspace with files, and calls in it.

use std::fs;
use std::path::{Path, PathBuf};

use ptk_events::Bus;
use ptk_protocol::{Arguments, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_tools::tools::{Glob, Grep, ListFiles, ReadFile, SearchCode};
use ptk_tools::{CallOutcome, CallRequest, Limits, Registry, ToolManager, Typed};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) tools: ToolManager,
    pub(crate) bus: Bus,
}

impl Scene {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let workspace = Workspace::open(folder.path().join("workspace")).unwrap();
        let bus = Bus::new();
        let tools = ToolManager::builder(workspace)
            .tools(registry())
            .bus(bus.clone())
            .build();
        let scene = Self { folder, tools, bus };
        for (path, text) in files {
            scene.write(path, text);
        }
        scene
    }

    /// Other tools for the same workspace.
    pub(crate) fn tools_with(&self, limits: Limits) -> ToolManager {
        let workspace = Workspace::open(self.path("")).unwrap();
        ToolManager::builder(workspace)
            .tools(registry())
            .limits(limits)
            .build()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("workspace").join(path)
    }

    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.path(path), text.as_ref());
    }

    pub(crate) async fn outcome(&self, tool: &str, args: Value) -> CallOutcome {
        let args = Arguments::from_json(&args.to_string()).unwrap();
        // The same call twice in a turn would be refused.
        self.tools.begin_turn();
        self.tools
            .execute(CallRequest::new(ToolCall::new(tool, args)))
            .await
    }

    /// The result of a call that succeeds.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> ToolResult {
        let result = self.outcome(tool, args).await.result;
        assert!(result.success, "{result:?}");
        result
    }

    /// The fields of a call that succeeds, as JSON.
    pub(crate) async fn fields(&self, tool: &str, args: Value) -> Value {
        Value::Object(self.call(tool, args).await.fields)
    }

    /// A failure as type, message and suggestion, without the workspace's path.
    pub(crate) async fn failure(&self, tool: &str, args: Value) -> String {
        let result = self.outcome(tool, args).await.result;
        assert!(!result.success, "{result:?}");
        let workspace = self.path("").canonicalize().unwrap();
        let text = format!(
            "{}: {}\n{}",
            serde_json::to_value(result.error_type)
                .unwrap()
                .as_str()
                .unwrap(),
            result.error,
            result.suggestion.unwrap_or_default()
        );
        text.replace(workspace.to_str().unwrap(), "WORKSPACE")
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register(Typed::new(ListFiles)).unwrap();
    registry.register(Typed::new(Glob)).unwrap();
    registry.register(Typed::new(Grep)).unwrap();
    registry.register(Typed::new(SearchCode)).unwrap();
    registry.register(Typed::new(ReadFile)).unwrap();
    registry
}

pub(crate) fn write(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A list of strings in a result.
pub(crate) fn strings(fields: &Value, name: &str) -> Vec<String> {
    let items = fields[name]
        .as_array()
        .unwrap_or_else(|| panic!("{fields}"));
    items
        .iter()
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}
