//! The configuration: `ptk.toml` of the workspace or a file that the user
//! names, and the user's own.
//!
//! [`Settings`] are made once for each command. They read and parse each file
//! once, and decide which settings of a file that is not trusted count. Each
//! command asks them for the sections it needs; a section that no command knows
//! is an error.

mod file;
#[cfg(feature = "mcp")]
mod mcp;
mod mistakes;
mod models;
mod permissions;
mod root;
mod sections;
mod tools;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Result, bail, ensure};
use ptk::store::Retention;
use ptk_protocol::dialects::Registry;
use ptk_tools::Sandbox;

use self::file::{ConfigFile, FILE, Section, Sections};
#[cfg(feature = "mcp")]
pub(crate) use self::mcp::{ConfiguredServer, Standing};
pub(crate) use self::models::{DeclaredModel, DeclaredModels};
use self::permissions::Origin;
pub(crate) use self::permissions::WorkspacePermissions;
#[cfg(feature = "browser")]
use self::sections::BrowserOptions;
pub(crate) use self::sections::{
    CallsName, CompactionName, Helper, Limits, MAX_ITERATIONS, MAX_TOOL_CALLS, Run,
};
use self::tools::Named;
pub(crate) use self::tools::Tools;
use self::trust::Trust;
pub(crate) use self::trust::Withheld;
use crate::args::{ConfigArgs, SandboxArgs};

/// The settings of one command.
#[derive(Debug)]
pub(crate) struct Settings {
    folder: PathBuf,
    /// The file that the user named, or else the workspace's.
    file: ConfigFile,
    origin: Origin,
    /// The user's own file. Read when it is first needed: a mistake in it does
    /// not stop commands that need nothing of it.
    user: OnceLock<ConfigFile>,
    /// Gathered when they are first needed, for the same reason.
    permissions: OnceLock<WorkspacePermissions>,
}

impl Settings {
    /// Reads the file of `--config` or `PTK_CONFIG`, or else the workspace's
    /// `ptk.toml`, if there is one.
    pub(crate) fn read(args: &ConfigArgs) -> Result<Self> {
        let (file, origin) = if let Some(path) = named(args) {
            (ConfigFile::read(path)?, Origin::Named)
        } else {
            let file = of_workspace(args)?.with_project(&workspace_folder(args))?;
            (file, Origin::Workspace)
        };
        Ok(Self {
            folder: workspace_folder(args),
            file,
            origin,
            user: OnceLock::new(),
            permissions: OnceLock::new(),
        })
    }

    /// The folder of the workspace.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The display name of the file.
    pub(crate) fn name(&self) -> String {
        self.file.name()
    }

    /// The name of what `ptk permissions trust` is about.
    pub(crate) fn trusted_name(&self) -> String {
        self.file.trusted_name()
    }

    /// Whether the user's own settings of runs count, too.
    pub(crate) fn has_user_run(&self) -> bool {
        self.origin == Origin::Workspace
    }

    /// A hash of the file's content: trust applies to this content only.
    pub(crate) fn fingerprint(&self) -> String {
        self.file.fingerprint()
    }

    /// The permissions of the workspace.
    pub(crate) fn permissions(&self) -> Result<&WorkspacePermissions> {
        get_or_try_init(&self.permissions, || {
            WorkspacePermissions::gather(&self.file, self.origin, &self.folder)
        })
    }

    /// The permissions of the workspace, after a check that their rules name
    /// tools. The user's own rules may be about tools of other workspaces:
    /// there, only a name that is like that of a tool is wrong.
    pub(crate) fn checked_permissions(&self, tools: &Tools) -> Result<&WorkspacePermissions> {
        let here = self.permissions()?;
        let own = here.file.as_ref().map(|it| it.path().display().to_string());
        for entry in &here.entries {
            let is_own = own.as_ref() == Some(&entry.source);
            let is_wrong = match tools.named(&entry.rule) {
                Named::Known => false,
                Named::Like(_) => true,
                Named::Unknown => !is_own,
            };
            if is_wrong && let Some(unknown) = tools.unknown_in(&entry.rule) {
                bail!("{}: the rule `{}`: {unknown}", entry.source, entry.rule);
            }
        }
        Ok(here)
    }

