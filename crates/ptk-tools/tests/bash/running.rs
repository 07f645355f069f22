//! What a command does, and what it returns.

use ptk_tools::Registry;
use ptk_tools::tools::bash::{Bash, NonZero};
use serde_json::{Value, json};

use crate::scene::{Scene, code, field};

#[tokio::test]
async fn both_streams_and_the_exit_code_are_told() {
    let scene = Scene::new();
    let result = scene.bash("echo out; echo err >&2; exit 3").await;
    assert!(result.success);
    assert_eq!(result.error, "");
    assert_eq!(field(&result, "output"), "out\n");
    assert_eq!(field(&result, "stderr"), "err\n");
    assert_eq!(code(&result), 3);
    assert!(result.fields.contains_key("duration_ms"));
}

#[tokio::test]
async fn a_signal_is_told() {
    let scene = Scene::new();
    let result = scene.bash("kill -SEGV $$").await;
    assert!(result.success);
    assert_eq!(code(&result), -1);
    assert_eq!(result.fields["signal"], 11);
}

#[tokio::test]
async fn the_preview_begins_with_the_exit_code() {
    let scene = Scene::new();
    let preview = async |command: &str| {
        scene
            .outcome("bash", json!({ "command": command }))
            .await
            .preview
    };
    assert_eq!(preview("echo a; echo b").await, ["a", "b"]);
    assert_eq!(preview("echo no >&2; exit 2").await, ["Exit code: 2", "no"]);
    assert_eq!(preview("true").await, ["No output"]);
    assert_eq!(preview("seq 9").await, ["1", "2", "3", "4", "…"]);
}

#[tokio::test]
async fn it_is_bash_that_runs_it() {
    let scene = Scene::new();
    let result = scene.bash("a=(1 2 3); echo ${#a[@]} $BASH").await;
    assert_eq!(field(&result, "output"), "3 /bin/bash\n");
    let other = Scene::with(Bash::default().shell("sh"));
    assert_eq!(field(&other.bash("echo $0").await, "output"), "sh\n");
}

#[tokio::test]
async fn it_runs_in_the_workspace_or_in_a_folder_of_it() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.path().join("a/b")).unwrap();
    let root = scene.path().canonicalize().unwrap();
    let pwd = async |folder: Value| {
        let result = scene
            .call("bash", json!({"command": "pwd -P", "working_dir": folder}))
            .await;
        field(&result, "output").trim().to_owned()
    };
    assert_eq!(pwd(Value::Null).await, root.to_str().unwrap());
    assert_eq!(pwd(json!("")).await, root.to_str().unwrap());
    assert_eq!(pwd(json!("a/b")).await, root.join("a/b").to_str().unwrap());
    assert_eq!(
        pwd(json!(root.join("a"))).await,
        root.join("a").to_str().unwrap()
    );
}

#[tokio::test]
async fn the_environment_holds_no_secret_and_no_pager() {
    // The test runs itself again, as a program that has secrets.
    const INNER: &str = "PTK_TEST_ENVIRONMENT";
    if std::env::var_os(INNER).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "running::the_environment_holds_no_secret_and_no_pager",
            ])
            .env(INNER, "1")
            .env("OPENAI_API_KEY", "sk-very-secret")
            .env("GITHUB_TOKEN", "very-secret")
            .env("LC_SECRET", "very-secret")
            .env("SSH_ASKPASS", "/very/secret")
            .env("HTTPS_PROXY", "http://very:secret@proxy")
            .env("LC_TIME", "C.UTF-8")
            .env("PAGER", "less")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let scene = Scene::new();
    let result = scene.bash("env").await;
    let env = field(&result, "output");
    assert!(!env.contains("secret"), "{env}");
    for line in [
        "CI=1",
        "PAGER=cat",
        "GIT_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
        "GIT_ASKPASS=",
        "NO_COLOR=1",
        "TERM=dumb",
        "LC_TIME=C.UTF-8",
    ] {
        assert!(env.lines().any(|other| other == line), "{line} in {env}");
    }
    assert!(env.contains("\nPATH=") || env.starts_with("PATH="), "{env}");
}

#[tokio::test]
async fn a_command_that_waits_for_input_gets_none() {
    let scene = Scene::new();
    let result = scene.bash("cat; read -r x; echo \"$? [$x]\"").await;
    assert_eq!(field(&result, "output"), "1 []\n");
    let result = scene
        .bash("printf 'Continue? [y/N] '; read -r x || exit 1")
        .await;
    assert_eq!(code(&result), 1);
    insta::assert_snapshot!(field(&result, "hint"), @"It seems to have asked for something, and got no answer: there is no input. Use flags such as --yes, or pipe the answer in.");
    let result = scene.bash("echo 'What is this?'; exit 1").await;
    assert!(!result.fields.contains_key("hint"));
}

#[tokio::test]
async fn a_timeout_that_is_none_is_mended_and_said_to_be() {
    let scene = Scene::new();
    let note = async |timeout: Value| {
        let result = scene
            .call("bash", json!({"command": "true", "timeout": timeout}))
            .await;
        assert!(result.success, "{result:?}");
        let note = result.fields.get("note").and_then(Value::as_str);
        note.unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(note(json!(9999)).await, @"timeout was capped at 600 s.");
    insta::assert_snapshot!(note(json!(1e300)).await, @"timeout was capped at 600 s.");
    insta::assert_snapshot!(note(json!(0)).await, @"timeout 0 is not a time; 60 s was used.");
    insta::assert_snapshot!(note(json!(-3)).await, @"timeout -3 is not a time; 60 s was used.");
    assert_eq!(note(json!(600)).await, "");
    assert_eq!(note(json!("30")).await, "");
    assert_eq!(note(Value::Null).await, "");
}

#[tokio::test]
async fn a_code_that_is_not_zero_can_be_a_failure() {
    let scene = Scene::with(Bash::default().nonzero(NonZero::Failure));
    assert!(scene.bash("true").await.success);
    let result = scene.bash("echo out; echo no >&2; exit 2").await;
    insta::assert_snapshot!(scene.told(&result), @r#"
    user_error: bash(command="echo out; echo no >&2; exit 2"): The command failed with exit code 2
    → Its output and stderr say why. Mend that, then run it again.
    "#);
    assert_eq!(field(&result, "output"), "out\n");
    assert_eq!(field(&result, "stderr"), "no\n");
    assert_eq!(code(&result), 2);
    let result = scene.bash("kill -KILL $$").await;
    insta::assert_snapshot!(scene.told(&result), @r#"
    user_error: bash(command="kill -KILL $$"): The command was ended by signal 9
    → Its output and stderr say why. Mend that, then run it again.
    "#);
}

#[test]
fn the_definitions_are_fit_for_a_model() {
    let mut registry = Registry::new();
    Bash::default().register(&mut registry).unwrap();
    assert_eq!(registry.lint(), []);
    let names: Vec<&str> = registry.toolset().names().collect();
    assert_eq!(names, ["bash", "bash_output", "bash_kill"]);
}
