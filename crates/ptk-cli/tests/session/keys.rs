//! `ptk keys`: with the key file and, where it is built in, with a keyring.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::json;
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer};

use crate::models::{self, chunks};
use crate::scene::{Ended, Scene};

const SECRET: &str = "sk-secret-0123456789";

fn output(mut command: Command, input: &str) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that does not read may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// A command without keys in variables.
fn command(scene: &Scene, args: &[&str]) -> Command {
    let mut command = scene.command(args);
    command.env("HOME", scene.home());
    for name in ["OPENAI_API_KEY", "GROQ_API_KEY", "OPENAI_BASE_URL"] {
        command.env_remove(name);
    }
    command
}

fn ended(scene: &Scene, args: &[&str]) -> Ended {
    Ended::of(output(command(scene, args), ""))
}

/// Stores the key of a service.
fn store(scene: &Scene, name: &str) -> Ended {
    Ended::of(output(command(scene, &["keys", "set", name]), SECRET))
}

fn key_file(scene: &Scene) -> PathBuf {
    scene.home().join("config/ptk/keys.json")
}

/// The place of a service's key, in a list.
fn place(listed: &str, name: &str) -> String {
    let mut lines = listed.lines().filter_map(|line| line.split_at_checked(18));
    let found = lines.find(|(service, _)| service.trim() == name);
    found.unwrap_or_default().1.trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_key_is_sent_and_never_shown() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(header("authorization", format!("Bearer {SECRET}")))
        .respond_with(chunks(&[json!({"content": "Hello."})], "stop"))
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    let file = "~/config/ptk/keys.json";
    let set = store(&scene, "openai").good();
    assert_eq!(set.out, format!("The key of openai is stored in {file}.\n"));
    let metadata = fs::metadata(key_file(&scene)).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);

    let list = ended(&scene, &["keys", "list"]).good();
    assert_eq!(place(&list.out, "openai"), file);
    assert_eq!(place(&list.out, "openai-responses"), file);
    assert_eq!(place(&list.out, "groq"), "–");
    let lines = ended(&scene, &["keys", "list", "--json"]).good();
    let line = json!({"service": "openai", "source": "file", "variable": null});
    assert_eq!(lines.lines()[0], line);

    let run = ["Hi", "--provider", "openai", "--model", "m"];
    let mut run = command(&scene, &run);
    run.env("OPENAI_BASE_URL", format!("{}/v1", server.uri()));
    let (code, out, err) = models::output(run).await;
    assert_eq!((code, out.as_str()), (0, "Hello.\n"), "{err}");
    let log: Vec<String> = scene.log().iter().map(ToString::to_string).collect();

    let removed = ended(&scene, &["keys", "remove", "openai"]).good();
    let said = format!("The key of openai is removed from {file}.\n");
    assert!(removed.out.starts_with(&said), "{}", removed.out);
    let again = ended(&scene, &["keys", "remove", "openai"]);
    assert_eq!(again.code, 1);
    assert!(
        again.err.contains("no key of openai is stored"),
        "{again:?}"
    );
    let run = ended(&scene, &["Hi", "--provider", "openai", "--model", "m"]);
    assert!(run.err.contains("openai wants a key"), "{run:?}");

    let shown = [set, list, lines, removed, again, run];
    let shown = shown.map(|it| it.out + &it.err).concat();
    assert!(!(shown + &out + &err + &log.concat()).contains(SECRET));
}

#[test]
fn a_variable_goes_first() {
    let scene = Scene::new(&[]);
    store(&scene, "groq").good();
    let with_variable = |args: &[&str], input: &str| {
        let mut command = command(&scene, args);
        command.env("GROQ_API_KEY", "sk-variable");
        Ended::of(output(command, input)).good().out
    };
    let set = with_variable(&["keys", "set", "groq"], SECRET);
    assert!(
        set.contains("GROQ_API_KEY is set, and goes first."),
        "{set}"
    );
    let list = with_variable(&["keys", "list"], "");
    assert_eq!(place(&list, "groq"), "GROQ_API_KEY");
    let list = with_variable(&["keys", "list", "--json"], "");
    let line = r#"{"service":"groq","source":"variable","variable":"GROQ_API_KEY"}"#;
    assert!(list.lines().any(|it| it == line), "{list}");
    let removed = with_variable(&["keys", "remove", "groq"], "");
    assert!(removed.contains("GROQ_API_KEY is still set."), "{removed}");
}

