//! Commands that run other commands.

use super::{Role, ShellCommand, Word};

/// What a command runs, by its words.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Nothing, or nothing that is known to be a command.
    Nothing,
    /// These commands.
    Commands(Vec<Vec<Word>>, Role),
    /// A text for the shell.
    Text(String, Role),
    /// What stands in a file.
    File,
    /// Something that is known only when it runs.
    Blind,
}

/// A program that runs another one, given as its arguments.
struct Wrapper {
    name: &'static str,
    /// Letters and names of options that have a value behind them.
    valued: &'static str,
    long: &'static [&'static str],
    /// How many words stand before the command.
    before: usize,
    role: Role,
}

const fn wrapper(name: &'static str, valued: &'static str, before: usize, role: Role) -> Wrapper {
    Wrapper {
        name,
        valued,
        long: &[],
        before,
        role,
    }
}

const WRAPPERS: [Wrapper; 53] = [
    Wrapper {
        long: &["--user", "--group", "--host", "--chdir", "--chroot"],
        ..wrapper("sudo", "ughpCrtTUDR", 0, Role::Changer)
    },
    wrapper("doas", "uC", 0, Role::Changer),
    wrapper("pkexec", "", 0, Role::Changer),
    wrapper("nohup", "", 0, Role::Wrapper),
    Wrapper {
        long: &["--adjustment"],
        ..wrapper("nice", "n", 0, Role::Wrapper)
    },
    wrapper("ionice", "cnp", 0, Role::Wrapper),
    Wrapper {
        long: &["--signal", "--kill-after"],
        ..wrapper("timeout", "sk", 1, Role::Wrapper)
    },
    wrapper("stdbuf", "ioe", 0, Role::Wrapper),
    wrapper("setsid", "", 0, Role::Wrapper),
    wrapper("command", "", 0, Role::Wrapper),
    wrapper("builtin", "", 0, Role::Wrapper),
    wrapper("exec", "a", 0, Role::Wrapper),
    wrapper("coproc", "", 0, Role::Changer),
    wrapper("time", "fo", 0, Role::Changer), // typos:ignore
    wrapper("chroot", "", 1, Role::Changer),
    wrapper("unshare", "SGRw", 0, Role::Changer),
    wrapper("nsenter", "tSGrw", 0, Role::Changer),
    wrapper("busybox", "", 0, Role::Changer),
    wrapper("toybox", "", 0, Role::Changer),
    wrapper("watch", "n", 0, Role::Changer),
    wrapper("strace", "oepPsSu", 0, Role::Changer),
    wrapper("ltrace", "oepsu", 0, Role::Changer),
    wrapper("taskset", "", 1, Role::Changer),
    wrapper("chrt", "", 1, Role::Changer),
    Wrapper {
        long: &["--timeout", "--conflict-exit-code"],
        ..wrapper("flock", "wE", 1, Role::Changer)
    },
    wrapper("setpriv", "", 0, Role::Changer),
    wrapper("prlimit", "p", 0, Role::Changer),
    wrapper("setarch", "", 0, Role::Changer),
    wrapper("linux32", "", 0, Role::Changer),
    wrapper("linux64", "", 0, Role::Changer),
    wrapper("i386", "", 0, Role::Changer),
    wrapper("x86_64", "", 0, Role::Changer),
    wrapper("choom", "np", 0, Role::Changer),
    wrapper("uclampset", "mM", 0, Role::Changer),
    wrapper("numactl", "iNmpCP", 0, Role::Changer),
    wrapper("fakeroot", "lsib", 0, Role::Changer),
    wrapper("proot", "rbwqk", 0, Role::Changer),
    wrapper("gosu", "", 1, Role::Changer),
    wrapper("su-exec", "", 1, Role::Changer),
    wrapper("runcon", "turl", 0, Role::Changer),
    wrapper("dbus-run-session", "", 0, Role::Changer),
    wrapper("xvfb-run", "enfps", 0, Role::Changer),
    wrapper("ssh-agent", "aEtP", 0, Role::Changer),
    wrapper("valgrind", "", 0, Role::Changer),
    wrapper("unbuffer", "", 0, Role::Changer),
    wrapper("rlwrap", "", 0, Role::Changer),
    wrapper("torsocks", "", 0, Role::Changer),
    wrapper("proxychains", "f", 0, Role::Changer),
    wrapper("proxychains4", "f", 0, Role::Changer),
    wrapper("cgexec", "g", 0, Role::Changer),
    wrapper("systemd-run", "pEuM", 0, Role::Changer),
    wrapper("firejail", "", 0, Role::Changer),
    wrapper("catchsegv", "", 0, Role::Changer),
];

/// Actions of `find` that run a command, up to `;` or `+`.
const FIND_ACTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
/// Options of `ssh` that have a value behind them.
const SSH_VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";

/// Letters of options of a shell that change nothing about what it runs.
const PLAIN_LETTERS: &str = "ceux";
/// Settings of `-o` that do not change it, either.
const PLAIN_SETTINGS: [&str; 4] = ["pipefail", "errexit", "nounset", "xtrace"];
/// Names of standard input.
const STANDARD_INPUT: [&str; 4] = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Whether a file is standard input.
pub(crate) fn is_standard_input(file: &str) -> bool {
    STANDARD_INPUT.contains(&file)
}

