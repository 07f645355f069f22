//! Approval of calls: who is asked, what is shown, and which rules are saved.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use rexpect::session::{PtySession, spawn_command};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The timeout of terminal interactions, in milliseconds.
const PATIENCE: u64 = 20_000;

/// Runs a program where no mount namespaces can be created.
const WITHOUT_MOUNTS: &str = r#"echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$0" "$@""#;

struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir_all(folder.path().join("space/build")).unwrap();
        let scene = Self { folder };
        for number in 0..1204 {
            fs::write(scene.path(&format!("build/{number}.o")), "x".repeat(2575)).unwrap();
        }
        fs::write(scene.path("a.txt"), "one\ntwo\n").unwrap();
        scene
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("space")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn user_file(&self) -> PathBuf {
        self.folder.path().join("config/ptk/permissions.toml")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("ptk"));
        command.args(args);
        self.in_place(command)
    }

    /// The same on a machine without full protection.
    fn unprotected_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "sh", "-c", WITHOUT_MOUNTS])
            .arg(cargo_bin!("ptk"))
            .args(args);
        self.in_place(command)
    }

    fn in_place(&self, mut command: Command) -> Command {
        command
            .current_dir(self.root())
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            .env("NO_COLOR", "1")
            // Commands may write to that folder, which contains this scene.
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("PTK_APPROVE");
        command
    }

    /// Runs `ptk` without a terminal: its exit code and output.
    fn ptk(&self, args: &[&str]) -> (i32, String) {
        self.said_by(self.command(args))
    }

    fn said_by(&self, mut command: Command) -> (i32, String) {
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        (output.status.code().unwrap(), self.plain(&said))
    }

    fn plain(&self, text: &str) -> String {
        let folder = self.folder.path().canonicalize().unwrap();
        let text = text.replace(folder.to_str().unwrap(), "FOLDER");
        let text = text.replace(self.folder.path().to_str().unwrap(), "FOLDER");
        // On a busy machine it reports that it is still running.
        let lines = text.split_inclusive('\n');
        lines.filter(|it| !it.starts_with("running for ")).collect()
    }

    /// Calls a tool at a terminal.
    fn at_terminal(&self, tool: &str, args: &Value) -> Terminal<'_> {
        let args = args.to_string();
        self.terminal(self.command(&["tools", "call", tool, &args]))
    }

    fn terminal(&self, command: Command) -> Terminal<'_> {
        let session = spawn_command(command, Some(PATIENCE)).unwrap();
        Terminal {
            scene: self,
            session,
        }
    }

    fn bash_at_terminal(&self, command: &str) -> Terminal<'_> {
        self.at_terminal("bash", &json!({"command": command}))
    }

    /// Runs a command without a terminal.
    fn bash(&self, command: &str) -> (i32, String) {
        let args = json!({"command": command}).to_string();
        self.ptk(&["tools", "call", "bash", &args])
    }
}

struct Terminal<'a> {
    scene: &'a Scene,
    session: PtySession,
}

impl Terminal<'_> {
    /// Reads up to the end of the question.
    fn question(&mut self) -> String {
        self.until("(\\? help|\\)): $")
    }

    fn until(&mut self, end: &str) -> String {
        let text = self.session.exp_regex(end).unwrap();
        self.scene.plain(&decoded(&format!("{}{}", text.0, text.1)))
    }

    fn answer(&mut self, answer: &str) {
        self.session.send_line(answer).unwrap();
    }

    /// Reads the rest of the output after the answer.
    fn rest(mut self) -> String {
        let text = self.session.exp_eof().unwrap();
        self.scene.plain(&decoded(&text))
    }
}

/// Decodes the terminal's bytes, which come as one character each.
fn decoded(text: &str) -> String {
    let bytes = text.chars().filter_map(|c| u8::try_from(c).ok());
    let text = String::from_utf8(bytes.collect()).unwrap();
    text.replace('\r', "")
}