    /// The settings of runs: those of the file first, then the user's own.
    pub(crate) fn run(&self) -> Result<Run> {
        let own = self.file.run()?;
        let user = self.user_run()?;
        let own = if self.is_trusted()? {
            own
        } else {
            trust::run(own, &user, &mut Vec::new())
        };
        Ok(own.or(user))
    }

    /// The limits of tool calls: those of the file first, then the user's own.
    pub(crate) fn limits(&self) -> Result<Limits> {
        let own = self.file.sections.limits.get_or_default()?;
        let user = self.user_limits()?;
        let own = if self.is_trusted()? {
            own
        } else {
            trust::limits(own, &user, &mut Vec::new())
        };
        Ok(own.or(user))
    }

    /// The configured models: the user's own, and those of a trusted file,
    /// because prompts are sent to them.
    pub(crate) fn models(&self) -> Result<DeclaredModels> {
        let mut models = match self.origin {
            Origin::Named => DeclaredModels::default(),
            Origin::Workspace => self.user()?.models()?,
        };
        let own = self.file.models()?;
        if self.is_trusted()? {
            models.extend(own);
        }
        Ok(models)
    }

    /// The helper model: that of a trusted file, or the user's own.
    pub(crate) fn helper(&self) -> Result<Option<Helper>> {
        let own = self.file.sections.helper.get()?;
        if self.origin == Origin::Named || (own.is_some() && self.is_trusted()?) {
            return Ok(own);
        }
        self.user()?.sections.helper.get()
    }

    /// The undo settings: those of a trusted file, or the user's own.
    pub(crate) fn undo(&self) -> Result<ptk_undo::Options> {
        let is_trusted = self.is_trusted()?;
        match self.file.sections.undo.get()? {
            Some(own) if is_trusted => Ok(own),
            _ => self.user()?.sections.undo.get_or_default(),
        }
    }

    /// The sandbox settings: flags first, then the user's own.
    pub(crate) fn sandbox(&self, args: &SandboxArgs) -> Result<Sandbox> {
        let sandbox = self.user_only(|it| &it.sandbox, "what its own commands may do")?;
        Ok(Sandbox {
            enabled: sandbox.enabled && !args.no_sandbox,
            network: sandbox.network || args.network,
            ..sandbox
        })
    }

    /// Which sessions to keep.
    pub(crate) fn retention(&self) -> Result<Retention> {
        let sessions = self.user_only(|it| &it.sessions, "how long yours are kept")?;
        Ok(sessions.retention())
    }

    /// The described pages.
    #[cfg(feature = "browser")]
    pub(crate) fn pages(&self) -> Result<Vec<ptk_browser::Page>> {
        self.user_only(|it| &it.pages, "which pages are opened")
    }

    /// The settings of the browser, which is where the user is logged in.
    #[cfg(feature = "browser")]
    pub(crate) fn browser(&self) -> Result<BrowserOptions> {
        self.user_only(|it| &it.browser, "how pages are opened")
    }

    /// The dialects for commands that run nothing: the built-in ones, and those
    /// that the file declares, trusted or not.
    pub(crate) fn dialects(&self) -> Result<Registry> {
        self.file.dialects()
    }

    /// The dialects for replies whose calls are run: a declared one may take a
    /// quotation for a call, so it counts only in a trusted file.
    pub(crate) fn dialects_to_run(&self) -> Result<Registry> {
        let all = self.dialects()?;
        Ok(if self.is_trusted()? {
            all
        } else {
            Registry::builtin()
        })
    }

    /// The built-in tools and the declared ones, and how they show code.
    pub(crate) fn tools(&self) -> Result<Tools> {
        tools::available(&self.file, self.is_trusted()?)
    }

    /// The settings of the file that do not count because it is not trusted.
    pub(crate) fn withheld(&self) -> Result<Vec<Withheld>> {
        match self.permissions()?.trust {
            Trust::Full => Ok(Vec::new()),
            Trust::AllButPermissions => trust::withheld_permissions(&self.file),
            Trust::StricterOnly => {
                trust::withheld(&self.file, &self.user_run()?, &self.user_limits()?)
            }
        }
    }

