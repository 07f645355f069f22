//! What a command is about to destroy. Some commands are never run, because
//! they only do harm; for others a person sees what they would do, and to how
//! much.
//!
//! The words of the command are looked at, not its text: `rm -rf /tmp/x` and
//! `echo "rm -rf /"` are harmless. This guards against accidents, not against
//! malice, which has a hundred other ways; against that stands the sandbox.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `trees` | whole trees that are removed, or get other rights |
//! | `written` | files that are written |
//! | `unseen` | text that is run unseen |
//! | `secrets` | files with keys and passwords |
//! | `programs` | what programs do that is hard to take back, as a table |
//! | `targets` | what a word means here: which files, where, and how much |

mod programs;
mod secrets;
mod targets;
mod trees;
mod unseen;
mod written;

pub(crate) use programs::plain_args;
pub use targets::Surroundings;

use crate::shell::{CommandLine, ShellCommand, Word};

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

/// What is dangerous about a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Danger {
    /// Why it must not run, if so.
    pub refusal: Option<String>,
    /// What an approver should know.
    pub warnings: Vec<String>,
    /// Which commands the warnings are about, one by one.
    pub commands: Vec<bool>,
}

impl Danger {
    /// Looks at every command of a line.
    #[must_use]
    pub fn of(line: &CommandLine, around: &Surroundings) -> Self {
        let mut look = Inspector::new(around);
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
        look.suspected(line);
        if !line.is_whole() {
            look.warn("a part of the command could not be read; look at it closely".to_owned());
        }
        look.danger
    }
}

/// The inspection of commands, one after the other.
struct Inspector<'a> {
    around: &'a Surroundings,
    danger: Danger,
    /// Whether the same was reported of a command before.
    is_repeated: bool,
    /// Whether it is only suspected that the line runs this, and where.
    is_suspected: bool,
}

impl<'a> Inspector<'a> {
    fn new(around: &'a Surroundings) -> Self {
        Self {
            around,
            danger: Danger::default(),
            is_repeated: false,
            is_suspected: false,
        }
    }
}

impl Inspector<'_> {
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

    /// Inspects a command in every folder that it may run in. One of them is
    /// enough to refuse it.
    fn elsewhere(&mut self, command: &ShellCommand) {
        for folder in command.folder.candidates() {
            let mut look = Inspector::new(self.around);
            look.command(&ShellCommand {
                folder,
                ..command.clone()
            });
            self.danger.refusal = self.danger.refusal.take().or(look.danger.refusal);
        }
    }

    /// Inspects what a line that cannot be read with certainty may run: enough
    /// to refuse it, but not worth a warning.
    fn suspected(&mut self, line: &CommandLine) {
        for command in line.suspected() {
            let mut look = Inspector::new(self.around);
            look.is_suspected = true;
            look.command(command);
            let why = look
                .danger
                .refusal
                .map(|why| format!("it cannot be read with certainty, and {why}"));
            self.danger.refusal = self.danger.refusal.take().or(why);
        }
    }

    fn command(&mut self, command: &ShellCommand) {
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
}

/// Whether a command makes `ptk` allow more.
fn changes_permissions(name: &str, command: &ShellCommand) -> bool {
    let is_start = |text: &str, start: &str| text.starts_with(start);
    let mut args = command.args().iter().map(Word::start);
    let of_ptk = |text: &str| text == "permissions" || is_start(text, "--approve");
    let mut variables = command.assignments.iter();
    name == "ptk" && (args.clone().any(of_ptk) || variables.any(|it| it.name == "PTK_APPROVE"))
        || args.any(|text| is_start(text, "PTK_APPROVE="))
}

fn has_any(command: &ShellCommand, words: &[&str]) -> bool {
    command
        .args()
        .iter()
        .any(|arg| words.contains(&arg.start()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A folder `sub` of the workspace `/ws`, with the home `/home/ada`.
    fn around() -> Surroundings {
        Surroundings {
            folder: PathBuf::from("/ws/sub"),
            roots: vec![PathBuf::from("/ws")],
            temporary: Some(PathBuf::from("/state/temporary")),
            home: Some(PathBuf::from("/home/ada")),
        }
    }

    fn why(command: &str) -> Option<String> {
        Danger::of(&CommandLine::read(command), &around()).refusal
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
    fn what_empties_the_workspace_is_seen() {
        let around = Surroundings {
            folder: PathBuf::from("/ws"),
            ..around()
        };
        let why = |command: &str| Danger::of(&CommandLine::read(command), &around).refusal;
        for command in [
            "rm -rf *",
            "rm -rf ./*",
            "rm -r -- *",
            "rm -rf /ws/*",
            "rm -rf sub/../*",
            "rm -rf */",
            "rm -rf target *",
            "rm -rf ~/*",
            "find . -delete",
            "find . -mindepth 1 -delete",
        ] {
            assert!(why(command).is_some(), "{command}");
        }
        for command in [
            "rm *",
            "rm -rf *.o",
            "rm -rf sub/*",
            "rm -rf /tmp/*",
            "rm -rf /tmp",
            "find . -name a -delete",
        ] {
            assert_eq!(why(command), None, "{command}");
        }
    }

    /// `/tmp` is the command's own, but nothing else that lies there.
    #[test]
    fn what_is_temporary_may_be_removed() {
        let around = |root: &str, is_own: bool| Surroundings {
            folder: PathBuf::from(root),
            roots: vec![PathBuf::from(root)],
            temporary: around().temporary.filter(|_| is_own),
            ..around()
        };
        let why = |command: &str, around: &Surroundings| {
            Danger::of(&CommandLine::read(command), around).refusal
        };
        let own = around("/ws", true);
        for command in ["rm /tmp/x.txt", "rm -rf /tmp/x", "rm -r /var/tmp/x"] {
            assert_eq!(why(command, &own), None, "{command}");
            assert!(why(command, &around("/ws", false)).is_some(), "{command}");
        }
        let below = around("/tmp/ws", true);
        for command in ["rm -rf /tmp", "rm -rf /tmp/ws", "rm -rf /tmp/*"] {
            assert!(why(command, &below).is_some(), "{command}");
        }
        for command in ["rm -rf /tmp/x", "rm -rf /tmp/ws/x"] {
            assert_eq!(why(command, &below), None, "{command}");
        }
        for command in ["rm -rf /tmp/../etc", "rm -rf /tmpx", "rm -rf /opt/x"] {
            assert!(why(command, &own).is_some(), "{command}");
        }
    }

    /// The value of a variable is not worked out: a person is asked, and told
    /// so.
    #[test]
    fn what_a_variable_may_destroy_is_warned_of() {
        for command in [
            "D=/; rm -rf $D",
            "D=/ && rm -rf \"$D\"",
            "export D=/; rm -rf ${D}",
            "D=; rm -rf $D/",
            "for d in x /; do rm -rf $d; done",
            "D=/dev/sda; dd if=x of=$D",
            "X='rm -rf /'; eval $X",
            "X='-rf /'; rm $X",
            "X=rm; $X -rf /",
            "S='rm -rf /'; bash -c \"$S\"",
        ] {
            let danger = Danger::of(&CommandLine::read(command), &around());
            assert_eq!(danger.refusal, None, "{command}");
            assert!(!danger.warnings.is_empty(), "{command}");
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
            "D=/; rm -rf '$D'",
            "for d in / x; do echo $d; done",
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