/// Whether a program runs what it is given as a text.
pub(crate) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "fish" | "rbash"
    )
}

/// What a command runs, by its words and its input.
pub(super) fn inside(command: &ShellCommand, has_document: bool) -> Inside {
    let Some(name) = command.name() else {
        return Inside::Blind;
    };
    let args = command.args();
    match name {
        _ if is_shell(name) => shell(name, args, has_document),
        _ if name.starts_with("ld-linux") || name.starts_with("ld-musl") => {
            let words = behind(args, "", &["--library-path", "--preload", "--argv0"], 0);
            commands(words, Role::Changer)
        }
        "eval" => joined(args, Role::Wrapper),
        "." | "source" => Inside::File,
        "hash" if has_option(args, 'p', "--") => Inside::Blind,
        "enable" if has_option(args, 'f', "--") => Inside::Blind,
        "alias" if args.iter().any(|arg| arg.source().contains('=')) => Inside::Blind,
        "mapfile" | "readarray" | "compgen" | "complete" if has_option(args, 'C', "--") => {
            text_of_option(args, 'C', "--")
        }
        "trap" => match args.iter().find(|arg| !arg.is("--")) {
            Some(word) if !word.start().starts_with('-') => {
                joined(std::slice::from_ref(word), Role::Changer)
            }
            _ => Inside::Nothing,
        },
        "env" => env(args),
        "xargs" | "parallel" => with_more(args),
        "find" => find(args),
        "ssh" => joined(behind(args, SSH_VALUED, &[], 1), Role::Changer),
        "su" | "runuser" | "script" => text_of_option(args, 'c', "--command"),
        "flock" | "sg" if has_option(args, 'c', "--command") => {
            text_of_option(args, 'c', "--command")
        }
        "sg" => joined(behind(args, "", &[], 1), Role::Changer),
        "command" if args.first().is_some_and(|arg| arg.is("-v") || arg.is("-V")) => {
            Inside::Nothing
        }
        _ => WRAPPERS
            .iter()
            .find(|wrapper| wrapper.name == name)
            .map_or(Inside::Nothing, |wrapper| wrapped(wrapper, args)),
    }
}

fn wrapped(wrapper: &Wrapper, args: &[Word]) -> Inside {
    let words = behind(args, wrapper.valued, wrapper.long, wrapper.before);
    commands(words, wrapper.role)
}

fn commands(words: &[Word], role: Role) -> Inside {
    match words {
        [] => Inside::Nothing,
        words => Inside::Commands(vec![words.to_vec()], role),
    }
}

/// What stands behind the options, their values and so many words.
pub(crate) fn behind<'a>(
    args: &'a [Word],
    valued: &str,
    long: &[&str],
    before: usize,
) -> &'a [Word] {
    let mut rest = args;
    let mut before = before;
    while let Some((first, more)) = rest.split_first() {
        let text = first.start();
        let is_option = text.len() > 1 && text.starts_with('-');
        if first.is("--") {
            return more.get(before..).unwrap_or_default();
        }
        if is_option {
            let takes_next = long.contains(&text) || takes_next(text, valued);
            rest = more.get(usize::from(takes_next)..).unwrap_or_default();
        } else if before > 0 {
            before -= 1;
            rest = more;
        } else {
            return rest;
        }
    }
    rest
}

/// Whether the value of a letter stands in the next word: `-u root`, `-Eu root`,
/// but not `-uroot`.
fn takes_next(option: &str, valued: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    !letters.starts_with('-') && letters.find(|c| valued.contains(c)) == Some(letters.len() - 1)
}

fn joined(words: &[Word], role: Role) -> Inside {
    if words.is_empty() {
        return Inside::Nothing;
    }
    let texts: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    texts.map_or(Inside::Blind, |texts| Inside::Text(texts.join(" "), role))
}

/// `bash -c TEXT`, `bash FILE`, or `bash` with what it reads.
fn shell(name: &str, args: &[Word], has_document: bool) -> Inside {
    let (mut takes_text, mut takes_input) = (false, false);
    // Other shells have another grammar.
    let mut is_plain = matches!(name, "sh" | "bash" | "dash");
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        let text = first.start();
        // Options end here as they do behind `--`.
        if first.literal() == Some("-") {
            rest = more;
            break;
        }
        if !text.starts_with(['-', '+']) || text == "-" {
            break;
        }
        let letters = text.get(1..).unwrap_or_default();
        let is_long = letters.starts_with('-');
        takes_text |= text.starts_with('-') && !is_long && letters.contains('c');
        takes_input |= text.starts_with('-') && !is_long && letters.contains('s');
        let has_value =
            matches!(text, "--rcfile" | "--init-file") || !is_long && letters.ends_with(['o', 'O']);
        let setting = more.first().filter(|_| has_value).and_then(Word::literal);
        let is_setting = setting.is_some_and(|it| PLAIN_SETTINGS.contains(&it));
        let plain = letters.strip_suffix('o').unwrap_or(letters);
        is_plain &= first.literal().is_some()
            && has_value == letters.ends_with('o')
            && (!has_value || is_setting)
            && plain.chars().all(|c| PLAIN_LETTERS.contains(c));
        rest = more.get(usize::from(has_value)..).unwrap_or_default();
        if text == "--" {
            break;
        }
    }
    let role = if is_plain {
        Role::Wrapper
    } else {
        Role::Changer
    };
    let is_seen = |word: &Word| word.literal().is_some();
    let is_input = |word: &Word| {
        word.literal()
            .is_some_and(|it| STANDARD_INPUT.contains(&it))
    };
    match rest.first() {
        Some(text) if takes_text => joined(std::slice::from_ref(text), role),
        Some(file) if !takes_input && !is_input(file) && is_seen(file) => Inside::Nothing,
        // It may be an option, with a text behind it.
        Some(word) if !is_seen(word) => Inside::Blind,
        // The document is read on its own.
        _ if has_document => Inside::Commands(Vec::new(), role),
        _ => Inside::Blind,
    }
}

