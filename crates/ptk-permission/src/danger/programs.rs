//! Programs whose subcommands do what cannot be taken back.

use crate::shell::{ShellCommand, Word, behind};

/// A use of a program that a person should know about.
struct Use {
    program: &'static str,
    /// The subcommand, word by word.
    words: &'static [&'static str],
    /// One of these has to be there, too, if there are any.
    with: &'static [&'static str],
    /// What it does.
    does: &'static str,
}

const fn always(program: &'static str, words: &'static [&'static str], does: &'static str) -> Use {
    with(program, words, &[], does)
}

const fn with(
    program: &'static str,
    words: &'static [&'static str],
    with: &'static [&'static str],
    does: &'static str,
) -> Use {
    Use {
        program,
        words,
        with,
        does,
    }
}

const LOSES: &str = "discards changes that were not committed";
const REWRITES: &str = "rewrites or deletes what others may have fetched";
const PUBLISHES: &str = "publishes to the world";
const FORGETS: &str = "deletes commits that nothing else holds";
const ENDS: &str = "ends processes";
const OPEN: &str = "writes or runs what an option names";
const DELETES: &str = "deletes what runs or is kept there";

const USES: [Use; 84] = [
    with("git", &["reset"], &["--hard", "--merge", "--keep"], LOSES),
    with(
        "git",
        &["clean"],
        &["-f", "--force"],
        "deletes files that git does not know",
    ),
    with(
        "git",
        &["checkout"],
        &[".", "--", "-f", "--force", ":/"],
        LOSES,
    ),
    always("git", &["restore"], LOSES),
    with(
        "git",
        &["switch"],
        &["-f", "--force", "--discard-changes"],
        LOSES,
    ),
    with("git", &["stash", "drop"], &[], FORGETS),
    with("git", &["stash", "clear"], &[], FORGETS),
    with("git", &["branch"], &["-D"], FORGETS),
    with(
        "git",
        &["push"],
        &[
            "-f",
            "--force",
            "--force-with-lease",
            "--mirror",
            "-d",
            "--delete",
            "--prune",
        ],
        REWRITES,
    ),
    always("git", &["filter-branch"], REWRITES),
    always("git", &["filter-repo"], REWRITES),
    always("git", &["reflog", "expire"], FORGETS),
    always("git", &["reflog", "delete"], FORGETS),
    with("git", &["gc"], &["--prune"], FORGETS),
    always("git", &["prune"], FORGETS),
    with("git", &["update-ref"], &["-d"], FORGETS),
    with("git", &["tag"], &["-d", "--delete"], FORGETS),
    with("git", &["worktree", "remove"], &["-f", "--force"], LOSES),
    always("git", &["rm"], "deletes files"),
    always("cargo", &["publish"], PUBLISHES),
    always("cargo", &["yank"], PUBLISHES),
    always("npm", &["publish"], PUBLISHES),
    always("npm", &["unpublish"], PUBLISHES),
    always("npm", &["deprecate"], PUBLISHES),
    always("pnpm", &["publish"], PUBLISHES),
    always("yarn", &["publish"], PUBLISHES),
    always("yarn", &["npm", "publish"], PUBLISHES),
    always("bun", &["publish"], PUBLISHES),
    always("twine", &["upload"], PUBLISHES),
    always("poetry", &["publish"], PUBLISHES),
    always("uv", &["publish"], PUBLISHES),
    always("flit", &["publish"], PUBLISHES),
    always("gem", &["push"], PUBLISHES),
    always("mvn", &["deploy"], PUBLISHES),
    always("docker", &["push"], PUBLISHES),
    always("podman", &["push"], PUBLISHES),
    always("helm", &["push"], PUBLISHES),
    always("gh", &["release", "create"], PUBLISHES),
    always("gh", &["release", "delete"], DELETES),
    always("gh", &["repo", "delete"], DELETES),
    always("docker", &["rm"], DELETES),
    always("docker", &["rmi"], DELETES),
    always("docker", &["volume", "rm"], DELETES),
    always("docker", &["system", "prune"], DELETES),
    always("docker", &["volume", "prune"], DELETES),
    with(
        "docker",
        &["compose", "down"],
        &["-v", "--volumes"],
        DELETES,
    ),
    always("kubectl", &["delete"], DELETES),
    always("kubectl", &["drain"], DELETES),
    always("helm", &["uninstall"], DELETES),
    always("terraform", &["destroy"], DELETES),
    always("terraform", &["apply"], "changes what runs elsewhere"),
    always("aws", &["s3", "rm"], DELETES),
    always("aws", &["s3", "rb"], DELETES),
    always("dropdb", &[], DELETES),
    always("kill", &[], ENDS),
    always("pkill", &[], ENDS),
    always("killall", &[], ENDS),
    with("crontab", &[], &["-r"], "deletes all jobs of this user"),
    with(
        "rsync",
        &[],
        &[
            "--delete",
            "--delete-after",
            "--delete-before",
            "--delete-excluded",
            "--remove-source-files",
        ],
        "deletes files that the other side does not have",
    ),
    always("shred", &[], "destroys what is in files"),
    always("sudo", &[], "runs it as another user"),
    always("ssh", &[], "runs it on another machine"),
    with("git", &["grep"], &["-O"], OPEN),
    with("git", &["rebase"], &["-x"], OPEN),
    with(
        "git",
        &["difftool"],
        &["-x", "--extcmd", "-t", "--tool"],
        OPEN,
    ),
    always("git", &["mergetool"], OPEN),
    with("git", &["archive"], &["-o"], OPEN),
    with("git", &["format-patch"], &["-o"], OPEN),
    always("git", &["bisect", "run"], OPEN),
    always("git", &["submodule", "foreach"], OPEN),
    with(
        "git",
        &[],
        &[
            "--output",
            "--output-directory",
            "--ext-diff",
            "--open-files-in-pager",
            "--upload-pack",
            "--receive-pack",
            "--exec",
        ],
        OPEN,
    ),
    with(
        "cargo",
        &[],
        &["--config", "--target-dir", "--artifact-dir", "--out-dir"],
        OPEN,
    ),
    with(
        "go",
        &[],
        &[
            "-exec",
            "-toolexec",
            "-vettool",
            "-overlay",
            "-modfile",
            "-ldflags",
            "-gccgoflags",
            "-compiler",
        ],
        OPEN,
    ),
    with("go", &[], &["-o"], OPEN),
    with(
        "make",
        &[],
        &["--eval", "-E", "-f", "--file", "--makefile"],
        OPEN,
    ),
    with("npm", &[], &SCRIPTS, OPEN),
    with("pnpm", &[], &SCRIPTS, OPEN),
    with("yarn", &[], &SCRIPTS, OPEN),
    with(
        "tar",
        &[],
        &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "-I",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
        ],
        OPEN,
    ),
    with("rsync", &[], &["-e", "--rsh", "--rsync-path"], OPEN),
    with("sort", &[], &["--compress-program", "-o", "--output"], OPEN),
    with("rg", &[], &["--pre", "--hostname-bin"], OPEN),
    with("fd", &[], &["-x", "-X", "--exec", "--exec-batch"], OPEN),
    with(
        "find",
        &[],
        &["-fprint", "-fprint0", "-fprintf", "-fls"],
        OPEN,
    ),
];

