//! Dialects that are declared as data work like built-in ones.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::sync::Arc;

use ptk_protocol::dialects::Registry;
use ptk_protocol::dialects::declared::{Declaration, register};
use ptk_protocol::format::guard::Guard;
use ptk_protocol::invariants::{check_every_cut, tools, vocabulary};
use ptk_protocol::{Formatter, Grammar, ProblemCode, PtkFormatter, Status, ToolCall, parse};
use serde_json::{Value, json};

fn declaration(value: Value) -> Declaration {
    serde_json::from_value(value).unwrap()
}

/// One dialect of each body, in several forms.
fn declarations() -> Vec<Declaration> {
    let all = json!([
        {
            "name": "acme",
            "aliases": ["acme-7b"],
            "open": ["<acme_call>", "<acme>"],
            "close": ["</acme_call>", "</acme>"],
            "section": ["<acme_calls>", "</acme_calls>"],
            "name_keys": ["fn"],
            "args_keys": ["kwargs"],
        },
        {"name": "plain", "open": ["[[CALL]]"]},
        {"name": "bar", "open": ["[USE:"], "close": [")]"], "body": "name-json", "name_end": ["("]},
        {"name": "gap", "open": ["@@call@@"], "close": ["@@end@@"], "body": "name-json"},
        {
            "name": "colon",
            "open": ["<do:NAME>"],
            "close": ["</do>"],
            "body": "tags",
            "argument": "<p k=\"KEY\">VALUE</p>",
            "section": ["<dos>", "</dos>"],
        },
        {
            "name": "named",
            "open": ["[run tool='NAME']"],
            "close": ["[/run]"],
            "body": "tags",
            "argument": "[arg=KEY]VALUE[/arg]",
        },
        {
            "name": "pairs",
            "open": ["<|use|>NAME<|with|>"],
            "close": ["<|used|>"],
            "body": "tags",
            "argument": "<|key|>KEY<|/key|> <|val|>VALUE<|/val|>",
        },
        {
            "name": "elements",
            "open": ["<doing:NAME>"],
            "close": ["</doing>"],
            "body": "tags",
            "argument": "<KEY>VALUE</KEY>",
        },
        {"name": "snake", "open": ["<|py|>", "<|python|>"], "close": ["<|/py|>"], "body": "python"},
    ]);
    serde_json::from_value(all).unwrap()
}

fn registry() -> Registry {
    register(Registry::builtin(), &declarations()).unwrap()
}

fn grammar(dialect: &str) -> Grammar {
    Grammar::builder()
        .registry(registry())
        .tools(tools())
        .dialect(dialect)
        .build()
        .unwrap()
}

fn write(path: &str, content: &str) -> ToolCall {
    let args = json!({"path": path, "content": content});
    ToolCall::new("write_file", args.as_object().unwrap().clone())
}

fn written(dialect: &str, calls: &[ToolCall]) -> String {
    let registry = registry();
    let dialect = registry.get(dialect).unwrap();
    dialect.writer().unwrap().calls(calls)
}

#[test]
fn what_is_written_is_read_back() {
    for declared in declarations() {
        let (fixed, auto) = (grammar(&declared.name), grammar("auto"));
        for word in vocabulary()
            .iter()
            .chain(&["", "a\nb\n", " x ", "</acme_call>", "[/arg]"])
        {
            let calls = [write(word, &format!("{word}\n{word}")), write("b", word)];
            let text = written(&declared.name, &calls);
            for grammar in [&fixed, &auto] {
                let reply = parse(&text, grammar);
                let read: Vec<_> = reply.calls.iter().map(|call| &call.call).collect();
                let place = format!("{}: {word:?} in {text}", declared.name);
                assert_eq!(read, calls.iter().collect::<Vec<_>>(), "{place}");
                assert!(reply.text.trim().is_empty(), "{place}: {:?}", reply.text);
                let all_run = reply
                    .calls
                    .iter()
                    .all(|call| call.status == Status::Complete);
                assert!(all_run && reply.problems.is_empty(), "{place}: {reply:?}");
            }
        }
    }
}

#[test]
fn every_cut_reads_alike() {
    for declared in declarations() {
        let calls = [
            write("a", "1 < 2 </acme_call> )]\n<|/val|>"),
            write("b", ""),
        ];
        let text = format!("Well:\n{}\nDone.", written(&declared.name, &calls));
        for dialect in [&declared.name, "auto"] {
            let grammar = grammar(dialect);
            check_every_cut(&grammar, &text);
            for end in (0..text.len())
                .filter(|end| text.is_char_boundary(*end))
                .step_by(7)
            {
                check_every_cut(&grammar, &text[..end]);
            }
        }
    }
}

