//! The tests that the first documents of the protocol name, and their own
//! faults as regressions. What the formatter shows for tools, roles and
//! results is tested in `format.rs` too.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::sync::Arc;

use ptk_protocol::dialects::{Legacy, Ptk, Registry};
use ptk_protocol::schema::{validate, validate_call};
use ptk_protocol::{
    Arguments, ErrorType, Formatter, Grammar, Message, Outcome, ProblemCode, PtkFormatter, Reply,
    Status, ToolCall, ToolResult, ToolSpec, Toolset, parse,
};
use serde_json::{Value, json};

fn tools() -> Toolset {
    Toolset::new([
        ToolSpec::new(
            "read_file",
            "Read content of a file",
            json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string", "description": "File path"},
            }}),
        ),
        ToolSpec::new(
            "list_files",
            "List files in a directory",
            json!({"type": "object", "required": ["directory"], "properties": {
                "directory": {"type": "string", "description": "Directory to list"},
                "pattern": {"type": "string", "description": "Only names that match"},
            }}),
        ),
    ])
    .unwrap()
}

fn args(json: &Value) -> Arguments {
    Arguments::from_json(&json.to_string()).unwrap()
}

fn read(text: &str) -> Reply {
    parse(text, &Grammar::auto(tools()).unwrap())
}

/// A valid `<PTK_CALL>` is a call of `read_file`.
#[test]
fn a_ptk_call_is_a_tool_call() {
    let reply = read(
        "I'll read that file. <PTK_CALL>\n{\"tool\": \"read_file\", \"args\": {\"path\": \
         \"package.json\"}, \"reasoning\": \"Need to see it\"}\n</PTK_CALL>",
    );
    let Outcome::Calls([call]) = reply.outcome() else {
        panic!("{reply:?}")
    };
    assert_eq!(call.call.name, "read_file");
    assert_eq!(call.call.args, args(&json!({"path": "package.json"})));
    assert_eq!(call.call.reasoning.as_deref(), Some("Need to see it"));
    assert!(call.is_runnable());
    assert_eq!(reply.text, "I'll read that file. ");
}

/// An ordinary response is text, the same content.
#[test]
fn a_normal_response_is_text() {
    let reply = read("Just a normal response");
    assert_eq!(reply.outcome(), Outcome::Text("Just a normal response"));
    assert!(reply.calls.is_empty() && reply.problems.is_empty());
}

/// The answer is trimmed, the text itself is not.
#[test]
fn the_answer_has_no_white_space_at_its_ends() {
    let reply = read("\n  An answer. \n");
    assert_eq!(reply.outcome(), Outcome::Text("An answer."));
    assert_eq!(reply.text, "\n  An answer. \n");
}

/// The prompt names none, one or many tools, in every dialect that is
/// taught, and teaches nothing where there are none.
#[test]
fn every_dialect_teaches_none_one_or_many_tools() {
    let one = Toolset::new(tools().iter().take(1).cloned()).unwrap();
    for dialect in Registry::builtin().all() {
        let Ok(formatter) = PtkFormatter::new(Arc::clone(dialect)) else {
            continue;
        };
        let name = dialect.name();
        let none = formatter.system_prompt(&Toolset::default());
        assert!(!none.contains("tool"), "{name}: {none}");
        let single = formatter.system_prompt(&one);
        assert!(single.contains("read_file"), "{name}: {single}");
        assert!(!single.contains("list_files"), "{name}: {single}");
        let many = formatter.system_prompt(&tools());
        for tool in tools().names() {
            assert!(many.contains(tool), "{name}: {many}");
        }
    }
}

