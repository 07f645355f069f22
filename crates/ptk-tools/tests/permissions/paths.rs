//! Rules about paths, for whatever reads and writes them.

use std::fs;

use ptk_permission::Mode;
use ptk_protocol::ErrorType;
use ptk_tools::custom::Declaration;
use ptk_tools::{
    CallContext, Effects, Permissions, Plan, Registry, Sandbox, ToolError, ToolManager, Typed,
    TypedTool, tool_fn,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scene::{Person, called, entries};

/// A custom tool that declares which file it reads and writes.
struct Copy;

#[derive(Deserialize, JsonSchema)]
struct CopyArgs {
    from: String,
    to: String,
}

impl TypedTool for Copy {
    type Args = CopyArgs;
    type Output = String;

    const NAME: &'static str = "copy";
    const DESCRIPTION: &'static str = "Copies";
    const EFFECTS: Effects = Effects::READ.union(Effects::WRITE);

    fn plan(&self, context: &CallContext, args: &CopyArgs) -> Result<Plan, ToolError> {
        Ok(Plan {
            reads: vec![context.resolve(&args.from)?],
            writes: vec![context.resolve(&args.to)?],
            ..Plan::default()
        })
    }

    async fn run(&self, _context: &CallContext, _args: CopyArgs) -> Result<String, ToolError> {
        Ok("copied".to_owned())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A command from the configuration.
fn declared(name: &str, more: &Value) -> Declaration {
    let mut declaration = json!({
        "name": name,
        "description": "Shows a file",
        "command": ["echo", "{path}"],
        "parameters": {"type": "object", "properties": {
            "path": {"type": "string"}, "out": {"type": "array", "items": {"type": "string"}},
        }},
    });
    let keys = declaration.as_object_mut().unwrap();
    keys.extend(more.as_object().unwrap().clone());
    serde_json::from_value(declaration).unwrap()
}

fn tools(mode: Mode, rules: &[&str]) -> (TempDir, Person, ToolManager) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("secrets")).unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    for name in ["secrets/k", "secrets/key.pub", "src/a.txt", "a.txt"] {
        fs::write(folder.path().join(name), "text\n").unwrap();
    }
    let mut registry = crate::scene::registry();
    registry.register(Typed::new(Copy)).unwrap();
    let opaque = |name: &str, effects| {
        tool_fn(
            name,
            "Does something",
            effects,
            |_: CallContext, _: Nothing| async move { Ok::<_, ToolError>("done") },
        )
    };
    registry.register(opaque("looks", Effects::READ)).unwrap();
    registry.register(opaque("thinks", Effects::NONE)).unwrap();
    for declaration in [
        declared("unsaid", &json!({})),
        declared("named", &json!({"reads": ["path"], "writes": ["out"]})),
        declared("reader", &json!({"reads": ["path"], "effects": ["read"]})),
    ] {
        register(&mut registry, declaration);
    }
    let person = Person::default();
    let tools = ToolManager::builder(ptk_sandbox::Workspace::open(folder.path()).unwrap())
        .tools(registry)
        .sandbox(Sandbox::off())
        .approver(person.clone())
        .permissions(Permissions::new(mode).rules(entries(rules)))
        .build();
    (folder, person, tools)
}

fn register(registry: &mut Registry, declaration: Declaration) {
    registry
        .register_shared(declaration.into_tool().unwrap().into())
        .unwrap();
}

/// The outcome of a call: `runs`, `asks` or `denied`.
async fn verdict(tools: &ToolManager, person: &Person, tool: &str, args: &Value) -> &'static str {
    let result = called(tools, tool, args).await;
    let is_asked = !person.take().is_empty();
    match result.error_type {
        None => "runs",
        Some(ErrorType::PermissionError) if is_asked => "asks",
        Some(ErrorType::PermissionError) => "denied",
        Some(_) => "fails",
    }
}

#[tokio::test]
async fn a_rule_is_about_what_a_call_reads_and_writes() {
    let (_folder, person, tools) = tools(
        Mode::Auto,
        &["deny read_file(secrets/**)", "deny write_file(src/**)"],
    );
    for (tool, args, expected) in [
        ("copy", json!({"from": "secrets/k", "to": "b"}), "denied"),
        ("copy", json!({"from": "a.txt", "to": "src/b"}), "denied"),
        ("copy", json!({"from": "src/a.txt", "to": "b"}), "runs"),
        ("copy", json!({"from": "a.txt", "to": "secrets/b"}), "runs"),
        ("named", json!({"path": "secrets/k"}), "denied"),
        (
            "named",
            json!({"path": "a.txt", "out": ["b", "src/b"]}),
            "denied",
        ),
        ("named", json!({"path": "src/a.txt", "out": ["b"]}), "runs"),
        ("named", json!({"path": "/etc/hostname"}), "asks"),
        ("reader", json!({"path": "secrets/k"}), "denied"),
        ("reader", json!({"path": "src/a.txt"}), "runs"),
        ("unsaid", json!({"path": "a.txt"}), "asks"),
        ("looks", json!({}), "asks"),
        ("thinks", json!({}), "runs"),
    ] {
        let verdict = verdict(&tools, &person, tool, &args).await;
        assert_eq!(verdict, expected, "{tool} {args}");
    }
}

