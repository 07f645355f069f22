//! Tools from configuration: a command, an HTTP endpoint.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::path::Path;

use ptk_events::{Delivery, EventKind, EventType, Filter, OutputStream};
use ptk_protocol::{Arguments, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::custom::{Declaration, DeclarationError};
use ptk_tools::{AllowAll, CallRequest, Registry, ToolManager};
use serde_json::{Value, json};
use wiremock::matchers::{body_json, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn declared(value: Value) -> Declaration {
    serde_json::from_value(value).unwrap()
}

async fn call(tool: Value, args: Value) -> ToolResult {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a b.txt"), "one two three\n").unwrap();
    let name = tool["name"].as_str().unwrap().to_owned();
    let tools = manager(folder.path(), tool);
    let args = Arguments::from_json(&args.to_string()).unwrap();
    let request = CallRequest::new(ToolCall::new(name, args));
    tools.execute(request).await.result
}

fn manager(folder: &Path, tool: Value) -> ToolManager {
    let mut registry = Registry::new();
    let tool = declared(tool).into_tool().unwrap();
    registry.register_shared(tool.into()).unwrap();
    ToolManager::builder(Workspace::open(folder).unwrap())
        .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
        .tools(registry)
        .approver(AllowAll)
        .build()
}

fn command(command: Value) -> Value {
    json!({
        "name": "tool",
        "description": "A tool of a user",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        },
        "command": command,
    })
}

#[tokio::test]
async fn a_command_that_takes_long_is_said_to_run() {
    let tool = command(json!(["sleep", "1.5"]));
    let folder = tempfile::tempdir().unwrap();
    let tools = manager(folder.path(), tool);
    let filter = Filter::types([EventType::ToolOutputChunk]);
    let mut events = tools.bus().subscribe(filter);
    let args = Arguments::default();
    let request = CallRequest::new(ToolCall::new("tool", args));
    assert!(tools.execute(request).await.result.success);
    let Ok(Delivery::Event(event)) = events.try_recv() else {
        panic!("nothing was said");
    };
    let EventKind::ToolOutputChunk { stream, chunk } = &event.kind else {
        panic!("{event:?}");
    };
    assert_eq!(*stream, OutputStream::Progress);
    assert!(chunk.starts_with("running for "), "{chunk}");
}

#[tokio::test]
async fn arguments_stand_in_their_places_without_a_shell_in_between() {
    let tool = command(json!(["wc", "-w", "{path}"]));
    let result = call(tool.clone(), json!({"path": "a b.txt"})).await;
    assert_eq!(result.fields["output"], "3 a b.txt\n");
    let result = call(tool, json!({"path": "$(touch evil); `id`"})).await;
    assert!(
        result.fields["stderr"]
            .as_str()
            .unwrap()
            .contains("$(touch evil)")
    );
}

#[tokio::test]
async fn an_entry_whose_argument_was_not_given_is_left_out() {
    let tool = command(json!(["echo", "start", "--lines={lines}", "end"]));
    let result = call(tool.clone(), json!({})).await;
    assert_eq!(result.fields["output"], "start end\n");
    let result = call(tool, json!({"lines": 3})).await;
    assert_eq!(result.fields["output"], "start --lines=3 end\n");
}

#[tokio::test]
async fn the_arguments_stand_as_json_on_stdin() {
    let result = call(command(json!(["cat"])), json!({"path": "x", "lines": 2})).await;
    assert_eq!(result.fields["output"], r#"{"path":"x","lines":2}"#);
}

#[tokio::test]
async fn a_command_that_fails_is_told_with_its_output() {
    let tool = command(json!(["sh", "-c", "echo out; echo wrong >&2; exit 3"]));
    let result = call(tool, json!({})).await;
    insta::assert_snapshot!(
        format!("{}\n→ {}", result.error, result.suggestion.as_deref().unwrap_or_default()),
        @r"
    tool(): sh ended with exit code 3
    → Read `stderr` and `output`, and call with other arguments.
    "
    );
    assert_eq!(result.fields["output"], "out\n");
    assert_eq!(result.fields["stderr"], "wrong\n");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let result = call(command(json!(["no-such-program-here"])), json!({})).await;
    assert!(!result.success);
    assert!(
        result.error.contains("no-such-program-here"),
        "{}",
        result.error
    );
    assert!(result.suggestion.is_some());
}

#[tokio::test]
async fn a_value_is_not_taken_for_an_option() {
    let open = command(json!(["echo", "{path}", "end"]));
    for value in ["-n", "--help", "-", "--path=x"] {
        let result = call(open.clone(), json!({"path": value})).await;
        let kind = serde_json::to_value(&result).unwrap();
        assert_eq!(kind["error_type"], "validation_error", "{value}: {kind}");
        assert!(
            result.error.contains("`path` begins with a dash"),
            "{}",
            result.error
        );
    }
    let result = call(open, json!({"path": "a-n"})).await;
    assert_eq!(result.fields["output"], "a-n end\n");
    let number = command(json!(["echo", "{lines}"]));
    assert!(!call(number, json!({"lines": -5})).await.success);
    let glued = command(json!(["echo", "{path}{lines}"]));
    assert!(!call(glued, json!({"path": "", "lines": -5})).await.success);
}

#[tokio::test]
async fn a_value_behind_two_dashes_or_at_an_option_may_begin_with_a_dash() {
    let ended = command(json!(["printf", "%s|", "--", "{path}", "{lines}"]));
    let result = call(ended, json!({"path": "-n", "lines": -5})).await;
    assert_eq!(result.fields["output"], "--|-n|-5|", "{}", result.error);
    let attached = command(json!(["echo", "--lines={lines}", "x{path}"]));
    let result = call(attached, json!({"path": "-n", "lines": -5})).await;
    assert_eq!(result.fields["output"], "--lines=-5 x-n\n");
}

fn endpoint(url: &str, method: &str) -> Value {
    json!({
        "name": "tool",
        "description": "A tool of a user",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
        "url": url,
        "method": method,
        "headers": [["X-Home", "Bearer $HOME"]],
    })
}

#[tokio::test]
async fn a_value_does_not_lead_to_another_path() {
    let server = MockServer::start().await;
    Mock::given(wiremock::matchers::any())
        .respond_with(ResponseTemplate::new(200))
        .expect(0)
        .mount(&server)
        .await;
    let whole = endpoint(&format!("{}/v1/{{city}}/now", server.uri()), "GET");
    for value in [
        "..",
        ".",
        "",
        "%2e%2e",
        "%2E.",
        ".%2e",
        "%252e%252e",
        "../admin",
        "a/../../admin",
        "a/..",
        "a//b",
        "/a",
        "a/",
        "a%2f..%2fb",
        "a%252f%252e%252e",
        "..\\admin",
        "a\\b",
        "a%5c..",
        "%25252e%25252e",
    ] {
        let result = call(whole.clone(), json!({"city": value})).await;
        let kind = serde_json::to_value(&result).unwrap();
        assert_eq!(kind["error_type"], "validation_error", "{value}: {kind}");
    }
    // The text around it, and two values together, count as well.
    let dot = endpoint(&format!("{}/v1/.{{city}}/now", server.uri()), "GET");
    assert!(!call(dot, json!({"city": "."})).await.success);
    let both = endpoint(&format!("{}/v1/{{city}}{{days}}/now", server.uri()), "GET");
    assert!(!call(both, json!({"city": "../"})).await.success);
}

#[tokio::test]
async fn a_value_in_the_query_may_be_any_text() {
    let server = MockServer::start().await;
    Mock::given(path("/v1"))
        .and(query_param("q", "../a&b=c#d"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!(1)))
        .expect(1)
        .mount(&server)
        .await;
    let tool = endpoint(&format!("{}/v1?q={{city}}", server.uri()), "GET");
    let result = call(tool, json!({"city": "../a&b=c#d"})).await;
    assert!(result.success, "{}", result.error);
}

#[tokio::test]
async fn an_endpoint_is_asked_with_its_arguments_encoded() {
    let server = MockServer::start().await;
    let home = format!("Bearer {}", std::env::var("HOME").unwrap());
    Mock::given(method("GET"))
        .and(path("/v1/H%C3%A0%20N%E1%BB%99i%2FOld%2E1%3F%23%26x%3D1"))
        .and(query_param("days", "2"))
        .and(header("X-Home", home.as_str()))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"degrees": 30})))
        .expect(1)
        .mount(&server)
        .await;
    let tool = endpoint(&format!("{}/v1/{{city}}", server.uri()), "GET");
    let result = call(tool, json!({"city": "Hà Nội/Old.1?#&x=1", "days": 2})).await;
    assert!(result.success, "{}", result.error);
    assert_eq!(result.fields["data"], json!({"degrees": 30}));
}

