//! Which tools are offered, and what is said of them.

use serde_json::{Value, json};

use crate::space::{Space, err};
use crate::stdio::{Client, text};

fn tools(client: &mut Client) -> Vec<Value> {
    let listed = client.request("tools/list", json!({}));
    listed["result"]["tools"].as_array().unwrap().clone()
}

fn names(client: &mut Client) -> Vec<String> {
    let tools = tools(client);
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn tools_come_in_the_order_of_their_names() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    let offered = names(&mut client);
    assert!(offered.is_sorted(), "{offered:?}");
    for name in [
        "bash",
        "edit",
        "get_diagnostics",
        "grep",
        "list_files",
        "parse",
        "read_file",
        "repair",
        "search_code",
        "write_file",
    ] {
        assert!(offered.iter().any(|it| it == name), "{name}: {offered:?}");
    }
    assert_eq!(offered, names(&mut client));
    let page = client.request("tools/list", json!({"cursor": "x"}));
    assert_eq!(page["error"]["code"], -32602);
}

#[test]
fn only_the_named_tools_are_offered() {
    let space = Space::new();
    let mut client = Client::new(&space, &["--tools", "read_file, parse"]);
    assert_eq!(names(&mut client), ["parse", "read_file"]);
    let mut client = Client::new(&space, &["--tools", ""]);
    assert!(names(&mut client).is_empty());
    let refused = client.request("tools/call", json!({"name": "read_file", "arguments": {}}));
    assert_eq!(refused["error"]["code"], -32602);
}

#[test]
fn the_tools_of_ptk_toml_count_as_for_a_run() {
    let space = Space::new();
    // That of the workspace is not trusted, and can only leave tools out.
    space.write("ptk.toml", "[run]\ntools = [\"grep\", \"glob\"]\n");
    let mut client = Client::new(&space, &[]);
    assert_eq!(
        names(&mut client),
        ["grep", "parse", "repair", "search_code"]
    );
    drop(client);
    space.write("ptk.toml", "[permissions]\ndeny = [\"edt(**)\"]\n");
    let output = space.ptk(&["mcp", "serve"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("did you mean `edit`?"),
        "{}",
        err(&output)
    );
}

#[test]
fn hints_follow_from_what_a_tool_does() {
    let space = Space::new();
    let tools = tools(&mut Client::new(&space, &[]));
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert!(!tool["description"].as_str().unwrap().is_empty());
        assert_eq!(tool["inputSchema"]["type"], "object");
        tool["annotations"].clone()
    };
    let reads = json!({"readOnlyHint": true, "openWorldHint": false});
    for name in ["read_file", "grep", "search_code", "parse", "repair"] {
        assert_eq!(hints(name), reads, "{name}");
    }
    let writes = json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false});
    for name in ["write_file", "edit"] {
        assert_eq!(hints(name), writes, "{name}");
    }
    let runs = json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true});
    assert_eq!(hints("bash"), runs);
}

#[test]
fn results_are_as_their_schemas_say() {
    let space = Space::new();
    space.write("b.rs", "fn main() {}\n");
    let mut client = Client::new(&space, &[]);
    let tools = tools(&mut client);
    for (name, good, bad) in [
        (
            "parse",
            json!({"text": "Hello."}),
            json!({"text": "x", "dialect": "hermse"}),
        ),
        ("repair", json!({"text": "{a: 1"}), json!({"text": ""})),
        (
            "search_code",
            json!({"query": "main"}),
            json!({"query": "(", "options": {"regex": true}}),
        ),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let schema = &tool["outputSchema"];
        let validator = jsonschema::validator_for(schema).unwrap();
        for (args, is_error) in [(good, false), (bad, true)] {
            let result = client.call(name, args);
            assert_eq!(result["isError"], is_error, "{result}");
            let whole = &result["structuredContent"];
            assert!(validator.is_valid(whole), "{whole} {schema}");
            if !is_error {
                // The schema says more than that it is an object.
                for field in whole.as_object().unwrap().keys() {
                    assert!(schema["properties"].get(field).is_some(), "{name}: {field}");
                }
            }
        }
    }
}

#[test]
fn parse_gives_what_the_command_gives() {
    let space = Space::new();
    let reply = "I look.\n<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\",}}</tool_call>";
    let tool = json!({"name": "read_file", "parameters": {"type": "object",
        "properties": {"path": {"type": "string"}}, "required": ["path"]}});
    let case = json!({"input": reply, "tools": [tool], "dialect": "hermes"});
    space.write("case.jsonl", &format!("{case}\n"));
    let printed = space.ptk(&["parse", "--jsonl", "case.jsonl"]);
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let mut client = Client::new(&space, &[]);
    let args = json!({"text": reply, "tools": [tool], "dialect": "hermes"});
    let result = client.call("parse", args);
    assert_eq!(
        serde_json::from_str::<Value>(text(&result)).unwrap(),
        printed
    );
    let mut whole = result["structuredContent"].clone();
    let fields = whole.as_object_mut().unwrap();
    assert_eq!(fields.remove("success"), Some(json!(true)));
    assert_eq!(fields.remove("error"), Some(json!("")));
    assert_eq!(whole, printed);
    assert_eq!(whole["calls"][0]["status"], "repaired");
    // Without the tools, any call is one.
    let bare = client.call("parse", json!({"text": reply}));
    assert_eq!(bare["structuredContent"]["calls"][0]["name"], "read_file");
    let drafted = json!({"text": "So.</think>Yes.", "starts_in_reasoning": true});
    let drafted = client.call("parse", drafted);
    assert_eq!(drafted["structuredContent"]["reasoning"], "So.");
}

#[test]
fn repair_gives_the_value_and_what_was_wrong() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    let result = client.call("repair", json!({"text": "{path: 'a.txt', lines: [1, 2,]}"}));
    let whole = &result["structuredContent"];
    assert_eq!(whole["value"], json!({"path": "a.txt", "lines": [1, 2]}));
    assert_eq!(whole["is_complete"], true);
    assert!(!whole["fixes"].as_array().unwrap().is_empty());
    let cut = client.call("repair", json!({"text": "[1, {\"a\": \"b"}));
    assert_eq!(cut["structuredContent"]["value"], json!([1, {"a": "b"}]));
    assert_eq!(cut["structuredContent"]["is_complete"], false);
}

#[test]
fn a_dialect_of_ptk_toml_can_be_parsed() {
    let space = Space::new();
    let declared = "[[dialects]]\nname = \"acme\"\nopen = [\"<acme>\"]\nclose = [\"</acme>\"]\n";
    space.write("ptk.toml", declared);
    let mut client = Client::new(&space, &[]);
    let reply = "<acme>{\"name\": \"f\", \"arguments\": {}}</acme>";
    let parsed = client.call("parse", json!({"text": reply, "dialect": "acme"}));
    let call = &parsed["structuredContent"]["calls"][0];
    assert_eq!(call["dialect"], "acme", "{parsed}");
}
