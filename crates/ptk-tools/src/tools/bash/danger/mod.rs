//! What a command is about to destroy (R252, R273). Some commands are never
//! run, because nothing good comes of them; of others a person is told what
//! they would do, and to how much.
//!
//! The words of the command are looked at, not its text: `rm -rf /tmp/x` and
//! `echo "rm -rf /"` are harmless. This guards against accidents, not against
//! malice, which has a hundred other ways; against that stands the sandbox.

mod programs;
mod secrets;
mod targets;

use std::path::PathBuf;

pub(crate) use programs::plain_args;
pub(crate) use targets::Surroundings;

use self::targets::{Amount, Lies, is_everything, real, size};
use crate::shell::{CommandLine, RedirectMode, Role, Simple, Word, is_shell, is_standard_input};

/// Devices that take everything and harm nobody.
const HARMLESS: [&str; 6] = ["null", "stdout", "stderr", "full", "zero", "tty"];
/// Programs that fetch from elsewhere.
const DOWNLOADERS: [&str; 6] = ["curl", "wget", "fetch", "aria2c", "http", "nc"];
/// Programs that run what they are fed.
const INTERPRETERS: [&str; 10] = [
    "python", "python3", "perl", "ruby", "node", "php", "eval", "source", ".", "deno",
];
/// Programs that stop the machine.
const STOPPERS: [&str; 4] = ["shutdown", "reboot", "halt", "poweroff"];
/// Programs that make or wipe file systems.
const WIPERS: [&str; 7] = [
    "mkfs",
    "mkswap",
    "wipefs",
    "fdisk",
    "sfdisk",
    "parted",
    "blkdiscard",
];
/// How much of a command is shown in a warning.
const MAX_SHOWN: usize = 80;

/// What is dangerous about a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Danger {
    /// Why it must not run, if so.
    pub(crate) refusal: Option<String>,
    /// What somebody should know before agreeing.
    pub(crate) warnings: Vec<String>,
    /// Which commands the warnings are about, one by one.
    pub(crate) commands: Vec<bool>,
}

impl Danger {
    /// Looks at every command of a line.
    pub(crate) fn of(line: &CommandLine, around: &Surroundings) -> Self {
        let mut look = Look {
            around,
            danger: Self::default(),
            is_repeated: false,
        };
        if line.is_fork_bomb() {
            look.refuse("it starts copies of itself until the machine stands still");
        }
        for command in line.commands() {
            let before = look.danger.warnings.len();
            look.is_repeated = false;
            look.command(command);
            let is_dangerous = look.danger.warnings.len() > before || look.is_repeated;
            look.danger.commands.push(is_dangerous);
            look.elsewhere(command);
        }
        if !line.is_whole() {
            look.warn("a part of the command could not be read; look at it closely".to_owned());
        }
        look.danger
    }
}

/// A look at commands, one after the other.
struct Look<'a> {
    around: &'a Surroundings,
    danger: Danger,
    /// Whether the same was said of a command before.
    is_repeated: bool,
}

