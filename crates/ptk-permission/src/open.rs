//! Subcommands for which a rule with `*` is offered, and the options that it
//! covers.
//!
//! A rule such as `bash(git log *)` covers only options that are known here:
//! they show or choose something, and neither run a program nor read or write a
//! file elsewhere. An option that is not in the list is not covered, so that a
//! new version of a program adds nothing to what was approved.

use crate::shell::{ShellCommand, Word};

/// A subcommand and what may follow it.
struct Open {
    program: &'static str,
    words: &'static [&'static str],
    /// Options without a value. Single letters may stand together.
    flags: &'static [&'static [&'static str]],
    /// Options with a value: `-p x`, `-px`, `--package x`, `--package=x`.
    valued: &'static [&'static [&'static str]],
    /// What may stand behind `--`.
    behind: Behind,
    others: Others,
}

/// What may stand behind `--`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Nothing,
    /// Whatever may stand before it, except options.
    Others,
    /// Options of Rust's test programs.
    TestProgram,
    /// Levels of the compiler's lints.
    Lints,
}

/// Words that are not options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    None,
    /// Names, or paths that do not lead up or to elsewhere.
    Here,
}

const CARGO: &[&str] = &[
    "--workspace",
    "--all",
    "--lib",
    "--bins",
    "--examples",
    "--tests",
    "--benches",
    "--all-targets",
    "--all-features",
    "--no-default-features",
    "--release",
    "-r",
    "--keep-going",
    "--quiet",
    "-q",
    "--verbose",
    "-v",
    "-vv",
    "--locked",
    "--offline",
    "--frozen",
];
const CARGO_VALUED: &[&str] = &[
    "-p",
    "--package",
    "--exclude",
    "--bin",
    "--example",
    "--test",
    "--bench",
    "-F",
    "--features",
    "--profile",
    "-j",
    "--jobs",
    "--color",
    "--message-format",
];
const CARGO_TEST: &[&str] = &["--no-run", "--no-fail-fast", "--doc"];
const DIFF: &[&str] = &[
    "--stat",
    "--numstat",
    "--shortstat",
    "--summary",
    "--name-only",
    "--name-status",
    "--cached",
    "--staged",
    "--color",
    "--no-color",
    "--word-diff",
    "--check",
    "--patch",
    "-p",
    "-s",
    "-w",
    "-b",
    "-M",
    "-C",
    "-R",
    "--minimal",
    "--histogram",
    "--patience",
    "--ignore-all-space",
    "--ignore-blank-lines",
    "--no-ext-diff",
    "--no-textconv",
    "--no-patch",
    "--full-index",
];
const DIFF_VALUED: &[&str] = &[
    "-U",
    "--unified",
    "--diff-filter",
    "--color-words",
    "--abbrev",
];
const LOG: &[&str] = &[
    "--oneline",
    "--graph",
    "--all",
    "--decorate",
    "--no-decorate",
    "--follow",
    "--reverse",
    "--merges",
    "--no-merges",
    "--abbrev-commit",
    "--first-parent",
    "--tags",
    "--branches",
    "--remotes",
    "-i",
];
const LOG_VALUED: &[&str] = &[
    "-n",
    "--max-count",
    "--skip",
    "--author",
    "--committer",
    "--since",
    "--after",
    "--until",
    "--before",
    "--grep",
    "--format",
    "--pretty",
    "--date",
    "-S",
    "-G",
    "-L",
];
const DOCKER_LIST: &[&str] = &["-a", "--all", "-q", "--quiet", "--no-trunc", "-s", "-l"];
const DOCKER_VALUED: &[&str] = &["-f", "--filter", "--format", "-n", "--last"];

const fn cargo(
    words: &'static [&'static str],
    flags: &'static [&'static [&'static str]],
    behind: Behind,
    others: Others,
) -> Open {
    Open {
        program: "cargo",
        words,
        flags,
        valued: &[CARGO_VALUED],
        behind,
        others,
    }
}

