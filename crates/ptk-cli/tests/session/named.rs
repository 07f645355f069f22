//! Configured models, and what is learned about them.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::models::{chunks, output as ended};
use crate::scene::Scene;

fn configured(scene: &Scene, text: &str) {
    let folder = scene.path("../config/ptk");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("ptk.toml"), text).unwrap();
}

/// A command that names no provider.
fn command(scene: &Scene, args: &[&str]) -> Command {
    let mut command = scene.command(args);
    command.env_remove("PTK_PROVIDER");
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_model_fails_its_fallback_answers() {
    let first = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(401).set_body_string("wrong key"))
        .mount(&first)
        .await;
    let second = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(|request: &Request| {
            let body: Value = request.body_json().unwrap();
            assert_eq!(body["model"], "mini");
            assert_eq!(body["temperature"], 0.5);
            assert_eq!(body["max_completion_tokens"], 300);
            chunks(&[json!({"content": "Hello."})], "stop")
        })
        .mount(&second)
        .await;
    let scene = Scene::new(&[]);
    configured(
        &scene,
        &format!(
            r#"
[run]
model = "main"

[models.main]
provider = "{}/v1"
model = "big"
fallback = ["spare"]

[models.spare]
provider = "openai"
base_url = "{}/v1"
key_variable = "SPARE_KEY"
model = "mini"
temperature = 0.5
max_tokens = 300
mode = "text"
prices = {{ input = 100.0, output = 1000.0 }}
fallback = ["main"]
"#,
            first.uri(),
            second.uri()
        ),
    );
    let mut run = command(&scene, &["Hi"]);
    run.env("SPARE_KEY", "sk-spare-0123456789");
    let (code, out, err) = ended(run).await;
    assert_eq!((code, out.as_str()), (0, "Hello.\n"), "{err}");
    assert!(err.contains("wants a key"), "{err}");
    assert!(err.contains("mini is asked instead"), "{err}");
    // 40 input tokens, 9 output tokens.
    assert_eq!(scene.sessions()[0]["usage"]["cost_micros"], 13_000);
    let sent = &second.received_requests().await.unwrap()[0];
    assert_eq!(sent.headers["authorization"], "Bearer sk-spare-0123456789");
    assert!(
        first.received_requests().await.unwrap()[0]
            .headers
            .get("authorization")
            .is_none()
    );

    // The same model answers when the session is continued, whatever is
    // configured.
    let mut again = command(&scene, &["-c", "And?"]);
    again.env("SPARE_KEY", "sk-spare-0123456789");
    let (code, _, err) = ended(again).await;
    assert_eq!(code, 0, "{err}");
}

#[test]
fn mistakes_are_placed() {
    let scene = Scene::new(&[json!("x")]);
    let script = format!("script:{}", scene.script().display());
    for (text, args, said) in [
        (
            format!(
                "[models.a]\nprovider = \"{script}\"\nfallback = [\"spar\"]\n[models.spare]\nprovider = \"{script}\"\n"
            ),
            &["Hi", "--model", "a"][..],
            "ptk.toml:1:1: model `spar` not found in [models]; did you mean `spare`?",
        ),
        (
            format!("[models.main]\nprovider = \"{script}\"\n"),
            &["Hi", "--model", "mani"],
            "model `mani` not found in [models]; did you mean `main`?",
        ),
        (
            "[models.a]\nprovider = \"opnai\"\n".to_owned(),
            &["Hi", "--model", "a"],
            "ptk.toml:1:1: model `a`: Provider \"opnai\" not found. Did you mean \"openai\"?",
        ),
        (
            format!("[models.a]\nprovider = \"{script}\"\nmood = \"text\"\n"),
            &["Hi", "--model", "a"],
            "ptk.toml:3:1: unknown field `mood`",
        ),
        (
            format!("[models.a]\nprovider = \"{script}\"\nmode = \"loud\"\n"),
            &["Hi", "--model", "a"],
            "ptk.toml:3:8: unknown value `loud`, expected one of `auto`, `native`, `text`",
        ),
        (
            format!("[models.a]\nprovider = \"{script}\"\ndialect = \"klingon\"\n"),
            &["Hi", "--model", "a"],
            "ptk.toml:1:1: unknown dialect `klingon`",
        ),
        (
            "[models.a]\nprovider = \"openai\"\nmodel = \"m\"\nkey_variable = \"NO_SUCH\"\n"
                .to_owned(),
            &["Hi", "--model", "a"],
            "openai wants a key; set NO_SUCH",
        ),
        (
            format!("[models.a]\nprovider = \"{script}\"\n"),
            &["Hi"],
            "--model a",
        ),
    ] {
        configured(&scene, &text);
        let output = command(&scene, args).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_ne!(output.status.code(), Some(0), "{err}");
        assert!(err.contains(said), "{text}\n{err}");
    }
}

