//! Whole trees that are removed, or get other rights.

use std::path::{Path, PathBuf};

use super::Inspector;
use super::targets::{Amount, Location, is_everything, size};
use crate::shell::{ShellCommand, Word};

impl Inspector<'_> {
    /// Checks what `rm` removes, and how much that is.
    pub(super) fn removal(&mut self, name: &str, command: &ShellCommand) {
        let args = command.args();
        let end = args.iter().position(|arg| arg.is("--"));
        let options = || args.iter().take(end.unwrap_or(args.len()));
        if options().any(|arg| arg.is("--no-preserve-root")) {
            self.refuse("--no-preserve-root lets rm remove the whole machine");
            return;
        }
        let is_recursive = options().any(is_recursive);
        let is_target = |at: usize, arg: &Word| {
            let is_behind = end.is_some_and(|end| at > end);
            is_behind || !arg.start().starts_with('-')
        };
        let targets = args.iter().enumerate();
        let targets = targets.filter(|(at, arg)| is_target(*at, arg));
        let targets: Vec<&Word> = targets.map(|(_, arg)| arg).collect();
        for target in targets {
            self.removed(name, target, command, is_recursive);
        }
    }

    fn removed(&mut self, name: &str, target: &Word, command: &ShellCommand, is_recursive: bool) {
        if is_recursive && is_everything(target) {
            self.refuse(format!("rm -r {target} removes the whole machine"));
            return;
        }
        let emptied = self.around.emptied(target, &command.folder);
        if let Some(folder) = emptied.filter(|_| is_recursive && !self.is_suspected)
            && !matches!(
                self.around.lies(&folder),
                Location::Inside | Location::Outside
            )
        {
            let shown = self.around.shown(&folder);
            self.refuse(format!("{name} -r {target} removes everything in {shown}"));
            return;
        }
        let Some(files) = self.around.files(target, &command.folder) else {
            self.warn(format!(
                "what {name} removes with {target} is not known before it runs"
            ));
            return;
        };
        // Without -r, folders stay.
        let is_removed = |path: &PathBuf| is_recursive || !path.is_dir() || path.is_symlink();
        let files: Vec<PathBuf> = files.into_iter().filter(is_removed).collect();
        for file in &files {
            if let Some(why) = self.out_of_bounds(file, "removes", name) {
                self.refuse(why);
                return;
            }
        }
        self.warn(self.deleted(name, target, &files));
    }

    /// Why a whole tree there must not be touched.
    fn out_of_bounds(&self, path: &Path, does: &str, name: &str) -> Option<String> {
        let path_shown = path.display();
        match self.around.lies(path) {
            Location::Everything => Some(format!("{name} {does} the whole machine")),
            Location::Home => Some(format!("{name} {does} the home folder, {path_shown}")),
            Location::Workspace => {
                Some(format!("{name} {does} the workspace itself, {path_shown}"))
            }
            Location::Outside => Some(format!("{name} {does} {path_shown}, outside the workspace")),
            Location::Inside => None,
        }
    }

    /// A warning of how much is deleted.
    fn deleted(&self, name: &str, target: &Word, files: &[PathBuf]) -> String {
        let existing = |path: &&PathBuf| path.symlink_metadata().is_ok();
        let existing: Vec<&PathBuf> = files.iter().filter(existing).collect();
        match existing.as_slice() {
            [] => format!("{name} would delete {target}, but there is nothing of that name now"),
            [file] if !file.is_dir() || file.is_symlink() => {
                let length = file.symlink_metadata().map_or(0, |it| it.len());
                let shown = self.around.shown(file);
                format!("{name} would delete {shown} ({})", size(length))
            }
            [folder] => {
                let amount = Amount::of(files);
                format!(
                    "{name} would delete {amount}, in {}/",
                    self.around.shown(folder)
                )
            }
            _ => {
                let amount = Amount::of(files);
                format!("{name} would delete {amount}, for {target}")
            }
        }
    }

    /// Checks `find` with an action that removes.
    pub(super) fn find(&mut self, command: &ShellCommand) {
        let args = command.args();
        let is_removed = args.iter().any(|arg| arg.is("-delete"))
            || args.windows(2).any(|pair| match pair {
                [action, program] => {
                    action.start().starts_with("-exec")
                        && matches!(program.start(), "rm" | "/bin/rm" | "shred" | "unlink")
                }
                _ => false,
            });
        if !is_removed {
            if let Some(arg) = args.iter().find(|arg| arg.begins_unknown()) {
                self.warn(format!(
                    "what find does with {arg} is not known before it runs"
                ));
            }
            return;
        }
        let is_expression = |arg: &&Word| arg.start().starts_with(['-', '(', '!']);
        let is_option = |arg: &&Word| {
            let text = arg.start();
            matches!(text, "-H" | "-L" | "-P") || text.starts_with("-O")
        };
        let options = args.iter().take_while(is_option).count();
        let args = args.get(options..).unwrap_or_default();
        let starts: Vec<Word> = args
            .iter()
            .take_while(|arg| !is_expression(arg))
            .cloned()
            .collect();
        let starts = if starts.is_empty() {
            vec![Word::plain(".")]
        } else {
            starts
        };
        for start in &starts {
            let Some(files) = self.around.files(start, &command.folder) else {
                self.warn(format!(
                    "what find removes in {start} is not known before it runs"
                ));
                continue;
            };
            for file in &files {
                let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
                let is_whole = args.iter().skip(starts.len()).all(is_no_condition);
                match self.around.lies(&file) {
                    Location::Inside => {}
                    // It has a condition, and there it may look.
                    Location::Workspace if !is_whole && self.around.roots.contains(&file) => {}
                    _ => {
                        let why = self.out_of_bounds(&file, "removes from", "find");
                        self.refuse(why.unwrap_or_default());
                    }
                }
            }
            let amount = Amount::of(&files);
            self.warn(format!(
                "find would delete what it finds among {amount}, in {start}"
            ));
        }
    }

    /// Checks a change of rights or owners of a whole tree.
    pub(super) fn changed(&mut self, name: &str, command: &ShellCommand) {
        let is_recursive = |arg: &Word| {
            let text = arg.start();
            match text.strip_prefix("--") {
                Some(long) => long.len() > 2 && "recursive".starts_with(long),
                None => text.starts_with('-') && text.contains('R'),
            }
        };
        if !command.args().iter().any(is_recursive) {
            return;
        }
        let words = command
            .args()
            .iter()
            .filter(|arg| !arg.start().starts_with('-'));
        for target in words.skip(1) {
            if is_everything(target) {
                self.refuse(format!("{name} -R {target} changes the whole machine"));
                return;
            }
            let Some(files) = self.around.files(target, &command.folder) else {
                self.warn(format!(
                    "what {name} changes with {target} is not known before it runs"
                ));
                continue;
            };
            for file in files {
                let is_root = self.around.roots.contains(&file);
                if let Some(why) = self
                    .out_of_bounds(&file, "changes", name)
                    .filter(|_| !is_root)
                {
                    self.refuse(why);
                }
            }
        }
    }
}

/// Whether an argument of `find` leaves nothing out that lies below a folder.
fn is_no_condition(arg: &Word) -> bool {
    let text = arg.start();
    let is_depth = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    matches!(
        text,
        "-delete" | "-print" | "-depth" | "-mindepth" | "-maxdepth" | "-xdev" | "-mount"
    ) || arg.literal().is_some_and(is_depth)
}

fn is_recursive(arg: &Word) -> bool {
    let text = arg.start();
    match text.strip_prefix("--") {
        Some(long) => long.len() > 2 && "recursive".starts_with(long),
        None => text.starts_with('-') && text.contains(['r', 'R']),
    }
}
