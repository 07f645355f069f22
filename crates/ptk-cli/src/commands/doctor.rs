//! `ptk doctor`: what works on this machine. The protections from commands are
//! not only queried but tried, and so is undo.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `services` | keys, and the chosen model |
//! | `paths` | folders, and the features of the build |
//! | `undo` | whether changes can be taken back |

mod paths;
mod services;
mod undo;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use ptk_sandbox::command::{
    Before, Command, Helper, Ignored, Policy, Protection, Protections, Recording, Records,
    StartError, counts_shared_memory, is_supported,
};
use ptk_sandbox::{Scratch, Workspace};
use serde::Serialize;

use self::paths::{Features, Folder};
use self::services::{Keys, ModelCheck};
use self::undo::UndoCheck;
use crate::args::DoctorArgs;
use crate::exit::Exit;

/// All protections, in the order in which they are reported.
const ALL: [Protection; 6] = [
    Protection::Files,
    Protection::Attributes,
    Protection::Network,
    Protection::Processes,
    Protection::Calls,
    Protection::Limits,
];

/// The state of a protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckState {
    /// It works.
    Protected,
    /// It is missing.
    Missing,
    /// It should work, but an attempt got past it.
    Broken,
}

#[derive(Debug, Serialize)]
struct Finding {
    what: Protection,
    state: CheckState,
    means: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'static str>,
}

/// The report that `--json` prints.
#[derive(Debug, Serialize)]
struct DoctorReport<'a> {
    sandbox: &'a [Finding],
    notes: &'a Notes,
    undo: &'a UndoCheck,
    keys: &'a Keys,
    model: &'a ModelCheck,
    paths: &'a [Folder],
    features: Features,
}

/// Further notes about the sandbox.
#[derive(Debug, Serialize)]
struct Notes {
    /// Whether shared memory counts against the limit of processes.
    counts_shared_memory: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Folders that variables name, but commands may not use.
    ignored: Vec<Ignored>,
}

impl Notes {
    fn new() -> Result<Self> {
        let workspace = Workspace::open(std::env::current_dir()?)?;
        let counted = counts_shared_memory();
        Ok(Self {
            counts_shared_memory: counted.is_ok(),
            why: counted.err(),
            ignored: Policy::new(&workspace).ignored,
        })
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        if let Some(why) = &self.why {
            writeln!(
                out,
                "\nMemory is limited for each process, and memory that processes share is not\n\
                 counted: {why}."
            )?;
        }
        if !self.ignored.is_empty() {
            writeln!(
                out,
                "\nCommands cannot use these folders, because a command could have decided where\n\
                 they lead. To allow one, name it in [sandbox] read or write in\n\
                 ~/.config/ptk/ptk.toml:"
            )?;
        }
        for ignored in &self.ignored {
            writeln!(out, "  {ignored}")?;
        }
        Ok(())
    }
}

pub(crate) fn run(args: &DoctorArgs, out: &mut impl Write) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (findings, undo) = if is_supported() {
        let findings = runtime.block_on(examine())?;
        let (recorded, why) = match runtime.block_on(try_to_record()) {
            Ok(why) => (why.is_none(), why),
            Err(error) => (false, Some(format!("{error:#}"))),
        };
        (findings, UndoCheck::new(recorded, why))
    } else {
        unsupported()
    };
    let notes = Notes::new()?;
    let (keys, model, folders) = (Keys::look(), ModelCheck::look(&runtime), Folder::all());
    // A name may still be looked up, which cannot be stopped.
    runtime.shutdown_background();
    if args.json {
        let report = DoctorReport {
            sandbox: &findings,
            notes: &notes,
            undo: &undo,
            keys: &keys,
            model: &model,
            paths: &folders,
            features: Features::HERE,
        };
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        if is_supported() {
            print(&findings, out)?;
            notes.print(out)?;
            undo.print(out)?;
        } else {
            writeln!(out, "{}.", StartError::Unsupported)?;
            writeln!(
                out,
                "Tools that read, search and edit files work, and what they change can be undone."
            )?;
        }
        keys.print(out)?;
        model.print(out)?;
        Folder::print(&folders, out)?;
        Features::HERE.print(out)?;
    }
    // Only the protections decide: what else is missing leaves something unused.
    let is_well = findings
        .iter()
        .all(|finding| finding.state == CheckState::Protected);
    Ok(if is_well { Exit::Success } else { Exit::Failed })
}