    /// A note about settings that do not count, if there are such among those
    /// that a command uses.
    pub(crate) fn note(&self, is_used: impl Fn(&Withheld) -> bool) -> Result<Option<String>> {
        let mut withheld = self.withheld()?;
        withheld.retain(is_used);
        Ok(trust::note(&self.trusted_name(), &withheld))
    }

    /// Whether the file's settings count, apart from permissions.
    fn is_trusted(&self) -> Result<bool> {
        Ok(self.permissions()?.trust != Trust::StricterOnly)
    }

    /// The user's own settings of runs. They do not add to a file that the user
    /// named.
    fn user_run(&self) -> Result<Run> {
        match self.origin {
            Origin::Named => Ok(Run::default()),
            Origin::Workspace => self.user()?.run(),
        }
    }

    fn user_limits(&self) -> Result<Limits> {
        match self.origin {
            Origin::Named => Ok(Limits::default()),
            Origin::Workspace => self.user()?.sections.limits.get_or_default(),
        }
    }

    /// A section that a workspace's file cannot have, because it may come from
    /// someone else. `what` the section says is for the error.
    fn user_only<T: Clone + Default>(
        &self,
        section: impl Fn(&Sections) -> &Section<T>,
        what: &str,
    ) -> Result<T> {
        let own = section(&self.file.sections);
        if self.origin == Origin::Named {
            return own.get_or_default();
        }
        own.refuse(what)?;
        section(&self.user()?.sections).get_or_default()
    }

    /// The user's own file.
    fn user(&self) -> Result<&ConfigFile> {
        get_or_try_init(&self.user, of_user)
    }
}

/// The value of a cell, which is computed if there is none yet. An error is not
/// kept.
fn get_or_try_init<T>(cell: &OnceLock<T>, init: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = init()?;
    Ok(cell.get_or_init(|| value))
}

/// The workspace's file.
fn of_workspace(args: &ConfigArgs) -> Result<ConfigFile> {
    let path = match named_workspace(args) {
        Some(folder) => {
            ensure!(
                folder.is_dir(),
                "the workspace {} is not a folder",
                folder.display()
            );
            folder.join(FILE)
        }
        None => project().map_or_else(|| PathBuf::from(FILE), |root| root.join(FILE)),
    };
    ConfigFile::read_if_there(path)
}

/// The user's own file.
fn of_user() -> Result<ConfigFile> {
    match user_path() {
        Some(path) => ConfigFile::read_if_there(path),
        None => ConfigFile::empty(),
    }
}

/// The path of the user's own file, if there is a folder for it.
pub(crate) fn user_path() -> Option<PathBuf> {
    Some(ptk_sandbox::config_folder()?.join(FILE))
}

/// The folder of the workspace, for commands that need nothing else.
pub(crate) fn workspace_folder(args: &ConfigArgs) -> PathBuf {
    let here = || PathBuf::from(".");
    named_workspace(args).unwrap_or_else(|| project().unwrap_or_else(here))
}

/// The root of the project that the current folder is in; `None` if that is
/// this folder itself.
pub(crate) fn project() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let root = root::find(&here)?;
    (root != here.canonicalize().ok()?).then_some(root)
}

/// The folder in the workspace in which the command was started, if it is not
/// the workspace itself.
pub(crate) fn subfolder(workspace: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    let below = here.strip_prefix(workspace.canonicalize().ok()?).ok()?;
    (!below.as_os_str().is_empty()).then(|| below.to_owned())
}

/// The configuration that was named, if one was.
fn named(args: &ConfigArgs) -> Option<PathBuf> {
    args.config.clone().or_else(|| variable("PTK_CONFIG"))
}

/// The workspace that was named, if one was.
fn named_workspace(args: &ConfigArgs) -> Option<PathBuf> {
    args.workspace.clone().or_else(|| variable("PTK_WORKSPACE"))
}

fn variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}