/// Prompts are sent there, so an untrusted file must not decide where.
#[test]
fn a_workspace_names_models_once_it_is_trusted() {
    let scene = Scene::new(&[json!("Hello.")]);
    let script = format!("script:{}", scene.script().display());
    scene.write(
        "ptk.toml",
        format!("[run]\nmodel = \"ours\"\n[models.ours]\nprovider = \"{script}\"\n"),
    );
    let output = command(&scene, &["Hi"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.status.code(), Some(0), "{err}");
    assert!(
        err.contains("these settings are ignored: run.model, models.ours."),
        "{err}"
    );
    scene.ptk(&["permissions", "trust", "--yes"]).good();
    let output = command(&scene, &["Hi"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "Hello.\n");
}

/// A server without tool support is detected once, and remembered.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_cannot_do_is_remembered() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(|request: &Request| {
            let body: Value = request.body_json().unwrap();
            if body.get("tools").is_some() {
                let error = json!({"error": {"message": "qwen2.5:7b does not support tools"}});
                return ResponseTemplate::new(400).set_body_json(error);
            }
            let text = body.to_string();
            if text.contains("Buy milk.") {
                return chunks(&[json!({"content": "Milk."})], "stop");
            }
            // It is taught its own dialect.
            assert!(text.contains("<tool_call>"), "{text}");
            let call = r#"<tool_call>{"name": "read_file", "arguments": {"path": "notes.txt"}}</tool_call>"#;
            chunks(&[json!({"content": call})], "stop")
        })
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    let address = format!("{}/v1", server.uri());
    let run = || {
        command(
            &scene,
            &[
                "Read notes",
                "--provider",
                &address,
                "--model",
                "qwen2.5:7b",
            ],
        )
    };
    let (code, out, err) = ended(run()).await;
    assert_eq!((code, out.as_str()), (0, "Milk.\n"), "{err}");
    assert!(err.contains("with its tools told in words"), "{err}");
    let known = fs::read_to_string(scene.state().join("models.json")).unwrap();
    assert!(known.contains("qwen2.5:7b"), "{known}");

    let (code, out, err) = ended(run()).await;
    assert_eq!((code, out.as_str()), (0, "Milk.\n"), "{err}");
    assert!(!err.contains("in words"), "{err}");
    let tries = server.received_requests().await.unwrap();
    let natives = tries.iter().filter(|request| {
        let body: Value = request.body_json().unwrap_or_default();
        body.get("tools").is_some()
    });
    assert_eq!(natives.count(), 1);

    // With an explicit mode it is an error.
    let mut insisting = run();
    insisting.args(["--mode", "native"]);
    let (code, _, err) = ended(insisting).await;
    assert_eq!(code, 1);
    assert!(err.contains("takes no tools"), "{err}");
}

/// Servers report the capabilities of their models in different ways.
#[tokio::test(flavor = "multi_thread")]
async fn the_word_of_a_server_counts() {
    let listed = json!({"data": [{"id": "tiny", "supported_parameters": ["tools"], "context_length": 4096}]});
    for (list, is_native) in [(listed, true), (json!({"data": []}), false)] {
        let server = MockServer::start().await;
        Mock::given(method("GET"))
            .and(path("/v1/models"))
            .respond_with(ResponseTemplate::new(200).set_body_json(list))
            .mount(&server)
            .await;
        Mock::given(method("POST"))
            .respond_with(chunks(&[json!({"content": "Hello."})], "stop"))
            .mount(&server)
            .await;
        let scene = Scene::new(&[]);
        let address = format!("{}/v1", server.uri());
        let run = command(
            &scene,
            &[
                "Hi",
                "--provider",
                &address,
                "--model",
                "tiny",
                "--tools",
                "read_file",
            ],
        );
        let (code, _, err) = ended(run).await;
        assert_eq!(code, 0, "{err}");
        let requests = server.received_requests().await.unwrap();
        let mut sent = requests.iter().filter(|it| it.method.as_str() == "POST");
        let body: Value = sent.next().unwrap().body_json().unwrap();
        assert_eq!(body.get("tools").is_some(), is_native, "{body}");
    }
}