#[test]
fn a_key_file_that_is_open_to_others_is_not_used() {
    let scene = Scene::new(&[]);
    store(&scene, "groq").good();
    let file = key_file(&scene);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let before = fs::read(&file).unwrap();
    let advice = format!("chmod 600 {}", file.display());
    for args in [
        &["Hi", "--provider", "groq", "--model", "m"][..],
        &["keys", "set", "groq"],
        &["keys", "remove", "groq"],
        &["keys", "list"],
    ] {
        let refused = Ended::of(output(command(&scene, args), "sk-other"));
        assert_eq!(refused.code, 1, "{args:?}: {refused:?}");
        assert!(refused.err.contains(&advice), "{args:?}: {refused:?}");
        assert!(!(refused.out + &refused.err).contains(SECRET), "{args:?}");
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    // A key in a variable needs no file.
    let mut list = command(&scene, &["keys", "list"]);
    list.env("GROQ_API_KEY", "sk-variable");
    let listed = Ended::of(output(list, ""));
    assert_eq!(place(&listed.out, "groq"), "GROQ_API_KEY");
}

#[test]
fn a_key_file_that_cannot_be_used_is_told_and_kept() {
    let scene = Scene::new(&[]);
    store(&scene, "groq").good();
    let file = key_file(&scene);
    let broken = format!("{{\"groq\": \"{SECRET}\"");
    fs::write(&file, &broken).unwrap();
    for args in [
        &["Hi", "--provider", "groq", "--model", "m"][..],
        &["keys", "set", "groq"],
        &["keys", "list"],
    ] {
        let refused = Ended::of(output(command(&scene, args), "sk-other"));
        assert_eq!(refused.code, 1, "{args:?}: {refused:?}");
        let said = format!("{} is not a JSON object", file.display());
        assert!(refused.err.contains(&said), "{args:?}: {refused:?}");
        assert!(!(refused.out + &refused.err).contains(SECRET), "{args:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), broken);
}

/// Ways to read a file, by tools and by commands.
const WAYS: [(&str, &str); 7] = [
    ("read_file", r#"{"path": "@"}"#),
    ("read_file", r#"{"path": "link"}"#),
    ("read", r#"{"file_paths": ["@"]}"#),
    ("grep", r#"{"pattern": "sk-", "hidden": true}"#),
    (
        "edit",
        r#"{"path": "@", "edits": [{"old_string": "sk-", "new_string": "x"}]}"#,
    ),
    ("bash", r#"{"command": "cat @ link"}"#),
    (
        "bash",
        r#"{"command": "python3 -c 'print(open(\"link\").read())'; sh ./script"}"#,
    ),
];

/// Even in a workspace that holds the file, and where `XDG_CONFIG_HOME` is not
/// the usual folder.
#[test]
fn no_tool_reads_the_key_file() {
    let scene = Scene::new(&[]);
    let here = |args: &[&str], input: &str| {
        let mut command = command(&scene, args);
        command.env("XDG_CONFIG_HOME", scene.path("config"));
        Ended::of(output(command, input))
    };
    here(&["keys", "set", "groq"], SECRET).good();
    let file = scene.path("config/ptk/keys.json");
    scene.write("script", "cat */ptk/*; mv config moved");
    symlink(&file, scene.path("link")).unwrap();
    let content = fs::read(&file).unwrap();
    for (tool, args) in WAYS {
        let args = args.replace('@', "config/ptk/keys.json");
        let said = here(&["tools", "call", tool, &args, "--approve", "auto"], "");
        let said = format!("{tool} {args}: {}{}", said.out, said.err);
        assert!(!said.contains(SECRET), "{said}");
        assert!(!said.contains("was not run"), "{said}");
        assert_eq!(fs::read(&file).unwrap(), content, "{said}");
    }
}

/// The program stores the keys where the sandbox keeps tools from reading them.
#[test]
fn the_keys_are_stored_where_the_sandbox_expects_them() {
    assert_eq!(
        ptk::llm::http::KeyFile::of_user().map(|file| file.path().to_owned()),
        ptk_sandbox::key_file()
    );
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
    assert!(rest.contains("The key of groq is stored in"), "{rest}");
    assert!(!rest.contains(SECRET), "{rest}");
}

/// A build without the keyring does not offer it.
#[cfg(not(feature = "keyring"))]
#[test]
fn without_a_keyring_none_is_offered() {
    let scene = Scene::new(&[]);
    for args in [
        &["keys", "--help"][..],
        &["keys", "set", "--help"],
        &["keys", "list"],
    ] {
        let said = ended(&scene, args).good().out;
        assert!(!said.contains("keyring"), "{said}");
    }
    let set = ended(&scene, &["keys", "set", "groq", "--keyring"]);
    assert_eq!(set.code, 2, "{set:?}");
}

/// Where there is no keyring, it is told, and the key file serves.
#[cfg(feature = "keyring")]
#[test]
fn a_keyring_that_cannot_be_used_is_told() {
    let scene = Scene::new(&[]);
    let set = command(&scene, &["keys", "set", "groq", "--keyring"]);
    let set = Ended::of(output(set, SECRET));
    assert_eq!(set.code, 1);
    let (advice, why) = ("set GROQ_API_KEY instead", "no keyring");
    assert!(set.err.contains(advice) && set.err.contains(why), "{set:?}");
    store(&scene, "groq").good();
    let list = ended(&scene, &["keys", "list"]).good();
    let said = "The keyring was not looked at: ";
    assert!(list.out.contains(said), "{list:?}");
    let removed = ended(&scene, &["keys", "remove", "groq"]).good();
    assert!(removed.out.contains(said), "{removed:?}");
    let again = ended(&scene, &["keys", "remove", "groq"]);
    assert!(again.code == 1 && again.err.contains(why), "{again:?}");
    assert!(!(set.out + &set.err + &list.out).contains(SECRET));
}

/// In a D-Bus session with a keyring of its own.
#[cfg(feature = "keyring")]
#[test]
#[ignore = "needs dbus-run-session and gnome-keyring-daemon"]
fn a_key_is_kept_in_a_real_keyring() {
    let scene = Scene::new(&[]);
    let script = r#"
        printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null
        set -e
        printf %s "$SECRET" | "$PTK" keys set openai --keyring
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
        out.contains("The key of openai is stored in the keyring."),
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