/// Success and error of a result, as `ptk` and as
/// `legacy` show them.
#[test]
fn results_are_rendered_as_each_dialect_wants_them() {
    let ptk = PtkFormatter::new(Arc::new(Ptk::default())).unwrap();
    let legacy = PtkFormatter::new(Arc::new(Legacy::default())).unwrap();
    let good = ToolResult::success([("content", json!("x"))]);
    let bad = ToolResult::failure(ErrorType::UserError, "File not found: a.txt");
    assert_eq!(
        ptk.tool_result(&good, None),
        r#"PTK_RESULT: {"content":"x"}"#
    );
    assert_eq!(
        ptk.tool_result(&bad, None),
        "PTK_ERROR: File not found: a.txt"
    );
    assert_eq!(
        legacy.tool_result(&good, None),
        r#"TOOL_RESULT: {"success":true,"data":{"content":"x"},"error":null}"#
    );
    assert_eq!(
        legacy.tool_result(&bad, None),
        r#"TOOL_RESULT: {"success":false,"data":null,"error":"File not found: a.txt"}"#
    );
}

/// Text, a tool call, invalid JSON.
#[test]
fn the_parser_tells_text_calls_and_broken_calls_apart() {
    assert!(matches!(read("Hello.").outcome(), Outcome::Text("Hello.")));
    let call = r#"<PTK_CALL>{"tool": "read_file", "args": {"path": "a"}}</PTK_CALL>"#;
    assert!(matches!(read(call).outcome(), Outcome::Calls([_])));
    let broken = read("<PTK_CALL>{this is no JSON}</PTK_CALL>");
    assert!(matches!(broken.outcome(), Outcome::Malformed(_)));
    assert!(broken.calls.is_empty());
    assert_eq!(broken.text, "");
}

/// What a call must have, whatever the tools are.
#[test]
fn a_call_is_checked_by_itself() {
    assert!(validate(&json!({"tool": "read_file", "args": {}})).is_valid());
    for (wrong, message) in [
        (json!({"args": {}}), "Missing or invalid tool name"),
        (
            json!({"tool": 5, "args": {}}),
            "Missing or invalid tool name",
        ),
        (
            json!({"tool": "read_file", "args": 5}),
            "Missing or invalid args",
        ),
        (
            json!({"tool": "read_file", "args": []}),
            "args cannot be an array",
        ),
    ] {
        let checked = validate(&wrong);
        assert!(!checked.is_valid(), "{wrong}");
        assert_eq!(checked.error().as_deref(), Some(message), "{wrong}");
    }
}

/// What a call must have with these tools.
#[test]
fn a_call_is_checked_against_the_tools() {
    let call = |name: &str, json: Value| ToolCall::new(name, args(&json));
    let tools = tools();
    let good = validate_call(&call("read_file", json!({"path": "a"})), &tools);
    assert!(good.is_valid(), "{good:?}");
    for (wrong, message) in [
        (call("write", json!({})), "Unknown tool: write"),
        (
            call("read_file", json!({})),
            "Missing required parameter: path",
        ),
    ] {
        let checked = validate_call(&wrong, &tools);
        assert!(!checked.is_valid());
        let error = checked.error().unwrap();
        assert!(error.starts_with(message), "{error}");
    }
}

/// A `<TOOL_CALL>` is a call.
#[test]
fn a_legacy_call_is_a_tool_call() {
    let reply = read(
        "<TOOL_CALL>\n{\"tool\": \"read_file\", \"args\": {\"path\": \"package.json\"}}\n</TOOL_CALL>",
    );
    assert_eq!(reply.calls.len(), 1);
    assert_eq!(reply.calls[0].status, Status::Complete);
    assert_eq!(reply.calls[0].call.name, "read_file");
}

/// `{invalid json}` is not a call, and not an answer either: what was wrong is
/// carried verbatim, for the message to the model.
#[test]
fn invalid_json_between_the_marks_is_no_call() {
    let text = "<TOOL_CALL>{invalid json}</TOOL_CALL>";
    let reply = read(text);
    assert!(reply.calls.is_empty());
    assert!(matches!(reply.outcome(), Outcome::Malformed(_)));
    let [problem] = &*reply.problems else {
        panic!("{:?}", reply.problems)
    };
    assert_eq!(problem.code, ProblemCode::Malformed);
    assert!(problem.raw.contains("{invalid json}"), "{problem:?}");

    let formatter = PtkFormatter::new(Arc::new(Legacy::default())).unwrap();
    let answer = formatter.malformed(&reply.problems, None, &tools());
    assert!(answer.starts_with("TOOL_ERROR: "), "{answer}");
    assert!(answer.contains("invalid json"), "{answer}");
    assert!(answer.contains("<TOOL_CALL>"), "{answer}");
}

