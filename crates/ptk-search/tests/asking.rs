//! The tool `request_code_context`, through the pipeline of all tool calls.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ptk_permission::Declaration;
use ptk_protocol::snippet;
use ptk_protocol::{Arguments, ErrorType, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_search::context::top_k;
use ptk_search::{Index, RequestCodeContext};
use ptk_tools::{CallRequest, Permissions, Registry, ToolManager, Typed};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Scene {
    folder: TempDir,
    tools: ToolManager,
}

/// Counts one token for each four bytes, rounded up.
fn count(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, Permissions::default())
    }

    fn with(files: &[(&str, &str)], permissions: Permissions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a project");
        fs::create_dir(&root).unwrap();
        let cache = folder.path().join("cache");
        let tool = RequestCodeContext::new(
            move |workspace| Ok(Index::new(&cache, workspace.clone())),
            count,
        );
        let mut registry = Registry::new();
        registry.register(Typed::new(tool.limit(100_000))).unwrap();
        let tools = ToolManager::builder(Workspace::open(&root).unwrap())
            .tools(registry)
            .permissions(permissions)
            .build();
        let scene = Self { folder, tools };
        for (name, text) in files {
            scene.write(name, text);
        }
        scene
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("a project")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn ask(&self, args: Value, prompt: Option<&str>) -> ToolResult {
        let args = Arguments::from_json(&args.to_string()).unwrap();
        let mut request = CallRequest::new(ToolCall::new("request_code_context", args));
        if let Some(prompt) = prompt {
            request = request.prompted_by(prompt);
        }
        self.tools.begin_turn();
        self.tools.execute(request).await.result
    }
}

fn ids(result: &ToolResult) -> Vec<&str> {
    let results = result.fields["results"].as_array().unwrap();
    results
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect()
}

const ORDERS: &str = "\
class Orders:
    def cancel_order(self, order):
        \"\"\"Takes an order back and refunds it.\"\"\"
        self.refund(order)

    def refund(self, order):
        return order.total
";
const MAIL: &str = "def send_mail(to, text):\n    smtp.send(to, text)\n";

#[tokio::test]
async fn code_is_given_with_its_place() {
    let scene = Scene::new(&[("src/orders.py", ORDERS), ("mail.py", MAIL)]);
    let args = json!({"token_budget": 1200, "hint": "refund an order"});
    let result = scene.ask(args.clone(), Some("ignored")).await;
    assert!(result.success, "{result:?}");
    let fields = &result.fields;
    assert_eq!(fields["ok"], true);
    assert_eq!(fields["query"], "refund an order");
    assert_eq!(fields["top_k"], 6);
    assert_eq!(fields["by"], "words");
    let first = &fields["results"][0];
    let text = first["snippet"].as_str().unwrap();
    let found = snippet::read(text);
    let [found] = found.as_slice() else {
        panic!("{text}");
    };
    assert_eq!(found.problems, []);
    assert_eq!(
        Path::new(&found.snippet.path),
        scene.root().join("src/orders.py")
    );
    let (start, end) = (found.snippet.start, found.stated_end);
    assert_eq!(first["id"], format!("src/orders.py#{start}:{end}"));
    let lines: Vec<&str> = ORDERS.lines().collect();
    let lines = &lines[usize::try_from(start).unwrap() - 1..usize::try_from(end).unwrap()];
    assert_eq!(found.snippet.code, lines.join("\n"));
    // The same query gives the same result.
    let again = scene.ask(args, None).await;
    assert_eq!(again.fields, result.fields);
}

#[tokio::test]
async fn without_a_hint_the_last_prompt_is_the_question() {
    let scene = Scene::new(&[("src/orders.py", ORDERS), ("mail.py", MAIL)]);
    for hint in [json!(null), json!("  ")] {
        let args = json!({"token_budget": 1000, "hint": hint});
        let result = scene.ask(args, Some("who sends mail?")).await;
        assert_eq!(ids(&result)[0], "mail.py#1:2");
        assert_eq!(result.fields["query"], "who sends mail?");
    }
    let other = json!({"token_budget": 1000, "search_term": "send_mail"});
    assert_eq!(ids(&scene.ask(other, None).await)[0], "mail.py#1:2");
}

#[tokio::test]
async fn the_budget_may_be_left_out() {
    let scene = Scene::new(&[("mail.py", MAIL)]);
    for args in [
        json!({"hint": "send_mail"}),
        json!({"hint": "send_mail", "token_budget": null}),
    ] {
        let result = scene.ask(args, None).await;
        assert!(result.success, "{result:?}");
        assert_eq!(ids(&result), ["mail.py#1:2"]);
    }
}