#[tokio::test]
async fn a_post_has_the_other_arguments_in_its_body() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/Hue"))
        .and(body_json(json!({"days": 2})))
        .respond_with(ResponseTemplate::new(201).set_body_string("done"))
        .expect(1)
        .mount(&server)
        .await;
    let tool = endpoint(&format!("{}/v1/{{city}}", server.uri()), "POST");
    let result = call(tool, json!({"city": "Hue", "days": 2})).await;
    assert_eq!(result.fields["data"], "done");
}

#[tokio::test]
async fn an_answer_that_is_none_is_told_with_its_status() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(404).set_body_string("no such city"))
        .mount(&server)
        .await;
    let tool = endpoint(&format!("{}/v1/{{city}}", server.uri()), "GET");
    let result = call(tool, json!({"city": "Nowhere"})).await;
    assert_eq!(result.fields["status"], 404);
    assert_eq!(result.fields["answer"], "no such city");
    insta::assert_snapshot!(
        format!("{}\n→ {}", result.error, result.suggestion.unwrap_or_default()),
        @r#"
    tool(city="Nowhere"): The endpoint answered 404 Not Found
    → Read `answer`, and call with other arguments.
    "#
    );
}

#[tokio::test]
async fn headers_do_not_follow_to_another_host() {
    let server = MockServer::start().await;
    let other = MockServer::start().await;
    let elsewhere = format!("{}/stolen", other.uri());
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(302).insert_header("Location", elsewhere))
        .mount(&server)
        .await;
    let tool = endpoint(&format!("{}/v1/{{city}}", server.uri()), "GET");
    let result = call(tool, json!({"city": "Hue"})).await;
    assert!(!result.success);
    assert!(other.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let tool = endpoint("http://127.0.0.1:9/v1/{city}", "GET");
    let result = call(tool, json!({"city": "Hue"})).await;
    assert!(!result.success);
    assert!(
        result.error.contains("127.0.0.1 could not be asked"),
        "{}",
        result.error
    );
}