#[test]
fn a_command_is_asked_about_with_its_rule() {
    let scene = Scene::new();
    let mut terminal = scene.bash_at_terminal("git status --short");
    insta::assert_snapshot!(terminal.question(), @r"
    bash wants to run:

    git status --short

    Allow? y once, s this session, a always, n no, ? help
    s and a are for bash(git status *):
    ");
    terminal.answer("?");
    insta::assert_snapshot!(terminal.question(), @r"

      y  it runs, this once
      s  it runs, and so does bash(git status *) until ptk ends
      a  the same from now on, in this workspace; `ptk permissions` takes it back
      n  it does not run, nor does the same call until ptk ends

    Allow? y once, s this session, a always, n no, ? help
    s and a are for bash(git status *):
    ");
    terminal.answer("n");
    insta::assert_snapshot!(terminal.rest(), @"error: bash was not allowed: the user said no");
}

#[test]
fn what_is_dangerous_is_counted_and_agreed_to_once_only() {
    let scene = Scene::new();
    let mut terminal = scene.bash_at_terminal("rm -rf build");
    insta::assert_snapshot!(terminal.question(), @r"
    bash wants to run:

    rm -rf build

    ! rm would delete 1,204 files, 3.1 MB, in build/

    Allow? y once, n no, ? help:
    ");
    terminal.answer("a");
    let again = terminal.question();
    assert!(again.contains("There is no rule for it"), "{again}");
    assert!(scene.path("build").exists());
    terminal.answer("y");
    terminal.rest();
    assert!(!scene.path("build").exists());
    assert!(!scene.user_file().exists());
}

#[test]
fn what_a_model_says_does_not_hide_the_command() {
    let scene = Scene::new();
    let said = format!("git status{}", "\n".repeat(199));
    let args = json!({"command": "touch 'a\u{ad}b'", "description": said});
    let mut terminal = scene.at_terminal("bash", &args);
    insta::assert_snapshot!(terminal.question(), @r"
    bash wants to run:

    touch 'a\u{ad}b'

    It says: git status

    Allow? y once, s this session, a always, n no, ? help
    s and a are for bash(touch 'a\u{ad}b'):
    ");
    terminal.answer("n");
    terminal.rest();
}

#[test]
fn what_shells_read_differently_runs_by_no_rule() {
    let scene = Scene::new();
    fs::create_dir_all(scene.user_file().parent().unwrap()).unwrap();
    fs::write(scene.user_file(), "allow = [\"bash(cat *)\"]\n").unwrap();
    let (code, said) = scene.bash("cat <<'EOF'\nfine\nEOF\n");
    assert_eq!((code, said.contains("fine")), (0, true), "{said}");
    // For bash the text ends at the first EOF, and the rest runs.
    let (code, said) = scene.bash("cat <<'E'OF\nfine\nEOF\ntouch pwned\n");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("was not allowed"), "{said}");
    assert!(!scene.path("pwned").exists());
}

#[test]
fn what_runs_later_is_said_and_not_written_unasked() {
    let scene = Scene::new();
    let args = json!({"path": ".envrc", "content": "touch pwned\n"});
    let mut terminal = scene.at_terminal("write_file", &args);
    insta::assert_snapshot!(terminal.question(), @r"
    write_file wants to write .envrc:

    new file, 1 line
    +touch pwned

    ! .envrc runs later, outside the sandbox, by direnv

    Allow? y once, n no, ? help:
    ");
    terminal.answer("n");
    terminal.rest();
    let call = ["tools", "call", "write_file", &args.to_string()].map(str::to_owned);
    let call: Vec<&str> = call.iter().map(String::as_str).collect();
    let (code, said) = scene.ptk(&[&call[..], &["--approve", "auto"]].concat());
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("only a rule that names .envrc allows that"),
        "{said}"
    );
    assert!(!scene.path(".envrc").exists());
}

#[test]
fn a_diff_is_shown_and_nothing_in_it_reaches_the_terminal() {
    let scene = Scene::new();
    let edits = json!([{"old_string": "two", "new_string": "2\u{1b}[2J\u{202e}"}]);
    let mut terminal = scene.at_terminal("edit", &json!({"path": "a.txt", "edits": edits}));
    insta::assert_snapshot!(terminal.question(), @r"
    edit wants to write a.txt:

    @@ -1,2 +1,2 @@
     one
    -two
    +2\u{1b}[2J\u{202e}

    Allow? y once, s this session, a always, n no, ? help
    s and a are for edit(a.txt):
    ");
    terminal.answer("s");
    terminal.rest();
    assert!(
        fs::read_to_string(scene.path("a.txt"))
            .unwrap()
            .contains('2')
    );
}

#[test]
fn always_is_kept_listed_and_removed() {
    let scene = Scene::new();
    let mut terminal = scene.bash_at_terminal("cat a.txt");
    terminal.question();
    terminal.answer("a");
    insta::assert_snapshot!(terminal.rest(), @r"
    Kept in FOLDER/config/ptk/permissions.toml; `ptk permissions` shows and removes it.
    one
    two
    ");
    insta::assert_snapshot!(scene.plain(&fs::read_to_string(scene.user_file()).unwrap()), @r#"
    # What ptk may do without asking. Edit it as you like; `ptk permissions` shows it.
    [workspaces."FOLDER/space"]
    allow = ["bash(cat a.txt)"]
    "#);
    assert_eq!(scene.bash("cat a.txt"), (0, "one\ntwo\n".to_owned()));
    insta::assert_snapshot!(scene.ptk(&["permissions", "list"]).1, @r"
      allow  bash(cat a.txt)  FOLDER/config/ptk/permissions.toml

    What changes something and fits no rule is asked about (ask).
    ");
    insta::assert_snapshot!(scene.ptk(&["permissions", "list", "--json"]).1, @r#"{"action":"allow","rule":"bash(cat a.txt)","source":"FOLDER/config/ptk/permissions.toml","in_force":true}"#);
    insta::assert_snapshot!(scene.ptk(&["permissions", "remove", "bash(cat a.tx)"]).1, @"error: rule bash(cat a.tx) not found; did you mean `bash(cat a.txt)`?");
    insta::assert_snapshot!(scene.ptk(&["permissions", "remove", "bash(cat a.txt)"]).1, @"Removed bash(cat a.txt) from FOLDER/config/ptk/permissions.toml.");
    insta::assert_snapshot!(scene.ptk(&["permissions", "list"]).1, @r"
    No rules.

    What changes something and fits no rule is asked about (ask).
    ");
    assert_eq!(scene.bash("cat a.txt").0, 1);
}

#[test]
fn nobody_who_can_be_asked_is_a_no_that_says_what_helps() {
    let scene = Scene::new();
    insta::assert_snapshot!(scene.bash("cargo test -q").1, @"error: bash was not allowed: there is no terminal to ask on; run it on a terminal, with --approve auto, or allow bash(cargo test *) in ptk's permissions.toml");
    insta::assert_snapshot!(scene.bash("rm a.txt").1, @"error: bash was not allowed: there is no terminal to ask on; run it on a terminal, or with --approve auto");
    let deny = scene.ptk(&[
        "tools",
        "call",
        "bash",
        r#"{"command": "ls"}"#,
        "--approve",
        "deny",
    ]);
    insta::assert_snapshot!(deny.1, @"error: bash was not allowed: calls that change something are refused here");
}

#[test]
fn a_strangers_file_forbids_but_grants_nothing_until_it_is_trusted() {
    let scene = Scene::new();
    let write = |text: &str| fs::write(scene.path("ptk.toml"), text).unwrap();
    write("[permissions]\nmode = \"auto\"\nallow = [\"bash(cat *)\"]\ndeny = [\"bash(ls *)\"]\n");
    assert_eq!(scene.bash("cat a.txt").0, 1);
    insta::assert_snapshot!(scene.bash("ls").1, @"error: bash was not allowed: the rule deny bash(ls *) (ptk.toml) forbids it");
    insta::assert_snapshot!(scene.ptk(&["permissions", "list"]).1, @r"
      deny   bash(ls *)   ptk.toml
    - allow  bash(cat *)  ptk.toml
    - permissions.mode  auto: what fits no rule runs  ptk.toml

    What changes something and fits no rule is asked about (ask).
    - does not count: ptk.toml may have come with code of others. `ptk permissions trust` lets it.
    ");
    let mut terminal = scene.bash_at_terminal("cat a.txt");
    let question = terminal.question();
    assert!(question.contains("ptk.toml would allow more"), "{question}");
    terminal.answer("n");
    terminal.rest();
    let mut terminal = scene.terminal(scene.command(&["permissions", "trust"]));
    insta::assert_snapshot!(terminal.until("no: $"), @r"
    Once ptk.toml is trusted, this counts:

      permissions.allow  bash(cat *)
      permissions.mode   auto: what fits no rule runs

    A change of ptk.toml has to be trusted again.
    Trust ptk.toml? y yes, N no:
    ");
    terminal.answer("");
    terminal.rest();
    assert_eq!(scene.bash("cat a.txt").0, 1);
    let mut terminal = scene.terminal(scene.command(&["permissions", "trust"]));
    terminal.until("no: $");
    terminal.answer("y");
    assert!(terminal.rest().ends_with("Trusted ptk.toml.\n"));
    assert_eq!(scene.bash("cat a.txt").0, 0);
    assert_eq!(scene.bash("pwd").0, 0);
    assert_eq!(scene.bash("ls").0, 1);
    // Changed content is no longer trusted.
    write("[permissions]\nallow = [\"bash(cat *)\", \"bash(rm *)\"]\n");
    assert_eq!(scene.bash("cat a.txt").0, 1);
}

#[test]
fn a_workspace_loosens_nothing_of_the_users_own() {
    let scene = Scene::new();
    let user = |text: &str| {
        fs::create_dir_all(scene.user_file().parent().unwrap()).unwrap();
        fs::write(scene.user_file(), text).unwrap();
    };
    user("mode = \"deny\"\nallow = [\"bash(cat *)\"]\n");
    let write = |text: &str| fs::write(scene.path("ptk.toml"), text).unwrap();
    write("[permissions]\nmode = \"ask\"\n");
    insta::assert_snapshot!(scene.bash("cat a.txt").1, @"error: bash was not allowed: calls that change something are refused here");
    user("mode = \"auto\"\n");
    assert_eq!(scene.bash("cat a.txt").0, 1);
    write("[undo]\nenabled = false\n");
    insta::assert_snapshot!(scene.bash("cat a.txt").1, @r"
    one
    two
    ptk.toml is not trusted, so these settings are ignored: undo. `ptk permissions trust` shows what they would allow, and asks.
    ");
    insta::assert_snapshot!(scene.ptk(&["permissions", "trust", "--yes"]).1, @r"
    Once ptk.toml is trusted, this counts:

      undo  keeps nothing, so that no change can be undone

    A change of ptk.toml has to be trusted again.
    Trusted ptk.toml.
    ");
    assert_eq!(scene.bash("cat a.txt").0, 0);
}

#[test]
fn an_endpoint_of_a_strangers_file_is_not_asked() {
    let scene = Scene::new();
    let declared = "[[tools]]\nname = \"ping\"\ndescription = \"Ping\"\nurl = \"http://127.0.0.1:9/\"\nheaders = [[\"X\", \"k=$SOME_KEY, $OTHER\"]]\n";
    fs::write(scene.path("ptk.toml"), declared).unwrap();
    let called = scene.ptk(&["tools", "call", "ping", "{}", "--approve", "auto"]);
    insta::assert_snapshot!(called.1, @"error: ping is declared in ptk.toml, which may have come with code of others. `ptk permissions list` shows it, `ptk permissions trust` asks whether to trust it.");
    insta::assert_snapshot!(scene.ptk(&["permissions", "list"]).1, @r"
    No rules.
    - tools.ping  asks http://127.0.0.1:9/, sends $SOME_KEY, $OTHER  ptk.toml

    What changes something and fits no rule is asked about (ask).
    - does not count: ptk.toml may have come with code of others. `ptk permissions trust` lets it.
    ");
    insta::assert_snapshot!(scene.ptk(&["permissions", "trust", "--yes"]).1, @r"
    Once ptk.toml is trusted, this counts:

      tools.ping  asks http://127.0.0.1:9/, sends $SOME_KEY, $OTHER

    A change of ptk.toml has to be trusted again.
    Trusted ptk.toml.
    ");
    let mut terminal = scene.at_terminal("ping", &json!({}));
    let question = terminal.question();
    assert!(
        question.contains("It sends $SOME_KEY, $OTHER of your environment."),
        "{question}"
    );
    assert!(question.contains("s and a are for ping(#"), "{question}");
    terminal.answer("n");
    terminal.rest();
}

#[test]
fn always_holds_for_a_checker_as_it_is_declared() {
    let scene = Scene::new();
    let declare = |program: &str| {
        let text = format!("[diagnostics]\ncommand = [\"{program}\", \"new\"]\n");
        fs::write(scene.path("ptk.toml"), text).unwrap();
        assert_eq!(scene.ptk(&["permissions", "trust", "--yes"]).0, 0);
    };
    let check = || scene.ptk(&["tools", "call", "get_diagnostics", "{}"]);
    declare("true");
    assert_eq!(check().0, 1);
    let mut terminal = scene.at_terminal("get_diagnostics", &json!({}));
    let question = terminal.question();
    assert!(question.contains("get_diagnostics(#"), "{question}");
    terminal.answer("a");
    terminal.rest();
    assert_eq!(check().0, 0);
    declare("touch");
    assert_eq!(check().0, 1);
    assert!(!scene.path("new").exists());
}

/// Ways to write the rules file if the workspace is the home folder.
const WAYS: [&str; 7] = [
    "mkdir -p .config && cd .config && mkdir -p ptk && echo \"mode = 'auto'\" > ptk/permissions.toml",
    "mkdir -p .config/ptk; cd .config/ptk; echo \"mode = 'auto'\" > permissions.toml",
    "python3 -c \"import os; os.makedirs('.config/ptk', exist_ok=True); open('.config/ptk/permissions.toml', 'w').write('mode = 1')\"",
    "mv .config x; mkdir -p .config/ptk; cd .config; echo \"mode = 'auto'\" > ptk/permissions.toml",
    "rmdir .config/ptk; ln -s /tmp .config/ptk; cd .config; echo \"mode = 'auto'\" > ptk/permissions.toml",
    "d=.config; rm -rf $d; mkdir -p $d/ptk; echo \"mode = 'auto'\" > $d/ptk/permissions.toml",
    "p=ptk; echo '[sandbox]' > .config/$p/ptk.toml",
];

#[test]
fn nothing_writes_the_users_configuration() {
    let scene = Scene::new();
    let (home, link) = (
        scene.folder.path().join("home"),
        scene.folder.path().join("link"),
    );
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink(&home, &link).unwrap();
    let call = |tool: &str, args: &Value| {
        let mut command = scene.command(&["tools", "call", tool, &args.to_string()]);
        command
            .args(["--approve", "auto"])
            .current_dir(&link)
            .env("HOME", &link)
            .env("PTK_STATE", scene.folder.path().join("state"))
            .env_remove("XDG_CONFIG_HOME");
        let output = command.output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let written = || {
        let folder = home.join(".config/ptk");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|it| it.file_name()).collect::<Vec<_>>()
    };
    for path in [".config/ptk/permissions.toml", ".config/ptk/ptk.toml"] {
        let said = call("write_file", &json!({"path": path, "content": ""}));
        assert!(said.contains("only a person changes it"), "{path}: {said}");
        assert!(written().is_empty(), "{path}");
    }
    for way in WAYS {
        let said = call("bash", &json!({ "command": way }));
        assert!(written().is_empty(), "{way}: {said}");
    }
    // Everything else in it can be changed like any workspace.
    let said = call(
        "bash",
        &json!({"command": "mkdir -p .config/mine && echo 1 > .config/mine/a && cat .config/mine/a"}),
    );
    assert!(said.starts_with('1'), "{said}");
}

#[test]
fn a_rule_that_is_none_is_told_with_its_place() {
    let scene = Scene::new();
    fs::write(
        scene.path("ptk.toml"),
        "[permissions]\nallow = [\n  \"bash(ls\",\n]\n",
    )
    .unwrap();
    insta::assert_snapshot!(scene.bash("ls").1, @"error: ptk.toml:3:4: `bash(ls` is not a rule: its bracket is not closed");
    fs::write(scene.path("ptk.toml"), "[permissions]\nalow = []\n").unwrap();
    insta::assert_snapshot!(scene.bash("ls").1, @"error: ptk.toml:2:1: unknown field `alow`, expected one of `mode`, `allow`, `ask`, `deny`, `patience`; did you mean `allow`?");
}

#[test]
fn a_question_without_an_answer_is_a_no() {
    let scene = Scene::new();
    fs::write(scene.path("ptk.toml"), "[permissions]\npatience = 1\n").unwrap();
    let mut terminal = scene.bash_at_terminal("cat a.txt");
    terminal.question();
    insta::assert_snapshot!(terminal.rest(), @r"

    error: bash was not allowed: there was no answer within 1 s
    ");
}

#[test]
fn an_interrupt_is_a_no() {
    let scene = Scene::new();
    let mut terminal = scene.bash_at_terminal("rm a.txt");
    terminal.question();
    terminal.session.send_control('c').unwrap();
    let said = terminal.rest();
    assert!(
        said.contains("it was cancelled while a person was being asked"),
        "{said}"
    );
    assert!(scene.path("a.txt").exists());
}

#[test]
fn the_end_of_the_input_is_a_no() {
    let scene = Scene::new();
    let mut terminal = scene.bash_at_terminal("rm a.txt");
    terminal.question();
    terminal.session.send_control('d').unwrap();
    let said = terminal.rest();
    assert!(said.contains("there was no answer"), "{said}");
    assert!(Path::new(&scene.path("a.txt")).exists());
}

/// Whether full protection can be disabled on this machine.
#[cfg(target_os = "linux")]
fn has_unprotected() -> bool {
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        WITHOUT_MOUNTS,
        "true",
    ]);
    let is_there = command.status().is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("not tried: the system lets nobody make namespaces");
    }
    is_there
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_protected_is_asked_about() {
    if !has_unprotected() {
        return;
    }
    let scene = Scene::new();
    let call = ["tools", "call", "bash", r#"{"command": "cat a.txt"}"#];
    let mut terminal = scene.terminal(scene.unprotected_command(&call));
    insta::assert_snapshot!(terminal.question(), @r"
    bash wants to run:

    cat a.txt

    ! The sandbox would not be complete: without attributes of other files (the system refuses a namespace of mounts: No space left on device (os error 28))

    Allow? y once, s this session, n no, ? help
    s is for bash(cat a.txt):
    ");
    terminal.answer("a");
    insta::assert_snapshot!(terminal.question(), @r#"

      y  it runs, this once
      s  it runs, and so does bash(cat a.txt) until ptk ends
      n  it does not run, nor does the same call until ptk ends

      `ptk doctor` says how to get what the sandbox lacks. To let all commands run
      without it from now on, write [sandbox] and unprotected = "allow" into
      ~/.config/ptk/ptk.toml.

    Allow? y once, s this session, n no, ? help
    s is for bash(cat a.txt):
    "#);
    terminal.answer("s");
    insta::assert_snapshot!(terminal.rest(), @r"
    one
    two
    ");
    assert!(!scene.user_file().exists());
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_protected_does_not_run_where_nobody_is_asked() {
    if !has_unprotected() {
        return;
    }
    let scene = Scene::new();
    let call = ["tools", "call", "bash", r#"{"command": "cat a.txt"}"#];
    let auto = [&call[..], &["--approve", "auto"]].concat();
    let refused = scene.said_by(scene.unprotected_command(&auto));
    // Without layers, all files are saved first, which may take a while.
    let told = refused.1.lines();
    let told: Vec<&str> = told.filter(|it| !it.starts_with("running for ")).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    error: The command was not run, because the sandbox would not be complete: without attributes of other files (the system refuses a namespace of mounts: No space left on device (os error 28))
      `ptk doctor` says what is missing, how to get it, and how to run without it.
    ");
    let asked = scene.said_by(scene.unprotected_command(&call));
    assert_eq!(asked.0, refused.0);
    assert!(
        asked.1.contains("there is no terminal to ask on"),
        "{}",
        asked.1
    );
    // Not even on a terminal: with `--approve auto` there are no questions.
    let terminal = scene.terminal(scene.unprotected_command(&auto));
    assert_eq!(terminal.rest(), refused.1);
    let config = scene.folder.path().join("config/ptk");
    fs::create_dir_all(&config).unwrap();
    fs::write(
        config.join("ptk.toml"),
        "[sandbox]\nunprotected = \"refuse\"\n",
    )
    .unwrap();
    let terminal = scene.terminal(scene.unprotected_command(&call));
    assert_eq!(terminal.rest(), refused.1);
    fs::write(
        config.join("ptk.toml"),
        "[sandbox]\nunprotected = \"allow\"\n",
    )
    .unwrap();
    let allowed = scene.said_by(scene.unprotected_command(&auto));
    assert_eq!(allowed, (0, "one\ntwo\n".to_owned()));
}

#[cfg(target_os = "linux")]
#[test]
fn changes_are_shown_before_they_are_kept() {
    let scene = Scene::new();
    let args = r#"{"command": "sed -i s/two/three/ a.txt"}"#;
    let call = [
        "tools",
        "call",
        "bash",
        args,
        "--approve",
        "auto",
        "--review",
    ];
    let before = fs::read_to_string(scene.path("a.txt")).unwrap();
    let mut terminal = scene.terminal(scene.command(&call));
    insta::assert_snapshot!(terminal.until("not run: $"), @r"

    bash has ended, with 1 change:

    --- a.txt: a file of 8 bytes, mode 644
    +++ a.txt: a file of 10 bytes, mode 644
    @@ -1,2 +1,2 @@
     one
    -two
    +three

    Keep this? y yes, n no, as if it had not run:
    ");
    terminal.answer("n");
    insta::assert_snapshot!(terminal.rest(), @r"
    error: The command ran, but nothing of what it changed was kept: the user said no
      Look at what is there now before you go on.
    ");
    let after = fs::read_to_string(scene.path("a.txt")).unwrap();
    assert_eq!(after, before);

    let mut terminal = scene.terminal(scene.command(&call));
    terminal.until("not run: $");
    terminal.answer("y");
    terminal.rest();
    let after = fs::read_to_string(scene.path("a.txt")).unwrap();
    assert_eq!(after, before.replace("two", "three"));
}

#[test]
fn rules_are_added_for_here_or_everywhere() {
    let scene = Scene::new();
    let (code, told) = scene.ptk(&["permissions", "allow", "bash(make *)", "edit(src/**)"]);
    assert_eq!(code, 0, "{told}");
    assert!(
        told.contains("allow bash(make *) in FOLDER/space"),
        "{told}"
    );
    let (code, told) = scene.ptk(&["permissions", "deny", "bash(git push *)", "--everywhere"]);
    assert_eq!(code, 0, "{told}");
    let kept = fs::read_to_string(scene.user_file()).unwrap();
    assert!(kept.starts_with("# What ptk may do"), "{kept}");
    assert!(kept.contains("\ndeny = [\"bash(git push *)\"]"), "{kept}");
    let (_, listed) = scene.ptk(&["permissions", "list"]);
    for rule in [
        "allow  bash(make *)",
        "allow  edit(src/**)",
        "deny   bash(git push *)",
    ] {
        assert!(listed.contains(rule), "{listed}");
    }
    let (code, told) = scene.bash("git push origin");
    assert!(code == 1 && told.contains("forbids it"), "{told}");
    let (code, _) = scene.ptk(&["permissions", "remove", "bash(git push *)"]);
    assert_eq!(code, 0);
    let (code, told) = scene.ptk(&["permissions", "allow", "bsh(ls *)"]);
    assert_eq!(code, 2, "{told}");
    assert!(
        told.contains("no tool is called `bsh`; did you mean `bash`?"),
        "{told}"
    );
}

/// A rule that names no tool would be in force for nothing.
#[test]
fn a_rule_for_a_tool_that_there_is_not_is_an_error() {
    let scene = Scene::new();
    fs::create_dir_all(scene.user_file().parent().unwrap()).unwrap();
    let own = |rule: &str| fs::write(scene.user_file(), format!("allow = [\"{rule}\"]\n")).unwrap();
    let list = ["permissions", "list"];
    let read = ["tools", "call", "read_file", r#"{"path": "a.txt"}"#];
    for (rule, near) in [("bsh(ls *)", "bash"), ("raed_file(a.txt)", "read_file")] {
        own(rule);
        for args in [&list[..], &read] {
            let (code, told) = scene.ptk(args);
            assert_eq!(code, 1, "{told}");
            assert!(told.contains("permissions.toml: the rule `"), "{told}");
            assert!(told.contains(&format!("did you mean `{near}`?")), "{told}");
        }
        assert_eq!(scene.ptk(&["permissions", "remove", rule]).0, 0);
        assert_eq!(scene.ptk(&list).0, 0);
    }
    // Of a server, and of another workspace.
    own("github__create_issue\", \"deploy_the_shop");
    assert_eq!(scene.ptk(&read).0, 0);
    own("bash(ls *)");
    fs::write(
        scene.path("ptk.toml"),
        "[permissions]\ndeny = [\"deploy_the_shop\"]\n",
    )
    .unwrap();
    let (code, told) = scene.ptk(&read);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains("no tool is called `deploy_the_shop`"),
        "{told}"
    );
}
