//! A call that is to be judged, and the files that it is about.

use std::path::{Component, Path, PathBuf};

use ptk_sandbox::{Place, Workspace};

use crate::Plan;
use crate::danger::Surroundings;
use crate::git;
use crate::runs_later::{self, RunsLater};
use crate::shell::{CommandLine, RedirectMode, ShellCommand, Word};

/// Where output may go without anything being written.
const NOWHERE: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];
/// Programs that write, or remove, what their arguments name.
const WRITERS: [&str; 9] = [
    "tee", "truncate", "touch", "rm", "rmdir", "unlink", "shred", "mkdir", "srm",
];
/// Those of them that leave nothing behind which could run.
const REMOVERS: [&str; 6] = ["rm", "rmdir", "unlink", "shred", "srm", "mkdir"];
/// Programs that write what their last argument names.
const COPIERS: [&str; 6] = ["cp", "mv", "install", "ln", "rsync", "scp"];
/// Programs that write, by their options or by where their arguments stand.
const WRITES_BY_OPTION: [&str; 11] = [
    "sed", "dd", "curl", "wget", "sort", "cp", "mv", "install", "ln", "rsync", "scp",
];
/// Programs after which a path may lead somewhere else than before.
const REARRANGERS: [&str; 8] = ["ln", "link", "mount", "mv", "tar", "unzip", "rsync", "cpio"];
/// Programs that reveal nothing of what is in a file.
const BLIND: [&str; 11] = [
    "ls", "stat", "test", "[", "cd", "echo", "printf", "mkdir", "rmdir", "du", "touch",
];

/// A call that is to be judged.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) tool: &'a str,
    pub(super) plan: &'a Plan,
    pub(super) workspace: &'a Workspace,
}

/// Warnings about the files that a call writes and that take effect later.
#[must_use]
pub fn later_warnings(plan: &Plan, workspace: &Workspace) -> Vec<String> {
    let call = Call {
        tool: "",
        plan,
        workspace,
    };
    let files = call.written_for_later().into_iter();
    let mut warnings: Vec<String> = files
        .map(|(path, known)| known.warning(&path.display().to_string()))
        .collect();
    warnings.dedup();
    warnings
}

/// The files that a call is known to write and that take effect later. Allowing
/// the call allows that.
#[must_use]
pub fn later_files(plan: &Plan, workspace: &Workspace) -> Vec<PathBuf> {
    let call = Call {
        tool: "",
        plan,
        workspace,
    };
    let files = call.written_for_later().into_iter();
    files.map(|(path, _)| workspace.root().join(path)).collect()
}

/// A file that a command is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// This file, as rules write it. A folder stands for what is in it, too.
    Path(PathBuf),
    /// This file, where no tool may write.
    Outside(PathBuf),
    /// A file that is not known before the command runs.
    Unknown,
}