#[tokio::test]
async fn what_cannot_be_answered_is_said() {
    let scene = Scene::new(&[("mail.py", MAIL)]);
    for (args, told) in [
        (json!({"token_budget": 0, "hint": "x"}), "'token_budget'"),
        (
            json!({"token_budget": 5}),
            "No query available (no hint provided and no recent user message)",
        ),
    ] {
        let result = scene.ask(args, None).await;
        assert_eq!(result.error_type, Some(ErrorType::ValidationError));
        assert!(result.error.contains(told), "{result:?}");
        assert!(result.suggestion.is_some(), "{result:?}");
    }
    let nothing = json!({"token_budget": 500, "hint": "zebra"});
    let result = scene.ask(nothing, None).await;
    assert!(result.success && ids(&result).is_empty(), "{result:?}");
}

#[tokio::test]
async fn an_index_that_is_not_to_be_had_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let tool = RequestCodeContext::new(|_| Err("no room".to_owned()), count);
    let mut registry = Registry::new();
    registry.register(Typed::new(tool)).unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let tools = ToolManager::builder(workspace).tools(registry).build();
    let args = Arguments::from_json(r#"{"token_budget": 9, "hint": "x"}"#).unwrap();
    let request = CallRequest::new(ToolCall::new("request_code_context", args));
    let result = tools.execute(request).await.result;
    assert_eq!(result.error_type, Some(ErrorType::SystemError));
    let told = "The code index is not available: no room";
    assert!(result.error.ends_with(told), "{result:?}");
}

#[tokio::test]
async fn files_are_shown_as_they_are_now() {
    let scene = Scene::new(&[("mail.py", MAIL)]);
    let args = json!({"token_budget": 1000, "hint": "send_mail"});
    assert_eq!(ids(&scene.ask(args.clone(), None).await), ["mail.py#1:2"]);
    scene.write("mail.py", &format!("import smtp\n\n\n{MAIL}"));
    let result = scene.ask(args.clone(), None).await;
    assert_eq!(ids(&result)[0], "mail.py#4:5");
    fs::remove_file(scene.root().join("mail.py")).unwrap();
    let result = scene.ask(args, None).await;
    assert!(result.success && ids(&result).is_empty(), "{result:?}");
}

#[tokio::test]
async fn what_rules_withhold_is_not_shown() {
    let declared = Declaration {
        deny: vec!["read_file(secret/**)".to_owned()],
        ..Declaration::default()
    };
    let rules = declared.entries("a test").unwrap();
    let permissions = Permissions::default().rules(rules);
    let files = [("secret/mail.py", MAIL), ("mail.py", MAIL)];
    let scene = Scene::with(&files, permissions);
    let args = json!({"token_budget": 1000, "hint": "send_mail"});
    let result = scene.ask(args, None).await;
    assert_eq!(ids(&result), ["mail.py#1:2"]);
    assert_eq!(result.fields["not_allowed"], 1);
}

#[tokio::test]
async fn neighbours_are_one_passage() {
    let scene = Scene::new(&[("src/orders.py", ORDERS)]);
    let args = json!({"token_budget": 1000, "hint": "orders refund order cancel"});
    let result = scene.ask(args, None).await;
    let mut last = 0;
    let mut lines: Vec<(u64, u64)> = Vec::new();
    for passage in result.fields["results"].as_array().unwrap() {
        let found = snippet::read(passage["snippet"].as_str().unwrap());
        lines.push((found[0].snippet.start, found[0].stated_end));
    }
    lines.sort_unstable();
    for (start, end) in lines {
        assert!(start > last + 1 || last == 0, "{result:?}");
        last = end;
    }
}

#[test]
fn results_follow_the_budget() {
    let budgets = [0, 1, 1000, 1199, 1200, 2048, 4000, 100_000, u64::MAX];
    let results = [5, 5, 5, 5, 6, 10, 20, 20, 20];
    assert_eq!(budgets.map(top_k), results);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn no_budget_is_exceeded(
        lengths in prop::collection::vec(1_usize..60, 1..12),
        budgets in prop::collection::vec(1_u64..3000, 8),
    ) {
        let files: Vec<(String, String)> = lengths
            .iter()
            .enumerate()
            .map(|(number, length)| {
                let body = "    total = total + \"đơn hàng\" * order\n".repeat(*length);
                let text = format!("def order_{number}(order):\n{body}\n\ndef refund_{number}(order):\n{body}");
                (format!("file{number}.py"), text)
            })
            .collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let scene = Scene::new(&files);
            for budget in budgets {
                let args = json!({"token_budget": budget, "hint": "refund an order"});
                let result = scene.ask(args, None).await;
                let results = &result.fields["results"];
                let tokens = count(&results.to_string());
                assert!(tokens <= budget || results == &json!([]), "{tokens} of {budget}");
                // Some lines of the best result fit if there is room for them.
                if budget > 600 {
                    assert!(!ids(&result).is_empty(), "{budget}");
                }
            }
        });
    }
}
