//! `ptk setup`, and the same questions where no model is chosen.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use rexpect::session::{PtySession, spawn_command};
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::models::{chunks, output};
use crate::scene::{Ended, Scene};
use crate::watching::{PATIENCE, plain};

pub(crate) const SECRET: &str = "sk-secret-0123456789";
/// The variables that would make more models appear.
const VARIABLES: [&str; 8] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "OPENROUTER_API_KEY",
    "OPENAI_BASE_URL",
    "LLAMA_API_KEY",
];

/// An Ollama with these models, each of which says who it is.
async fn ollama(models: &[&str]) -> MockServer {
    let server = MockServer::start().await;
    let list: Vec<Value> = models.iter().map(|name| json!({"name": name})).collect();
    let list = ResponseTemplate::new(200).set_body_json(json!({"models": list}));
    Mock::given(method("GET"))
        .and(path("/api/tags"))
        .respond_with(list)
        .mount(&server)
        .await;
    Mock::given(method("POST"))
        .and(path("/api/chat"))
        .respond_with(|request: &Request| {
            let body: Value = request.body_json().unwrap();
            let said = format!("I am {}.", body["model"]);
            let line = json!({
                "message": {"role": "assistant", "content": said},
                "done": true,
                "done_reason": "stop",
            });
            let text = format!("{line}\n");
            ResponseTemplate::new(200).set_body_raw(text, "application/x-ndjson")
        })
        .mount(&server)
        .await;
    server
}

/// A person without a model, and with this Ollama.
pub(crate) fn furnish(scene: &Scene, command: &mut Command, ollama: &str) {
    scene.furnish(command);
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command
        .env_remove("PTK_PROVIDER")
        .env("PTK_MODELS", scene.home().join("models"))
        .env("PTK_SETUP_TIMEOUT", "60s")
        .env("OLLAMA_HOST", ollama)
        .env("TERM", "dumb");
}

pub(crate) fn command(scene: &Scene, ollama: &str, args: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("ptk"));
    furnish(scene, &mut command, ollama);
    command.args(args).stdin(Stdio::null());
    command
}

