//! The arguments of a call are sent while they come in, in every form that is
//! recognized early enough.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it in tests, but not in what tests share"
)]

use cpu_time::ThreadTime;
use ptk_protocol::dialects::Registry;
use ptk_protocol::invariants::{check_every_cut, tools};
use ptk_protocol::{Arguments, Event, Grammar, Parser, Reply, ToolCall, ToolSpec, Toolset, parse};
use serde_json::json;

/// How many lines a short call writes.
const LINES: usize = 100;
/// How many times as long as a short call a long one is.
const GROWTH: usize = 32;

/// The part of the arguments that was streamed when the text up to `…` had
/// come.
fn streamed(dialect: &str, beginning: &str) -> String {
    let grammar = Grammar::builder()
        .tools(tools())
        .dialect(dialect)
        .build()
        .unwrap();
    streamed_by(&grammar, beginning)
}

fn streamed_by(grammar: &Grammar, beginning: &str) -> String {
    let mut parser = Parser::new(grammar);
    let mut json = String::new();
    for event in parser.push(beginning) {
        if let Event::ArgumentsDelta { json: delta, .. } = event {
            json.push_str(&delta);
        }
    }
    json
}

#[test]
fn strings_go_out_while_they_come_in() {
    for (dialect, beginning) in [
        ("function", "write_file(path='a', content='one\\ntw"),
        ("pythonic", "[write_file(path='a', content=\"one\\ntw"),
        (
            "auto",
            "So: <|python_start|>[write_file(path='a', content='''one\ntw",
        ),
        (
            "auto",
            "So: <|tool_call_start|>[write_file(path='a', content='one\\ntw",
        ),
        (
            "auto",
            "So: <function_calls>write_file(path='a', content='one\\x0atw",
        ),
        (
            "auto",
            "So: [TOOL_CALL]\n{tool => \"write_file\", args => {\n--path \"a\"\n--content \"one\\ntw",
        ),
    ] {
        let json = streamed(dialect, beginning);
        assert_eq!(json, r#"{"path":"a","content":"one\ntw"#, "{beginning}");
    }
}

#[test]
fn what_may_be_a_mark_is_kept_back() {
    for beginning in [
        "<|tool_call>call:write_file{path:<|\"|>a<|\"|>,content:<|\"|>one <|\"",
        "<start_function_call>call:write_file{path:<escape>a<escape>,content:<escape>one <es",
    ] {
        let json = streamed("auto", beginning);
        assert_eq!(json, r#"{"path":"a","content":"one "#, "{beginning}");
    }
}

#[test]
fn a_text_that_may_be_null_goes_out_while_it_comes_in() {
    let parameters = json!({"type": "object", "properties": {
        "path": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "where": {"anyOf": [{"type": "string"}, {"type": "object"}]},
    }});
    let tools = Toolset::new([ToolSpec::new("plot", "Plot a place", parameters)]).unwrap();
    let grammar = Grammar::auto(tools).unwrap();
    for (key, expected) in [("path", "{\"path\":\"one tw"), ("where", "")] {
        let beginning = format!(
            "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"plot\">]<]minimax[>[<{key}>one tw"
        );
        let json = streamed_by(&grammar, &beginning);
        assert_eq!(json, expected, "{key}");
    }
}

/// CPU seconds in which a text is parsed in pieces of four characters.
fn seconds(grammar: &Grammar, text: &str) -> f64 {
    let mut parser = Parser::new(grammar);
    let mut calls = 0;
    let mut count = |event: Event<'_>| calls += usize::from(matches!(event, Event::CallEnd { .. }));
    let start = ThreadTime::now();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(4).map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at(end);
        parser.push_to(piece, &mut count);
        rest = behind;
    }
    parser.finish_to(&mut count);
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(calls, 1, "the call is read");
    seconds
}

#[test]
#[ignore = "measures CPU time: scripts/long-checks streams"]
fn a_long_call_takes_time_in_proportion_to_its_length_in_every_dialect() {
    let registry = Registry::builtin();
    for dialect in registry.all() {
        let Some(writer) = dialect.writer() else {
            continue;
        };
        let call = |lines: usize| {
            let content = "let total = map.get(&key).copied().unwrap_or(0);\n".repeat(lines);
            let args = json!({"path": "a.rs", "content": content});
            let args = Arguments::from_json(&args.to_string()).unwrap();
            writer.calls(&[ToolCall::new("write_file", args)])
        };
        let grammar = Grammar::auto(tools()).unwrap();
        let (short, long) = (call(LINES), call(LINES * GROWTH));
        let once = (0..3).map(|_| seconds(&grammar, &short));
        let once = once.fold(f64::INFINITY, f64::min);
        let all = seconds(&grammar, &long);
        // Work that grows with the square would take `GROWTH` times as much.
        #[allow(clippy::cast_precision_loss, reason = "it is a small number")]
        let times = all / once / GROWTH as f64;
        assert!(
            times < 5.0,
            "{}: {times:.1} times as much a byte",
            dialect.name()
        );
    }
}

#[test]
#[ignore = "measures CPU time: scripts/long-checks streams"]
fn white_space_in_tags_takes_time_in_proportion_to_its_length() {
    let grammar = Grammar::auto(tools()).unwrap();
    for (before, behind) in [
        (
            "<｜DSML｜parameter name=\"content\" string=\"true\">x",
            "y</｜DSML｜parameter>",
        ),
        (
            "<｜DSML｜parameter name=\"content\" string=\"true\">x</｜DSML｜parameter>",
            "y",
        ),
    ] {
        let reply = |length: usize| {
            let space = " ".repeat(length);
            format!("<｜DSML｜invoke name=\"write_file\">{before}{space}{behind}")
        };
        let (short, long) = (reply(100 * LINES), reply(100 * LINES * GROWTH));
        let once = (0..3).map(|_| seconds(&grammar, &short));
        let once = once.fold(f64::INFINITY, f64::min);
        #[allow(clippy::cast_precision_loss, reason = "it is a small number")]
        let times = seconds(&grammar, &long) / once / GROWTH as f64;
        assert!(times < 5.0, "{before}: {times:.1} times as much a byte");
    }
}

#[test]
fn yaml_goes_out_line_by_line() {
    for (dialect, beginning) in [
        (
            "auto",
            "TOOL: write_file\nARGS:\n  path: a\n  content: |\n    one\n    two\n    x",
        ),
        (
            "auto",
            "<write_file>\npath: a\ncontent: |\n  one\n  two\n  x",
        ),
        (
            "auto",
            "TOOL_NAME: write_file\nBEGIN_ARG: path\na\nEND_ARG\nBEGIN_ARG: content\none\ntwo\nfo",
        ),
    ] {
        let json = streamed(dialect, beginning);
        assert_eq!(json, r#"{"path":"a","content":"one\ntwo"#, "{beginning}");
    }
}

#[test]
fn what_may_be_prose_is_announced_once_it_is_sure() {
    for (dialect, beginning, expected) in [
        ("auto", "read_file(path='a'", ""),
        ("auto", "[read_file(path='a'", ""),
        (
            "auto",
            "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"",
            "",
        ),
        ("function", "read_file(path='a'", r#"{"path":"a""#),
        ("pythonic", "So:\n[read_file(path='a'", r#"{"path":"a""#),
        (
            "json",
            "{\"name\": \"read_file\", \"arguments\": {\"path\":\"a\"",
            r#"{"path":"a"#,
        ),
    ] {
        let json = streamed(dialect, &format!("{beginning}, "));
        assert!(json.starts_with(expected), "{beginning}: {json}");
        assert_eq!(json.is_empty(), expected.is_empty(), "{beginning}: {json}");
    }
}

#[test]
fn long_arguments_read_the_same_whole_and_in_pieces() {
    let grammar = Grammar::auto(tools()).unwrap();
    let long = "say \"hi\" \\ é😀\n\ttwice\n".repeat(400);
    let json = serde_json::Value::from(long.as_str());
    let args = format!("{{\"path\": \"a\", \"content\": {json}, \"l\": [{json}], \"k\": {json}}}");
    for text in [
        format!(
            "<tool_call>{{\"name\": \"write_file\", \"thought\": {json}, \"arguments\": {args}}}</tool_call>"
        ),
        format!("<function=write_file>{args}</function>"),
    ] {
        let whole = parse(&text, &grammar);
        let args = &whole.calls[0].call.args;
        for key in ["content", "k"] {
            assert_eq!(args.get(key).unwrap(), long.as_str());
        }
        assert_eq!(args.get("l").unwrap()[0], long.as_str());
        let mut parser = Parser::new(&grammar);
        let mut reply = Reply::default();
        for chunk in text.split_inclusive('t') {
            parser.push_to(chunk, &mut |event| reply.absorb(event));
        }
        parser.finish_to(&mut |event| reply.absorb(event));
        assert_eq!(reply, whole);
    }
}

/// Arguments with a first key in every spelling that JSON has for it.
fn spellings_of_wrapped() -> Vec<String> {
    let mut spellings = Vec::new();
    for wrapper in ["arguments", "properties", "argument", "path"] {
        let escape = |letter: char| format!("\\u{:04x}", u32::from(letter));
        let (first, rest) = wrapper.split_at(1);
        let first: String = first.chars().map(escape).collect();
        let all: String = wrapper.chars().map(escape).collect();
        for key in [wrapper.to_owned(), format!("{first}{rest}"), all] {
            spellings.push(format!("{{\"{key}\":{{\"path\":\"a\"}}}}"));
            spellings.push(format!(
                " {{ \"{key}\" : {{ \"path\" : \"a\\\"\", \"limit\": 12345678901234567890123 }} }} "
            ));
            spellings.push(format!("{{\"{key}\":{{}}}}"));
            spellings.push(format!("{{\"{key}\":{{\"path\":\"a\"}},\"limit\":1}}"));
            spellings.push(format!("{{\"{key}\":1,\"{key}\":{{\"path\":\"a\"}}}}"));
        }
    }
    spellings
}

#[test]
fn fragments_of_wrapped_arguments_are_the_json_of_the_call_at_every_cut() {
    let grammar = Grammar::auto(tools()).unwrap();
    for args in spellings_of_wrapped() {
        for text in [
            format!("<tool_call>{{\"name\":\"read_file\",\"arguments\":{args}}}</tool_call>"),
            format!("[TOOL_CALLS]read_file[ARGS]{args}"),
            format!("<function=read_file>{args}</function>"),
        ] {
            check_every_cut(&grammar, &text);
        }
    }
}
