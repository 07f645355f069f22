//! A workspace in a folder of its own, the file tools, and an approver that
//! approves everything.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses a part of it; the lints allow the rest inside tests only"
)]

use std::fs;
use std::path::{Path, PathBuf};

use ptk_protocol::{Arguments, ToolCall};
use ptk_sandbox::Workspace;
use ptk_tools::tools::{Edit, Read, ReadFile, WriteFile};
use ptk_tools::{AllowAll, Approver, CallOutcome, CallRequest, Registry, ToolManager, Typed};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) tools: ToolManager,
}

impl Scene {
    /// `space` is the workspace, `outside/secret.txt` lies beside it.
    pub(crate) fn new() -> Self {
        Self::with(AllowAll)
    }

    pub(crate) fn with(approver: impl Approver + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("space")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/secret.txt"), "secret").unwrap();
        let mut registry = Registry::new();
        registry.register(Typed::new(ReadFile)).unwrap();
        registry.register(Typed::new(Read)).unwrap();
        registry.register(Typed::new(WriteFile)).unwrap();
        registry.register(Typed::new(Edit)).unwrap();
        let workspace = Workspace::open(folder.path().join("space")).unwrap();
        let tools = ToolManager::builder(workspace)
            .tools(registry)
            .approver(approver)
            .build();
        Self { folder, tools }
    }

    /// The same folder with other tools.
    pub(crate) fn served_by(self, tools: ToolManager) -> Self {
        Self { tools, ..self }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("space")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> CallOutcome {
        self.tools.execute(request(tool, &args)).await
    }

    /// The fields of a success.
    pub(crate) async fn ok(&self, tool: &str, args: Value) -> Value {
        let result = self.call(tool, args).await.result;
        assert!(result.success, "{}: {:?}", result.error, result.suggestion);
        json!(result.fields)
    }

    /// The text of a failure, without what differs from run to run.
    pub(crate) async fn refusal(&self, tool: &str, args: Value) -> String {
        let result = self.call(tool, args).await.result;
        assert!(!result.success, "{:?}", result.fields);
        let kind = json!(result.error_type);
        let kind = kind.as_str().unwrap().to_owned();
        let suggestion = result.suggestion.unwrap_or_default();
        self.neutral(&format!("{kind}: {}\n{suggestion}", result.error))
    }

    pub(crate) async fn read(&self, name: &str) -> Value {
        self.ok("read_file", json!({ "path": name })).await
    }

    /// A text without the path of this test's folder.
    pub(crate) fn neutral(&self, text: &str) -> String {
        let folder = self.folder.path().canonicalize().unwrap();
        text.replace(folder.to_str().unwrap(), "/…")
    }
}

/// A call that can be changed before it is run.
pub(crate) fn request(tool: &str, args: &Value) -> CallRequest {
    let args = Arguments::from_json(&args.to_string()).unwrap();
    CallRequest::new(ToolCall::new(tool, args))
}