const fn open(
    program: &'static str,
    words: &'static [&'static str],
    flags: &'static [&'static [&'static str]],
    valued: &'static [&'static [&'static str]],
) -> Open {
    Open {
        program,
        words,
        flags,
        valued,
        behind: Behind::Others,
        others: Others::Here,
    }
}

const OPEN: [Open; 38] = [
    cargo(&["build"], &[CARGO], Behind::Nothing, Others::None),
    cargo(&["check"], &[CARGO], Behind::Nothing, Others::None),
    cargo(
        &["clippy"],
        &[CARGO, &["--no-deps"]],
        Behind::Lints,
        Others::None,
    ),
    cargo(
        &["doc"],
        &[CARGO, &["--no-deps", "--document-private-items"]],
        Behind::Nothing,
        Others::None,
    ),
    cargo(
        &["fmt"],
        &[&["--all", "--check", "-q", "-v"]],
        Behind::Nothing,
        Others::None,
    ),
    cargo(
        &["test"],
        &[CARGO, CARGO_TEST],
        Behind::TestProgram,
        Others::Here,
    ),
    cargo(
        &["bench"],
        &[CARGO, CARGO_TEST],
        Behind::TestProgram,
        Others::Here,
    ),
    cargo(
        &["nextest", "run"],
        &[CARGO, CARGO_TEST],
        Behind::Nothing,
        Others::Here,
    ),
    cargo(
        &["nextest", "list"],
        &[CARGO],
        Behind::Nothing,
        Others::Here,
    ),
    open(
        "cargo",
        &["metadata"],
        &[&[
            "--no-deps",
            "--all-features",
            "--no-default-features",
            "--locked",
            "--offline",
        ]],
        &[&["--format-version", "-F", "--features"]],
    ),
    open(
        "cargo",
        &["tree"],
        &[CARGO, &["-d", "--duplicates"]],
        &[
            CARGO_VALUED,
            &["-i", "--invert", "-e", "--edges", "--depth", "--prefix"],
        ],
    ),
    open(
        "docker",
        &["images"],
        &[DOCKER_LIST, &["--digests"]],
        &[DOCKER_VALUED],
    ),
    open(
        "docker",
        &["inspect"],
        &[&["-s", "--size"]],
        &[&["-f", "--format", "--type"]],
    ),
    open(
        "docker",
        &["logs"],
        &[&["-f", "--follow", "-t", "--timestamps", "--details"]],
        &[&["-n", "--tail", "--since", "--until"]],
    ),
    open("docker", &["ps"], &[DOCKER_LIST], &[DOCKER_VALUED]),
    open(
        "git",
        &["add"],
        &[&[
            "-A",
            "--all",
            "-u",
            "--update",
            "-n",
            "--dry-run",
            "-v",
            "--verbose",
            "-N",
        ]],
        &[],
    ),
    open(
        "git",
        &["blame"],
        &[&["-w", "-M", "-C", "-e", "-l", "-s", "-t"]],
        &[&["-L", "--date"]],
    ),
    open(
        "git",
        &["branch"],
        &[&[
            "-a",
            "--all",
            "-r",
            "--remotes",
            "-v",
            "-vv",
            "--list",
            "-l",
            "--show-current",
        ]],
        &[&[
            "--contains",
            "--merged",
            "--no-merged",
            "--sort",
            "--format",
        ]],
    ),
    open(
        "git",
        &["commit"],
        &[&[
            "-a",
            "--all",
            "--amend",
            "--no-edit",
            "-q",
            "--quiet",
            "-v",
            "-s",
            "--signoff",
            "--allow-empty",
            "--dry-run",
        ]],
        &[&["-m", "--message", "--fixup", "--squash"]],
    ),
    open(
        "git",
        &["describe"],
        &[&["--tags", "--always", "--dirty", "--long", "--all"]],
        &[&["--abbrev"]],
    ),
    open("git", &["diff"], &[DIFF], &[DIFF_VALUED]),
    open("git", &["log"], &[DIFF, LOG], &[DIFF_VALUED, LOG_VALUED]),
    open(
        "git",
        &["ls-files"],
        &[&[
            "-c",
            "--cached",
            "-d",
            "--deleted",
            "-m",
            "--modified",
            "-o",
            "--others",
            "-s",
            "--stage",
            "-u",
            "-t",
            "-z",
            "--exclude-standard",
        ]],
        &[],
    ),
    open(
        "git",
        &["rev-parse"],
        &[&[
            "--show-toplevel",
            "--abbrev-ref",
            "--short",
            "--verify",
            "--git-dir",
            "-q",
            "--is-inside-work-tree",
            "--symbolic-full-name",
        ]],
        &[],
    ),
    open(
        "git",
        &["shortlog"],
        &[&["-s", "-n", "-e"]],
        &[&["--since", "--until"]],
    ),
    open("git", &["show"], &[DIFF, LOG], &[DIFF_VALUED, LOG_VALUED]),
    open("git", &["stash", "list"], &[&["-p"]], &[]),
    open("git", &["stash", "show"], &[DIFF], &[DIFF_VALUED]),
    open(
        "git",
        &["status"],
        &[&[
            "-s",
            "--short",
            "-b",
            "--branch",
            "--porcelain",
            "--long",
            "-v",
            "-z",
            "--ignored",
            "-u",
            "-uno",
            "-uall",
            "-unormal",
            "--ahead-behind",
            "--show-stash",
        ]],
        &[&["--untracked-files"]],
    ),
    open(
        "git",
        &["switch"],
        &[&["-q", "--quiet", "--detach", "--guess", "--no-guess"]],
        &[&["-c", "--create"]],
    ),
    open("go", &["fmt"], &[&["-n", "-x"]], &[]),
    open(
        "go",
        &["list"],
        &[&["-m", "-json", "-deps", "-test"]],
        &[&["-f"]],
    ),
    open(
        "go",
        &["test"],
        &[&[
            "-v",
            "-race",
            "-short",
            "-cover",
            "-benchmem",
            "-failfast",
            "-json",
        ]],
        &[&[
            "-run",
            "-skip",
            "-count",
            "-timeout",
            "-bench",
            "-parallel",
            "-p",
            "-shuffle",
        ]],
    ),
    open("go", &["vet"], &[&["-v", "-json"]], &[]),
    open(
        "npm",
        &["ls"],
        &[&["-a", "--all", "--json", "-l", "--long", "-p", "--parseable"]],
        &[&["--depth"]],
    ),
    open(
        "npm",
        &["outdated"],
        &[&["-a", "--all", "--json", "-l", "--long"]],
        &[],
    ),
    open(
        "pip",
        &["list"],
        &[&[
            "-o",
            "--outdated",
            "-u",
            "--uptodate",
            "-e",
            "--editable",
            "-l",
            "--local",
            "-v",
        ]],
        &[&["--format", "--exclude"]],
    ),
    open(
        "pip",
        &["show"],
        &[&["-f", "--files", "-v", "--verbose"]],
        &[],
    ),
];

/// Options of Rust's test programs that write nothing.
const OF_TESTS: Open = Open {
    program: "",
    words: &[],
    flags: &[&[
        "--nocapture",
        "--no-capture",
        "--show-output",
        "--ignored",
        "--include-ignored",
        "--exact",
        "--list",
        "-q",
        "--quiet",
    ]],
    valued: &[&["--test-threads", "--skip"]],
    behind: Behind::Nothing,
    others: Others::Here,
};
/// Levels of lints.
const OF_LINTS: Open = Open {
    program: "",
    words: &[],
    flags: &[],
    valued: &[&["-A", "-W", "-D", "--allow", "--warn", "--deny"]],
    behind: Behind::Nothing,
    others: Others::None,
};

/// The words of the rule with `*` that covers a command, if it may be offered.
pub(super) fn offered(command: &ShellCommand) -> Option<Vec<&str>> {
    let words: Option<Vec<&str>> = command.words().iter().map(Word::literal).collect();
    let words = words?;
    let open = OPEN.iter().find(|open| open.begins(&words))?;
    let args = words.get(1 + open.words.len()..)?;
    open.covers(args)
        .then(|| words.get(..=open.words.len()).unwrap_or_default().to_vec())
}

/// Whether a rule with `*` behind these words covers a command that fits it.
/// Of subcommands that are not known here, it covers all.
pub(super) fn covers(rule: &[&str], command: &ShellCommand) -> bool {
    let Some((program, words)) = rule.split_first() else {
        return true;
    };
    let open = OPEN
        .iter()
        .find(|open| open.program == *program && open.words == words);
    open.is_none_or(|open| {
        let args = command.words().get(rule.len()..).unwrap_or_default();
        let args: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
        args.is_some_and(|args| open.covers(&args))
    })
}

impl Open {
    fn begins(&self, words: &[&str]) -> bool {
        let (program, rest) = match words.split_first() {
            Some((program, rest)) => (*program, rest),
            None => return false,
        };
        program == self.program && rest.starts_with(self.words)
    }

    /// Whether all of these are options that are known, or words that do not
    /// lead elsewhere.
    fn covers(&self, args: &[&str]) -> bool {
        let mut rest = args;
        while let Some((first, more)) = rest.split_first() {
            rest = more;
            if *first == "--" {
                return match self.behind {
                    Behind::Nothing => more.is_empty(),
                    Behind::Others => more
                        .iter()
                        .all(|it| self.others == Others::Here && is_here(it)),
                    Behind::TestProgram => OF_TESTS.covers(more),
                    Behind::Lints => OF_LINTS.covers(more),
                };
            }
            if !first.starts_with('-') || *first == "-" {
                if self.others == Others::None || !is_here(first) {
                    return false;
                }
                continue;
            }
            match self.option(first) {
                Taken::Unknown => return false,
                Taken::Alone => {}
                Taken::WithNext => match rest.split_first() {
                    Some((_, more)) => rest = more,
                    None => return false,
                },
            }
        }
        true
    }

    fn option(&self, option: &str) -> Taken {
        let is_flag = |name: &str| self.flags.iter().any(|it| it.contains(&name));
        let is_valued = |name: &str| self.valued.iter().any(|it| it.contains(&name));
        if is_flag(option) {
            return Taken::Alone;
        }
        if is_valued(option) {
            return Taken::WithNext;
        }
        if let Some((name, _)) = option.split_once('=') {
            // `--color=always`, `--porcelain=v2`, `-run=Name`.
            let is_known = is_valued(name) || name.starts_with("--") && is_flag(name);
            return if is_known {
                Taken::Alone
            } else {
                Taken::Unknown
            };
        }
        let letters = option.strip_prefix('-').unwrap_or_default();
        if letters.starts_with('-') || !letters.is_ascii() || self.program == "go" {
            return Taken::Unknown;
        }
        // `git log -20`
        let is_number = letters.chars().all(|c| c.is_ascii_digit());
        if is_number && is_valued("-n") && self.program == "git" {
            return Taken::Alone;
        }
        // `-sb`, `-am MESSAGE`, `-pNAME`
        for (at, letter) in letters.char_indices() {
            let letter = format!("-{letter}");
            if is_valued(&letter) {
                let is_last = at + 1 == letters.len();
                return if is_last {
                    Taken::WithNext
                } else {
                    Taken::Alone
                };
            }
            if !is_flag(&letter) {
                return Taken::Unknown;
            }
        }
        Taken::Alone
    }
}

/// Whether an option is known, and whether it takes the next word.
enum Taken {
    Alone,
    WithNext,
    Unknown,
}

/// Whether a word is a name, or a path that leads further down.
fn is_here(word: &str) -> bool {
    !word.starts_with(['/', '~', '-', '+', ':']) && word.split('/').all(|part| part != "..")
}
