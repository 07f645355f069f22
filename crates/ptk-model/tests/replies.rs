//! Replies, read while they come in: native calls are read like those in text,
//! and the same however the reply is cut.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it in tests, but not in what tests share"
)]

use ptk_llm::{Completion, Delta, FinishReason, InMemory, NativeCall, RunawayGuard, Script};
use ptk_model::{
    Candidate, Mode, Model, PtkParser, ReplyCollector, ReplyReader, Teacher, ToolPrompt,
};
use ptk_protocol::dialects::Registry;
use ptk_protocol::{ParsedCall, Parser, ProblemCode, Reply, Status, ToolSpec, Toolset};
use serde_json::json;

fn tools() -> Toolset {
    let read = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"],
    });
    let read = ToolSpec::new("read_file", "Read a file", read);
    let list = ToolSpec::new("list_files", "List files", json!({"type": "object"}));
    Toolset::new([read, list]).unwrap()
}

fn prompt(mode: Mode) -> ToolPrompt {
    let candidate = Candidate::new(Model::new(Script::new(["Hello."])));
    let approach = candidate.approach(None, mode, &InMemory::default());
    let teacher = Teacher::new(Registry::builtin(), None).unwrap();
    teacher.prompt(&approach, &tools(), &tools()).unwrap()
}

/// Reads a reply that comes in these pieces.
fn read(prompt: &ToolPrompt, deltas: &[Delta]) -> Reply {
    let mut reader = prompt.reader();
    let (mut reply, mut text) = (ReplyCollector::default(), String::new());
    for delta in deltas {
        if let Delta::Text(piece) = delta {
            text.push_str(piece);
        }
        reader.take(delta, &mut |event| reply.absorb(event));
    }
    reader.finish(&mut |event| reply.absorb(event));
    reply.finish(&text, reader.finish_reason())
}

fn call(index: usize, name: &str) -> Delta {
    Delta::CallStart {
        index,
        id: Some(format!("call_{index}")),
        name: name.to_owned(),
    }
}

fn arguments(index: usize, json: &str) -> Delta {
    Delta::Arguments {
        index,
        json: json.to_owned(),
    }
}

fn native(arguments: &str, finish: FinishReason) -> ParsedCall {
    let completion = Completion {
        calls: vec![NativeCall {
            id: Some("call_0".to_owned()),
            name: "read_file".to_owned(),
            arguments: arguments.to_owned(),
        }],
        finish,
        ..Completion::default()
    };
    let reply = prompt(Mode::Native).read(&PtkParser, &completion);
    let [call] = <[ParsedCall; 1]>::try_from(reply.calls).unwrap();
    assert_eq!(call.call.id.as_deref(), Some("call_0"));
    assert_eq!(call.dialect, "native");
    call
}

#[test]
fn every_cut_of_native_arguments_gives_the_same_call() {
    let prompt = prompt(Mode::Native);
    for json in [
        r#"{"path": "a b/é.txt", "lines": 3}"#,
        r#"{"path": "</tool_call>{\"name\": \"list_files\"}"}"#,
        r#"{path: 'a.txt', "lines": "3",}"#,
        r#"{"path": "half a na"#,
        "",
    ] {
        let finish = Delta::Finish(FinishReason::ToolCalls);
        let whole = [
            call(0, "read_file"),
            arguments(0, json),
            Delta::CallEnd { index: 0 },
            finish.clone(),
        ];
        let whole = read(&prompt, &whole);
        assert_eq!(whole.calls.len(), 1, "{json}");
        for cut in (0..=json.len()).filter(|cut| json.is_char_boundary(*cut)) {
            let (before, behind) = json.split_at(cut);
            let cut = [
                call(0, "read_file"),
                arguments(0, before),
                arguments(0, behind),
                finish.clone(),
            ];
            assert_eq!(read(&prompt, &cut), whole, "{before}|{behind}");
        }
    }
}

