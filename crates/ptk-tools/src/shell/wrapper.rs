//! Commands that run other commands.

use super::{Role, Simple, Word};

/// What a command runs, as its words say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Nothing, or nothing that is known to be a command.
    Nothing,
    /// These commands.
    Commands(Vec<Vec<Word>>, Role),
    /// A text for the shell.
    Text(String, Role),
    /// Something that only shows when it runs.
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

const WRAPPERS: [Wrapper; 28] = [
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
    wrapper("flock", "wE", 1, Role::Changer),
    wrapper("systemd-run", "pEuM", 0, Role::Changer),
    wrapper("firejail", "", 0, Role::Changer),
    wrapper("catchsegv", "", 0, Role::Changer),
];

/// Actions of `find` that run a command, up to `;` or `+`.
const FIND_ACTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
/// Options of `ssh` that have a value behind them.
const SSH_VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";

/// Whether a program runs what it is given as a text.
pub(crate) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "fish" | "rbash"
    )
}

/// What the command runs.
pub(super) fn inside(command: &Simple, has_document: bool) -> Inside {
    let Some(name) = command.name() else {
        return Inside::Blind;
    };
    let args = command.args();
    match name {
        _ if is_shell(name) => shell(args, has_document),
        "eval" => joined(args, Role::Wrapper),
        "trap" => match args.first() {
            Some(word) if !word.start().starts_with('-') => {
                joined(std::slice::from_ref(word), Role::Changer)
            }
            _ => Inside::Nothing,
        },
        "env" => env(args),
        "xargs" | "parallel" => with_more(args),
        "find" => find(args),
        "ssh" => joined(behind(args, SSH_VALUED, &[], 1), Role::Changer),
        "su" | "runuser" | "script" => text_of_option(args),
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
    match words {
        [] => Inside::Nothing,
        words => Inside::Commands(vec![words.to_vec()], wrapper.role),
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
fn shell(args: &[Word], has_document: bool) -> Inside {
    let mut takes_text = false;
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        let text = first.start();
        if !text.starts_with(['-', '+']) {
            break;
        }
        let letters = text.get(1..).unwrap_or_default();
        let is_long = letters.starts_with('-');
        takes_text |= text.starts_with('-') && !is_long && letters.contains('c');
        let has_value =
            matches!(text, "--rcfile" | "--init-file") || !is_long && letters.ends_with(['o', 'O']);
        rest = more.get(usize::from(has_value)..).unwrap_or_default();
    }
    match rest.first() {
        Some(text) if takes_text => joined(std::slice::from_ref(text), Role::Wrapper),
        Some(file) if file.literal().is_some() => Inside::Nothing,
        // The document is read on its own.
        None if has_document => Inside::Commands(Vec::new(), Role::Wrapper),
        Some(_) | None => Inside::Blind,
    }
}

fn env(args: &[Word]) -> Inside {
    let split = args.iter().position(|arg| arg.start().starts_with("-S"));
    if let Some(at) = split {
        let text = args.get(at).and_then(|word| word.without("-S"));
        let text = text.filter(|word| !word.is(""));
        let text = text.or_else(|| args.get(at + 1).cloned());
        return joined(&text.into_iter().collect::<Vec<_>>(), Role::Changer);
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
    match words {
        [] => Inside::Nothing,
        words => Inside::Commands(vec![words.to_vec()], role),
    }
}

/// `xargs`: a command with words that come from its input.
fn with_more(args: &[Word]) -> Inside {
    let mut words = behind(args, "InPLdEsaj", &["--arg-file", "--max-args"], 0).to_vec();
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

/// `su -c TEXT`.
fn text_of_option(args: &[Word]) -> Inside {
    let at = args.iter().position(|arg| {
        let text = arg.start();
        text == "--command" || text.starts_with('-') && text.ends_with('c')
    });
    let text = at.and_then(|at| args.get(at + 1));
    text.map_or(Inside::Blind, |text| {
        joined(std::slice::from_ref(text), Role::Changer)
    })
}
