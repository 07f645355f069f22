//! `bash`: a command in a shell, with its output as it comes, within its time,
//! and nothing left behind. `bash_output` and `bash_kill` are for commands that
//! run in the background.
//!
//! A command that ran is a success, whatever its exit code: running it was the
//! task, and `return_code` says the rest. `output` is what it wrote to its
//! standard output and `stderr` what it wrote to the other one; each is whole,
//! and `error` stays empty as in every success.

mod jobs;
mod output;
mod result;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptk_permission::danger::{Danger, Surroundings};
use ptk_permission::shell::CommandLine;
use ptk_protocol::{Arguments, ToolResult};
use ptk_sandbox::Kind;
use schemars::JsonSchema;
use serde::Deserialize;

pub use output::{BashKill, BashOutput};
pub(crate) use result::left_out;

use self::jobs::Jobs;
use super::aliases::with_working_dir;
use crate::process::{Program, StartError};
use crate::{
    CallContext, Class, Effects, Fields, Plan, Registry, RegistryError, ToolError, Typed, TypedTool,
};

/// How long a command may take by default.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take at most.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a command in the background may take.
pub const JOB_TIMEOUT: Duration = Duration::from_secs(3600);
/// How many characters of the model's description of a command are shown.
const MAX_SAID: usize = 120;
/// Shells that read a plain command line alike.
const COMMON_SHELLS: [&str; 3] = ["bash", "sh", "dash"];

/// The tool `bash`.
#[derive(Debug, Clone)]
pub struct Bash {
    shell: Option<OsString>,
    job_timeout: Duration,
    nonzero: NonZero,
}

/// What an exit code other than zero makes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NonZero {
    /// A success, as any command that ran: many programs answer "no" this way.
    #[default]
    Success,
    /// A failure, for models that overlook the code.
    Failure,
}

impl Default for Bash {
    fn default() -> Self {
        Self {
            shell: None,
            job_timeout: JOB_TIMEOUT,
            nonzero: NonZero::Success,
        }
    }
}

impl Bash {
    /// Uses this shell instead of `bash`, or `sh` where there is none. It is
    /// called as `SHELL -c COMMAND`.
    #[must_use]
    pub fn shell(mut self, shell: impl Into<OsString>) -> Self {
        self.shell = Some(shell.into());
        self
    }

    /// Sets how long commands in the background may take.
    #[must_use]
    pub const fn job_timeout(mut self, time: Duration) -> Self {
        self.job_timeout = time;
        self
    }

    /// Sets what an exit code other than zero means.
    #[must_use]
    pub const fn nonzero(mut self, nonzero: NonZero) -> Self {
        self.nonzero = nonzero;
        self
    }

    /// Registers `bash`, `bash_output` and `bash_kill`.
    ///
    /// # Errors
    ///
    /// If one of the names is taken.
    pub fn register(self, registry: &mut Registry) -> Result<(), RegistryError> {
        registry
            .register(Typed::new(self))?
            .register(Typed::new(BashOutput))?
            .register(Typed::new(BashKill))?;
        Ok(())
    }
}

/// Arguments of `bash`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BashArgs {
    /// The command, for example "cargo test 2>&1 | tail -n 20"
    command: String,
    /// What it does, in 5 to 10 words, for the person who watches
    #[serde(default)]
    description: Option<String>,
    /// Seconds until it is ended; 60 if not given, at most 600
    #[serde(default)]
    timeout: Option<f64>,
    /// The folder in which it runs, for example "crates/core"; the workspace if not given
    #[serde(default)]
    working_dir: Option<String>,
    /// Whether it goes on while you do other things, such as a server. Read its output with `bash_output`, end it with `bash_kill`
    #[serde(default)]
    run_in_background: Option<bool>,
}

/// The time limit of a command, and a note about it.
#[derive(Debug, PartialEq, Eq)]
struct Time {
    limit: Duration,
    note: Option<String>,
}

impl BashArgs {
    fn time(&self) -> Time {
        let default = DEFAULT_TIMEOUT.as_secs();
        let most = MAX_TIMEOUT.as_secs();
        let (limit, note) = match self.timeout {
            None => (DEFAULT_TIMEOUT, None),
            Some(asked) if asked > MAX_TIMEOUT.as_secs_f64() => {
                let note = format!("timeout was capped at {most} s.");
                (MAX_TIMEOUT, Some(note))
            }
            Some(asked) => match Duration::try_from_secs_f64(asked) {
                Ok(asked) if !asked.is_zero() => (asked, None),
                Ok(_) | Err(_) => {
                    let note = format!("timeout {asked} is not a time; {default} s was used.");
                    (DEFAULT_TIMEOUT, Some(note))
                }
            },
        };
        Time { limit, note }
    }

    fn is_job(&self) -> bool {
        self.run_in_background == Some(true)
    }

