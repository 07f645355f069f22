//! The form of grammars, and what they leave out.

use ptk_protocol::dialects::Registry;
use ptk_protocol::gbnf::{Gbnf, call_schema};
use serde_json::{Value, json};

use crate::{dialect, dialects_with, tool, toolset};

fn outside(parameters: Value) -> Vec<String> {
    let grammar = Gbnf::of_arguments(&tool("act", parameters));
    let outside = grammar.outside().iter();
    outside
        .map(|outside| format!("{} {}", outside.path, outside.keyword))
        .collect()
}

#[test]
fn a_call_says_what_it_may() {
    let tools = toolset([
        tool(
            "head",
            json!({"type": "object", "required": ["path"], "properties": {
                "from": {"enum": ["top", "end"]},
                "path": {"type": "string"},
                "lines": {"type": "integer", "minimum": 1, "maximum": 20},
            }}),
        ),
        tool(
            "now",
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        ),
    ]);
    let grammar = Gbnf::of_call(&tools, &dialect("hermes")).unwrap();
    insta::assert_snapshot!(grammar, @r#"
    root ::= call
    head-from ::= "\"top\"" | "\"end\""
    colon ::= ":" ( " " )?
    head-from-3 ::= "\"from\"" colon head-from
    string ::= "\"" char* "\""
    char ::= [^\x00-\x1F"\\\x7F] | "\\" ( ["/\\bfnrt] | "u" ( [0-9A-CE-Fa-ce-f] [0-9A-Fa-f]{3} | [Dd] [0-7] [0-9A-Fa-f]{2} ) )
    head-path ::= "\"path\"" colon string
    head-lines ::= [1-9] | "1" [0-9] | "20"
    head-lines-8 ::= "\"lines\"" colon head-lines
    comma ::= "," ( " " )?
    head ::= "{" ( head-from-3 comma )? head-path ( comma head-lines-8 )? "}"
    head-args ::= head
    now-args ::= "{}"
    call ::= "<tool_call>\n{\"name\": \"" ( "head\", \"arguments\": " head-args "}\n</tool_call>" | "now\", \"arguments\": " now-args "}\n</tool_call>" )
    "#);
}

#[test]
fn what_no_grammar_keeps_is_named() {
    for (schema, expected) in [
        (json!({"type": "string", "pattern": "^a"}), "pattern"),
        (json!({"type": "string", "maxLength": 5000}), "maxLength"),
        (json!({"type": "number", "minimum": 0.5}), "minimum"),
        (json!({"type": "integer", "multipleOf": 5}), "multipleOf"),
        (json!({"type": "array", "uniqueItems": true}), "uniqueItems"),
        (json!({"type": "array", "contains": {}}), "contains"),
        (
            json!({"type": "object", "minProperties": 1}),
            "minProperties",
        ),
        (
            json!({"type": "object", "patternProperties": {"^a": {}}}),
            "patternProperties",
        ),
        (json!({"not": {"type": "string"}}), "not"),
        (json!({"if": {}, "then": {}}), "if"),
        (
            json!({"allOf": [{"type": "object"}, {"required": ["a"]}]}),
            "allOf",
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
            "oneOf",
        ),
        (
            json!({"anyOf": [{"required": ["a"]}], "properties": {"a": {}}}),
            "anyOf",
        ),
        (json!({"$ref": "https://example.com/schema.json"}), "$ref"),
        (json!({"$ref": "#/nowhere"}), "$ref"),
        (json!({"type": "thing"}), "type"),
    ] {
        let parameters = json!({"type": "object", "properties": {"a/b": schema}});
        let expected = format!("/properties/a~1b {expected}");
        assert_eq!(outside(parameters), [expected], "{schema}");
    }
}

