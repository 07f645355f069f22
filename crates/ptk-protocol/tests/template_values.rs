//! What a template says of values: patterns that are too large, and arguments
//! line by line.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it inside tests, but not in the functions that tests share"
)]

use ptk_protocol::dialects::Registry;
use ptk_protocol::dialects::response_template::ResponseTemplate;
use ptk_protocol::invariants::{check_every_cut, tools};
use ptk_protocol::{Grammar, ProblemCode, parse};
use serde_json::{Value, json};

/// A template whose calls close by this pattern.
fn closed_by(pattern: &str) -> Value {
    json!({
        "start_anchor": "<|bot|>",
        "fields": {
            "tool_calls": {
                "open_pattern": r"<\|use (?P<name>\w+)\|>",
                "close_pattern": pattern,
                "content": "json",
                "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
            },
            "content": {},
        },
    })
}

#[test]
fn patterns_that_stand_for_long_texts_are_refused() {
    for (pattern, reason) in [
        ("(?:(?:(?:a{32}){32}){32})", "more than 512 bytes"),
        ("(?:(?:(?:(?:a{32}){32}){32}){32})", "more than 512 bytes"),
        (
            "(?:(?:(?:(?:a{32}){32}){32}){32}|b)",
            "more than a few texts",
        ),
        ("(?:(?:(?:a?){32}){32}){32}", "more than a few texts"),
        ("(?:(?:(?:ab|cd){32}){32}){32}", "more than 512 bytes"),
    ] {
        let error = ResponseTemplate::from_value(&closed_by(pattern)).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("close_pattern"), "{message}");
        assert!(message.contains(reason), "{pattern}: {message}");
    }
    for pattern in ["<done>{2}", "(?:<){3}done", "a{32}>"] {
        ResponseTemplate::from_value(&closed_by(pattern)).unwrap();
    }
}

/// A grammar with a template whose arguments stand line by line.
fn lines() -> Grammar {
    let template = json!({
        "start_anchor": "<|bot|>",
        "fields": {
            "thinking": {"open": "<|plan|>", "close": "<|done|>"},
            "tool_calls": {
                "open_pattern": r"<\|use (?P<name>\w+)\|>",
                "close": "<|done|>",
                "content": "kv-lines",
                "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
            },
            "content": {"close": "<|bye|>"},
        },
    });
    let template = ResponseTemplate::from_value(&template).unwrap();
    let registry = template.register(Registry::builtin(), "mine");
    let grammar = Grammar::builder().registry(registry).dialect("mine");
    grammar.tools(tools()).build().unwrap()
}

#[test]
fn a_value_of_several_lines_never_runs_in_part() {
    use ProblemCode::{InvalidArguments, Malformed, Truncated};
    let grammar = lines();
    for (body, code) in [
        ("path: a.txt\ncontent: line1\nline2\n\nline3: x", Malformed),
        ("path: a.txt\ncontent: line1\n\nline3: x", Malformed),
        ("path: a.txt\ncontent: line1\nline2", Malformed),
        ("path: a.txt\ncontent: x\npath: b.txt", InvalidArguments),
        ("path: a.txt\ncontent: x\n: y", Malformed),
        // An argument follows the line that the mark ends.
        (
            "path: a.txt\ncontent: a <|done|>\ncontent: b",
            InvalidArguments,
        ),
        ("content: a\n<|done|>\npath: a.txt", Malformed),
        // The call never closes.
        ("content: a <|done|> b", Truncated),
    ] {
        let close = if code == Truncated { "" } else { "\n<|done|>" };
        let text = format!("Now:\n<|use write_file|>\n{body}{close}");
        let reply = parse(&text, &grammar);
        assert_eq!(reply.runnable().count(), 0, "{body}: {reply:?}");
        assert_eq!(reply.text.trim(), "Now:", "{body}");
        let mut faults = reply.faults();
        assert!(faults.any(|fault| fault.code == code), "{body}: {reply:?}");
        check_every_cut(&grammar, &text);
    }
}

