//! Services and servers of which little was said: one key, no model, an address
//! that is wrong.

use std::fs;

use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::choosing::{SECRET, at_terminal, command, terminal};
use crate::models::{chunks, output};
use crate::scene::Scene;

/// Where no Ollama is.
const NOWHERE: &str = "127.0.0.1:9";

/// A server that says which model it was asked for.
async fn saying_its_model() -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(|request: &Request| {
            let body: Value = request.body_json().unwrap();
            let said = format!("I am {}.", body["model"].as_str().unwrap());
            chunks(&[json!({"content": said})], "stop")
        })
        .mount(&server)
        .await;
    server
}

async fn listing(server: &MockServer, names: &[&str]) {
    let models: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"data": models})))
        .mount(server)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_service_with_a_key_is_asked_without_a_question() {
    let scene = Scene::new(&[]);
    let server = saying_its_model().await;
    let base = format!("{}/v1", server.uri());
    let variables = [
        ("OPENAI_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", SECRET),
    ];
    let mut run = command(&scene, NOWHERE, &["Who are you?"]);
    let (code, out, err) = output({
        run.envs(variables);
        run
    })
    .await;
    assert_eq!((code, out.as_str()), (0, "I am gpt-5-mini.\n"), "{err}");
    let note = "No model is chosen; using gpt-5-mini of OpenAI, because OPENAI_API_KEY is set. \
         `ptk setup` chooses another.\n";
    assert!(err.starts_with(note), "{err}");
    assert!(!err.contains(SECRET), "{err}");
    let asked = server.received_requests().await.unwrap();
    assert_eq!(
        asked[0].headers["authorization"],
        format!("Bearer {SECRET}").as_str()
    );
    // The session goes on with it.
    assert_eq!(scene.sessions()[0]["info"]["model"], "gpt-5-mini");

    // Nor is a person asked.
    let opened = terminal(&scene, NOWHERE, &["Who are you?"], &variables);
    let all = at_terminal(opened, |terminal| terminal.exp_eof().unwrap()).await;
    assert!(all.contains("I am gpt-5-mini."), "{all}");
    assert!(!all.contains("Which one?"), "{all}");

    // One that is stored counts as well, and a flag goes before it.
    let mut keep = command(&scene, NOWHERE, &["keys", "set", "openai"]);
    fs::write(scene.path("key"), SECRET).unwrap();
    keep.stdin(fs::File::open(scene.path("key")).unwrap());
    assert_eq!(output(keep).await.0, 0);
    let mut run = command(&scene, NOWHERE, &["Who are you?"]);
    run.env("OPENAI_BASE_URL", &base);
    let (code, out, err) = output(run).await;
    assert_eq!((code, out.as_str()), (0, "I am gpt-5-mini.\n"), "{err}");
    assert!(err.contains("because its key is stored"), "{err}");
    let args = ["Who are you?", "--provider", "openai", "--model", "other"];
    let mut run = command(&scene, NOWHERE, &args);
    run.env("OPENAI_BASE_URL", &base);
    let (_, out, err) = output(run).await;
    assert_eq!(out, "I am other.\n", "{err}");
    assert!(!err.contains("using"), "{err}");
    let mut run = command(&scene, NOWHERE, &args[..3]);
    run.env("OPENAI_BASE_URL", &base);
    let (_, out, err) = output(run).await;
    assert_eq!(out, "I am gpt-5-mini.\n", "{err}");
    assert!(
        err.contains("using gpt-5-mini, the default for openai"),
        "{err}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_keys_none_is_taken_unasked() {
    let scene = Scene::new(&[]);
    let server = saying_its_model().await;
    let base = format!("{}/v1", server.uri());
    let mut run = command(&scene, NOWHERE, &["Hi", "--json"]);
    run.env("OPENAI_BASE_URL", &base)
        .env("OPENAI_API_KEY", SECRET)
        .env("GROQ_API_KEY", SECRET);
    let (code, out, err) = output(run).await;
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("\"NO_MODEL\""), "{out}");
    for said in [
        "OPENAI_API_KEY is set",
        "--provider groq",
        "GROQ_API_KEY is set",
    ] {
        assert!(err.contains(said), "{said}: {err}");
    }

    // Nor is the only one, where models are configured.
    scene.write("own.toml", "[models.mine]\nprovider = \"ollama\"\n");
    let mut run = command(&scene, NOWHERE, &["Hi", "--config", "own.toml"]);
    run.env("OPENAI_BASE_URL", &base)
        .env("OPENAI_API_KEY", SECRET);
    let (code, _, err) = output(run).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("--model mine"), "{err}");
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_named_model_is_asked_for_its_only_one() {
    let scene = Scene::new(&[]);
    let server = saying_its_model().await;
    // One that answers no prompts is no choice.
    listing(&server, &["only-one", "text-embedding-nomic"]).await;
    let provider = format!("{}/v1", server.uri());
    let run = scene.command(&["Who are you?", "--provider", &provider]);
    let (code, out, err) = output(run).await;
    assert_eq!((code, out.as_str()), (0, "I am only-one.\n"), "{err}");
    let note = format!("No model is named; using only-one, the only one of {provider}.\n");
    assert!(err.starts_with(&note), "{err}");

    server.reset().await;
    listing(&server, &["first", "second"]).await;
    let run = scene.command(&["Who are you?", "--provider", &provider]);
    let (code, _, err) = output(run).await;
    assert_eq!(code, 1, "{err}");
    for said in [
        "first, second; name one with --model",
        "ptk models list --provider http://127",
    ] {
        assert!(err.contains(said), "{said}: {err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_models_of_a_provider_are_listed() {
    let scene = Scene::new(&[]);
    let server = MockServer::start().await;
    let models = json!({"data": [{"id": "first"}, {"id": "the\u{1b}second"}]});
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .and(header("authorization", format!("Bearer {SECRET}")))
        .respond_with(ResponseTemplate::new(200).set_body_json(models))
        .mount(&server)
        .await;
    let refused = json!({"error": {"message": "You didn't provide an API key."}});
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(401).set_body_json(refused))
        .with_priority(9)
        .mount(&server)
        .await;
    let address = format!("{}/v1", server.uri());
    let list = |provider: &str, more: &[&str], variables: &[(&str, &str)]| {
        let mut args = vec!["models", "list", "--provider", provider];
        args.extend(more);
        let mut list = command(&scene, NOWHERE, &args);
        list.envs(variables.iter().copied());
        output(list)
    };
    let keys = [
        ("OPENAI_API_KEY", SECRET),
        ("OPENAI_BASE_URL", address.as_str()),
    ];
    let (code, out, err) = list("openai", &[], &keys).await;
    assert_eq!(
        (code, out.as_str()),
        (0, "first\nthe\\u{1b}second\n"),
        "{err}"
    );
    let (_, out, err) = list(&address, &["--json"], &[("PTK_API_KEY", SECRET)]).await;
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    assert_eq!(
        lines,
        [
            json!({"provider": address, "name": "first"}),
            json!({"provider": address, "name": "the\u{1b}second"}),
        ],
        "{err}"
    );

    let (code, _, err) = list(&address, &[], &[]).await;
    assert_eq!(code, 1, "{err}");
    let said = "wants a key (status 401): You didn't provide an API key; set one in PTK_API_KEY\n";
    assert!(err.contains(said), "{err}");
    let (code, _, err) = list("openai", &[], &[]).await;
    assert_eq!(code, 1, "{err}");
    let said = "set OPENAI_API_KEY, or keep one with `ptk keys set openai`";
    assert!(err.contains(said), "{err}");
    for wrong in ["cmd:cat", "opneai"] {
        let (code, _, err) = list(wrong, &[], &[]).await;
        assert_eq!(code, 2, "{err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sent_no_key_is_told_where_to_set_one() {
    let scene = Scene::new(&[]);
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(401).set_body_string("no key"))
        .mount(&server)
        .await;
    let address = format!("{}/v1", server.uri());
    let config =
        format!("[models.near]\nprovider = \"openai\"\nbase_url = \"{address}\"\nmodel = \"m\"\n");
    scene.write("own.toml", config);
    let by_address = ["Hi", "--provider", &address, "--model", "m"];
    let by_name = ["Hi", "--config", "own.toml", "--model", "near"];
    let wants = "wants a key (status 401): no key; set one in ";
    let refused = "refused the key (status 401): no key; set one in ";
    for (args, key, said) in [
        (&by_address, None, format!("{wants}PTK_API_KEY (LLM")),
        (&by_name, None, format!("{wants}OPENAI_API_KEY (LLM")),
        (
            &by_address,
            Some("PTK_API_KEY"),
            format!("{refused}PTK_API_KEY (LLM"),
        ),
    ] {
        let mut run = command(&scene, NOWHERE, args);
        run.envs(key.map(|name| (name, SECRET)));
        let (code, _, err) = output(run).await;
        assert_eq!(code, 1, "{err}");
        assert!(err.contains(&said), "{err}");
    }
    // The service's own key is stored.
    let mut run = command(&scene, NOWHERE, &["Hi", "--provider", "openai"]);
    run.env("OPENAI_BASE_URL", &address)
        .env("OPENAI_API_KEY", SECRET);
    let (_, _, err) = output(run).await;
    let said = format!("{refused}OPENAI_API_KEY, or keep one with `ptk keys set openai`");
    assert!(err.contains(&said), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_address_is_told_once_and_plainly() {
    let scene = Scene::new(&[]);
    let server = MockServer::start().await;
    let https = format!("{}/v1", server.uri().replace("http://", "https://"));
    for (address, said, remedy) in [
        (
            https.as_str(),
            "does not speak https",
            "write http:// in its address",
        ),
        (
            "http://no-such-host.invalid/v1",
            "the host name no-such-host.invalid does not resolve",
            "see whether it is written right",
        ),
        (
            "http://127.0.0.1:9/v1",
            "Connection refused",
            "see whether it runs and the address is right",
        ),
    ] {
        for args in [
            &["Hi", "--provider", address, "--model", "m"][..],
            &["Hi", "--provider", address],
            &["models", "list", "--provider", address],
        ] {
            let (code, _, err) = output(command(&scene, NOWHERE, args)).await;
            assert_eq!(code, 1, "{err}");
            assert_eq!(err.matches(said).count(), 1, "{args:?}: {err}");
            assert_eq!(err.matches(remedy).count(), 1, "{args:?}: {err}");
            for jargon in ["client error", "InvalidContentType", "dns error"] {
                assert!(!err.contains(jargon), "{args:?}: {err}");
            }
        }
    }
}
