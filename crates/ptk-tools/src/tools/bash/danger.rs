//! Commands that are never run, because nothing good comes of them (R252).
//!
//! The words of the command are looked at, not its text: `rm -rf /tmp/x` and
//! `echo "rm -rf /"` are harmless. This guards against accidents, not against
//! malice, which has a hundred other ways; against that stands the sandbox.

use super::words::{self, Simple};

/// How deep commands within commands are looked at.
const MAX_DEPTH: u8 = 5;
/// How many words behind options are tried as a command.
const MAX_GUESSES: u8 = 3;
/// How long the body of a function that calls itself is, at most.
const MAX_BODY: usize = 256;
/// Programs that run another one, given as their arguments.
const WRAPPERS: [&str; 17] = [
    "sudo", "doas", "env", "nohup", "time", "command", "exec", "builtin", "nice", "ionice",
    "setsid", "stdbuf", "timeout", "xargs", "chroot", "unshare", "busybox",
];
/// Words of the shell before a command.
const RESERVED: [&str; 9] = [
    "if", "then", "else", "elif", "do", "while", "until", "!", "{",
];
/// Devices that take everything and harm nobody.
const HARMLESS: [&str; 6] = ["null", "stdout", "stderr", "full", "zero", "tty"];

/// Why the command must not run, if so.
pub(super) fn why(command: &str) -> Option<String> {
    if is_fork_bomb(command) {
        return Some("it starts copies of itself until the machine stands still".to_owned());
    }
    within(command, MAX_DEPTH)
}

fn within(command: &str, depth: u8) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let parts = words::split(command);
    parts.iter().find_map(|part| match part {
        Simple::Command(words) => of_words(words, depth),
        Simple::Nested(text) => within(text, depth),
    })
}

fn of_words(words: &[String], depth: u8) -> Option<String> {
    let is_prefix = |word: &String| is_assignment(word) || RESERVED.contains(&word.as_str());
    let start = words.iter().position(|word| !is_prefix(word))?;
    let (program, args) = words.get(start..)?.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    match name {
        "rm" => removal(args),
        "dd" => args
            .iter()
            .find_map(|arg| overwritten(arg.strip_prefix("of=")?)),
        "eval" => within(&args.join(" "), depth),
        _ if name == "mkfs" || name.starts_with("mkfs.") => {
            Some(format!("{name} wipes a whole file system"))
        }
        _ if words::is_shell(name) => {
            let takes_command = |arg: &String| arg.starts_with('-') && arg.ends_with('c');
            let at = args.iter().position(takes_command)?;
            within(args.get(at + 1)?, depth)
        }
        _ if WRAPPERS.contains(&name) => wrapped(args, depth),
        _ => None,
    }
}

/// The command in the arguments of a wrapper. Which of its options have values
/// is not known, so a word behind an option may be one or the other.
fn wrapped(args: &[String], depth: u8) -> Option<String> {
    let mut guesses = MAX_GUESSES;
    let mut is_value = false;
    for (at, arg) in args.iter().enumerate() {
        let name = arg.rsplit('/').next().unwrap_or(arg);
        if arg.starts_with('-') {
            is_value = true;
        } else if WRAPPERS.contains(&name) {
            is_value = false;
        } else if !is_assignment(arg) {
            let danger = of_words(args.get(at..)?, depth);
            guesses -= 1;
            let is_number = arg.starts_with(|c: char| c.is_ascii_digit());
            if danger.is_some() || guesses == 0 || !(is_value || is_number) {
                return danger;
            }
            is_value = false;
        }
    }
    None
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn removal(args: &[String]) -> Option<String> {
    let options = || args.iter().take_while(|arg| *arg != "--");
    if options().any(|arg| arg == "--no-preserve-root") {
        return Some("--no-preserve-root lets rm remove the whole machine".to_owned());
    }
    let is_recursive = |arg: &String| match arg.strip_prefix("--") {
        Some(long) => long.len() > 2 && "recursive".starts_with(long),
        None => arg.starts_with('-') && arg.contains(['r', 'R']),
    };
    let is_root = |arg: &&String| {
        arg.starts_with('/')
            && arg
                .split('/')
                .all(|part| matches!(part, "" | "." | ".." | "*"))
    };
    let root = args.iter().find(is_root)?;
    options()
        .any(is_recursive)
        .then(|| format!("rm -r {root} removes the whole machine"))
}

fn overwritten(target: &str) -> Option<String> {
    let device = target.strip_prefix("/dev/")?;
    let is_harmless =
        HARMLESS.contains(&device) || device.starts_with("fd/") || device.starts_with("shm/");
    (!is_harmless).then(|| format!("dd would overwrite the device {target}"))
}

/// `f(){ f|f& };f` under whatever name.
fn is_fork_bomb(command: &str) -> bool {
    let text: String = command.chars().filter(|c| !c.is_whitespace()).collect();
    text.match_indices("(){").any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let name = before
            .rsplit([';', '&', '|', '{', '}', '(', ')', '\'', '"'])
            .next();
        let name = name.unwrap_or_default();
        let name = name
            .strip_prefix("function")
            .filter(|rest| !rest.is_empty())
            .unwrap_or(name);
        if name.is_empty() || name.len() > MAX_BODY {
            return false;
        }
        let rest = text.get(at..).unwrap_or_default();
        let body: String = rest
            .chars()
            .take(MAX_BODY)
            .take_while(|c| *c != '}')
            .collect();
        body.contains(&format!("{name}|{name}&"))
    })
}

#[cfg(test)]
mod tests {
    use super::why;

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