    /// The folder in which the command runs.
    fn folder(&self, context: &CallContext) -> Result<PathBuf, ToolError> {
        let path = match self.working_dir.as_deref() {
            None | Some("") => ".",
            Some(path) => path,
        };
        let place = context.resolve(path)?;
        let kind = place.metadata().map(|metadata| metadata.kind);
        match kind {
            Ok(Kind::Folder) => Ok(place.absolute()),
            Ok(_) => Err(ToolError::user(format!("Not a folder: {place}"))
                .suggest("working_dir is the folder in which the command runs.")),
            Err(ptk_sandbox::PathError::NotFound { path, .. }) => {
                Err(ToolError::user(format!("The folder {path} does not exist"))
                    .suggest("Use list_files to see which folders there are."))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The model's description of the command, in a line: it must not take the
    /// place of the command.
    fn said(&self) -> Option<String> {
        let words = self.description.iter().flat_map(|it| it.split_whitespace());
        let said = words.collect::<Vec<_>>().join(" ");
        let (end, _) = said.char_indices().nth(MAX_SAID).unzip();
        let cut = end.and_then(|end| Some(format!("{}…", said.get(..end)?)));
        Some(cut.unwrap_or(said)).filter(|said| !said.is_empty())
    }

    fn check(&self) -> Result<(), ToolError> {
        if self.command.trim().is_empty() {
            return Err(ToolError::validation("The command is empty")
                .suggest("Give a command, for example \"ls -la\"."));
        }
        if self.command.contains('\0') {
            return Err(StartError::Nul.into());
        }
        Ok(())
    }
}

/// A command that was read, and the warnings about it.
fn look(
    mut line: CommandLine,
    context: &CallContext,
    folder: &Path,
) -> Result<(CommandLine, Vec<String>), ToolError> {
    let workspace = context.workspace();
    let temporary = workspace.temporary();
    let roots = workspace.roots().map(|(root, _)| root.to_owned());
    let around = Surroundings {
        folder: folder.to_owned(),
        roots: roots
            .filter(|root| Some(root.as_path()) != temporary)
            .collect(),
        temporary: temporary
            .filter(|_| context.has_own_temporary())
            .map(Path::to_owned),
        home: std::env::home_dir(),
    };
    let danger = Danger::of(&line, &around);
    line.mark(&danger.commands);
    match danger.refusal {
        None => Ok((line, danger.warnings)),
        Some(why) => Err(ToolError::security(format!("The command is blocked: {why}"))
            .suggest("Do not try it in another way. Name exactly what you want to change, inside the workspace.")),
    }
}

impl Bash {
    /// What a command would run, in the shell that it is given to.
    fn read(&self, command: &str) -> CommandLine {
        let name = self.shell.as_ref().and_then(|it| Path::new(it).file_name());
        let is_known = name.is_none_or(|name| COMMON_SHELLS.iter().any(|known| name == *known));
        if is_known {
            CommandLine::read(command)
        } else {
            CommandLine::read_for_another_shell(command)
        }
    }

    fn program(&self, args: &BashArgs, folder: PathBuf) -> Program {
        let program = Program::shell(&args.command, folder);
        match &self.shell {
            Some(shell) => program.run_by(shell),
            None => program,
        }
    }

    /// Starts a job in the background.
    async fn begin(
        &self,
        context: &CallContext,
        args: BashArgs,
        folder: PathBuf,
    ) -> Result<Fields, ToolError> {
        let services = context.services();
        let jobs = services.state.get::<Jobs>();
        let room = jobs.room(&services.activity)?;
        let program = self.program(&args, folder).timeout(self.job_timeout);
        let running = program.together().start_watched(context).await?;
        let kept = context.take_kept();
        let job = jobs.add(room, args.command, running, kept);
        let hint = format!(
            "It runs on, for at most {} s. Read its output with bash_output(job=\"{name}\"), end it with bash_kill(job=\"{name}\").",
            self.job_timeout.as_secs(),
            name = job.name,
        );
        let mut fields = Fields::new();
        fields.insert("job".to_owned(), job.name.clone().into());
        fields.insert("status".to_owned(), "running".into());
        fields.insert("hint".to_owned(), hint.into());
        if args.timeout.is_some() {
            let note = "timeout does not hold for what runs in the background.";
            fields.insert("note".to_owned(), note.into());
        }
        Ok(fields)
    }
}

impl TypedTool for Bash {
    type Args = BashArgs;
    type Output = Fields;

    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Run a command in bash and get its output, errors and exit code. \
        Every call is a new shell: folder and variables do not carry over. There is no terminal and no \
        input, so use flags such as --yes. What it leaves running is ended with it, unless \
        run_in_background is true.";
    const EFFECTS: Effects = Effects::ALL;
    const CLASS: Class = Class::Background;

    fn adapt(&self, args: Arguments) -> Arguments {
        with_working_dir(args)
    }

    fn timeout(&self, args: &BashArgs) -> Option<Duration> {
        Some(args.time().limit)
    }

    fn plan(&self, context: &CallContext, args: &BashArgs) -> Result<Plan, ToolError> {
        args.check()?;
        let folder = args.folder(context)?;
        let (script, warnings) = look(self.read(&args.command), context, &folder)?;
        let summary = match args.said() {
            Some(said) => format!("{}\n\nIt says: {said}", args.command.trim_end()),
            None => args.command.clone(),
        };
        Ok(Plan {
            command: Some((args.command.clone(), folder)),
            runs_on: args.is_job(),
            script: Some(script),
            warnings,
            summary,
            ..Plan::default()
        })
    }

    async fn run(&self, context: &CallContext, args: BashArgs) -> Result<Fields, ToolError> {
        args.check()?;
        let folder = args.folder(context)?;
        if args.is_job() {
            return self.begin(context, args, folder).await;
        }
        let Time { limit, note } = args.time();
        let program = self.program(&args, folder).timeout(limit);
        let ended = program.run(context).await?;
        result::of(&ended, limit, note, self.nonzero)
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        result::preview(result, max_lines)
    }
}