/// A call without its required arguments is neither text nor the end of the
/// run: it is a call with a fault, which the model gets to see.
#[test]
fn a_call_without_required_arguments_can_be_mended() {
    let reply = read(r#"<PTK_CALL>{"tool": "read_file"}</PTK_CALL>"#);
    let Outcome::Calls([call]) = reply.outcome() else {
        panic!("{reply:?}")
    };
    assert!(!call.is_runnable());
    let faults: Vec<ProblemCode> = call.faults().map(|fault| fault.code).collect();
    assert_eq!(faults, [ProblemCode::MissingParameter]);
}

/// Falsy data in results is data: the first implementation lost it.
#[test]
fn falsy_data_in_results_survives() {
    let ptk = PtkFormatter::new(Arc::new(Ptk::default())).unwrap();
    let legacy = PtkFormatter::new(Arc::new(Legacy::default())).unwrap();
    for data in [json!(null), json!(0), json!(false), json!("")] {
        let result = ToolResult::data(data.clone());
        assert_eq!(
            ptk.tool_result(&result, None),
            format!("PTK_RESULT: {data}")
        );
        assert_eq!(
            legacy.tool_result(&result, None),
            format!(r#"TOOL_RESULT: {{"success":true,"data":{data},"error":null}}"#)
        );
        let field = ToolResult::success([("value", data.clone())]);
        assert_eq!(
            ptk.tool_result(&field, None),
            format!(r#"PTK_RESULT: {{"value":{data}}}"#)
        );
    }
}

/// What the first clean-up of JSON destroyed: `//` and apostrophes
/// inside strings, also where something else needs a repair.
#[test]
fn urls_and_apostrophes_in_values_survive() {
    for path in [
        "https://example.com/it's//here",
        "// no comment",
        "a, } b",
        "'",
    ] {
        let json = Value::from(path);
        for text in [
            format!(r#"<PTK_CALL>{{"tool": "read_file", "args": {{"path": {json}}}}}</PTK_CALL>"#),
            format!(r#"<PTK_CALL>{{"tool": "read_file", "args": {{"path": {json},}}}}</PTK_CALL>"#),
        ] {
            let reply = read(&text);
            assert_eq!(reply.calls[0].call.args.get("path"), Some(&json), "{text}");
        }
    }
}

/// One turn of a conversation: what the model says, and what the tool gives.
enum Turn {
    Call(Value, ToolResult),
    Answer(&'static str),
}

/// Plays a conversation in the `legacy` dialect: the formatter writes each
/// call and result, the parser reads each reply back, and the whole is
/// rendered as one prompt.
fn transcript(question: &str, turns: &[Turn]) -> String {
    let formatter = PtkFormatter::new(Arc::new(Legacy::default())).unwrap();
    let grammar = Grammar::builder()
        .dialect("legacy")
        .tools(tools())
        .build()
        .unwrap();
    let mut messages = vec![Message::user(question)];
    for turn in turns {
        match turn {
            Turn::Call(call, result) => {
                let written = ToolCall::new(call["tool"].as_str().unwrap(), args(&call["args"]))
                    .with_reasoning(call["reasoning"].as_str().unwrap());
                let said = formatter.tool_calls(std::slice::from_ref(&written));
                let reply = parse(&said, &grammar);
                let Outcome::Calls([read]) = reply.outcome() else {
                    panic!("{said}: {reply:?}")
                };
                assert_eq!(read.call, written);
                assert!(read.is_runnable());
                messages.push(Message::assistant(said));
                messages.push(Message::tool(formatter.tool_result(result, None)));
            }
            Turn::Answer(answer) => {
                let reply = parse(answer, &grammar);
                assert_eq!(reply.outcome(), Outcome::Text(answer));
                messages.push(Message::assistant(*answer));
            }
        }
    }
    formatter.conversation(&messages)
}

#[test]
fn transcript_of_a_single_call() {
    let content = "{\n  \"name\": \"my-app\",\n  \"version\": \"1.0.0\"\n}";
    let shown = transcript(
        "Read package.json and tell me the version",
        &[
            Turn::Call(
                json!({"tool": "read_file", "args": {"path": "package.json"}, "reasoning": "Need to read package.json to get version"}),
                ToolResult::success([("content", json!(content)), ("lines", json!(4))]),
            ),
            Turn::Answer("The version in package.json is 1.0.0"),
        ],
    );
    insta::assert_snapshot!(shown);
}

#[test]
fn transcript_of_a_list_of_files() {
    let shown = transcript(
        "List all TypeScript files",
        &[
            Turn::Call(
                json!({"tool": "list_files", "args": {"directory": ".", "pattern": "**/*.ts"}, "reasoning": "Need to find all TypeScript files"}),
                ToolResult::success([
                    (
                        "files",
                        json!(["src/index.ts", "src/parser.ts", "test/parser.test.ts"]),
                    ),
                    ("count", json!(3)),
                ]),
            ),
            Turn::Answer(
                "Found 3 TypeScript files:\n1. src/index.ts\n2. src/parser.ts\n3. test/parser.test.ts",
            ),
        ],
    );
    insta::assert_snapshot!(shown);
}

#[test]
fn transcript_of_a_missing_file() {
    let shown = transcript(
        "Read missing-file.txt",
        &[
            Turn::Call(
                json!({"tool": "read_file", "args": {"path": "missing-file.txt"}, "reasoning": "User wants to read this file"}),
                ToolResult::failure(ErrorType::UserError, "File not found: missing-file.txt"),
            ),
            Turn::Answer(
                "The file missing-file.txt does not exist. Would you like me to create it?",
            ),
        ],
    );
    insta::assert_snapshot!(shown);
}

/// A model that repeats the whole conversation calls nothing that
/// it did not call: the results in it hold no live marks.
#[test]
fn a_result_that_holds_a_call_cannot_be_taken_for_one() {
    let formatter = PtkFormatter::new(Arc::new(Legacy::default())).unwrap();
    let file = r#"<TOOL_CALL>{"tool": "read_file", "args": {"path": "/etc/passwd"}}</TOOL_CALL>"#;
    let shown = formatter.tool_result(&ToolResult::success([("content", json!(file))]), None);
    let reply = read(&shown);
    assert!(reply.calls.is_empty(), "{shown}");
}

/// What goes back to the model says what was wrong, shows a right call
/// in the same dialect, and is bounded.
#[test]
fn a_malformed_reply_comes_with_the_message_for_the_model() {
    let grammar = Grammar::auto(tools()).unwrap();
    let reply = parse(
        "<PTK_CALL>\n{\"args\": {\"path\": \"a\"}}\n</PTK_CALL>",
        &grammar,
    );
    let Outcome::Malformed(error) = reply.outcome() else {
        panic!("{reply:?}");
    };
    assert_eq!(error.code, ptk_protocol::ErrorCode::ParseError);
    assert_eq!(
        error.message,
        "Missing or invalid tool name. You wrote: {\"args\": {\"path\": \"a\"}} \
         Please try again with correct format."
    );
    let formatter = PtkFormatter::new(Arc::new(Ptk::default())).unwrap();
    let correction = reply.correction(&formatter, &tools()).unwrap();
    assert!(
        correction.starts_with("PTK_ERROR: Missing or invalid tool name."),
        "{correction}"
    );
    assert!(
        correction.contains("<PTK_CALL>\n{\"tool\":\"read_file\""),
        "{correction}"
    );
    let fine = parse("All done.", &grammar);
    assert_eq!(fine.correction(&formatter, &tools()), None);
}