#[tokio::test]
async fn a_path_is_not_led_to_a_file_that_a_rule_is_about() {
    let args = json!({"path": "k"});
    let (_folder, person, free) = tools(Mode::Auto, &[]);
    assert_eq!(verdict(&free, &person, "read_file", &args).await, "runs");
    for rule in ["deny read_file(secrets/**)", "ask read_file(secrets/**)"] {
        let (_folder, person, tools) = tools(Mode::Auto, &[rule]);
        let verdict = verdict(&tools, &person, "read_file", &args).await;
        assert_eq!(verdict, "fails", "{rule}");
    }
}

#[tokio::test]
async fn without_such_a_rule_nobody_is_asked_about_unknown_files() {
    let (_folder, person, tools) = tools(Mode::Auto, &["deny bash(git push *)"]);
    for tool in ["unsaid", "looks"] {
        let verdict = verdict(&tools, &person, tool, &json!({})).await;
        assert_eq!(verdict, "runs", "{tool}");
    }
}

#[tokio::test]
async fn a_declared_tool_does_not_write_what_runs_later() {
    let (_folder, person, tools) = tools(Mode::Auto, &[]);
    let args = json!({"path": "a.txt", "out": [".envrc"]});
    assert_eq!(verdict(&tools, &person, "named", &args).await, "denied");
}

#[tokio::test]
async fn lists_leave_out_what_may_not_be_read() {
    for rule in ["deny read_file(secrets/**)", "ask grep(secrets/**)"] {
        let (_folder, _person, tools) = tools(Mode::Auto, &[rule]);
        for (tool, args, left_out) in [
            ("list_files", json!({"directory": "secrets"}), 2),
            ("list_files", json!({"pattern": "**/*"}), 2),
            ("glob", json!({"pattern": "secrets/*"}), 2),
            ("glob", json!({"pattern": "**/k"}), 1),
        ] {
            let result = called(&tools, tool, &args).await;
            let told = serde_json::to_value(&result).unwrap();
            let files = told["files"].to_string();
            assert!(!files.contains("secrets/k"), "{rule} {tool} {args}: {told}");
            let count = &told["skipped"]["not_allowed"];
            assert_eq!(*count, left_out, "{rule} {tool} {args}: {told}");
        }
        // Nor is it suggested.
        for (tool, args) in [
            ("list_files", json!({"pattern": "key"})),
            ("read_file", json!({"path": "key.pub"})),
            ("read_file", json!({"path": "src/key.txt"})),
            ("grep", json!({"pattern": "secrets/key.pub"})),
        ] {
            let result = called(&tools, tool, &args).await;
            let told = serde_json::to_string(&result).unwrap();
            assert!(!told.contains("secrets/k"), "{rule} {tool} {args}: {told}");
        }
        let all = called(&tools, "list_files", &json!({})).await;
        let told = serde_json::to_string(&all).unwrap();
        assert!(told.contains("a.txt") && told.contains("src/"), "{told}");
    }
}

#[tokio::test]
async fn diagnostics_of_a_file_that_may_not_be_read_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let printed = "secrets/k.c:1:1: error: the key is 42\na.c:1:1: error: fine\n";
    fs::write(folder.path().join("printed"), printed).unwrap();
    let checkers = json!({"command": ["cat", "printed"], "format": "gcc"});
    let registry = ptk_tools::tools::all(serde_json::from_value(checkers).unwrap()).unwrap();
    let rules = entries(&["deny read_file(secrets/**)"]);
    let tools = ToolManager::builder(ptk_sandbox::Workspace::open(folder.path()).unwrap())
        .tools(registry)
        .sandbox(Sandbox::off())
        .permissions(Permissions::new(Mode::Auto).rules(rules))
        .build();
    let result = called(&tools, "get_diagnostics", &json!({})).await;
    let told = serde_json::to_string(&result).unwrap();
    assert!(told.contains("fine") && !told.contains("the key"), "{told}");
    assert!(told.contains("\"not_allowed\":1"), "{told}");
}

#[test]
fn a_path_has_to_be_a_parameter() {
    let wrong = |more: Value| {
        let error = declared("x", &more).into_tool().err().unwrap();
        error.to_string()
    };
    insta::assert_snapshot!(
        wrong(json!({"reads": ["file"]})),
        @"the tool `x` names `file` in `reads`, but has no such parameter; it has path, out"
    );
    insta::assert_snapshot!(
        wrong(json!({"writes": [], "command": [], "url": "https://x.example"})),
        @"the tool `x` has `writes` beside `url`; an endpoint is given no files. Take it out"
    );
}
