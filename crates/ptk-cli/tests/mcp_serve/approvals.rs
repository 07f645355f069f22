//! Calls that change something: rules, flags, and the user of the client.

use serde_json::{Value, json};

use crate::space::Space;
use crate::stdio::{Client, SESSIONS, text};

const NEW: &str = "new.txt";

fn write(content: &str) -> Value {
    json!({"path": NEW, "content": content})
}

fn forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// Calls `write_file`, and answers the question about it.
fn asked(client: &mut Client, answer: &Value) -> (Value, Value) {
    let params = json!({"name": "write_file", "arguments": write("hi\n")});
    let id = client.ask("tools/call", params);
    let question = client.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    (
        question["params"].clone(),
        client.answer(id)["result"].clone(),
    )
}

#[test]
fn a_write_needs_a_rule_and_the_refusal_says_which() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    let refused = client.call("write_file", write("hi\n"));
    assert_eq!(refused["isError"], true);
    assert_eq!(
        refused["structuredContent"]["error_type"],
        "permission_error"
    );
    let told = text(&refused);
    assert!(told.contains("--approve auto"), "{told}");
    let command = told.split("`ptk permissions allow ").nth(1);
    let rule = command.and_then(|rest| rest.split('`').next());
    let rule = rule.unwrap_or_else(|| panic!("{told}")).trim_matches('\'');
    assert!(!space.path(NEW).exists());
    client.end();

    let allowed = space.ptk(&["permissions", "allow", rule]);
    assert!(allowed.status.success());
    let mut client = Client::new(&space, &[]);
    let written = client.call("write_file", write("hi\n"));
    assert_eq!(written["isError"], false, "{written}");
    assert_eq!(space.read(NEW), "hi\n");
}

#[test]
fn flags_decide_what_no_rule_decides() {
    let space = Space::new();
    let mut client = Client::new(&space, &["--approve", "auto"]);
    assert_eq!(client.call("write_file", write("hi\n"))["isError"], false);
    // A rule that forbids beats the flag.
    let denied = space.ptk(&["permissions", "deny", "write_file"]);
    assert!(denied.status.success());
    let mut client = Client::new(&space, &["--approve", "auto"]);
    assert_eq!(client.call("write_file", write("ho\n"))["isError"], true);
    // And the client's user is not asked where everything is refused.
    let mut client = Client::silent(&space, &["--approve", "deny"]);
    client.initialize(SESSIONS, forms());
    let refused = client.call(
        "edit",
        json!({"path": NEW, "old_string": "hi", "new_string": "ho"}),
    );
    assert_eq!(refused["isError"], true);
    assert_eq!(space.read(NEW), "hi\n");
}

#[test]
fn the_user_of_the_client_is_asked() {
    let space = Space::new();
    let mut client = Client::silent(&space, &[]);
    client.initialize(SESSIONS, forms());
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {"decision": "deny"}}),
        json!({"action": "accept", "content": {}}),
    ] {
        let (_, result) = asked(&mut client, &answer);
        assert!(text(&result).contains("the user said no"), "{result}");
        assert!(!space.path(NEW).exists());
    }
    let yes = json!({"action": "accept", "content": {"decision": "allow once"}});
    let (question, result) = asked(&mut client, &yes);
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(space.read(NEW), "hi\n");
    let message = question["message"].as_str().unwrap();
    assert!(
        message.starts_with("write_file wants to write new.txt"),
        "{message}"
    );
    assert!(message.contains("+hi"), "the diff: {message}");
    let form = &question["requestedSchema"];
    assert_eq!(form["required"], json!(["decision"]));
    assert_eq!(
        form["properties"]["decision"]["enum"],
        json!(["allow once", "deny"])
    );
    // Once is once.
    std::fs::remove_file(space.path(NEW)).unwrap();
    let (_, result) = asked(&mut client, &json!({"action": "decline"}));
    assert_eq!(result["isError"], true);
}

#[test]
fn a_question_about_a_command_has_its_warnings() {
    let space = Space::new();
    let mut client = Client::silent(&space, &[]);
    // A capability without kinds means forms.
    client.initialize(SESSIONS, json!({"elicitation": {}}));
    let args = json!({"command": "rm -rf .git a.txt"});
    let id = client.ask("tools/call", json!({"name": "bash", "arguments": args}));
    let question = client.receive();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("bash wants to run:\n\nrm -rf .git a.txt"),
        "{message}"
    );
    assert!(message.contains("\n! "), "{message}");
    // An error is no consent, nor is a client that goes away.
    let error = json!({"code": -32603, "message": "no window"});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": error}));
    assert_eq!(client.answer(id)["result"]["isError"], true);
    let long = format!("touch x; {}", "true; ".repeat(4000));
    let long = client.call("bash", json!({"command": long}));
    assert!(text(&long).contains("too long for a question"), "{long}");
    assert!(space.path("a.txt").exists() && !space.path("x").exists());
}

/// Calls `write_file` in the revision without sessions, and returns what the
/// server asks for.
fn required(client: &mut Client) -> Value {
    let params = json!({"name": "write_file", "arguments": write("hi\n")});
    let result = client.request("tools/call", params)["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert_eq!(
        result["inputRequests"]["approval"]["method"],
        "elicitation/create"
    );
    result
}

fn answered(client: &mut Client, state: &Value, args: Value, decision: &str) -> Value {
    let answer = json!({"action": "accept", "content": {"decision": decision}});
    let params = json!({
        "name": "write_file",
        "arguments": args,
        "requestState": state,
        "inputResponses": {"approval": answer},
    });
    client.request("tools/call", params)
}

#[test]
fn without_a_session_the_answer_comes_with_the_same_call() {
    let space = Space::new();
    let mut client = Client::modern(&space, &[], forms());
    let state = required(&mut client)["requestState"].clone();
    let refused = answered(&mut client, &state, write("hi\n"), "deny")["result"].clone();
    assert!(text(&refused).contains("the user said no"), "{refused}");
    // The question was answered, and the other one was never asked.
    for state in [&state, &json!("made up")] {
        let error = answered(&mut client, state, write("hi\n"), "allow once")["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
    }
    // An answer is about the call that was shown.
    let state = required(&mut client)["requestState"].clone();
    let other = answered(&mut client, &state, write("evil\n"), "allow once")["result"].clone();
    assert_eq!(other["resultType"], "input_required", "{other}");
    assert!(!space.path(NEW).exists());
    let state = required(&mut client)["requestState"].clone();
    let written = answered(&mut client, &state, write("hi\n"), "allow once")["result"].clone();
    assert_eq!(written["isError"], false, "{written}");
    assert_eq!(space.read(NEW), "hi\n");
}

#[test]
fn a_client_without_forms_is_not_asked() {
    let space = Space::new();
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut client = Client::modern(&space, &[], capabilities);
        let refused = client.call("write_file", write("hi\n"));
        assert!(text(&refused).contains("--approve auto"), "{refused}");
    }
}
