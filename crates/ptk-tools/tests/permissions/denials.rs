//! Every denial, as a model sees it.

use ptk_permission::Mode;
use ptk_protocol::{Arguments, ToolCall};
use ptk_sandbox::Workspace;
use ptk_tools::tools::WriteFile;
use ptk_tools::{CallRequest, Decision, Permissions, Registry, ToolManager, Typed};
use serde_json::json;

use crate::scene::{Scene, entries};

#[tokio::test]
async fn every_no_says_why_and_what_to_do() {
    let scene = Scene::new(&["deny bash(git push *)", "deny edit(a.txt)"]);
    insta::assert_snapshot!(scene.told(&scene.bash("make").await), @r"
    permission_error: bash was not allowed: nobody is there
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
    insta::assert_snapshot!(scene.told(&scene.bash("cargo test && git push").await), @r"
    permission_error: bash was not allowed: the rule deny bash(git push *) (test) forbids it
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
    let edit = json!({"path": "a.txt", "edits": [{"old_string": "one", "new_string": "1"}]});
    insta::assert_snapshot!(scene.told(&scene.call("edit", &edit).await), @r"
    permission_error: edit was not allowed: the rule deny edit(a.txt) (test) forbids it
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
    scene.answer(Decision::Deny("the user said no".to_owned()));
    scene.bash("make x").await;
    insta::assert_snapshot!(scene.told(&scene.bash("make x").await), @r"
    permission_error: bash was not allowed: the user said no; this very call was refused before
    → It will not be asked about again in this session. Go on without it, or say what you need it for.
    ");
    let scene = Scene::with(Permissions::new(Mode::Deny));
    insta::assert_snapshot!(scene.told(&scene.bash("make").await), @r"
    permission_error: bash was not allowed: calls that change something are refused here
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
}

/// Ways to run `touch`.
const HIDDEN: [&str; 46] = [
    "touch x",
    "/usr/bin/touch x",
    "flock f -c 'touch x'",
    "flock f touch x",
    "env --split-string='touch x'",
    "env --split='touch x'",
    "env -iS 'touch x'",
    "env -S 'touch' x",
    "env -u A touch x",
    "setpriv touch x",
    "setpriv --nnp touch x",
    "prlimit touch x",
    "prlimit --nofile=5 touch x",
    "linux64 touch x",
    "setarch -R touch x",
    "setarch x86_64 touch x",
    "xargs --max-procs 1 touch <<< x",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch x",
    "sg root 'touch x'",
    "sg root -c 'touch x'",
    "echo 'touch x' | bash",
    ". ./rc",
    "source rc",
    "mapfile -C 'touch x' -c 1 < a.txt",
    "compgen -C 'touch x'",
    "hash -p /usr/bin/touch t; t x",
    "alias t=touch",
    "BASH_ENV=rc bash -c :",
    "export BASH_ENV=rc; bash -c :",
    "PROMPT_COMMAND='touch x' bash -i",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "some-wrapper --flag touch x",
    "some-wrapper 'touch x'",
    "su ada -c 'touch x'",
    "su ada --command='touch x'",
    "script -qc 'touch x' /dev/null",
    "trap -- 'touch x' EXIT",
    "t=touch; $t x",
    "echo {1..3}$(touch x)",
    "cat <<EOF\nit's $(touch x)\nEOF",
    "x='a[$(touch x)]'; ((x))",
    "((touch x); true)",
    "echo $((touch x); true)",
    "select x in a; do touch x; done",
    "echo $\\\n(touch x)",
    "git {fd}>/dev/null touch; touch{fd}>f x; $y",
];

/// Ways to run what has a subcommand.
const PAST_OPTIONS: [&str; 10] = [
    "git push",
    "git --attr-source HEAD push",
    "git --config-env a.b=HOME push",
    "git -C x --no-pager push origin",
    "cargo +nightly publish",
    "cargo --offline publish",
    "kubectl -n x delete pod y",
    "kubectl --context=a -n x delete pod y",
    "npm --loglevel silent publish",
    "git {fd}>/dev/null push",
];

#[tokio::test]
async fn a_denied_command_does_not_just_run_however_it_is_written() {
    let auto = |rules: &[&str]| Scene::with(Permissions::new(Mode::Auto).rules(entries(rules)));
    let scene = auto(&["deny bash(touch *)"]);
    for line in HIDDEN {
        let verdict = scene.verdict(line).await;
        assert!(matches!(verdict, "asks" | "denied"), "{line}: {verdict}");
    }
    let scene = auto(&[
        "deny bash(git push *)",
        "deny bash(cargo publish *)",
        "deny bash(kubectl delete *)",
        "deny bash(npm publish *)",
    ]);
    for line in PAST_OPTIONS {
        let verdict = scene.verdict(line).await;
        assert!(matches!(verdict, "asks" | "denied"), "{line}: {verdict}");
    }
    for line in [
        "git commit -m 'git push'",
        "git log --grep push",
        "echo git push",
        "grep -rn 'npm publish' .",
        "kubectl get pods",
        "npm run publish",
        "cargo test -- publish",
        "for i in 1 2; do echo $((i + 1)); done",
    ] {
        assert_eq!(scene.verdict(line).await, "runs", "{line}");
    }
}

#[tokio::test]
async fn the_file_with_the_rules_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("permissions.toml");
    let mut registry = Registry::new();
    registry.register(Typed::new(WriteFile)).unwrap();
    let tools = ToolManager::builder(Workspace::open(folder.path()).unwrap())
        .tools(registry)
        .permissions(Permissions::new(Mode::Auto).guarding(file.clone()))
        .build();
    let args = json!({"path": "permissions.toml", "content": "mode = 'auto'"}).to_string();
    let call = ToolCall::new("write_file", Arguments::from_json(&args).unwrap());
    let result = tools.execute(CallRequest::new(call)).await.result;
    assert!(
        result
            .error
            .ends_with("says what is allowed, and only a person changes it")
    );
    assert!(!file.exists());
}