#[test]
fn what_a_grammar_keeps_is_not_named() {
    for schema in [
        json!({"type": "string", "format": "date", "description": "A day", "default": "x"}),
        json!({"type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32, "format": "uint32"}),
        json!({"type": ["string", "null"], "maxLength": 100}),
        json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 1}),
        json!({"type": "object", "properties": {"x": {}}, "required": ["x"], "minProperties": 1}),
        json!({"oneOf": [{"const": "a"}, {"const": "b"}]}),
        json!({"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}),
    ] {
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}});
        let parameters = json!({"properties": {"a": schema}, "$defs": {"node": node}});
        assert_eq!(outside(parameters), [""; 0], "{schema}");
    }
}

#[test]
fn forms_of_json_have_grammars_and_others_have_none() {
    let names = |forms: Vec<_>| -> Vec<String> {
        let forms = forms.into_iter();
        let names = forms.map(
            |form: std::sync::Arc<dyn ptk_protocol::dialects::Dialect>| form.name().to_owned(),
        );
        names.collect()
    };
    let (calls, replies) = (
        names(dialects_with(Gbnf::of_call)),
        names(dialects_with(Gbnf::of_reply)),
    );
    for name in [
        "ptk",
        "ptk-batch",
        "hermes",
        "mistral",
        "deepseek-v3",
        "kimi-k2",
    ] {
        assert!(
            calls.contains(&name.to_owned()) && replies.contains(&name.to_owned()),
            "{name}"
        );
    }
    // Its calls begin without a mark, or its words have marks of their own.
    for name in ["functionary-3.2", "harmony"] {
        assert!(
            calls.contains(&name.to_owned()) && !replies.contains(&name.to_owned()),
            "{name}"
        );
    }
    for name in ["xml", "yaml", "function", "pythonic", "qwen3-coder", "json"] {
        assert!(Registry::builtin().get(name).is_ok());
        assert!(!calls.contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn a_schema_of_calls_takes_calls_and_answers_only() {
    let args = json!({"type": "object", "required": ["tree"], "properties": {"tree": {"$ref": "#/$defs/tree"}},
        "$defs": {"tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}, "additionalProperties": false}}});
    // A parameter may be called as a keyword is.
    let keyword = json!({"type": "object", "properties": {"default": {"$ref": "#/$defs/count"}},
        "$defs": {"count": {"type": "integer"}}});
    let tools = toolset([
        tool("now", json!({"type": "object"})),
        tool("plant", args),
        tool("set", keyword),
    ]);
    // References point into the whole, so that it is checked as one.
    let whole = toolset([tool("reply", call_schema(&tools))]);
    for (reply, is_right) in [
        (json!({"answer": "Done."}), true),
        (json!({"tool": "now", "args": {}}), true),
        (
            json!({"tool": "plant", "args": {"tree": {"child": {}}}}),
            true,
        ),
        (
            json!({"tool": "plant", "args": {"tree": {"stone": 1}}}),
            false,
        ),
        (json!({"tool": "plant", "args": {}}), false),
        (json!({"tool": "set", "args": {"default": 3}}), true),
        (json!({"tool": "set", "args": {"default": "three"}}), false),
        (json!({"tool": "never", "args": {}}), false),
        (json!({"tool": "now", "args": {}, "answer": "Both."}), false),
    ] {
        let call = ptk_protocol::ToolCall::new("reply", reply.as_object().unwrap().clone());
        let verdict = ptk_protocol::schema::validate_call(&call, &whole);
        assert_eq!(
            verdict.is_valid(),
            is_right,
            "{reply}: {:?}",
            verdict.error()
        );
    }
}

/// XGrammar takes all digits behind `\x` for the number of a character.
#[test]
fn no_digit_follows_the_number_of_a_character() {
    let tools = toolset([tool(
        "act",
        json!({"type": "object", "properties": {"\u{7f}a": {"enum": ["\u{1f}0", "[f]"]}}}),
    )]);
    for form in dialects_with(Gbnf::of_reply) {
        let grammar = Gbnf::of_reply(&tools, &form).unwrap().to_string();
        assert!(grammar.contains(r"\u007Fa"), "{grammar}");
        let numbers = grammar.split(r"\x").skip(1);
        for behind in numbers.filter_map(|number| number.chars().nth(2)) {
            assert!(!behind.is_ascii_hexdigit(), "{}: {grammar}", form.name());
        }
    }
}
