//! Output to a terminal: no command lets file names, models, tools or
//! configurations send control codes.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::string_slice,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use rexpect::session::spawn_command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The timeout of terminal interactions, in milliseconds.
const PATIENCE: u64 = 60_000;

/// Codes that clear the screen, hide text, set the clipboard, open a link, ring
/// the bell, overwrite, reverse and hide: as C0 and as C1 codes.
const HOSTILE: &str = "X\u{1b}[2J\u{1b}[8m\u{1b}]52;c;eA==\u{7}\u{1b}]8;;http://e\u{1b}\\Y\u{9b}2J\u{9d}0;t\u{9c}\u{8}\u{7f}\u{202e}\u{200b}\u{2066}Z";
/// The hostile characters that a title may contain.
const TITLE: &str = "X\u{202e}\u{200b}\u{9b}2JZ";

struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("space")).unwrap();
        let scene = Self { folder };
        let name = file_name();
        fs::write(scene.path(&name), format!("one {HOSTILE}\r\ntwo\rthree\n")).unwrap();
        let code = format!("/// Finds needles {HOSTILE}\nfn needle() {{}}\n");
        fs::write(scene.path(&file_name().replace(".txt", ".rs")), code).unwrap();
        fs::write(scene.path("raw.bin"), b"raw \x9b2J \xff \x1b[2J\n").unwrap();
        scene
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("space")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn says(&self, replies: &[Value]) {
        fs::write(
            self.outside("script.json"),
            Value::from(replies).to_string(),
        )
        .unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("ptk"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PTK_") {
                command.env_remove(name);
            }
        }
        let script = format!("script:{}", self.outside("script.json").display());
        command
            .args(args)
            .current_dir(self.root())
            .env("PTK_STATE", self.outside("state"))
            .env("PTK_MODELS", self.outside("models"))
            .env("XDG_CONFIG_HOME", self.outside("config"))
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/no/keyring")
            .env("PTK_PROVIDER", script)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("CARGO_TARGET_DIR");
        command
    }

    /// The bytes that a command writes to a terminal.
    fn shown(&self, args: &[&str]) -> Vec<u8> {
        let mut session = spawn_command(self.command(args), Some(PATIENCE)).unwrap();
        let text = session.exp_eof().unwrap();
        // The bytes come as one character each.
        text.chars().filter_map(|c| u8::try_from(c).ok()).collect()
    }

    /// The bytes that a command writes to a pipe.
    fn piped(&self, args: &[&str]) -> Vec<u8> {
        let mut command = self.command(args);
        let output = command.stdin(Stdio::null()).output().unwrap();
        output.stdout
    }
}

fn file_name() -> String {
    format!("{}.txt", HOSTILE.replace('/', ""))
}

/// The text without ptk's own codes: colours, the status line, and links to
/// files.
fn without_own(text: &str) -> String {
    let mut rest = text;
    let mut left = String::new();
    while let Some(at) = rest.find('\u{1b}') {
        left.push_str(&rest[..at]);
        let code = &rest[at + 1..];
        let end = if let Some(body) = code.strip_prefix('[') {
            let end = body.find(|c: char| !c.is_ascii_digit() && c != ';');
            end.map(|end| (end + 2, format!("[{}", &body[..=end])))
        } else if code.starts_with("]8;;") {
            let end = code.find("\u{1b}\\");
            end.map(|end| (end + 2, code[..end].to_owned()))
        } else {
            None
        };
        let (length, code_text) = end.unwrap_or((0, String::new()));
        let is_own = code_text == "[K"
            || code_text == "]8;;"
            || code_text.starts_with("]8;;file:///")
            || (code_text.starts_with('[') && code_text.ends_with('m') && code_text != "[8m");
        if is_own {
            rest = &code[length..];
        } else {
            left.push('\u{1b}');
            rest = code;
        }
    }
    left.push_str(rest);
    left
}