/// A terminal with `ptk` in it, and its exit code at the end.
pub(crate) fn terminal(
    scene: &Scene,
    ollama: &str,
    args: &[&str],
    more: &[(&str, &str)],
) -> PtySession {
    let mut command = Command::new("sh");
    furnish(scene, &mut command, ollama);
    command
        .args(["-c", r#"trap : INT; "$0" "$@"; echo "exit code $?""#])
        .arg(cargo_bin!("ptk"))
        .args(args)
        .envs(more.iter().copied());
    spawn_command(command, Some(PATIENCE)).unwrap()
}

/// Runs a conversation at a terminal without blocking the mock server.
pub(crate) async fn at_terminal<T: Send + 'static>(
    mut terminal: PtySession,
    talk: impl FnOnce(&mut PtySession) -> T + Send + 'static,
) -> T {
    let talk = tokio::task::spawn_blocking(move || talk(&mut terminal));
    talk.await.unwrap()
}

/// The number of a row, once it is shown.
fn number_of(terminal: &mut PtySession, row: &str) -> String {
    let (_, row) = terminal.exp_regex(&format!("[0-9]+  {row}")).unwrap();
    row.split(' ').next().unwrap().to_owned()
}

fn config(scene: &Scene) -> PathBuf {
    scene.home().join("config/ptk/ptk.toml")
}

fn write_config(scene: &Scene, text: &str) {
    fs::create_dir_all(config(scene).parent().unwrap()).unwrap();
    fs::write(config(scene), text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_served_model_is_chosen_once() {
    let scene = Scene::new(&[]);
    let server = ollama(&["qwen3:4b"]).await;
    let host = server.address().to_string();
    let before = "# Mine.\n[sessions]\nmax_sessions = 7 # enough\n";
    write_config(&scene, before);
    let opened = terminal(&scene, &host, &["Who are you?"], &[]);
    let rest = at_terminal(opened, |terminal| {
        terminal.exp_string("No model is chosen yet.").unwrap();
        assert_eq!(number_of(terminal, "qwen3:4b by Ollama"), "1");
        terminal.exp_string("nothing else needed").unwrap();
        terminal.exp_string("another service").unwrap();
        for wrong in ["99", "0", "qwen", "-1"] {
            terminal.exp_string("Which one? [1] ").unwrap();
            terminal.send_line(wrong).unwrap();
            terminal.exp_string("none of them").unwrap();
            terminal.exp_string("a number from 1 to ").unwrap();
        }
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line("").unwrap();
        terminal.exp_eof().unwrap()
    })
    .await;
    let rest = plain(&rest);
    for said in [
        "Kept in ",
        "`ptk setup` chooses again",
        "I am \"qwen3:4b\".",
        "exit code 0",
    ] {
        assert!(rest.contains(said), "{said}: {rest}");
    }
    let kept = fs::read_to_string(config(&scene)).unwrap();
    assert!(kept.starts_with(before), "{kept}");
    assert!(
        kept.ends_with("[run]\nprovider = \"ollama\"\nmodel = \"qwen3:4b\"\n"),
        "{kept}"
    );

    let opened = terminal(&scene, &host, &["Who are you?"], &[]);
    let all = at_terminal(opened, |terminal| terminal.exp_eof().unwrap()).await;
    assert!(plain(&all).contains("I am \"qwen3:4b\"."), "{all}");
    assert!(!all.contains("Which one?"), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_ptk_leads_to_a_chat() {
    let scene = Scene::new(&[]);
    // One of them answers no prompts, and is not the first offer.
    let server = ollama(&["nomic-embed-text", "gemma3:1b", "qwen3:4b", "qwen3:8b"]).await;
    let host = server.address().to_string();
    let opened = terminal(&scene, &host, &[], &[]);
    let rest = at_terminal(opened, |terminal| {
        terminal.exp_string("Ollama, 4 models").unwrap();
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line("1").unwrap();
        terminal.exp_string("Ollama has 4 models").unwrap();
        terminal.exp_string("1  gemma3:1b").unwrap();
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line("llama").unwrap();
        terminal.exp_string("`llama` is not in the list").unwrap();
        terminal.exp_string("Use it anyway?").unwrap();
        terminal.send_line("").unwrap();
        terminal.exp_string("These are listed:").unwrap();
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line("QWEN").unwrap();
        terminal.exp_string("2 with `QWEN` in the name").unwrap();
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line("2").unwrap();
        terminal.exp_string("ollama/qwen3:8b").unwrap();
        terminal.exp_string("/help tells").unwrap();
        terminal.send_control('d').unwrap();
        terminal.exp_eof().unwrap()
    })
    .await;
    assert!(rest.contains("exit code 0"), "{rest}");
    let kept = fs::read_to_string(config(&scene)).unwrap();
    assert!(kept.contains("model = \"qwen3:8b\""), "{kept}");
    let mode = fs::metadata(config(&scene)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_changes_nothing() {
    let scene = Scene::new(&[]);
    let server = ollama(&["a", "b"]).await;
    let host = server.address().to_string();
    for (key, code, said) in [
        ('d', 1, "no model was chosen"),
        ('c', 130, "Interrupted; nothing was changed."),
    ] {
        for args in [&["Hi"][..], &["setup"], &[]] {
            // At the first question, and at the second.
            for first in [None, Some("1")] {
                let opened = terminal(&scene, &host, args, &[]);
                let rest = at_terminal(opened, move |terminal| {
                    terminal.exp_string("Which one? [1] ").unwrap();
                    if let Some(first) = first {
                        terminal.send_line(first).unwrap();
                        terminal.exp_string("Which one? [1] ").unwrap();
                    }
                    terminal.send_control(key).unwrap();
                    terminal.exp_eof().unwrap()
                });
                let rest = rest.await;
                assert!(rest.contains(said), "{args:?}: {rest}");
                let code = format!("exit code {code}");
                assert!(rest.contains(&code), "{args:?}: {rest}");
                assert!(!config(&scene).exists());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_nothing_is_asked() {
    let scene = Scene::new(&[]);
    let server = ollama(&["qwen3:4b"]).await;
    let host = server.address().to_string();
    let run = |args: &[&str]| {
        let mut command = command(&scene, &host, args);
        // Of several keys, none is taken unasked.
        command
            .env("GROQ_API_KEY", SECRET)
            .env("ANTHROPIC_API_KEY", SECRET);
        output(command)
    };
    let (code, out, err) = run(&[]).await;
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("Usage: ptk"), "{err}");

    let (code, out, err) = run(&["Hi"]).await;
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    for said in [
        "no model is chosen",
        "--provider ollama       --model qwen3:4b",
        "Ollama is running here",
        "GROQ_API_KEY is set",
        "ptk models pull",
        "run `ptk setup` in a terminal",
    ] {
        assert!(err.contains(said), "{said}: {err}");
    }
    assert!(!err.contains(SECRET), "{err}");

    let (code, _, err) = run(&["setup"]).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("there is no terminal to ask on"), "{err}");

    let (code, out, err) = run(&["setup", "--json"]).await;
    assert_eq!(code, 0, "{err}");
    assert!(!out.contains(SECRET), "{out}");
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let running = json!({
        "kind": "server",
        "provider": "ollama",
        "address": format!("http://{host}"),
        "models": ["qwen3:4b"],
    });
    let keyed = json!({
        "kind": "service",
        "provider": "groq",
        "source": "variable",
        "variable": "GROQ_API_KEY",
    });
    assert!(lines.contains(&running) && lines.contains(&keyed), "{out}");
    assert!(!config(&scene).exists());
}

/// Whether an Ollama at this address is offered.
async fn is_offered(scene: &Scene, host: &str, timeout: Option<&str>) -> bool {
    let mut command = command(scene, host, &["setup", "--json"]);
    match timeout {
        Some(timeout) => command.env("PTK_SETUP_TIMEOUT", timeout),
        None => command.env_remove("PTK_SETUP_TIMEOUT"),
    };
    let (code, out, err) = output(command).await;
    assert_eq!(code, 0, "{err}");
    out.contains("\"ollama\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_list_of_models_is_an_answer() {
    let scene = Scene::new(&[]);
    // It accepts, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = silent.local_addr().unwrap().to_string();
    assert!(!is_offered(&scene, &host, None).await);

    for other in [
        ResponseTemplate::new(200).set_body_string("<html>It works!</html>"),
        ResponseTemplate::new(200).set_body_json(json!({"models": "none"})),
        ResponseTemplate::new(200).set_body_json(json!([])),
        ResponseTemplate::new(404).set_body_json(json!({"models": []})),
    ] {
        let server = MockServer::start().await;
        Mock::given(method("GET"))
            .respond_with(other)
            .mount(&server)
            .await;
        let host = server.address().to_string();
        assert!(!is_offered(&scene, &host, Some("60s")).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_name_is_written_out_and_kept_as_it_is() {
    let scene = Scene::new(&[]);
    let name = "X\u{1b}[2J\u{1b}]52;c;eA==\u{7}\u{9b}2J\u{202e}\n  1  trusted \"]\n[sandbox]\nZ";
    let server = ollama(&[name]).await;
    let host = server.address().to_string();
    let (_, _, err) = output(command(&scene, &host, &["Hi"])).await;
    assert!(!err.contains('\u{1b}'), "{err}");
    assert!(!err.contains("\n  1  trusted"), "{err}");

    let opened = terminal(&scene, &host, &["setup"], &[]);
    let all = at_terminal(opened, |terminal| {
        let (before, _) = terminal.exp_regex("Which one").unwrap();
        terminal.send_line("1").unwrap();
        before + &terminal.exp_eof().unwrap()
    })
    .await;
    assert!(all.contains("exit code 0"), "{all}");
    for code in ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\n  1  trusted"] {
        assert!(!all.contains(code), "{code:?} in {all:?}");
    }
    assert!(plain(&all).contains("X\\u{1b}[2J"), "{all}");
    // It is the name that the server is asked for, and nothing else was set.
    let (code, out, err) = output(command(&scene, &host, &["Hi"])).await;
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, format!("I am {}.\n", json!(name)));
    let kept = fs::read_to_string(config(&scene)).unwrap();
    let kept: toml::Table = kept.parse().unwrap();
    assert_eq!(kept.keys().collect::<Vec<_>>(), ["run"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_replaces_the_first_only_if_that_is_wanted() {
    let scene = Scene::new(&[]);
    let server = ollama(&["qwen3:4b"]).await;
    let host = server.address().to_string();
    let before = "[run]\n# The best one.\nprovider = \"groq\" # fast\nmodel = \"llama\"\n\
         dialect = \"ptk\"\n";
    let after = "[run]\n# The best one.\nprovider = \"ollama\" # fast\nmodel = \"qwen3:4b\"\n\
         dialect = \"ptk\"\n";
    write_config(&scene, before);
    let mode = fs::Permissions::from_mode(0o644);
    fs::set_permissions(config(&scene), mode).unwrap();
    for (answer, code, kept) in [
        (Some(""), 1, before),
        (Some("no"), 1, before),
        (Some("y"), 0, after),
        // The same again is no change.
        (None, 0, after),
    ] {
        let opened = terminal(&scene, &host, &["setup"], &[]);
        let rest = at_terminal(opened, move |terminal| {
            terminal.exp_string("Which one? [1] ").unwrap();
            terminal.send_line("1").unwrap();
            if let Some(answer) = answer {
                terminal
                    .exp_string("has provider groq, model llama")
                    .unwrap();
                terminal.exp_string("Replace it?").unwrap();
                terminal.send_line(answer).unwrap();
            }
            terminal.exp_eof().unwrap()
        });
        let rest = rest.await;
        assert!(rest.contains(&format!("exit code {code}")), "{rest}");
        assert_eq!(fs::read_to_string(config(&scene)).unwrap(), kept);
        // What was meant for the model before is not forgotten.
        assert_eq!(rest.contains("also sets dialect"), code == 0, "{rest}");
    }
    // Its owner lets others read it.
    let mode = fs::metadata(config(&scene)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_service_is_asked_for_and_kept_with_the_model() {
    let scene = Scene::new(&[]);
    let server = MockServer::start().await;
    let names: Vec<Value> = (0..30)
        .map(|number| json!({"id": format!("gpt-{number}")}))
        .collect();
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .and(header("authorization", format!("Bearer {SECRET}")))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"data": names})))
        .mount(&server)
        .await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {SECRET}")))
        .respond_with(chunks(&[json!({"content": "Hello."})], "stop"))
        .mount(&server)
        .await;
    let base = format!("{}/v1", server.uri());
    let keys = scene.home().join("config/ptk/keys.json");
    // No Ollama is there.
    let open = || {
        let more = [("OPENAI_BASE_URL", base.as_str())];
        terminal(&scene, "127.0.0.1:9", &["Hi"], &more)
    };
    let ask = |terminal: &mut PtySession| {
        let number = number_of(terminal, "another service");
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line(&number).unwrap();
        let number = number_of(terminal, "OpenAI");
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line(&number).unwrap();
        terminal.exp_string("Key for OpenAI: ").unwrap();
        terminal.send_line(SECRET).unwrap();
        let (before, _) = terminal.exp_regex("and 10 more").unwrap();
        assert!(!before.contains(SECRET), "{before}");
        terminal.exp_string("Which one? ").unwrap();
    };
    let rest = at_terminal(open(), move |terminal| {
        ask(terminal);
        terminal.send_control('d').unwrap();
        terminal.exp_eof().unwrap()
    })
    .await;
    assert!(rest.contains("exit code 1"), "{rest}");
    assert!(!keys.exists() && !config(&scene).exists());

    let rest = at_terminal(open(), move |terminal| {
        ask(terminal);
        // A list may be cut.
        terminal.send_line("new-one").unwrap();
        terminal.exp_string("Use it anyway?").unwrap();
        terminal.send_line("y").unwrap();
        terminal.exp_eof().unwrap()
    })
    .await;
    for said in ["The key of OpenAI is stored in ", "Kept in ", "Hello."] {
        assert!(rest.contains(said), "{said}: {rest}");
    }
    assert!(!rest.contains(SECRET), "{rest}");
    let kept = fs::read_to_string(config(&scene)).unwrap();
    assert!(kept.contains("provider = \"openai\"\nmodel = \"new-one\""));
    assert!(!kept.contains(SECRET), "{kept}");
    let mode = fs::metadata(&keys).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (_, out, _) = output(command(&scene, "127.0.0.1:9", &["setup", "--json"])).await;
    assert!(
        out.contains(r#""provider":"openai","source":"file""#),
        "{out}"
    );
    assert!(!out.contains(SECRET), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_reached_by_its_address() {
    let scene = Scene::new(&[]);
    let server = MockServer::start().await;
    let address = format!("{}/v1", server.uri());
    let opened = terminal(&scene, "127.0.0.1:9", &["setup"], &[]);
    let typed = address.clone();
    let rest = at_terminal(opened, move |terminal| {
        let number = number_of(terminal, "a server of yours");
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line(&number).unwrap();
        for (wrong, said) in [
            ("127.0.0.1:8080", "http://HOST:PORT/v1"),
            ("ftp://127.0.0.1/", "neither http nor https"),
            ("http://me:secret@127.0.0.1/v1", "A password is not kept"),
        ] {
            terminal.exp_string("Its address: ").unwrap();
            terminal.send_line(wrong).unwrap();
            terminal.exp_string(said).unwrap();
        }
        terminal.exp_string("Its address: ").unwrap();
        terminal.send_line(&typed).unwrap();
        terminal.exp_string("It lists no models").unwrap();
        terminal.exp_string("Name of the model: ").unwrap();
        terminal.send_line("tiny").unwrap();
        terminal.exp_eof().unwrap()
    })
    .await;
    assert!(rest.contains("exit code 0"), "{rest}");
    let kept = fs::read_to_string(config(&scene)).unwrap();
    let expected = format!("provider = \"{address}\"\nmodel = \"tiny\"\n");
    assert!(kept.ends_with(&expected), "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_names_another_model_is_told() {
    let scene = Scene::new(&[]);
    let file = scene.home().join("other.toml");
    fs::write(&file, "[run]\nprovider = \"http://127.0.0.1:9/v1\"\n").unwrap();
    let server = ollama(&["tiny"]).await;
    let host = server.address().to_string();
    let more = [("PTK_CONFIG", file.to_str().unwrap())];
    let opened = terminal(&scene, &host, &["setup"], &more);
    let rest = at_terminal(opened, |terminal| {
        let number = number_of(terminal, "tiny");
        terminal.exp_string("Which one? [1] ").unwrap();
        terminal.send_line(&number).unwrap();
        terminal.exp_eof().unwrap()
    })
    .await;
    let told = "other.toml goes first: provider http://127.0.0.1:9/v1";
    assert!(rest.contains("Kept in ") && rest.contains(told), "{rest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistyped_key_can_be_typed_again() {
    let scene = Scene::new(&[]);
    let server = MockServer::start().await;
    let list = json!({"data": [{"id": "the-only-one"}]});
    Mock::given(method("GET"))
        .and(header("authorization", format!("Bearer {SECRET}")))
        .respond_with(ResponseTemplate::new(200).set_body_json(list))
        .mount(&server)
        .await;
    let base = format!("{}/v1", server.uri());
    let more = [("OPENAI_BASE_URL", base.as_str())];
    let opened = terminal(&scene, "127.0.0.1:9", &["setup"], &more);
    let rest = at_terminal(opened, |terminal| {
        for row in ["another service", "OpenAI"] {
            let number = number_of(terminal, row);
            terminal.exp_string("Which one? [1] ").unwrap();
            terminal.send_line(&number).unwrap();
        }
        terminal.exp_string("Key for OpenAI: ").unwrap();
        terminal.send_line("sk-half").unwrap();
        terminal.exp_string("OpenAI lists no models").unwrap();
        terminal.exp_string("Type the key again?").unwrap();
        terminal.send_line("y").unwrap();
        terminal.exp_string("Key for OpenAI: ").unwrap();
        terminal.send_line(SECRET).unwrap();
        terminal.exp_eof().unwrap()
    })
    .await;
    assert!(rest.contains("exit code 0"), "{rest}");
    let keys = fs::read_to_string(scene.home().join("config/ptk/keys.json")).unwrap();
    assert!(keys.contains(SECRET) && !keys.contains("half"));
    let kept = fs::read_to_string(config(&scene)).unwrap();
    assert!(kept.contains("model = \"the-only-one\""), "{kept}");
}

/// Nothing is asked where the answer could not be kept; what can be done instead
/// is told.
#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_can_be_kept_nothing_is_asked() {
    let scene = Scene::new(&[]);
    let server = ollama(&["qwen3:4b"]).await;
    let host = server.address().to_string();
    // A folder in the place of the lock stops even root.
    fs::create_dir_all(config(&scene).with_extension("lock")).unwrap();
    for (args, said) in [
        (&["Hi"][..], "--provider ollama       --model qwen3:4b"),
        (&["setup"], "a choice could not be kept"),
    ] {
        let opened = terminal(&scene, &host, args, &[]);
        let all = at_terminal(opened, |terminal| terminal.exp_eof().unwrap());
        let all = plain(&all.await);
        assert!(all.contains(said), "{all}");
        assert!(all.to_lowercase().contains("a choice could not be kept"));
        assert!(all.contains("exit code 1"), "{all}");
        assert!(!all.contains("Which one?"), "{all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_be_used_are_told() {
    let scene = Scene::new(&[]);
    let keys = scene.home().join("config/ptk/keys.json");
    fs::create_dir_all(keys.parent().unwrap()).unwrap();
    fs::write(&keys, "{}").unwrap();
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o644)).unwrap();
    for args in [&["Hi"][..], &["setup", "--json"]] {
        let (_, _, err) = output(command(&scene, "127.0.0.1:9", args)).await;
        assert!(err.contains("Stored keys are not used"), "{err}");
        assert!(err.contains("chmod 600"), "{err}");
    }
}

/// A model of the user's own `[models]` is named, and needs no provider.
#[test]
fn a_declared_model_is_the_first_offer() {
    let scene = Scene::new(&[json!("Hello.")]);
    let script = scene.script();
    let script = script.display();
    let before = format!("[models.mine]\nprovider = \"script:{script}\" # a script\n");
    write_config(&scene, &before);
    let mut opened = terminal(&scene, "127.0.0.1:9", &["Hi"], &[]);
    assert_eq!(number_of(&mut opened, "mine"), "1");
    opened.exp_string("Which one? [1] ").unwrap();
    opened.send_line("").unwrap();
    let rest = opened.exp_eof().unwrap();
    assert!(
        rest.contains("Hello.") && rest.contains("exit code 0"),
        "{rest}"
    );
    let kept = fs::read_to_string(config(&scene)).unwrap();
    assert_eq!(kept, format!("{before}\n[run]\nmodel = \"mine\"\n"));
}

/// A choice in the user's own file would not count beside a named one.
#[test]
fn a_named_configuration_is_not_asked_about() {
    let scene = Scene::new(&[]);
    scene.write("other.toml", "");
    let args = ["Hi", "--config", "other.toml"];
    let mut opened = terminal(&scene, "127.0.0.1:9", &args, &[]);
    let all = plain(&opened.exp_eof().unwrap());
    assert!(all.contains("under [run] in other.toml"), "{all}");
    assert!(all.contains("exit code 1"), "{all}");
    // Nor is one who named a model.
    let ended = Ended::of(
        command(&scene, "127.0.0.1:9", &["Hi", "--model", "x"])
            .output()
            .unwrap(),
    );
    assert!(ended.err.contains("no model is chosen"), "{ended:?}");
}

/// A download that fails is no choice.
#[cfg(feature = "local")]
#[test]
fn nothing_is_kept_of_a_download_that_fails() {
    let scene = Scene::new(&[]);
    let nowhere = [("PIP_INDEX_URL", "http://127.0.0.1:9/simple")];
    let mut opened = terminal(&scene, "127.0.0.1:9", &["Hi"], &nowhere);
    let number = number_of(&mut opened, "Qwen2.5 Coder 0.5B");
    opened.exp_string("downloads 478 MB once; no key").unwrap();
    opened.exp_string("Which one? [1] ").unwrap();
    opened.send_line(&number).unwrap();
    let rest = opened.exp_eof().unwrap();
    assert!(rest.contains("exit code 1"), "{rest}");
    assert!(!config(&scene).exists());
}