#[test]
fn a_mark_inside_a_line_is_part_of_the_value() {
    let grammar = lines();
    for (behind, text) in [
        ("", ""),
        ("\n", ""),
        ("<|bye|>", ""),
        (" \r\nDone.", "Done."),
        ("\npaths: none", "paths: none"),
        ("<|plan|>Next.<|done|>", ""),
        ("\n\n  path of no argument", "path of no argument"),
    ] {
        let body = "path: a.txt\ncontent: a <|done|> b: <|done|>c\n<|done|>";
        let whole = format!("<|use write_file|>\n{body}{behind}");
        let reply = parse(&whole, &grammar);
        assert_eq!(reply.runnable().count(), 1, "{behind:?}: {reply:?}");
        assert_eq!(reply.text.trim(), text, "{behind:?}");
        assert_eq!(
            reply.calls.first().unwrap().call.args.to_json(),
            r#"{"path":"a.txt","content":"a <|done|> b: <|done|>c"}"#
        );
        check_every_cut(&grammar, &whole);
    }
    let next = "<|use write_file|>content: a <|done|>\npath: a<|done|>";
    let reply = parse(next, &grammar);
    assert_eq!(reply.runnable().count(), 1, "{reply:?}");
    check_every_cut(&grammar, next);
    let two = "<|use read_file|>path: a<|done|><|use read_file|>path: b<|done|>";
    assert_eq!(parse(two, &grammar).runnable().count(), 2);
    check_every_cut(&grammar, two);
}

/// A grammar with a template whose calls open by this pattern.
fn opened_by(pattern: &str) -> Result<Grammar, String> {
    let mut template = closed_by("<done>");
    let calls = template.pointer_mut("/fields/tool_calls/open_pattern");
    *calls.unwrap() = Value::from(pattern);
    let template = ResponseTemplate::from_value(&template).map_err(|error| error.to_string())?;
    let registry = template.register(Registry::builtin(), "mine");
    let grammar = Grammar::builder().registry(registry).dialect("mine");
    Ok(grammar.tools(tools()).build().unwrap())
}

#[test]
fn patterns_mean_what_they_mean_in_python() {
    for (pattern, opens, opens_not) in [
        (
            r"<use>\s{,3}(?P<name>\w+):",
            "<use>   read_file:",
            "<use>    read_file:",
        ),
        (
            r"<use>-{,}(?P<name>\w+):",
            "<use>----read_file:",
            "<use>{read_file:",
        ),
        (
            r"<use>a{}(?P<name>\w+):",
            "<use>a{}read_file:",
            "<use>read_file:",
        ),
        (
            r"<use>a{ 1}(?P<name>\w+):",
            "<use>a{ 1}read_file:",
            "<use>aread_file:",
        ),
        (
            r"<use}+>(?P<name>\w+):",
            "<use}}>read_file:",
            "<use>read_file:",
        ),
        // From + to -, so that the comma between them is one.
        (
            r"<use>[+--](?P<name>\w+):",
            "<use>,read_file:",
            "<use>.read_file:",
        ),
        (
            r"<use>[--/](?P<name>\w+):",
            "<use>.read_file:",
            "<use>+read_file:",
        ),
        (
            r"<use>[a&&b](?P<name>\w+):",
            "<use>&read_file:",
            "<use>-read_file:",
        ),
        (
            r"<use>(?P<name>\w+)[q~~:]",
            "<use>read_file~",
            "<use>read_file-",
        ),
        (
            r"<use>[[:x](?P<name>\w+):",
            "<use>[read_file:",
            "<use>-read_file:",
        ),
        (
            r"<use>[\x2b-\x2d](?P<name>\w+):",
            "<use>,read_file:",
            "<use>.read_file:",
        ),
        (
            r"<use>[]^-](?P<name>\w+):",
            "<use>^read_file:",
            "<use>[read_file:",
        ),
        (
            r"<use>[^]x-](?P<name>\w+):",
            "<use>+read_file:",
            "<use>]read_file:",
        ),
        (
            r"<use>[\w-](?P<name>\w+):",
            "<use>-read_file:",
            "<use>+read_file:",
        ),
    ] {
        let grammar = opened_by(pattern).unwrap();
        for (open, calls) in [(opens, 1), (opens_not, 0)] {
            let reply = parse(&format!("{open}{{\"path\": \"a\"}}<done>"), &grammar);
            assert_eq!(reply.calls.len(), calls, "{pattern}: {open}: {reply:?}");
        }
    }
    for pattern in [
        r"<use>[\w-a](?P<name>\w+)",
        r"<use>[a-\d](?P<name>\w+)",
        r"<use>[z-a](?P<name>\w+)",
        r"<use>\pL(?P<name>\w+)",
        r"<use>[a-(?P<name>\w+)",
    ] {
        let error = opened_by(pattern).unwrap_err();
        assert!(error.contains("open_pattern"), "{pattern}: {error}");
    }
}