/// What is reported where no command can be started.
fn unsupported() -> (Vec<Finding>, UndoCheck) {
    let why = Some(StartError::Unsupported.to_string());
    let finding = |what| Finding {
        what,
        state: CheckState::Missing,
        means: means(what),
        why: why.clone(),
        how: Some("Use ptk in WSL (Windows Subsystem for Linux)."),
    };
    let findings = ALL.into_iter().map(finding).collect();
    (findings, UndoCheck::new(false, why))
}

fn print(findings: &[Finding], out: &mut impl Write) -> Result<()> {
    writeln!(out, "The sandbox that commands run in:")?;
    for finding in findings {
        let sign = match finding.state {
            CheckState::Protected => "ok",
            CheckState::Missing => "MISSING",
            CheckState::Broken => "BROKEN",
        };
        let what = finding.what.to_string();
        writeln!(out, "  {sign:<8} {what:<26} {}", finding.means)?;
        let more = finding.why.as_deref().into_iter().chain(finding.how);
        for line in more {
            writeln!(out, "{:11}{line}", "")?;
        }
    }
    if findings
        .iter()
        .any(|finding| finding.state != CheckState::Protected)
    {
        writeln!(
            out,
            "\nWithout all of them, commands are not run, unless you allow it: on a terminal\n\
             you are asked. To allow it for good, write [sandbox] and unprotected = \"allow\"\n\
             into ~/.config/ptk/ptk.toml; \"refuse\" asks no more."
        )?;
    }
    Ok(())
}

/// A workspace for attempts, and targets that must not be reached from it.
struct Scene {
    folder: Scratch,
    workspace: Workspace,
    listener: TcpListener,
    victim: Child,
}

