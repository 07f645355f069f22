//! Dialects are written as templates where the form allows.

use ptk_protocol::dialects::Registry;
use ptk_protocol::dialects::response_template::export;
use ptk_protocol::parse;
use serde_json::json;

use super::{grammar_of, write_file};

#[test]
fn dialects_that_a_template_can_describe_are_exported() {
    let registry = Registry::builtin();
    let exported = |name: &str| export(registry.get(name).unwrap());
    for name in [
        "ptk",
        "ptk-batch",
        "hermes",
        "invoke",
        "cohere",
        "harmony",
        "functionary",
    ] {
        assert!(exported(name).is_ok(), "{name}: {:?}", exported(name));
    }
    for (name, why) in [
        ("json", "is a dialect that PTK reads and does not write"),
        (
            "pythonic",
            "its calls are neither JSON nor arguments in tags",
        ),
        ("yaml", "its arguments do not stand between marks"),
    ] {
        let error = exported(name).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let hermes = exported("hermes").unwrap();
    assert_eq!(
        hermes["fields"]["tool_calls"],
        json!({
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": true,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        })
    );
}

#[test]
fn an_exported_template_reads_what_its_dialect_writes() {
    let registry = Registry::builtin();
    let mut exported = 0;
    for dialect in registry.all() {
        let Ok(template) = export(dialect) else {
            continue;
        };
        exported += 1;
        let calls = [
            write_file("a b.txt", "one\n  two \"x\"\n"),
            write_file("c", ""),
        ];
        let text = dialect.writer().unwrap().calls(&calls);
        let reply = parse(&text, &grammar_of(&template));
        let read: Vec<_> = reply
            .calls
            .iter()
            .map(|call| (&call.call.name, &call.call.args))
            .collect();
        assert_eq!(
            read,
            calls
                .iter()
                .map(|call| (&call.name, &call.args))
                .collect::<Vec<_>>(),
            "{}: {reply:?}",
            dialect.name()
        );
        assert_eq!(reply.text.trim(), "", "{}: {reply:?}", dialect.name());
    }
    assert!(exported >= 8, "{exported} of {}", registry.all().len());
}