impl Call<'_> {
    /// A place as rules write it: relative to the workspace, or absolute, and
    /// without links. `None` where a link leads nowhere that is known.
    pub(super) fn path_of(&self, place: &Place) -> Option<PathBuf> {
        Some(self.as_written(place.real().ok()?.absolute()))
    }

    fn as_written(&self, path: PathBuf) -> PathBuf {
        let relative = path.strip_prefix(self.workspace.root()).map(Path::to_owned);
        relative.unwrap_or(path)
    }

    /// The files that the call is known to write and that take effect later,
    /// outside the sandbox.
    pub(super) fn written_for_later(&self) -> Vec<(PathBuf, &'static RunsLater)> {
        let places = self.plan.writes.iter().filter_map(|place| {
            let is_inside = place.root() == self.workspace.root();
            is_inside.then(|| {
                let path = self.path_of(place);
                path.unwrap_or_else(|| place.relative().to_owned())
            })
        });
        let script = self.plan.script.iter();
        let commands = script.flat_map(|it| it.commands().iter().chain(it.suspected()));
        let targets = commands.flat_map(|command| {
            let name = command.name().unwrap_or_default();
            if REMOVERS.contains(&name) {
                self.redirected_to(command)
            } else {
                self.written(command)
            }
        });
        let named = targets.filter_map(|target| match target {
            Target::Path(path) => Some(path),
            Target::Outside(_) | Target::Unknown => None,
        });
        let script = self.plan.script.iter();
        let commands = script.flat_map(|it| it.commands().iter().chain(it.suspected()));
        let settings = commands.flat_map(git::settings_written);
        let paths = places.chain(named).chain(settings);
        let paths = paths.filter(|path| path.is_relative());
        let root = self.workspace.root();
        let later = paths.filter_map(|path| {
            let known = runs_later::in_workspace(root, &path)?;
            Some((path, known))
        });
        later.collect()
    }

    /// Whether the command starts in the workspace.
    pub(super) fn is_inside(&self) -> bool {
        let folder = self.plan.command.as_ref().map(|(_, folder)| folder);
        folder.is_none_or(|folder| folder.starts_with(self.workspace.root()))
    }

    /// What a command writes: what it is redirected to, and what it is known to
    /// write by its arguments.
    pub(super) fn written(&self, command: &ShellCommand) -> Vec<Target> {
        let mut targets = self.redirected_to(command);
        let args = || command.args().iter();
        let plain = || args().filter(|arg| !arg.start().starts_with('-'));
        let is_unclear = args().any(Word::begins_unknown);
        match command.name().unwrap_or_default() {
            // Any program may write what its arguments name.
            "" if !command.words().is_empty() => targets.push(Target::Unknown),
            name if is_unclear && WRITES_BY_OPTION.contains(&name) => {
                targets.push(Target::Unknown);
            }
            name if WRITERS.contains(&name) => {
                targets.extend(plain().map(|arg| self.target(arg, command)));
            }
            "sed" if args().any(|arg| is_in_place(arg.start())) => {
                targets.extend(plain().map(|arg| self.target(arg, command)));
            }
            "dd" => {
                let files = args().filter_map(|arg| arg.without("of="));
                targets.extend(files.map(|file| self.target(&file, command)));
            }
            "curl" | "wget" | "sort" => {
                let files = value_of(command.args(), &["-o", "-O", "--output"]);
                targets.extend(files.map(|file| self.target(&file, command)));
            }
            name if COPIERS.contains(&name) => self.copied(name, command, &mut targets),
            _ => {}
        }
        targets
    }

    /// What `cp a b folder` writes, and what `mv` takes away.
    fn copied(&self, name: &str, command: &ShellCommand, targets: &mut Vec<Target>) {
        let plain = command.args().iter();
        let plain: Vec<&Word> = plain.filter(|arg| !arg.start().starts_with('-')).collect();
        let named = value_of(command.args(), &["-t", "--target-directory"]).next();
        let last = plain.last().map(|last| (*last).clone());
        let Some(into) = named.or(last) else {
            return;
        };
        let Some(folder) = self.absolute(&into, command) else {
            targets.push(Target::Unknown);
            return;
        };
        for source in plain {
            let name = source.literal().map(Path::new).and_then(Path::file_name);
            let path = match name {
                Some(name) if folder.is_dir() => self.real(&folder.join(name)),
                _ => None,
            };
            targets.extend(path);
        }
        targets.push(self.target(&into, command));
        if name == "mv" {
            let moved = command.args().iter();
            let moved = moved.filter(|arg| !arg.start().starts_with('-'));
            targets.extend(moved.map(|arg| self.target(arg, command)));
        }
    }

    /// What a command is known to read by its arguments.
    pub(super) fn read(&self, command: &ShellCommand) -> Vec<Target> {
        let mut targets = self.redirected(command, |mode| mode == RedirectMode::Read);
        let name = command.name().unwrap_or_default();
        if BLIND.contains(&name) {
            return targets;
        }
        for arg in command.args() {
            let start = arg.start();
            let behind = start.split_once(['=', '@']).and_then(|(before, _)| {
                let prefix = start.get(..=before.len())?;
                arg.without(prefix)
            });
            for word in std::iter::once(arg).chain(&behind) {
                let files = self.files(word, command);
                match files {
                    Some(files) => targets.extend(files),
                    None => targets.push(Target::Unknown),
                }
            }
        }
        targets
    }

    /// The files that a command is redirected to.
    pub(super) fn redirected_to(&self, command: &ShellCommand) -> Vec<Target> {
        self.redirected(command, |mode| mode != RedirectMode::Read)
    }

    fn redirected(
        &self,
        command: &ShellCommand,
        is_meant: fn(RedirectMode) -> bool,
    ) -> Vec<Target> {
        let redirects = command.redirects().iter();
        let redirects = redirects.filter(|redirect| is_meant(redirect.mode()));
        let targets = redirects.map(crate::shell::Redirect::target);
        let is_nowhere = |target: &Word| target.literal().is_some_and(|it| NOWHERE.contains(&it));
        let targets = targets.filter(|target| !is_nowhere(target));
        let targets = targets.map(|target| self.target(target, command));
        targets.collect()
    }

    /// The file that a word means.
    fn target(&self, word: &Word, command: &ShellCommand) -> Target {
        let files = self.files(word, command).unwrap_or_default();
        let mut files = files.into_iter();
        match (files.next(), files.next()) {
            (Some(file), None) if !self.is_rearranged_beside(command) => file,
            _ => Target::Unknown,
        }
    }

    /// Whether another command of the line may change where paths lead.
    fn is_rearranged_beside(&self, command: &ShellCommand) -> bool {
        let commands = self.plan.script.iter().flat_map(CommandLine::commands);
        let mut others = commands.filter(|it| !std::ptr::eq(*it, command));
        others.any(|it| it.name().is_some_and(|name| REARRANGERS.contains(&name)))
    }

    fn around(&self) -> Option<Surroundings> {
        let (_, folder) = self.plan.command.as_ref()?;
        Some(Surroundings {
            folder: folder.clone(),
            roots: Vec::new(),
            temporary: None,
            home: std::env::home_dir(),
        })
    }

    fn absolute(&self, word: &Word, command: &ShellCommand) -> Option<PathBuf> {
        self.around()?.path(word, &command.folder)
    }

    /// The files that a word means, where they really are.
    fn files(&self, word: &Word, command: &ShellCommand) -> Option<Vec<Target>> {
        let files = self.around()?.files(word, &command.folder)?;
        files.iter().map(|file| self.real(file)).collect()
    }

    /// A path as rules write it. `None` where it is not sure which that is.
    fn real(&self, path: &Path) -> Option<Target> {
        let has_dots = path.components().any(|part| part == Component::ParentDir);
        let path = match (has_dots, path.parent(), path.file_name()) {
            (true, Some(parent), Some(name)) => parent.canonicalize().ok()?.join(name),
            (true, ..) => return None,
            _ => path.to_owned(),
        };
        if let Ok(place) = self.workspace.place(&path) {
            return self.path_of(&place).map(Target::Path);
        }
        if path.is_symlink() {
            return path.canonicalize().ok().map(Target::Outside);
        }
        let known = path.ancestors().find(|folder| folder.exists())?;
        let rest = path.strip_prefix(known).ok()?;
        Some(Target::Outside(known.canonicalize().ok()?.join(rest)))
    }

    /// Whether a command that goes to a folder stays in the workspace.
    pub(super) fn stays(&self, command: &ShellCommand) -> bool {
        let folders = command.args().iter().filter_map(|arg| {
            let path = self.absolute(arg, command)?;
            path.canonicalize().ok()
        });
        let mut folders = folders.filter(|_| command.name() == Some("cd"));
        folders.all(|folder| folder.starts_with(self.workspace.root()))
    }
}

fn is_in_place(option: &str) -> bool {
    option.starts_with("--in-place")
        || option.starts_with('-') && !option.starts_with("--") && option.contains('i')
}

/// The values of an option: `-o x`, `-ox`, `--output=x`, `--output x`.
fn value_of(args: &[Word], options: &'static [&'static str]) -> impl Iterator<Item = Word> {
    args.iter().enumerate().filter_map(|(at, arg)| {
        let next = || args.get(at + 1).cloned();
        let option = options.iter().find(|it| arg.start().starts_with(**it))?;
        if arg.is(option) {
            return next();
        }
        let long = arg.without(&format!("{option}="));
        long.or_else(|| arg.without(option).filter(|_| option.len() == 2))
    })
}