impl Look<'_> {
    fn refuse(&mut self, why: impl Into<String>) {
        self.danger.refusal.get_or_insert(why.into());
    }

    fn warn(&mut self, what: String) {
        if self.danger.warnings.contains(&what) {
            self.is_repeated = true;
        } else {
            self.danger.warnings.push(what);
        }
    }

    /// Looks at a command in every folder that it may run in. One of them is
    /// enough to refuse it.
    fn elsewhere(&mut self, command: &Simple) {
        for folder in command.folder.candidates() {
            let mut look = Look {
                around: self.around,
                danger: Danger::default(),
                is_repeated: false,
            };
            look.command(&Simple {
                folder,
                ..command.clone()
            });
            self.danger.refusal = self.danger.refusal.take().or(look.danger.refusal);
        }
    }

    fn command(&mut self, command: &Simple) {
        self.redirects(command);
        if command.words.is_empty() {
            return;
        }
        if let Some(secret) = secrets::named_by(command, self.around) {
            self.refuse(secret);
        }
        self.run_unseen(command);
        let Some(name) = command.name() else {
            return;
        };
        match name {
            "rm" | "rmdir" | "unlink" | "srm" => self.removal(name, command),
            "dd" => self.copied(command),
            "find" => self.find(command),
            "mv" | "cp" | "install" | "ln" => self.moved(name, command),
            "tee" | "truncate" => self.written_by_name(name, command),
            "chmod" | "chown" | "chgrp" => self.changed(name, command),
            "init" | "telinit" if has_any(command, &["0", "6"]) => {
                self.refuse(format!("{name} stops the machine"));
            }
            "systemctl" if has_any(command, &["poweroff", "reboot", "halt", "kexec"]) => {
                self.refuse("systemctl stops the machine");
            }
            _ if changes_permissions(name, command) => {
                self.refuse("only a person changes what is allowed");
            }
            _ if STOPPERS.contains(&name) => self.refuse(format!("{name} stops the machine")),
            _ if WIPERS.contains(&name) || name.starts_with("mkfs.") => {
                self.refuse(format!("{name} wipes a whole file system"));
            }
            _ => {}
        }
        if let Some(warning) = programs::warning(command) {
            self.warn(warning);
        }
    }

    /// Text that is run without anybody seeing it before.
    fn run_unseen(&mut self, command: &Simple) {
        let Some(name) = command.name() else {
            let shown = shortened(&command.shown());
            self.warn(format!(
                "which program runs in `{shown}` is not known before it runs"
            ));
            return;
        };
        let has_script = command.args().iter().any(|arg| {
            let file = arg.literal().filter(|it| !it.starts_with('-'));
            file.is_some_and(|file| !is_standard_input(file))
        });
        let is_fed =
            is_shell(name) && command.role == Role::Blind || is_interpreter(name) && !has_script;
        let downloader = command
            .fed_by
            .iter()
            .find(|it| DOWNLOADERS.contains(&it.as_str()));
        match downloader {
            Some(downloader) if is_fed => {
                self.refuse(format!("{name} runs what {downloader} fetches, unseen"));
            }
            _ if command.role == Role::Blind || is_fed && !command.fed_by.is_empty() => {
                self.warn(format!("what {name} runs cannot be seen before it runs"));
            }
            _ => {}
        }
    }

    fn redirects(&mut self, command: &Simple) {
        let by = command.name().unwrap_or("it").to_owned();
        for redirect in &command.redirects {
            if redirect.mode != RedirectMode::Read {
                let is_emptied = redirect.mode == RedirectMode::Write;
                self.written(&by, &redirect.target, command, is_emptied);
            }
        }
    }

    /// A file that is written, and emptied before.
    fn written(&mut self, by: &str, target: &Word, command: &Simple, is_emptied: bool) {
        let Some(path) = self.around.path(target, &command.folder) else {
            self.warn(format!(
                "which file {by} writes with {target} is not known before it runs"
            ));
            return;
        };
        let path = real(&path);
        if let Some(device) = device(&path) {
            self.refuse(format!("{by} would overwrite the device {device}"));
            return;
        }
        if path.starts_with("/dev") {
            return;
        }
        let shown = self.around.shown(&path);
        if self.around.lies(&path) != Lies::Inside {
            self.warn(format!("{by} would write {shown}, outside the workspace"));
        }
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file);
        if let Some(metadata) = metadata.filter(|it| is_emptied && it.len() > 0) {
            let size = size(metadata.len());
            self.warn(format!("{by} would overwrite {shown} ({size})"));
        }
    }

    /// What `rm` removes, and how much that is.
    fn removal(&mut self, name: &str, command: &Simple) {
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

    fn removed(&mut self, name: &str, target: &Word, command: &Simple, is_recursive: bool) {
        if is_recursive && is_everything(target) {
            self.refuse(format!("rm -r {target} removes the whole machine"));
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
    fn out_of_bounds(&self, path: &std::path::Path, does: &str, name: &str) -> Option<String> {
        let path_shown = path.display();
        match self.around.lies(path) {
            Lies::Everything => Some(format!("{name} {does} the whole machine")),
            Lies::Home => Some(format!("{name} {does} the home folder, {path_shown}")),
            Lies::Workspace => Some(format!("{name} {does} the workspace itself, {path_shown}")),
            Lies::Outside => Some(format!("{name} {does} {path_shown}, outside the workspace")),
            Lies::Inside => None,
        }
    }

    /// How much is deleted.
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

    fn copied(&mut self, command: &Simple) {
        let target = command.args().iter().find_map(|arg| arg.without("of="));
        if let Some(target) = target {
            self.written("dd", &target, command, true);
        }
    }

    /// `find` with an action that removes.
    fn find(&mut self, command: &Simple) {
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
        for start in starts {
            let Some(files) = self.around.files(&start, &command.folder) else {
                self.warn(format!(
                    "what find removes in {start} is not known before it runs"
                ));
                continue;
            };
            for file in &files {
                let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
                let is_whole = args.len() <= 2;
                match self.around.lies(&file) {
                    Lies::Inside => {}
                    // It has a condition, and there it may look.
                    Lies::Workspace if !is_whole && self.around.roots.contains(&file) => {}
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

    /// Files that are moved or copied over others.
    fn moved(&mut self, name: &str, command: &Simple) {
        let args = command.args();
        if has_any(command, &["-n", "--no-clobber", "-i", "--interactive"])
            || name == "ln" && !has_any(command, &["-f", "-sf", "-fs", "-sfn", "-nsf", "--force"])
        {
            return;
        }
        let words: Vec<&Word> = args
            .iter()
            .filter(|arg| !arg.start().starts_with('-'))
            .collect();
        let Some((target, sources)) = words
            .split_last()
            .filter(|(_, sources)| !sources.is_empty())
        else {
            return;
        };
        let target_path = self.around.path(target, &command.folder);
        let folder = target_path.filter(|path| path.is_dir());
        let Some(folder) = folder else {
            self.written(name, target, command, true);
            return;
        };
        for source in sources {
            let files = self
                .around
                .files(source, &command.folder)
                .unwrap_or_default();
            for file in files.iter().filter_map(|file| file.file_name()) {
                let path = folder.join(file);
                let target = Word::plain(&path.to_string_lossy());
                self.written(name, &target, command, true);
            }
        }
    }

    fn written_by_name(&mut self, name: &str, command: &Simple) {
        let is_emptied = name == "truncate" || !has_any(command, &["-a", "--append"]);
        let words = command.args().iter();
        for target in words.filter(|arg| !arg.start().starts_with('-')) {
            self.written(name, target, command, is_emptied);
        }
    }

    /// Rights and owners of a whole tree.
    fn changed(&mut self, name: &str, command: &Simple) {
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
            let files = self
                .around
                .files(target, &command.folder)
                .unwrap_or_default();
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

/// Whether a command asks `ptk` to allow more.
fn changes_permissions(name: &str, command: &Simple) -> bool {
    let is_start = |text: &str, start: &str| text.starts_with(start);
    let mut args = command.args().iter().map(Word::start);
    let of_ptk = |text: &str| text == "permissions" || is_start(text, "--approve");
    let mut variables = command.assignments.iter();
    name == "ptk" && (args.clone().any(of_ptk) || variables.any(|it| it.name == "PTK_APPROVE"))
        || args.any(|text| is_start(text, "PTK_APPROVE="))
}

/// Whether a program runs what it is fed, whichever version it is.
fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&plain)
}

fn is_recursive(arg: &Word) -> bool {
    let text = arg.start();
    match text.strip_prefix("--") {
        Some(long) => long.len() > 2 && "recursive".starts_with(long),
        None => text.starts_with('-') && text.contains(['r', 'R']),
    }
}

fn has_any(command: &Simple, words: &[&str]) -> bool {
    command
        .args()
        .iter()
        .any(|arg| words.contains(&arg.start()))
}

/// A device that must not be written, by its path.
fn device(path: &std::path::Path) -> Option<String> {
    let device = path.strip_prefix("/dev").ok()?.to_str()?;
    let is_harmless = device.is_empty()
        || HARMLESS.contains(&device)
        || ["fd/", "shm/", "pts/", "tcp/", "udp/"]
            .iter()
            .any(|it| device.starts_with(it));
    (!is_harmless).then(|| path.display().to_string())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a folder `sub` of the workspace `/ws`, by somebody at home in `/home/ada`.
    fn why(command: &str) -> Option<String> {
        let around = Surroundings {
            folder: PathBuf::from("/ws/sub"),
            roots: vec![PathBuf::from("/ws"), PathBuf::from("/tmp")],
            home: Some(PathBuf::from("/home/ada")),
        };
        Danger::of(&CommandLine::read(command), &around).refusal
    }

    #[test]
    fn what_destroys_the_machine_is_seen() {
        for command in [
            "rm -rf /",
            "rm -rf /*",
            "rm -fr //",
            "rm -r -f /.",
            "rm --recursive --force /",
            "rm / -rf",
            "rm -rf -- /",
            "rm -rf /tmp/x /",
            "rm -rf --no-preserve-root /tmp",
            "sudo rm -rf /",
            "sudo -u root rm -rf /",
            "/bin/rm -rf '/'",
            "cd /tmp && rm -rf \"/\"",
            "true; rm -rf / ; true",
            "if true; then rm -rf /; fi",
            "A=b rm -rf /",
            "env -i A=b rm -rf /",
            "echo $(rm -rf /)",
            "echo \"$(rm -rf /)\"",
            "echo `rm -rf /`",
            "bash -c 'rm -rf /'",
            "sudo sh -c \"rm -rf /\"",
            "bash -lc 'rm -rf /'",
            "eval rm -rf /",
            "timeout 5 rm -rf /",
            "ls\nrm -rf /",
            "(rm -rf /)",
            "{ rm -rf /; }",
            "r\\m -rf /",
            "rm \\\n -rf /",
            "bash <<EOF\nrm -rf /\nEOF",
            "sudo bash <<EOF\nrm -rf /\nEOF",
            "mkfs /dev/sda1",
            "mkfs.ext4 -F /dev/sda1",
            "sudo mkfs.xfs /dev/nvme0n1",
            "dd if=/dev/zero of=/dev/sda bs=1M",
            ":(){:|:&};:",
            ":() { : | : & }; :",
            "bomb() { bomb | bomb & }; bomb",
            "function f(){ f|f& };f",
        ] {
            assert!(why(command).is_some(), "{command}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_not() {
        for command in [
            "rm -rf /tmp/x",
            "rm -rf /tmp/*",
            "rm -rf ./*",
            "rm -rf .",
            "rm -rf target node_modules",
            "rm -f /",
            "echo rm -rf /",
            "echo 'rm -rf /'",
            "echo \"rm -rf /\"",
            "grep -rn 'rm -rf /' .",
            "git commit -m 'never rm -rf / again'",
            "# rm -rf /",
            "ls # rm -rf /",
            "cat > notes.md <<'EOF'\nrm -rf /\nmkfs /dev/sda\nEOF\nls",
            "cat <<-EOF\n\trm -rf /\n\tEOF",
            "dd if=/dev/zero of=disk.img bs=1M count=1",
            "dd if=/dev/zero of=/dev/null count=1",
            "sudo tee notes <<EOF\nrm -rf /\nEOF",
            "sudo echo rm -rf /",
            "man mkfs",
            "echo mkfs.ext4",
            "grep mkfs /etc/fstab",
            "f() { g | h & }; f",
            "rmdir /",
            "cargo build --release /",
            "sudo ls /",
            "x='a;b' && echo \"${x}\"",
            "echo $((1 << 2)) rm -rf /",
            "cat <<< 'rm -rf /'",
            "",
            "'",
            "\"$(",
            "<<",
        ] {
            assert_eq!(why(command), None, "{command}");
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        assert_eq!(why(&"$(".repeat(100_000)), None);
        assert_eq!(why(&"`\"".repeat(100_000)), None);
        assert_eq!(why(&"<<a ".repeat(10_000)), None);
        assert_eq!(why(&"sudo ".repeat(20_000)), None);
        assert!(why(&"(){".repeat(2_000)).is_none());
    }
}