#[test]
fn the_longest_of_closing_marks_that_begin_one_another_is_read() {
    for body in ["json", "tags"] {
        let (open, argument, text) = match body {
            "json" => (
                "<do>",
                "",
                r#"<do>{"name": "read_file", "arguments": {"path": "a"}}"#,
            ),
            _ => (
                "<do:NAME>",
                "<p k=\"KEY\">VALUE</p>",
                "<do:read_file><p k=\"path\">a</p>",
            ),
        };
        for close in [["</do", "</do>"], ["</do>", "</do"]] {
            let mut declared =
                json!({"name": "twice", "open": [open], "close": close, "body": body});
            if !argument.is_empty() {
                declared["argument"] = argument.into();
            }
            let registry = register(Registry::builtin(), &[declaration(declared)]).unwrap();
            let grammar = Grammar::builder()
                .registry(registry)
                .tools(tools())
                .build()
                .unwrap();
            for end in ["</do>", "</do", "</do>Done.", "</do Done."] {
                let text = format!("{text}{end}");
                check_every_cut(&grammar, &text);
                let reply = parse(&text, &grammar);
                assert_eq!(reply.calls.len(), 1, "{text}: {reply:?}");
                assert!(!reply.text.contains('>'), "{text}: {reply:?}");
            }
        }
    }
}

#[test]
fn a_call_that_is_cut_off_never_runs() {
    for declared in declarations() {
        let text = written(&declared.name, &[write("a", "some content that is long")]);
        let end = text.find("content that").unwrap();
        let reply = parse(&text[..end], &grammar(&declared.name));
        assert_eq!(reply.runnable().count(), 0, "{}: {reply:?}", declared.name);
        let faults = reply
            .faults()
            .any(|fault| fault.code == ProblemCode::Truncated);
        assert!(faults, "{}: {reply:?}", declared.name);
    }
}

#[test]
fn the_first_mark_is_right_and_the_others_are_repaired() {
    let text = "<acme>{\"fn\": \"read_file\", \"kwargs\": {\"path\": \"a\"}}</acme>";
    let reply = parse(text, &grammar("auto"));
    let call = &reply.calls[0];
    assert_eq!(
        (call.dialect.as_str(), call.status),
        ("acme", Status::Repaired)
    );
    assert!(
        call.problems
            .iter()
            .all(|problem| problem.code == ProblemCode::WrongMark)
    );
    assert!(call.is_runnable());
}

#[test]
fn the_keys_are_those_of_the_dialect_alone() {
    let body = "{\"fn\": \"read_file\", \"kwargs\": {\"path\": \"a\",}}";
    let acme = parse(&format!("<acme_call>{body}</acme_call>"), &grammar("auto"));
    assert_eq!(acme.runnable().count(), 1, "mended JSON has the keys, too");
    let usual = parse(
        "<acme_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</acme_call>",
        &grammar("acme"),
    );
    assert_eq!(usual.calls[0].status, Status::Complete);
    let other = parse(&format!("<PTK_CALL>{body}</PTK_CALL>"), &grammar("auto"));
    assert_eq!(other.runnable().count(), 0);
}

#[test]
fn an_alias_chooses_the_dialect_and_prose_about_its_marks_is_text() {
    let grammar = grammar("acme-7b");
    let text = "Put it between `<acme_call>` and </acme_call>, said the manual.";
    let reply = parse(text, &grammar);
    assert_eq!((reply.text.as_str(), reply.calls.len()), (text, 0));
}

#[test]
fn a_declared_dialect_is_taught() {
    let registry = registry();
    for declared in declarations() {
        let dialect = registry.get(&declared.name).unwrap();
        let prompt = PtkFormatter::new(Arc::clone(dialect))
            .unwrap()
            .system_prompt(&tools());
        let shown = declared.open[0].split("NAME").next().unwrap();
        let shown = shown.trim_end_matches('\'');
        assert!(
            prompt.contains(shown.trim_end_matches('=')),
            "{shown}: {prompt}"
        );
        let reply = parse(
            &written(&declared.name, &[write("a", "b")]),
            &grammar("auto"),
        );
        assert_eq!(reply.calls[0].dialect, declared.name);
    }
}

/// A declaration with one field replaced.
fn with(field: &str, value: Value) -> Value {
    let mut all = json!({"name": "x", "open": ["<x>"], "close": ["</x>"]});
    all[field] = value;
    all
}

/// A declaration of tags.
fn tags(open: &str, argument: &str) -> Value {
    json!({"name": "x", "open": [open], "close": ["</x>"], "body": "tags", "argument": argument})
}

fn assert_refused(value: Value, expected: &str) {
    let error = register(Registry::builtin(), &[declaration(value)]).unwrap_err();
    let error = error.to_string();
    let fault = error.split_once("`: ").unwrap().1;
    assert!(fault.starts_with(expected), "{expected}: {error}");
}