#[test]
fn declarations_that_make_no_sense_are_refused() {
    let refused = |change: Value| {
        let mut tool = command(json!([]));
        tool.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let error: DeclarationError = declared(tool).into_tool().err().unwrap();
        error.to_string()
    };
    let all = [
        refused(json!({})),
        refused(json!({"command": ["x"], "url": "http://a/"})),
        refused(json!({"command": ["x", "{file}"]})),
        refused(json!({"url": "ftp://a/"})),
        refused(json!({"url": "not an address"})),
        refused(json!({"url": "http://{path}/x"})),
        refused(json!({"url": "http://a.{path}/x"})),
        refused(json!({"command": ["x"], "timeout": 0})),
        refused(json!({"command": ["{path}", "x"]})),
        refused(json!({"command": ["./{path}"]})),
        refused(json!({"command": ["x"], "method": "POST"})),
        refused(json!({"command": ["x"], "headers": [["a", "b"]]})),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn parameters_that_are_no_schema_are_refused() {
    let refused = |property: Value| {
        let mut tool = command(json!(["x"]));
        tool["parameters"]["properties"]["path"] = property;
        declared(tool).into_tool().err().unwrap().to_string()
    };
    let all = [
        refused(json!({"type": "strin"})),
        refused(json!({"type": "date"})),
        refused(json!({"type": ["string", "nul"]})),
        refused(json!({"type": 3})),
        refused(json!("string")),
        refused(json!({"type": "array", "items": {"type": "int"}})),
        refused(json!({"anyOf": [{"type": "string"}, {"type": "strng"}]})),
        refused(json!({"type": "string", "descripton": "A path"})),
        refused(json!({"type": "string", "colour": "red"})),
    ];
    insta::assert_snapshot!(all.join("\n"));
    let tool = json!({"type": "string", "x-order": 1, "default": {"any": "thing"}});
    let mut whole = command(json!(["x"]));
    whole["parameters"]["properties"]["path"] = tool;
    assert!(declared(whole).into_tool().is_ok());
}

#[tokio::test]
async fn doubled_braces_are_text() {
    let tool = command(json!(["echo", "{{path}}", "{path}"]));
    let result = call(tool, json!({"path": "x"})).await;
    assert_eq!(result.fields["output"], "{path} x\n");
}

/// A command that is declared to read counts as such, and the sandbox holds it
/// to that.
#[tokio::test]
async fn a_command_that_only_reads_needs_no_approval_and_can_write_nothing() {
    let reading = |words: Value| {
        let mut tool = command(words);
        tool["effects"] = json!(["read"]);
        tool
    };
    let tool = declared(reading(json!(["cat", "{path}"])));
    assert_eq!(tool.told(), "runs cat {path}, without asking");
    assert!(tool.into_tool().unwrap().effects().is_read_only());
    let mut writing = reading(json!(["cat", "{path}"]));
    writing["writes"] = json!(["path"]);
    let writing = declared(writing).into_tool().unwrap();
    assert!(writing.effects().needs_approval());

    let script = "cat \"$1\"; touch new && echo wrote; mktemp && echo temporary";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    let tool = reading(json!(["sh", "-c", script, "sh", "./{path}"]));
    let tool = declared(tool).into_tool().unwrap();
    let mut registry = Registry::new();
    registry.register_shared(tool.into()).unwrap();
    // Without an approver, nothing runs that needs approval.
    let tools = ToolManager::builder(Workspace::open(folder.path()).unwrap().with_temp().unwrap())
        .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
        .tools(registry)
        .build();
    let args = Arguments::from_json(r#"{"path": "a.txt"}"#).unwrap();
    let request = CallRequest::new(ToolCall::new("tool", args));
    let result = tools.execute(request).await.result;
    let output = result.fields["output"].as_str().unwrap();
    assert!(output.starts_with("one\n"), "{result:?}");
    assert!(output.ends_with("temporary\n"), "{result:?}");
    assert!(!output.contains("wrote"), "{result:?}");
    assert!(!folder.path().join("new").exists());
}
