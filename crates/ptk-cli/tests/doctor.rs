//! `ptk doctor`: what works on this machine.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const SECRET: &str = "sk-secret-0123456789";

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        fs::create_dir(home.path("work")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command of a person who has chosen nothing.
    fn doctor(&self) -> Command {
        let mut command = Command::new(cargo_bin!("ptk"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("PTK_") || name.ends_with("_API_KEY") {
                command.env_remove(name);
            }
        }
        command
            .arg("doctor")
            .current_dir(self.path("work"))
            .env("PTK_STATE", self.path("state"))
            .env("PTK_MODELS", self.path("models"))
            .env("XDG_CONFIG_HOME", self.path("config"));
        command
    }
}

/// What is reported, and the exit code.
fn report(command: &mut Command) -> (Value, i32) {
    let output = command.arg("--json").output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(!report.contains(SECRET), "{report}");
    let code = output.status.code().unwrap();
    (serde_json::from_str(&report).unwrap(), code)
}

/// The exit code that the protections alone decide.
fn expected(report: &Value) -> i32 {
    let findings = report["sandbox"].as_array().unwrap();
    i32::from(findings.iter().any(|it| it["state"] != "protected"))
}

#[test]
fn what_is_said_to_protect_does() {
    let (report, code) = report(&mut Home::new().doctor());
    let findings = report["sandbox"].as_array().unwrap();
    assert_eq!(findings.len(), 6);
    let is = |finding: &Value, state: &str| finding["state"] == state;
    assert!(!findings.iter().any(|it| is(it, "broken")), "{report}");
    let missing: Vec<_> = findings.iter().filter(|it| is(it, "missing")).collect();
    assert!(missing.iter().all(|it| it["how"].is_string()), "{report}");
    // If it does not work, the reason is given.
    let undo = &report["undo"];
    assert_eq!(undo["recorded"] == true, undo["why"].is_null(), "{report}");
    assert_eq!(code, i32::from(!missing.is_empty()));
}

#[test]
fn undo_is_tried_where_its_records_are_kept() {
    let home = Home::new();
    let (told, _) = report(&mut home.doctor());
    let undo = &told["undo"];
    assert_eq!(undo["restored"], true, "{told}");
    let folder = home.path("state/undo");
    assert_eq!(undo["folder"], folder.to_str().unwrap());
    // Nothing of the trial stays.
    assert!(!home.path("state").exists());
    fs::create_dir_all(folder.join("kept")).unwrap();
    report(&mut home.doctor());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);

    // A folder that cannot be one stops even root.
    fs::remove_dir_all(home.path("state")).unwrap();
    fs::write(home.path("state"), "").unwrap();
    let (told, code) = report(&mut home.doctor());
    assert_eq!(told["undo"]["restored"], false, "{told}");
    assert!(told["undo"]["restored_why"].is_string(), "{told}");
    let state = &told["paths"][1];
    assert_eq!(
        (&state["what"], &state["writable"]),
        (&json!("state"), &json!(false))
    );
    // It leaves something unused, and no protection is missing for it.
    assert_eq!(code, expected(&told), "{told}");
}

#[test]
fn keys_folders_and_features_are_told() {
    let home = Home::new();
    let keys = home.path("config/ptk/keys.json");
    fs::create_dir_all(keys.parent().unwrap()).unwrap();
    fs::write(&keys, format!("{{\"groq\": \"{SECRET}\"}}")).unwrap();
    private(&keys);
    let (told, _) = report(home.doctor().env("ANTHROPIC_API_KEY", SECRET));
    let services = told["keys"]["services"].as_array().unwrap();
    let of = |name: &str| services.iter().find(|it| it["service"] == name).unwrap();
    assert_eq!(
        of("anthropic"),
        &json!({"service": "anthropic", "source": "variable", "variable": "ANTHROPIC_API_KEY"})
    );
    assert_eq!(of("groq")["source"], "file");
    assert!(of("openai")["source"].is_null());
    let paths = told["paths"].as_array().unwrap();
    let names: Vec<&str> = paths
        .iter()
        .map(|it| it["what"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["config", "state", "cache", "data"]);
    assert!(paths.iter().all(|it| it["writable"] == true), "{told}");
    assert_eq!(paths[0]["path"], home.path("config/ptk").to_str().unwrap());
    assert_eq!(told["features"]["local"], cfg!(feature = "local"));
    assert_eq!(told["features"]["search"], cfg!(feature = "search"));

    let shown = home.doctor().env("ANTHROPIC_API_KEY", SECRET).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    for line in [
        "ok       Anthropic                  ANTHROPIC_API_KEY",
        "ok       Groq                       stored with `ptk keys set`",
        "ok       restoring                  a file that was changed is brought back",
        "ok       state                      sessions, undo,",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert!(!shown.contains(SECRET), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_of_the_chosen_model_is_asked() {
    let server = MockServer::start().await;
    let list = json!({"data": [{"id": "tiny"}]});
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .respond_with(ResponseTemplate::new(200).set_body_json(list))
        .mount(&server)
        .await;
    let address = format!("{}/v1", server.uri());
    let told = tokio::task::spawn_blocking(move || {
        let home = Home::new();
        let of = |variables: &[(&str, &str)]| {
            let (told, code) = report(home.doctor().envs(variables.iter().copied()));
            assert_eq!(code, expected(&told), "{told}");
            told["model"].clone()
        };
        let base = ("OPENAI_BASE_URL", address.as_str());
        [
            of(&[]),
            of(&[("PTK_PROVIDER", &address), ("PTK_MODEL", "tiny")]),
            of(&[("PTK_PROVIDER", &address), ("PTK_MODEL", "large")]),
            of(&[
                ("PTK_PROVIDER", "http://127.0.0.1:9/v1"),
                ("PTK_MODEL", "m"),
            ]),
            of(&[("OPENAI_API_KEY", SECRET), base]),
            of(&[("PTK_PROVIDER", "cmd:cat")]),
        ]
    });
    let [none, there, other, away, only, command] = told.await.unwrap();
    assert_eq!(none["is_chosen"], false);
    assert_eq!(
        (&there["answers"], &there["is_listed"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        (&other["answers"], &other["is_listed"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(away["answers"], false);
    let why = away["why"].as_str().unwrap();
    assert!(why.contains("cannot be reached"), "{why}");
    assert_eq!(
        (&only["provider"], &only["model"]),
        (&json!("openai"), &json!("gpt-5-mini"))
    );
    assert!(command["answers"].is_null(), "{command}");
}

fn private(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let _ = file;
}