fn env(args: &[Word]) -> Inside {
    for (at, arg) in args.iter().enumerate() {
        let text = arg.start();
        let Some(letters) = text.strip_prefix('-').filter(|it| !it.is_empty()) else {
            break;
        };
        let split = match letters.split_once('S') {
            Some((before, _)) if !letters.starts_with('-') => Some(format!("-{before}S")),
            _ => long_option(text, "--split-string").map(|name| format!("{name}=")),
        };
        let Some(split) = split else {
            continue;
        };
        let text = arg.without(&split).filter(|word| !word.is(""));
        let more = args.get(at + 1..).unwrap_or_default();
        let words: Vec<Word> = text.into_iter().chain(more.iter().cloned()).collect();
        return joined(&words, Role::Changer);
    }
    let words = behind(args, "uC", &["--unset", "--chdir"], 0);
    let is_assignment = |word: &Word| word.start().contains('=');
    let at = words.iter().position(|word| !is_assignment(word));
    let words = at.and_then(|at| words.get(at..)).unwrap_or_default();
    let role = if words.len() == args.len() {
        Role::Wrapper
    } else {
        Role::Changer
    };
    commands(words, role)
}

/// How a long option is written, if a word is it or the start of it.
fn long_option<'a>(text: &'a str, option: &str) -> Option<&'a str> {
    let name = text.split('=').next()?;
    (name.len() > 2 && option.starts_with(name)).then_some(name)
}

/// `xargs`: a command with words that come from its input.
fn with_more(args: &[Word]) -> Inside {
    const VALUED: [&str; 9] = [
        "--arg-file",
        "--max-args",
        "--max-procs",
        "--max-lines",
        "--max-chars",
        "--delimiter",
        "--eof",
        "--process-slot-var",
        "--jobs",
    ];
    let mut words = behind(args, "InPLdEsaj", &VALUED, 0).to_vec();
    if words.is_empty() {
        return Inside::Nothing;
    }
    words.push(Word::unknown("…"));
    Inside::Commands(vec![words], Role::Changer)
}

fn find(args: &[Word]) -> Inside {
    let mut commands = Vec::new();
    let mut rest = args;
    while let Some(at) = rest
        .iter()
        .position(|arg| FIND_ACTIONS.contains(&arg.start()))
    {
        rest = rest.get(at + 1..).unwrap_or_default();
        let end = rest.iter().position(|arg| arg.is(";") || arg.is("+"));
        let (words, more) = rest.split_at(end.unwrap_or(rest.len()));
        let found = |word: &Word| match word.literal() {
            Some(text) if text.contains("{}") => Word::unknown(text),
            _ => word.clone(),
        };
        commands.push(words.iter().map(found).collect());
        rest = more;
    }
    if commands.is_empty() {
        return Inside::Nothing;
    }
    Inside::Commands(commands, Role::Changer)
}

/// Whether an option is there, by its letter or by its name.
fn has_option(args: &[Word], letter: char, name: &str) -> bool {
    args.iter().any(|arg| is_option(arg.start(), letter, name))
}

fn is_option(text: &str, letter: char, name: &str) -> bool {
    let is_letter = text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
    is_letter || long_option(text, name).is_some()
}

/// `su -c TEXT`, `flock FILE -c TEXT`, `su --command=TEXT`.
fn text_of_option(args: &[Word], letter: char, name: &str) -> Inside {
    let at = args
        .iter()
        .position(|arg| is_option(arg.start(), letter, name));
    let Some((option, more)) = at.and_then(|at| args.get(at..)?.split_first()) else {
        return Inside::Blind;
    };
    let start = option.start();
    let attached = match long_option(start, name) {
        Some(long) => option.without(&format!("{long}=")),
        None => start
            .split_once(letter)
            .filter(|(_, behind)| !behind.is_empty() || option.literal().is_none())
            .and_then(|(before, _)| option.without(&format!("{before}{letter}"))),
    };
    let text = attached.as_ref().or_else(|| more.first());
    text.map_or(Inside::Blind, |text| {
        joined(std::slice::from_ref(text), Role::Changer)
    })
}