impl Drop for Scene {
    fn drop(&mut self) {
        // It may have been killed already: that is one of the attempts.
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

impl Scene {
    fn new() -> Result<Self> {
        let folder = Scratch::new().context("a folder to try things in")?;
        let [inside, outside] = ["inside", "outside"].map(|name| folder.path().join(name));
        fs::create_dir(&inside)?;
        fs::write(&outside, "as it was\n")?;
        let listener = TcpListener::bind("127.0.0.1:0").context("a port to try things with")?;
        listener.set_nonblocking(true)?;
        let victim = std::process::Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::null())
            .spawn()
            .context("sleep")?;
        Ok(Self {
            workspace: Workspace::open(inside)?.with_temp()?,
            folder,
            listener,
            victim,
        })
    }

    /// Runs a script in the sandbox, if there is one, until it ends.
    async fn attempt(&self, script: &str) -> Result<Protections> {
        let policy = Policy::new(&self.workspace);
        Ok(self.attempt_under(policy, script).await??)
    }

    async fn attempt_under(
        &self,
        policy: Policy,
        script: &str,
    ) -> Result<Result<Protections, StartError>> {
        let outside = self.folder.path().join("outside");
        let port = self.listener.local_addr()?.port().to_string();
        let arguments = [
            "-c".into(),
            script.into(),
            "sh".into(),
            outside.into_os_string(),
            port.into(),
            self.victim.id().to_string().into(),
        ];
        let command = Command {
            program: "sh".into(),
            arguments: arguments.into(),
            folder: self.workspace.root().to_owned(),
            variables: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
            has_input: false,
            is_merged: true,
            policy: Some(policy),
            is_strict: false,
            held: None,
        };
        let mut kept = match command.start(Helper::find().as_ref()).await {
            Ok(kept) => kept,
            Err(error) => return Ok(Err(error)),
        };
        let protections = std::mem::take(&mut kept.protections);
        // Only the effects of the script matter, not its output.
        drop(kept.stdout.take());
        let exited = kept.report();
        let _ = tokio::time::timeout(std::time::Duration::from_secs(10), exited).await;
        kept.control().end();
        while kept.report().await.is_some() {}
        Ok(Ok(protections))
    }

    /// Whether an attempt got past a protection. Some cannot be tested.
    async fn got_past(&mut self, what: Protection) -> Result<bool> {
        let outside = self.folder.path().join("outside");
        Ok(match what {
            Protection::Files => {
                self.attempt("echo changed > \"$1\"").await?;
                fs::read(&outside)? != b"as it was\n"
            }
            Protection::Attributes => {
                let before = mode(&outside)?;
                self.attempt("chmod 700 \"$1\"").await?;
                mode(&outside)? != before
            }
            Protection::Network => {
                let script = "exec bash -c 'exec 9<>/dev/tcp/127.0.0.1/$0' \"$2\"";
                self.attempt(script).await?;
                self.listener.accept().is_ok()
            }
            Protection::Processes => {
                self.attempt("kill -9 \"$3\"").await?;
                self.victim.try_wait()?.is_some()
            }
            _ => false,
        })
    }
}

fn mode(path: &Path) -> Result<Option<u32>> {
    let place = Workspace::open(path.parent().unwrap_or(path))?.place(path)?;
    Ok(place.node()?.map(|node| node.mode))
}

/// Runs a command that changes a file, and checks that it was recorded among the
/// user's records. Says why if it was not.
async fn try_to_record() -> Result<Option<String>> {
    let scene = Scene::new()?;
    let root = scene.workspace.root().to_owned();
    // Why that folder cannot be used is told with what is restored from it.
    let place = undo::Place::open().ok();
    let folder = place
        .as_ref()
        .map_or(scene.folder.path(), undo::Place::path);
    let pack = folder.join("pack");
    fs::write(root.join("file"), "as it was\n")?;
    let mut policy = Policy::new(&scene.workspace);
    policy.recorded = Some(Recording {
        roots: vec![root.clone()],
        left_out: Vec::new(),
        refused: Vec::new(),
        allowed: Vec::new(),
        pack: pack.clone(),
        largest: 1024,
        most: 1024 * 1024,
    });
    if let Err(error) = scene.attempt_under(policy, "echo > file").await? {
        return Ok(Some(error.to_string()));
    }
    let path = root.join("file").into_os_string().into_encoded_bytes();
    let mut records = Records::open(&pack)?;
    let mut recorded = false;
    while let Some(record) = records.read()? {
        recorded |= record.path == path && matches!(record.before, Before::File { .. });
    }
    Ok((!recorded).then(|| "a command changed a file, and it was not recorded".to_owned()))
}

async fn examine() -> Result<Vec<Finding>> {
    let mut scene = Scene::new()?;
    let protections = scene.attempt("true").await?;
    let mut findings = Vec::new();
    for what in ALL {
        let missing = protections
            .missing
            .iter()
            .find(|missing| missing.what == what);
        let state = match missing {
            Some(_) => CheckState::Missing,
            None if scene.got_past(what).await? => CheckState::Broken,
            None => CheckState::Protected,
        };
        let advice = (state == CheckState::Missing).then(|| advice(what));
        findings.push(Finding {
            what,
            state,
            means: means(what),
            why: missing.map(|missing| missing.why.clone()),
            how: advice,
        });
    }
    Ok(findings)
}

fn means(what: Protection) -> &'static str {
    match what {
        Protection::Files => "written only in the workspace, read only where programs need it",
        Protection::Attributes => "modes, owners and times elsewhere stay as they are",
        Protection::Network => "no other machine and no service of this one is reached",
        Protection::Processes => "other processes are neither seen nor signalled",
        Protection::Calls => "calls of the system that no tool needs are refused",
        Protection::Limits => "memory, files and processes are limited",
        _ => "",
    }
}

/// How to get a missing protection.
fn advice(what: Protection) -> &'static str {
    match what {
        Protection::Files => {
            "Landlock is needed: Linux 5.13 or newer where namespaces can be made, else 6.2, with \
             `landlock` among the lsm= of the kernel."
        }
        Protection::Processes => {
            "Namespaces are needed, or Landlock: Linux 6.12 or newer, with `landlock` among the \
             lsm= of the kernel."
        }
        Protection::Attributes | Protection::Network => {
            "Namespaces are needed: as root, sysctl kernel.unprivileged_userns_clone=1 and \
             kernel.apparmor_restrict_unprivileged_userns=0, where there are such settings; in a \
             container, let it make namespaces."
        }
        Protection::Calls => "A kernel with seccomp is needed (CONFIG_SECCOMP_FILTER).",
        _ => "Look at the limits that your session has: ulimit -a.",
    }
}