/// A model that knows only one dialect, behind a server without tool support.
fn knows_hermes(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    if body.get("tools").is_some() {
        let error = json!({"error": {"message": "this model does not support tools"}});
        return ResponseTemplate::new(400).set_body_json(error);
    }
    let text = body.to_string();
    let last = body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    let call = |name: &str, args: Value| {
        let call = json!({"name": name, "arguments": args});
        format!("<tool_call>{call}</tool_call>")
    };
    let said = if !text.contains("<tool_call>") {
        "Hello, I know nothing of tools.".to_owned()
    } else if last.contains("17 degrees") {
        "It is 17 degrees.".to_owned()
    } else if last.contains("42") {
        "The sum is 42.".to_owned()
    } else if last.contains("saved") {
        "Done.".to_owned()
    } else if last.contains("weather in Paris") {
        call("weather", json!({"city": "Paris"}))
    } else if last.contains("add 19") {
        call("add", json!({"a": 19, "b": 23}))
    } else if last.contains("She said") {
        call("save_note", json!({"text": "She said \"hi\" & left."}))
    } else {
        "Hello!".to_owned()
    };
    chunks(&[json!({"content": said})], "stop")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_tried_and_what_works_best_is_used() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(knows_hermes)
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    let address = format!("{}/v1", server.uri());
    let model = ["--provider", &address, "--model", "tiny"];
    let with = |args: &[&'static str]| {
        let mut all: Vec<&str> = args.to_vec();
        all.extend(model);
        command(&scene, &all)
    };
    let (code, out, err) = ended(with(&["probe", "--dry-run"])).await;
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("Best: hermes, which in [models] is mode = \"text\", dialect = \"hermes\"."),
        "{out}"
    );
    assert!(out.contains("takes no tools"), "{out}");
    assert!(
        out.contains("hermes    ✓✓✓✓  8/8 points, 7 replies, 280 tokens in, 63 out"),
        "{out}"
    );
    assert!(out.contains("ptk       ✗✗✗✓  2/8 points"), "{out}");
    assert!(!scene.state().join("models.json").exists());

    let (code, out, err) = ended(with(&["probe", "--json", "--dialects", "ptk,hermes"])).await;
    assert_eq!(code, 0, "{err}");
    let rows: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows[2]["way"], "hermes");
    assert_eq!(rows[2]["questions"]["a text with quotes"], "right");
    assert_eq!(rows[3]["best"], "hermes");
    let kept = fs::read_to_string(scene.state().join("models.json")).unwrap();
    assert!(kept.contains("tried: 8 of 8 points"), "{kept}");

    // From now on it is taught the dialect that it knows.
    let (code, _, err) = ended(with(&["Say hello"])).await;
    assert_eq!(code, 0, "{err}");
    let requests = server.received_requests().await.unwrap();
    let body = String::from_utf8_lossy(&requests.last().unwrap().body).into_owned();
    assert!(body.contains("<tool_call>"), "{body}");

    let (code, _, err) = ended(with(&["probe", "--dialects", "klingon"])).await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("'klingon' for '--dialects <NAMES>'"), "{err}");
}

/// Each dialect is tried, whatever the model is configured with, including
/// declared ones. A command supports only text.
#[test]
fn a_command_is_tried_in_every_form_and_in_no_other_way() {
    let scene = Scene::new(&[]);
    scene.write(
        "model.sh",
        "prompt=$(cat); echo \"$prompt\" >> prompts.txt; echo Hello\n",
    );
    scene.write(
        "ptk.toml",
        "[[dialects]]\nname = \"acme\"\nopen = [\"<acme_call>\"]\nclose = [\"</acme_call>\"]\n",
    );
    configured(
        &scene,
        "[models.mine]\nprovider = \"cmd:sh model.sh\"\ndialect = \"hermes\"\n",
    );
    scene.ptk(&["permissions", "trust", "--yes"]).good();
    let probe = [
        "probe",
        "--model",
        "mine",
        "--dialects",
        "acme,xml",
        "--json",
    ];
    let output = command(&scene, &probe).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&rows[0]["way"], &rows[1]["way"], &rows[2]["best"]),
        (&json!("acme"), &json!("xml"), &Value::Null)
    );
    let prompts = fs::read_to_string(scene.path("prompts.txt")).unwrap();
    assert!(prompts.contains("<acme_call>"), "{prompts}");
    assert!(!prompts.contains("<tool_call>"), "{prompts}");
}

/// Nothing is sent: there is no server at that address.
#[test]
fn the_key_of_a_service_is_not_shown_to_everybody() {
    let scene = Scene::new(&[]);
    configured(
        &scene,
        "[models.mine]\nprovider = \"openai\"\nbase_url = \"http://203.0.113.7/v1\"\nmodel = \"m\"\n",
    );
    for args in [
        &["Hi", "--model", "mine"][..],
        &["Hi", "--provider", "openai", "--model", "m"],
    ] {
        let mut run = command(&scene, args);
        run.env("OPENAI_API_KEY", "sk-secret")
            .env("OPENAI_BASE_URL", "http://203.0.113.7/v1");
        let output = run.output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(
            err.contains("others could read the key on its way"),
            "{err}"
        );
    }
}