#[test]
fn names_and_marks_that_make_no_sense_are_refused_with_a_reason() {
    for (value, expected) in [
        (
            with("name", json!("")),
            "`` is not a valid name for a dialect",
        ),
        (
            with("name", json!("a b")),
            "`a b` is not a valid name for a dialect",
        ),
        (
            with("name", json!("auto")),
            "`auto` is not a valid name for a dialect",
        ),
        (with("name", json!("ptk")), "the name `ptk` is taken"),
        (with("aliases", json!(["qwen"])), "the name `qwen` is taken"),
        (with("aliases", json!(["x"])), "the name `x` is taken"),
        (with("open", json!([])), "`open` is empty"),
        (
            with("open", json!([""])),
            "`open` has an entry that is empty",
        ),
        (
            with("close", json!([" \n"])),
            "`close` has an entry that is empty or white space",
        ),
        (
            with("open", json!(["x"])),
            "the mark \"x\" in `open` would be found in any prose",
        ),
        (
            with("open", json!(["call"])),
            "the mark \"call\" in `open` would be found in any prose",
        ),
        (
            with("open", json!([" <x>"])),
            "the mark \" <x>\" in `open` has white space around it",
        ),
        (
            with("open", json!(["```tool"])),
            "the mark \"```tool\" in `open` starts like inline code",
        ),
        (
            with("close", json!(["~/x~"])),
            "the mark \"~/x~\" in `close` holds a `~`",
        ),
        (
            with("open", json!(["<Think>"])),
            "the mark \"<Think>\" stands around reasoning",
        ),
        (
            with("close", json!(["<X>"])),
            "the mark \"<X>\" is given twice",
        ),
        (
            with("open", json!(["<".repeat(200)])),
            "`open` has an entry of 200 bytes",
        ),
        (
            with("open", json!(vec!["<x>"; 40])),
            "`open` has 40 entries",
        ),
        (
            with("section", json!(["<y>", ""])),
            "`section` has an entry that is empty",
        ),
    ] {
        assert_refused(value, expected);
    }
}

#[test]
fn fields_that_do_not_fit_are_refused_with_a_reason() {
    for (value, expected) in [
        (
            with("name_end", json!(["|"])),
            "`name_end` says nothing where `body` is \"json\"",
        ),
        (
            with("argument", json!("<a>")),
            "`argument` says nothing where `body` is \"json\"",
        ),
        (
            with("body", json!("tags")),
            "`argument` is missing; `body = \"tags\"` needs it",
        ),
        (
            json!({"name": "x", "open": ["<x>"], "name_keys": ["a"], "args_keys": ["a"]}),
            "the key `a` stands in `name_keys` and in `args_keys`",
        ),
        (
            json!({"name": "x", "open": ["<x>"], "body": "name-json", "name_end": [":"]}),
            "`name_end` \":\" starts with a character that a tool's name may have",
        ),
        (
            tags("<x>", "<p=KEY>VALUE</p>"),
            "`open` \"<x>\" cannot be understood",
        ),
        (
            tags("<NAME>", "<p=KEY>VALUE</p>"),
            "`open` \"<NAME>\" cannot be understood",
        ),
        (
            tags("<x:NAME>", "<p>VALUE</p>"),
            "`argument` \"<p>VALUE</p>\" cannot be understood",
        ),
        (
            tags("<x:NAME>", "<p=KEY]VALUE</p>"),
            "the opening tags end with \">\" and with \"]\"",
        ),
        (
            json!({"name": "x", "open": ["<x:NAME>"], "body": "tags", "argument": "<p=KEY>VALUE</p>"}),
            "`close` is missing",
        ),
    ] {
        assert_refused(value, expected);
    }
    let twice = ["x", "x"].map(|name| declaration(json!({"name": name, "open": ["<x>"]})));
    let error = register(Registry::builtin(), &twice).unwrap_err();
    assert_eq!(error.index, 1);
    for value in [
        with("body", json!("yaml")),
        with("section", json!(["<y>"])),
        with("colour", json!("red")),
    ] {
        assert!(serde_json::from_value::<Declaration>(value).is_err());
    }
}

#[test]
fn marks_of_a_declared_dialect_are_guarded_against() {
    let guard = Guard::for_registry(&registry()).unwrap();
    for declared in declarations() {
        let forged = written(&declared.name, &[write("a", "b")]);
        let quoted = guard.neutralise(&forged);
        assert_eq!(
            parse(&quoted, &grammar("auto")).runnable().count(),
            0,
            "{quoted}"
        );
        assert_eq!(guard.restore(&quoted), forged);
    }
}
