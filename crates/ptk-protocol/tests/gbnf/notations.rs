//! Structural tags and Lark: what they consist of. Whether engines read them as
//! they are meant is for `scripts/check-grammars`.

use ptk_protocol::gbnf::Gbnf;
use serde_json::{Value, json};

use crate::{alone, dialect, dialects_with, tool, toolset};

fn tools() -> ptk_protocol::Toolset {
    toolset([
        tool(
            "head",
            json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string"},
                "lines": {"type": "integer", "minimum": 1, "maximum": 20},
            }}),
        ),
        tool(
            "now",
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        ),
    ])
}

/// The tags of a format, with what they begin and end with.
fn tags(format: &Value, found: &mut Vec<(String, String)>) {
    let text = |name: &str| format[name].as_str().unwrap_or_default().to_owned();
    if format["type"] == "tag" {
        found.push((text("begin"), text("end")));
    }
    for inner in ["elements", "tags"] {
        for format in format[inner].as_array().into_iter().flatten() {
            tags(format, found);
        }
    }
}

#[test]
fn a_structural_tag_has_a_tag_for_each_tool() {
    let grammar = Gbnf::of_reply(&tools(), &dialect("hermes")).unwrap();
    let tag = grammar.structural_tag().unwrap();
    assert_eq!(tag["type"], "structural_tag");
    let mut found = Vec::new();
    tags(&tag["format"], &mut found);
    let begin = |name: &str| format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": ");
    let end = "}\n</tool_call>".to_owned();
    assert_eq!(found, [(begin("head"), end.clone()), (begin("now"), end)]);
    let calls = tag
        .pointer("/format/elements/1/elements/1/elements/1")
        .unwrap();
    assert_eq!(calls["type"], "tags_with_separator");
    assert_eq!(calls["separator"], "\n");
    assert_eq!(calls["at_least_one"], true);
    assert_eq!(
        calls.pointer("/tags/1/content").unwrap(),
        &json!({"type": "grammar", "grammar": "root ::= now-args\nnow-args ::= \"{}\"\n"})
    );
    // One call is a choice, and arguments are a grammar alone.
    let call = Gbnf::of_call(&tools(), &dialect("hermes")).unwrap();
    let call = call.structural_tag().unwrap();
    assert_eq!(call["format"]["type"], "or");
    let args = Gbnf::of_arguments(tools().get("now").unwrap());
    let args = args.structural_tag().unwrap();
    assert_eq!(args["format"]["type"], "grammar");
}

/// A list of calls is one text around tags.
#[test]
fn a_list_of_calls_is_divided_into_tags() {
    let lists = dialects_with(Gbnf::of_reply).into_iter().filter(|form| {
        let grammar = Gbnf::of_reply(&tools(), form).unwrap();
        let tag = grammar.structural_tag().unwrap();
        tag.to_string().contains("const_string")
    });
    let mut count = 0;
    for form in lists {
        count += 1;
        let tag = Gbnf::of_reply(&tools(), &form)
            .unwrap()
            .structural_tag()
            .unwrap();
        let pointer = "/format/elements/1/elements/1/elements/1/elements";
        let parts = tag.pointer(pointer).unwrap();
        let text = |part: &Value| part["value"].as_str().unwrap_or_default().to_owned();
        let first = &parts[1]["tags"][1];
        let args = "{}";
        let call = format!(
            "{}{}{args}{}{}",
            text(&parts[0]),
            first["begin"].as_str().unwrap(),
            first["end"].as_str().unwrap(),
            text(&parts[2])
        );
        let reply = ptk_protocol::parse(&call, &alone(&tools(), form.name()));
        assert_eq!(reply.calls.len(), 1, "{}: {call}", form.name());
        assert_eq!(reply.calls[0].call.name, "now", "{}: {call}", form.name());
    }
    assert!(count > 0);
}

#[test]
fn every_dialect_with_a_grammar_has_all_notations() {
    for of in [Gbnf::of_call, Gbnf::of_reply] {
        for form in dialects_with(of) {
            let grammar = of(&tools(), &form).unwrap();
            assert!(grammar.structural_tag().is_some(), "{}", form.name());
            assert!(grammar.lark().is_some(), "{}", form.name());
        }
    }
}

#[test]
fn lark_divides_arguments_as_json_is_divided() {
    let grammar = Gbnf::of_call(&tools(), &dialect("hermes")).unwrap();
    let lark = grammar.lark().unwrap();
    for line in [
        r#"start: "<tool_call>\n{\"name\": \"" call"#,
        r#"now-args: "{" "}""#,
        "string: LEXEME",
        r#"LEXEME: "\"" CHAR* "\"""#,
        r#"HEAD-LINES: /[1-9]/ | "1" /[0-9]/ | "20""#,
        r#"colon: ":" ( " " )?"#,
    ] {
        assert!(lark.lines().any(|it| it == line), "{line}: {lark}");
    }
}

/// A lexeme is as long as possible, so that words alone would take the mark.
#[test]
fn words_are_one_lexeme_with_the_beginning_of_a_call() {
    let grammar = Gbnf::of_reply(&tools(), &dialect("hermes")).unwrap();
    let lark = grammar.lark().unwrap();
    let line = |name: &str| {
        let mut lines = lark.lines();
        lines
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}: {lark}"))
    };
    assert!(
        line("start: ").starts_with("start: TEXT | HEAD call"),
        "{lark}"
    );
    assert_eq!(line("TEXT: "), "TEXT: BLANK THOUGHTS? ANSWER", "{lark}");
    assert!(
        line("HEAD: ").ends_with(r#""<tool_call>\n{\"name\": \"""#),
        "{lark}"
    );
    assert!(lark.contains("[tT][oO][oO][lL]"), "{lark}");
}