#[test]
fn calls_that_come_in_turns_are_told_apart() {
    let deltas = [
        call(0, "read_file"),
        call(1, "list_files"),
        arguments(1, "{"),
        arguments(0, r#"{"path": "#),
        arguments(1, "}"),
        arguments(0, r#""a.txt"}"#),
        Delta::Finish(FinishReason::ToolCalls),
    ];
    let reply = read(&prompt(Mode::Native), &deltas);
    let calls: Vec<(&str, Option<&str>)> = reply
        .calls
        .iter()
        .map(|it| (it.call.name.as_str(), it.call.id.as_deref()))
        .collect();
    let expected = [
        ("read_file", Some("call_0")),
        ("list_files", Some("call_1")),
    ];
    assert_eq!(calls, expected);
    assert!(reply.calls.iter().all(ParsedCall::is_runnable));
}

#[test]
fn indices_may_be_anything_in_any_order() {
    let deltas = [
        call(usize::MAX, "list_files"),
        arguments(usize::MAX, "{}"),
        Delta::CallEnd { index: usize::MAX },
        call(7, "read_file"),
        arguments(7, r#"{"path": "a"}"#),
        call(3, "list_files"),
        arguments(3, "{}"),
        // What comes behind the end of a call does not count.
        arguments(usize::MAX, "{}"),
        Delta::Finish(FinishReason::ToolCalls),
    ];
    let reply = read(&prompt(Mode::Native), &deltas);
    let mut names: Vec<&str> = reply.calls.iter().map(|it| it.call.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["list_files", "list_files", "read_file"]);
    assert!(reply.calls.iter().all(ParsedCall::is_runnable));
}

#[test]
fn each_native_call_has_one_parsed_call() {
    let whole = native(r#"{"path": "a"}"#, FinishReason::ToolCalls);
    assert_eq!(whole.status, Status::Complete);
    assert!(whole.is_runnable());

    // A text of JSON instead of JSON.
    let text = native(r#""{\"path\": \"a\"}""#, FinishReason::ToolCalls);
    assert_eq!(text.call.args.get("path"), Some(&json!("a")));
    assert!(text.is_runnable());

    for (arguments, finish) in [
        // Half a call never runs, whatever the server says.
        (r#"{"path": "a", "lines": 1"#, FinishReason::ToolCalls),
        (r#"{"path": "a", "content": "x""#, FinishReason::Stop),
        (r#"{"path": "half"#, FinishReason::ToolCalls),
        (r#"{"path": "half"#, FinishReason::Length),
        (r#"{"path": "half"#, FinishReason::ContentFilter),
        ("", FinishReason::Length),
        ("[1, 2]", FinishReason::ToolCalls),
        ("no JSON at all", FinishReason::ToolCalls),
        ("42", FinishReason::ToolCalls),
        ("{}", FinishReason::ToolCalls),
    ] {
        let call = native(arguments, finish);
        assert_eq!(call.call.name, "read_file", "{arguments}");
        assert!(!call.is_runnable(), "{arguments}: {call:?}");
    }
}

#[test]
fn a_call_that_is_native_and_in_the_text_counts_once() {
    let written = r#"<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>"#;
    let deltas = [
        Delta::Text(written.to_owned()),
        call(0, "read_file"),
        arguments(0, r#"{"path": "a"}"#),
        Delta::Finish(FinishReason::ToolCalls),
    ];
    let reply = read(&prompt(Mode::Native), &deltas);
    assert_eq!(reply.calls.len(), 1);
    assert_eq!(reply.calls[0].dialect, "native");
}

#[test]
fn a_made_up_result_ends_a_reply_in_text_only() {
    let made_up = "<PTK_CALL>{\"tool\": \"list_files\", \"args\": {}}</PTK_CALL>\nPTK_RESULT: {\"files\": []}\n";
    for (mode, is_over) in [(Mode::Text, true), (Mode::Native, false)] {
        let prompt = prompt(mode);
        let mut reader = prompt.reader();
        reader.take(&Delta::Text(made_up.to_owned()), &mut |_| {});
        assert_eq!(reader.is_over(), is_over, "{mode:?}");
    }
}

#[test]
fn the_first_of_two_calls_that_break_off_does_not_run_either() {
    let deltas = [
        call(0, "read_file"),
        arguments(0, r#"{"path": "a""#),
        call(1, "read_file"),
        arguments(1, r#"{"path": "b""#),
        Delta::Finish(FinishReason::Length),
    ];
    let reply = read(&prompt(Mode::Native), &deltas);
    assert_eq!(reply.calls.len(), 2);
    assert!(!reply.calls.iter().any(ParsedCall::is_runnable));
}

#[test]
fn made_up_turns_that_repeat_themselves_are_no_repetition() {
    let prompt = prompt(Mode::Text);
    let guard = RunawayGuard::new(None, Some(8192));
    let mut reader = prompt.reader().with_guard(guard);
    let made_up = "<PTK_CALL>{\"tool\": \"list_files\", \"args\": {}}</PTK_CALL>\nPTK_RESULT: {}\n";
    let text = Delta::Text(format!("{made_up}{}", "And so on. ".repeat(1000)));
    reader.take(&text, &mut |_| {});
    assert_eq!(reader.finish_reason(), Some(&FinishReason::Stop));
}

#[test]
fn names_count_towards_the_longest_reply() {
    let prompt = prompt(Mode::Native);
    let mut reader = prompt.reader();
    let name = "x".repeat(1024 * 1024);
    for index in 0..20 {
        reader.take(&call(index, &name), &mut |_| {});
    }
    assert!(reader.is_too_long());
}

#[test]
fn a_reply_without_end_is_ended() {
    let prompt = prompt(Mode::Text);
    let guard = RunawayGuard::new(None, Some(8192));
    let mut reader = ReplyReader::new(&prompt, Parser::new(&prompt.grammar)).with_guard(guard);
    let (mut reply, mut text) = (ReplyCollector::default(), String::new());
    while !reader.is_over() {
        let piece = "And so on. ";
        text.push_str(piece);
        let piece = Delta::Text(piece.to_owned());
        reader.take(&piece, &mut |event| reply.absorb(event));
    }
    reader.finish(&mut |event| reply.absorb(event));
    assert_eq!(reader.finish_reason(), Some(&FinishReason::Repetition));
    let reply = reply.finish(&text, reader.finish_reason());
    let mut codes = reply.problems.iter().map(|problem| problem.code);
    assert!(codes.any(|code| code == ProblemCode::Repetition));
}