/// An address is used exactly as configured, or rejected.
#[test]
fn an_address_that_is_none_is_not_left_out() {
    let scene = Scene::new(&[]);
    configured(
        &scene,
        "[models.mine]\nprovider = \"openai\"\nbase_url = \"127.0.0.1:8000/v1\"\nmodel = \"m\"\n",
    );
    let mut run = command(&scene, &["Hi", "--model", "mine"]);
    let output = run.env("OPENAI_API_KEY", "sk-secret").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.contains("`127.0.0.1:8000/v1` is no address of a server"),
        "{err}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_be_asked_or_never_calls_is_said_to_be_so() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(401).set_body_string("no"))
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    let address = format!("{}/v1", server.uri());
    let probe = command(
        &scene,
        &["probe", "--provider", &address, "--model", "tiny"],
    );
    let (code, _, err) = ended(probe).await;
    assert_eq!(code, 1);
    assert!(err.contains("wants a key"), "{err}");
    let sent = server.received_requests().await.unwrap();
    assert_eq!(
        sent.iter()
            .filter(|it| it.method.as_str() == "POST")
            .count(),
        1
    );

    let scene = Scene::new(&vec![json!("Hello"); 8]);
    let ended = scene.ptk(&["probe", "--dialects", "ptk"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.out.contains("It made no right call."), "{ended:?}");
}

/// Both models are in the log, and in the cost.
#[test]
fn a_small_model_helps_the_one_that_answers() {
    let scene = Scene::new(&[json!("Milk.")]);
    let helper = scene.path("../helper.json");
    fs::write(&helper, json!([r#"{"files": ["notes.txt"]}"#]).to_string()).unwrap();
    let (main, small) = (scene.script(), helper);
    configured(
        &scene,
        &format!(
            "[run]\nmodel = \"main\"\n[models.main]\nprovider = \"script:{}\"\n[models.small]\nprovider = \"script:{}\"\n[helper]\nmodel = \"small\"\nchoose_files = true\n",
            main.display(),
            small.display()
        ),
    );
    let output = command(&scene, &["What shall I buy?"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "Milk.\n",
        "{err}"
    );
    let log: Vec<String> = scene.log().iter().map(Value::to_string).collect();
    let told = log.iter().find(|line| line.contains("helper_replied"));
    assert!(told.unwrap().contains("Buy milk."), "{told:?}");
}

/// A model that writes a broken call, then a valid one, then the answer.
async fn clumsy(server: &MockServer) {
    Mock::given(method("POST"))
        .respond_with(|request: &Request| {
            let text = String::from_utf8_lossy(&request.body);
            let said = if text.contains("Buy milk.") {
                "You need milk."
            } else if text.contains("A right call looks like this") {
                "<PTK_CALL>\n{\"tool\":\"read_file\",\"args\":{\"path\":\"notes.txt\"}}\n</PTK_CALL>"
            } else {
                "<PTK_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": \"no"
            };
            chunks(&[json!({"content": said})], "stop")
        })
        .mount(server)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_wrote_a_broken_call_is_held_to_a_grammar() {
    for (grammar, held) in [
        ("", [false, true, false]),
        ("grammar = \"auto\"", [false, true, false]),
        ("grammar = \"always\"", [true, true, true]),
        ("grammar = \"never\"", [false, false, false]),
    ] {
        let server = MockServer::start().await;
        clumsy(&server).await;
        let scene = Scene::new(&[]);
        scene.write("notes.txt", "Buy milk.\n");
        configured(
            &scene,
            &format!(
                "[models.main]\nprovider = \"llama.cpp\"\nbase_url = \"{}/v1\"\nmodel = \"tiny\"\nmode = \"text\"\n{grammar}\n",
                server.uri()
            ),
        );
        let run = command(&scene, &["What do I need?", "--model", "main"]);
        let (code, out, err) = ended(run).await;
        assert_eq!((code, out.as_str()), (0, "You need milk.\n"), "{err}");
        let requests = server.received_requests().await.unwrap();
        let asked = requests.iter().filter(|request| request.method == "POST");
        let grammars = asked.map(|request| {
            let body: Value = request.body_json().unwrap();
            let grammar = body["grammar"].as_str().map(str::to_owned);
            grammar.is_some_and(|grammar| grammar.starts_with("root ::= "))
        });
        let grammars: Vec<bool> = grammars.collect();
        assert_eq!(grammars, held, "{grammar}");
    }
}
