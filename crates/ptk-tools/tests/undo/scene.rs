//! A workspace whose calls can be undone, and a picture of everything in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ptk_protocol::{Arguments, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::tools::bash::Bash;
use ptk_tools::tools::{Edit, ReadFile, WriteFile};
use ptk_tools::{
    AllowAll, CallOutcome, CallRequest, Registry, ToolManager, ToolManagerBuilder, Typed,
};
use ptk_undo::{Options, Undo};
use rustix::thread::CapabilitySet;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) options: Options,
    pub(crate) tools: ToolManager,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(&Options::default())
    }

    /// `space` is the workspace, `state` is where undo keeps things.
    pub(crate) fn with(options: &Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("space")).unwrap();
        let options = Options {
            folder: Some(folder.path().join("state")),
            ..options.clone()
        };
        let tools = manager(&folder.path().join("space"), &options);
        Self {
            folder,
            options,
            tools,
        }
    }

    /// The same, where the changes of commands are reviewed, and approved.
    pub(crate) fn reviewed(options: &Options) -> Self {
        let scene = Self::with(options);
        let tools = builder(&scene.root(), &scene.options).review(true).build();
        Self { tools, ..scene }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("space")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) async fn outcome(&self, tool: &str, args: Value) -> CallOutcome {
        let args = Arguments::from_json(&args.to_string()).unwrap();
        let request = CallRequest::new(ToolCall::new(tool, args));
        self.tools.execute(request).await
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> ToolResult {
        self.outcome(tool, args).await.result
    }

    /// A call that succeeds; returns its id.
    pub(crate) async fn ok(&self, tool: &str, args: Value) -> String {
        let outcome = self.outcome(tool, args).await;
        assert!(outcome.result.success, "{:?}", outcome.result);
        outcome.call_id.to_string()
    }

    pub(crate) async fn bash(&self, command: &str) -> String {
        self.ok("bash", json!({ "command": command })).await
    }

    pub(crate) fn undo(&self) -> Undo {
        let workspace = Workspace::open(self.root()).unwrap();
        Undo::open(workspace, &self.options).unwrap()
    }

    pub(crate) fn picture(&self) -> Picture {
        picture(&self.root())
    }
}

/// Runs something where the system does not record commands: a process can have
/// only one listener for its calls, and here it has one that lets everything
/// pass.
pub(crate) fn unrecorded<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let attempt = || {
        nix::sys::prctl::set_no_new_privs().unwrap();
        let allow = ptk_seccomp::Instruction {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: 0x7fff_0000,
        };
        let _listener = ptk_seccomp::listen(&[allow]).unwrap();
        run()
    };
    // The filter is that of a thread, and of what it starts.
    std::thread::scope(|scope| match scope.spawn(attempt).join() {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// From here on, this thread may read and enter no more than permissions say, as
/// the superuser may otherwise.
pub(crate) fn become_ordinary() {
    let mut own = rustix::thread::capabilities(None).unwrap();
    own.effective
        .remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
    rustix::thread::set_capabilities(None, own).unwrap();
}

/// The same for what waits.
pub(crate) fn unrecorded_async<F: Future>(run: impl FnOnce() -> F + Send) -> F::Output
where
    F::Output: Send,
{
    unrecorded(|| runtime().block_on(run()))
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

pub(crate) fn manager(root: &Path, options: &Options) -> ToolManager {
    builder(root, options).build()
}

pub(crate) fn builder(root: &Path, options: &Options) -> ToolManagerBuilder {
    let mut registry = Registry::new();
    registry.register(Typed::new(ReadFile)).unwrap();
    registry.register(Typed::new(WriteFile)).unwrap();
    registry.register(Typed::new(Edit)).unwrap();
    Bash::default().register(&mut registry).unwrap();
    ToolManager::builder(Workspace::open(root).unwrap())
        .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
        .tools(registry)
        .approver(AllowAll)
        .undo(options.clone())
}

/// What is at each path: kind, permissions, content or target, and for files
/// the time.
pub(crate) type Picture = BTreeMap<PathBuf, Seen>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Folder(u32),
    Link(PathBuf),
    /// The content of a file, or its length where the caller may not read it.
    File(u32, Result<Vec<u8>, u64>, (i64, i64)),
    Other,
}

pub(crate) fn picture(root: &Path) -> Picture {
    let mut picture = Picture::new();
    add(root, root, &mut picture);
    picture
}

/// Adds what is in a folder, as far as its modes let the caller see it.
fn add(root: &Path, folder: &Path, picture: &mut Picture) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let mode = metadata.mode() & 0o7777;
        let seen = if metadata.is_dir() {
            add(root, &path, picture);
            Seen::Folder(mode)
        } else if metadata.is_symlink() {
            Seen::Link(fs::read_link(&path).unwrap())
        } else if metadata.is_file() {
            let time = (metadata.mtime(), metadata.mtime_nsec());
            let content = fs::read(&path).map_err(|_| metadata.len());
            Seen::File(mode, content, time)
        } else {
            Seen::Other
        };
        picture.insert(path.strip_prefix(root).unwrap().to_owned(), seen);
    }
}

/// The same picture without times.
pub(crate) fn timeless(picture: &Picture) -> Picture {
    let timeless = picture.iter().map(|(path, seen)| {
        let seen = match seen {
            Seen::File(mode, content, _) => Seen::File(*mode, content.clone(), (0, 0)),
            seen => seen.clone(),
        };
        (path.clone(), seen)
    });
    timeless.collect()
}