/// Options of script runners that choose the program to run.
const SCRIPTS: [&str; 9] = [
    "-C",
    "--dir",
    "--cwd",
    "--script-shell",
    "--node-options",
    "--prefix",
    "--userconfig",
    "--globalconfig",
    "--shell",
];
/// Programs that know a long option by its beginning.
const ABBREVIATING: [&str; 5] = ["git", "npm", "make", "tar", "sort"];

/// A warning of what the command does that a person should know.
pub(super) fn warning(command: &ShellCommand) -> Option<String> {
    let name = command.name()?;
    let args = plain_args(name, command.args());
    let found = USES.iter().find(|it| it.program == name && it.fits(args));
    if let Some(found) = found {
        let mut use_of = vec![found.program];
        use_of.extend(found.words);
        use_of.extend(found.with.iter().find(|it| has(name, args, it)));
        return Some(format!("{} {}", use_of.join(" "), found.does));
    }
    let is_variable = |arg: &Word| !arg.start().starts_with('-') && arg.start().contains('=');
    if name == "make" && args.iter().any(is_variable) {
        return Some(format!("make VARIABLE= {OPEN}"));
    }
    let before = command.args().len().saturating_sub(args.len());
    let before = command.args().get(..before).unwrap_or_default();
    if name == "git" && (has(name, before, "-c") || has(name, before, "--config-env")) {
        return Some(format!("git -c {OPEN}"));
    }
    let is_push = name == "git" && args.first().is_some_and(|arg| arg.is("push"));
    let is_forced = |arg: &Word| arg.start().starts_with(['+', ':']);
    (is_push && args.iter().any(is_forced)).then(|| format!("git push {REWRITES}"))
}

/// Options of git before a subcommand that have a value behind them.
const OF_GIT: [&str; 7] = [
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--attr-source",
    "--config-env",
    "--super-prefix",
    "--list-cmds",
];

/// The arguments from the subcommand on.
pub(crate) fn plain_args<'a>(name: &str, args: &'a [Word]) -> &'a [Word] {
    match name {
        "git" => behind(args, "Cc", &OF_GIT, 0),
        "cargo" => {
            let is_toolchain = |arg: &Word| arg.start().starts_with('+');
            let skipped = usize::from(args.first().is_some_and(is_toolchain));
            let args = args.get(skipped..).unwrap_or_default();
            behind(args, "ZC", &["--config", "--color"], 0)
        }
        _ => args,
    }
}

impl Use {
    fn fits(&self, args: &[Word]) -> bool {
        let words = args.iter().filter(|arg| !arg.start().starts_with('-'));
        let words: Vec<&str> = words.take(5).map(Word::start).collect();
        // Some may be the values of options before it.
        let options = args
            .iter()
            .take_while(|arg| !self.words.contains(&arg.start()));
        let options = options.filter(|arg| arg.start().starts_with('-')).count();
        let count = self.words.len();
        let is_there = |at: usize| words.get(at..at + count) == Some(self.words);
        (0..=options.clamp(1, 3)).any(is_there)
            && (self.with.is_empty() || self.with.iter().any(|it| has(self.program, args, it)))
    }
}

/// Whether an option or a word is among the arguments, `-f` also in `-dfx`.
fn has(program: &str, args: &[Word], option: &str) -> bool {
    let letter = option
        .strip_prefix('-')
        .filter(|rest| rest.len() == 1 && *rest != "-");
    let is_short = |text: &str| ABBREVIATING.contains(&program) && text.len() > 3;
    args.iter().any(|arg| {
        let text = arg.start();
        // Programs in Go take one `-` for two.
        let text = match text.strip_prefix('-') {
            Some(rest) if program == "go" && rest.starts_with('-') => rest,
            _ => text,
        };
        match letter {
            Some(letter) if program != "go" => {
                let letters = text.strip_prefix('-').unwrap_or_default();
                !letters.starts_with('-') && letters.contains(letter)
            }
            _ => {
                let name = text.split('=').next().unwrap_or(text);
                let is_start = name.starts_with("--") && option.starts_with(name);
                name == option || is_start && is_short(name)
            }
        }
    })
}
