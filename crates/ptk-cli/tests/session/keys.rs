//! `ptk keys`, without a keyring and with a real one.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;

use crate::scene::Scene;

const SECRET: &str = "sk-secret-0123456789";

fn output(mut command: Command, input: &str) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn without_a_keyring_variables_are_all_there_is() {
    let scene = Scene::new(&[]);
    let mut list = scene.command(&["keys", "list"]);
    list.env_remove("GROQ_API_KEY")
        .env("OPENAI_API_KEY", SECRET);
    let listed = output(list, "");
    let out = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.status.success());
    let line = |name: &str| {
        let found = out
            .lines()
            .find(|line| line.split(' ').next() == Some(name));
        found.unwrap_or_default().to_owned()
    };
    assert!(line("openai").ends_with(" OPENAI_API_KEY"), "{out}");
    assert!(line("groq").ends_with(" –"), "{out}");
    assert!(out.contains("Only variables were looked at"), "{out}");
    assert!(!out.contains(SECRET));

    let set = output(scene.command(&["keys", "set", "groq"]), SECRET);
    let err = String::from_utf8(set.stderr).unwrap();
    assert_eq!(set.status.code(), Some(1));
    assert!(
        err.contains("set GROQ_API_KEY instead") && err.contains("no keyring"),
        "{err}"
    );
    assert!(!err.contains(SECRET));
}

#[test]
fn services_that_keep_no_key_are_named() {
    let scene = Scene::new(&[]);
    for (name, said) in [
        ("gorq", "did you mean `groq`?"),
        ("ollama", "ollama does nothing that needs a key"),
        ("llama.cpp", "if yours does, set LLAMA_API_KEY"),
    ] {
        let set = output(scene.command(&["keys", "set", name]), SECRET);
        let err = String::from_utf8(set.stderr).unwrap();
        assert_eq!(set.status.code(), Some(1));
        assert!(err.contains(said), "{err}");
    }
    let set = output(scene.command(&["keys", "set", "groq"]), "\n");
    let err = String::from_utf8(set.stderr).unwrap();
    assert!(err.contains("no key was given"), "{err}");
}

#[test]
fn at_a_terminal_the_key_is_asked_for() {
    let scene = Scene::new(&[]);
    let mut command = Command::new(cargo_bin!("ptk"));
    scene.furnish(&mut command);
    command.args(["keys", "set", "groq"]);
    let mut terminal = rexpect::session::spawn_command(command, Some(30_000)).unwrap();
    terminal.exp_string("Key for groq: ").unwrap();
    terminal.send_line(SECRET).unwrap();
    let rest = terminal.exp_eof().unwrap();
    assert!(rest.contains("set GROQ_API_KEY instead"), "{rest}");
    assert!(!rest.contains(SECRET), "{rest}");
}

/// In a D-Bus session with a keyring of its own.
#[test]
#[ignore = "needs dbus-run-session and gnome-keyring-daemon"]
fn a_key_is_kept_in_a_real_keyring() {
    let scene = Scene::new(&[]);
    let script = r#"
        printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null
        set -e
        printf %s "$SECRET" | "$PTK" keys set openai
        "$PTK" keys list
        "$PTK" keys list --json
        "$PTK" Hi --provider openai-responses --model m --timeout 20s || true
        "$PTK" keys remove openai
        "$PTK" keys remove openai || echo "nothing left"
    "#;
    let mut command = Command::new("dbus-run-session");
    scene.furnish(&mut command);
    command
        .args(["--", "sh", "-c", script])
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .env_remove("OPENAI_API_KEY")
        .env("XDG_DATA_HOME", scene.path("data"))
        .env("XDG_RUNTIME_DIR", scene.path(""))
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .env("PTK", cargo_bin!("ptk"))
        .env("SECRET", SECRET);
    let ended = output(command, "");
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    let err = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        out.contains("The key of openai is in the keyring."),
        "{out} {err}"
    );
    assert!(
        out.contains("openai             the keyring"),
        "{out} {err}"
    );
    assert!(
        out.contains(r#"{"service":"openai-responses","source":"keyring","variable":null}"#),
        "{out}"
    );
    // It had a key, and reached the server.
    assert!(
        err.contains("openai-responses (m) cannot be reached"),
        "{err}"
    );
    assert!(
        out.contains("is removed") && out.contains("nothing left"),
        "{out} {err}"
    );
    assert!(!(out + &err).contains(SECRET));
}