/// Fails if the output contains control codes that are not ptk's own.
fn assert_harmless(args: &[&str], bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec());
    let text = text.unwrap_or_else(|error| panic!("{args:?}: {error}"));
    let left = without_own(&text);
    for (at, c) in left.char_indices() {
        // The terminal writes \r\n; the status line begins with \r.
        let is_fine = matches!(c, '\n' | '\t' | '\r') || !c.is_control();
        let is_hidden = matches!(
            c,
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        );
        assert!(
            is_fine && !is_hidden,
            "{args:?} sends {c:?} at {at}:\n{left:?}"
        );
    }
    text
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table of all commands")]
fn no_command_lets_text_command_the_terminal() {
    let scene = Scene::new();
    let name = file_name();
    let read = json!({"path": name}).to_string();
    let write = json!({"path": format!("new {name}"), "content": HOSTILE}).to_string();
    let answer = json!(format!(
        "**Done** {HOSTILE} `{HOSTILE}`\n```\n{HOSTILE}\n```\nEnd\rX\n"
    ));
    let call = |tool: &str, args: &str| {
        json!(format!(
            "Look {HOSTILE} <PTK_CALL>{{\"tool\": \"{tool}\", \"args\": {args}}}</PTK_CALL>"
        ))
    };
    let print = json!({"command": "cat raw.bin; ls; cat raw.bin >&2"}).to_string();
    let replies = [
        call("read_file", &read),
        call("write_file", &write),
        call("bash", &print),
        call("no_such_tool", "{}"),
        answer,
    ];
    let bad = scene.outside("bad.jsonl");
    fs::write(&bad, format!("{{\"session\": \"{TITLE}\"\n")).unwrap();
    let reply = scene.outside("reply.txt");
    fs::write(
        &reply,
        format!("Hi {HOSTILE} <PTK_CALL>{{\"tool\": \"x{TITLE}\"}}</PTK_CALL>"),
    )
    .unwrap();
    let defs = scene.outside("defs.json");
    let tools = json!([{"name": "x", "description": HOSTILE, "parameters": {}}]);
    fs::write(&defs, tools.to_string()).unwrap();
    let (bad, reply, defs) = (text(&bad), text(&reply), text(&defs));
    let config = file_name().replace(".txt", ".toml");
    fs::write(scene.path(&config), format!("[{TITLE:?}]\n")).unwrap();
    // The command, and whether its output must contain the hostile text.
    let table: &[(&[&str], bool)] = &[
        (&["Hi", "--session", "s", "--approve", "auto"], true),
        (&["Hi", "--quiet", "--approve", "auto"], true),
        (&["Hi", "--json", "--approve", "auto"], true),
        (&["run", "Hi", "--approve", "deny"], true),
        (&["resume", "s"], false),
        (&["resume", TITLE], true),
        (&["--session", TITLE, "Hi", "--approve", "auto"], true),
        (&["sessions", "rename", "s", TITLE], true),
        (&["sessions", "list"], true),
        (&["sessions", "list", "--json"], true),
        (&["sessions", "show", "s"], true),
        (&["sessions", "show", "s", "--json"], true),
        (&["sessions", "search", "Look"], true),
        (&["sessions", "search", "Look", "--json"], true),
        (&["sessions", "export", "s"], true),
        (&["sessions", "export", "s", "--format", "markdown"], true),
        (&["sessions", "fork", "s"], false),
        (&["sessions", "import", bad], true),
        (&["sessions", "check"], false),
        (&["sessions", "delete", TITLE, "--yes"], true),
        (&["replay", "s", "--approve", "deny"], true),
        (&["replay", "s", "--approve", "deny", "--json"], true),
        (&["tools", "call", "read_file", &read], true),
        (&["tools", "call", "read_file", &read, "--json"], true),
        (
            &["tools", "call", "read_file", "{\"path\": \"raw.bin\"}"],
            true,
        ),
        (
            &["tools", "call", "write_file", &write, "--approve", "auto"],
            false,
        ),
        (
            &["tools", "call", "bash", &print, "--approve", "auto"],
            true,
        ),
        (&["tools", "call", "list_files", "{}"], true),
        (
            &["tools", "call", "grep", "{\"pattern\": \"needle\"}"],
            true,
        ),
        (&["tools", "call", TITLE, "{}"], true),
        (&["tools", "list"], false),
        (&["tools", "show", "bash"], false),
        (&["undo", "--list"], true),
        (&["undo", "--list", "--json"], true),
        (&["undo", "--dry-run"], true),
        (&["undo"], true),
        (&["undo", "--call", TITLE], true),
        (&["index"], false),
        (&["index", "--json"], false),
        (&["search", "needle"], true),
        (&["search", "needle", "--json"], true),
        (&["doctor"], false),
        (&["models", "list"], false),
        (&["models", "add", TITLE], true),
        (&["models", "remove", TITLE], true),
        (&["keys", "list"], false),
        (&["keys", "remove", TITLE], true),
        (&["parse", reply], true),
        (&["parse", "--explain", reply], true),
        (&["parse", TITLE], true),
        (&["prompt", "--tool-defs", defs], true),
        (&["prompt", "--tool-defs", defs, "--json"], true),
        (&["probe", "--dialects", TITLE], true),
        (&["tools", "list", "--config", &config], true),
        (&["Hi", "--provider", TITLE], true),
        (&["Hi", "--tools", TITLE], true),
        (&["Hi", "--no-such-flag", TITLE], false),
        (&["permissions", "remove", TITLE], true),
        (&["permissions", "list"], false),
    ];
    for (args, is_seen) in table {
        scene.says(&replies);
        let shown = assert_harmless(args, &scene.shown(args));
        let is_written = [
            "\\u{9b}",
            "\\u009b",
            "\\u{202e}",
            "\\u202e",
            "\\x9b",
            "\\u{1b}",
        ];
        let is_written = is_written.iter().any(|it| shown.contains(it));
        assert!(
            is_written || !is_seen,
            "{args:?} shows nothing of it:\n{shown}"
        );
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_hostile_configuration_does_not_command_the_terminal() {
    let scene = Scene::new();
    scene.says(&[json!("Hi.")]);
    let toml = |text: &str| Value::from(text).to_string();
    let config = format!(
        "[run]\nprovider = {p}\nmodel = {p}\n[models.{p}]\nprovider = {p}\n\
         [permissions]\nallow = [{rule}]\n[[tools]]\nname = \"deploy\"\ndescription = {p}\ncommand = [\"echo\", {p}]\n",
        p = toml("a\u{9b}2J\u{202e}\u{1b}[2Jb")
            .replace('\u{9b}', "\\u009b")
            .replace('\u{202e}', "\\u202e"),
        rule = toml("bash(echo a\u{202e}b)").replace('\u{202e}', "\\u202e"),
    );
    fs::write(scene.path("ptk.toml"), config).unwrap();
    for args in [
        &["permissions", "list"][..],
        &["Hi"],
        &["permissions", "trust", "--yes"],
        &["tools", "list"],
        &["tools", "show", "deploy"],
        &["tools", "call", "deploy", "{}", "--approve", "auto"],
    ] {
        let shown = assert_harmless(args, &scene.shown(args));
        let is_written = ["\\u{9b}", "\\u{202e}"].iter().any(|it| shown.contains(it));
        assert!(is_written || args == ["Hi"], "{args:?}:\n{shown}");
    }
}

#[test]
fn a_question_does_not_command_the_terminal() {
    let scene = Scene::new();
    let path = format!("new {}", file_name());
    let write = json!({"path": path, "content": HOSTILE}).to_string();
    let args = ["tools", "call", "write_file", &write];
    let mut session = spawn_command(scene.command(&args), Some(PATIENCE)).unwrap();
    let (question, _) = session
        .exp_regex("(\\? help|\\))(\u{1b}\\[0m)?: ?$")
        .unwrap();
    session.send_line("n").unwrap();
    let rest = session.exp_eof().unwrap();
    let bytes = format!("{question}{rest}");
    let bytes: Vec<u8> = bytes.chars().filter_map(|c| u8::try_from(c).ok()).collect();
    let shown = assert_harmless(&args, &bytes);
    assert!(shown.contains("\\u{9b}"), "{shown}");
}

/// Data in a pipe is written unchanged.
#[test]
fn data_in_a_pipe_stays_as_it_is() {
    let scene = Scene::new();
    let answer = format!("Answer {HOSTILE}\r\nEnd");
    scene.says(&[json!(answer)]);
    let quiet = scene.piped(&["Hi", "--quiet", "--session", "s"]);
    assert_eq!(String::from_utf8(quiet).unwrap(), format!("{answer}\n"));
    fs::write(scene.path("codes.txt"), "a\u{1b}[2Jb\u{9b}c\n").unwrap();
    let raw = scene.piped(&["tools", "call", "read_file", "{\"path\": \"codes.txt\"}"]);
    assert_eq!(String::from_utf8(raw).unwrap(), "a\u{1b}[2Jb\u{9b}c\n");
    let exported = scene.piped(&["sessions", "export", "s"]);
    let exported = String::from_utf8(exported).unwrap();
    assert!(exported.contains("\u{9b}2J"), "{exported}");
    for line in exported.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
}

/// JSON on a terminal can still be parsed as JSON.
#[test]
fn json_on_a_terminal_stays_json() {
    let scene = Scene::new();
    scene.says(&[json!(format!("Answer {HOSTILE}"))]);
    let shown = scene.shown(&["Hi", "--json", "--session", "s"]);
    let text = String::from_utf8(shown).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line.trim()).unwrap())
        .collect();
    let answer = lines
        .iter()
        .find(|line| line["type"] == "receive_message")
        .unwrap();
    assert!(answer.to_string().contains("\u{9b}2J"), "{answer}");
}