/// A grammar with a template whose calls are objects with keys without quotes
/// and strings between marks of their own.
fn loose(is_named: bool) -> Grammar {
    let (open, call) = if is_named {
        (
            r"<\|use (?P<name>\w+)\|>",
            json!({"name": "{name}", "arguments": "{content}"}),
        )
    } else {
        (
            r"<\|use\|>",
            json!({"name": "{content.act}", "arguments": "{content.with}"}),
        )
    };
    let template = json!({
        "start_anchor": "<|bot|>",
        "fields": {
            "tool_calls": {
                "open_pattern": open,
                "close": "<|done|>",
                "content": "json",
                "content_args": {"unquoted_keys": true, "string_delims": [["<<", ">>"]]},
                "transform": {"function": call},
            },
            "content": {},
        },
    });
    let template = ResponseTemplate::from_value(&template).unwrap();
    let registry = template.register(Registry::builtin(), "mine");
    let grammar = Grammar::builder().registry(registry).dialect("mine");
    grammar.tools(tools()).build().unwrap()
}

#[test]
fn loose_json_is_repaired_like_json() {
    use ProblemCode::{
        BadNumber, ExtraComma, FlatArguments, InvalidArguments, Malformed, MissingToolName,
        StringifiedArguments,
    };
    let named = loose(true);
    let whole = loose(false);
    for (grammar, text, args, codes) in [
        (
            &named,
            "<|use read_file|>{path: <<a>>, limit: 0x1F,}<|done|>",
            Some(r#"{"path":"a","limit":31}"#),
            vec![BadNumber, ExtraComma],
        ),
        (
            &whole,
            "<|use|>{act: <<read_file>>, with: {path: <<a>>,}}<|done|>",
            Some(r#"{"path":"a"}"#),
            vec![ExtraComma],
        ),
        (
            &whole,
            r#"<|use|>{act: <<read_file>>, with: <<{"path": "a"}>>}<|done|>"#,
            Some(r#"{"path":"a"}"#),
            vec![StringifiedArguments],
        ),
        (
            &whole,
            "<|use|>{act: <<read_file>>, path: <<a>>}<|done|>",
            Some(r#"{"path":"a"}"#),
            vec![FlatArguments],
        ),
        (
            &whole,
            "<|use|>{act: <<read_file>>, with: [1]}<|done|>",
            None,
            vec![InvalidArguments],
        ),
        (
            &whole,
            "<|use|>{with: {path: <<a>>}}<|done|>",
            None,
            vec![MissingToolName],
        ),
        (
            &whole,
            "<|use|>read_file <<a>><|done|>",
            None,
            vec![Malformed],
        ),
        (
            &named,
            "<|use read_file|>path <<a>><|done|>",
            None,
            vec![Malformed],
        ),
        // The brace is missing, and an argument may be.
        (
            &named,
            "<|use read_file|>{path: <<a>><|done|>",
            None,
            vec![Malformed],
        ),
    ] {
        let reply = parse(text, grammar);
        let problems = reply.calls.iter().flat_map(|call| &call.problems);
        let problems = problems.chain(&reply.problems);
        let found: Vec<ProblemCode> = problems.map(|problem| problem.code).collect();
        for code in codes {
            assert!(found.contains(&code), "{text}: {code}: {reply:?}");
        }
        let run = reply.runnable().next().map(|call| call.call.args.to_json());
        assert_eq!(run.as_deref(), args, "{text}: {reply:?}");
        assert_eq!(reply.text, "", "{text}");
        check_every_cut(grammar, text);
    }
    let reasoned =
        "<|use|>{act: <<read_file>>, id: <<c1>>, reason: <<why>>, with: {path: <<a>>}}<|done|>";
    let reply = parse(reasoned, &whole);
    let call = &reply.calls.first().unwrap().call;
    assert_eq!(call.id.as_deref(), Some("c1"));
    assert_eq!(call.reasoning.as_deref(), Some("why"));
}
