//! Replies are read by the templates that models bring along.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod export;
mod hostile;
mod refusals;

use ptk_protocol::dialects::Registry;
use ptk_protocol::dialects::response_template::ResponseTemplate;
use ptk_protocol::format::guard::Guard;
use ptk_protocol::invariants::{check_every_cut, tools, vocabulary};
use ptk_protocol::parse::Opening;
use ptk_protocol::{Grammar, ProblemCode, Reply, Status, ToolCall, ToolSpec, Toolset, parse};
use serde_json::{Value, json};

/// The forms that templates take: a name of ours, and the template.
#[expect(clippy::too_many_lines, reason = "a table of templates")]
fn templates() -> Vec<(&'static str, Value)> {
    let named =
        json!({"type": "function", "function": {"name": "{name}", "arguments": "{content}"}});
    vec![
        (
            // The call is an object between two marks.
            "objects",
            json!({
                "version": 1,
                "defaults": {"role": "assistant"},
                "start_anchor": "<|im_start|>assistant\n",
                "fields": {
                    "thinking": {"open": "<think>", "close": "</think>", "content": "text"},
                    "tool_calls": {
                        "open_pattern": r"\s*<acme:call>",
                        "close": "</acme:call>",
                        "repeats": true,
                        "content": "json",
                        "transform": {"type": "function", "function": "{content}"},
                    },
                    "content": {"close_pattern": r"\s*(?:<\|im_end\|>|<\|acme_end\|>)"},
                },
            }),
        ),
        (
            // One list of calls, with keys of its own.
            "list",
            json!({
                "start_anchor": ["<|turn|>"],
                "fields": {
                    "thinking": {"open": "<|muse|>", "close": "<|/muse|>"},
                    "tool_calls": {
                        "open": "<|acts|>",
                        "close_pattern": r"(?:<\|/acts\|>|$)",
                        "content": "json",
                        "transform_each": true,
                        "transform": {"type": "function", "function": {"name": "{act}", "arguments": "{with}"}},
                    },
                    "content": {"open": "<|says|>", "close": "<|/says|>"},
                },
            }),
        ),
        (
            // The name stands in the opening.
            "channel",
            json!({
                "start_anchor": "<|begin|>bot",
                "fields": {
                    "thinking": {"open": "<|lane|>plan<|body|>", "close": "<|stop|>", "repeats": true, "join": "\n"},
                    "tool_calls": {
                        "open_pattern": r"<\|lane\|>work for=tools\.(?P<name>\w+).*?<\|body\|>",
                        "close": "<|do|>",
                        "repeats": true,
                        "content": "json",
                        "transform": named,
                    },
                    "content": {"open": "<|lane|>say<|body|>", "close": ["<|stop|>", "<|finish|>"]},
                },
            }),
        ),
        (
            // Arguments in tags, the closing tag of the function left out.
            "tags",
            json!({
                "start_anchor": "<|im_start|>assistant\n",
                "fields": {
                    "reasoning_content": {"open": "<think>", "close": "</think>"},
                    "tool_calls": {
                        "open_pattern": r"\s*<use>\s*<fn=(?P<name>[^>\n]+)>",
                        "close": "</use>",
                        "repeats": true,
                        "content": "xml-inline",
                        "content_args": {
                            "tag_pattern": r"<arg=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</arg>",
                            "value_parser": {"name": "json", "args": {"allow_non_json": true}},
                        },
                        "transform": named,
                    },
                    "content": {"close": "<|im_end|>"},
                },
            }),
        ),
        (
            // The key in an attribute, one mark that closes everything.
            "attributes",
            json!({
                "start_anchor_pattern": r"<\|bot\|>",
                "fields": {
                    "thinking": {"open_pattern": r"\<\|plan\|\>", "close": "<|done|>"},
                    "content": {"open_pattern": r"<\|tell\|>", "close": ["<|done|>", "<|eos|>"]},
                    "tool_calls": {
                        "open_pattern": r"<\|tool\|>(?P<name>[A-Za-z_][A-Za-z0-9_]*)<\|args\|>",
                        "close": ["<|done|>", "<|eos|>"],
                        "repeats": true,
                        "content": "xml-inline",
                        "content_args": {
                            "tag_pattern": "<param name=\"(?P<key>[^\"]+)\">(?P<value>.*?)</param>",
                            "value_parser": {"name": "text", "args": {"strip": false}},
                        },
                        "transform": {"name": "{name}", "arguments": "{content}"},
                    },
                },
            }),
        ),
        (
            // Name and value in tags of their own.
            "pairs",
            json!({
                "start_anchor": "<|bot|>",
                "fields": {
                    "tool_calls": {
                        "open_pattern": r"<\|run\|>(?P<name>\w+)\n",
                        "close": "<|ran|>",
                        "content": "xml-inline",
                        "content_args": {
                            "tag_pattern": r"<\|k\|>(?P<key>.*?)<\|/k\|>\s*<\|v\|>(?P<value>.*?)<\|/v\|>",
                        },
                        "transform": named,
                    },
                    "content": {},
                },
            }),
        ),
        (
            // Strings between marks, keys without quotes.
            "loose",
            json!({
                "start_anchor": ["<|turn>model\n", "<result|>"],
                "fields": {
                    "reasoning_content": {"open": "<|inner>idea\n", "close": "<inner|>"},
                    "tool_calls": {
                        "open_pattern": r"<\|invoke>do:(?P<name>\w+)",
                        "close": "<invoke|>",
                        "repeats": true,
                        "content": "json",
                        "content_args": {"unquoted_keys": true, "string_delims": [["<|s|>", "<|s|>"]]},
                        "transform": named,
                    },
                    "content": {"close": ["<turn|>", "<eos>"]},
                },
            }),
        ),
        (
            "lines",
            json!({
                "start_anchor": "<|bot|>",
                "fields": {
                    "tool_calls": {
                        "open_pattern": r"@@ask (?P<name>\w+)@@\n?",
                        "close": "@@end@@",
                        "content": "kv-lines",
                        "content_args": {"kv_sep": "="},
                        "transform": named,
                    },
                    "content": {},
                },
            }),
        ),
    ]
}

fn read(template: &Value) -> ResponseTemplate {
    ResponseTemplate::from_value(template).unwrap()
}

fn grammar_of(template: &Value) -> Grammar {
    let registry = read(template).register(Registry::builtin(), "mine");
    Grammar::builder()
        .registry(registry)
        .tools(tools())
        .dialect("mine")
        .build()
        .unwrap()
}

fn template(name: &str) -> Value {
    let mut all = templates().into_iter();
    all.find(|(it, _)| *it == name).unwrap().1
}

fn reply(name: &str, text: &str) -> Reply {
    parse(text, &grammar_of(&template(name)))
}

fn write_file(path: &str, content: &str) -> ToolCall {
    let args = json!({"path": path, "content": content});
    ToolCall::new("write_file", args.as_object().unwrap().clone())
}

fn written(template: &Value, calls: &[ToolCall]) -> String {
    let dialect = read(template).dialect("mine");
    dialect.writer().unwrap().calls(calls)
}

/// Asserts that a reply has one call of `read_file`, with this path.
fn assert_reads(reply: &Reply, path: &str) {
    let calls: Vec<_> = reply.runnable().collect();
    assert_eq!(calls.len(), 1, "{reply:?}");
    assert_eq!(calls[0].call.name, "read_file", "{reply:?}");
    assert_eq!(
        calls[0].call.args.get("path"),
        Some(&json!(path)),
        "{reply:?}"
    );
    assert_eq!(calls[0].status, Status::Complete, "{reply:?}");
    assert!(reply.problems.is_empty(), "{reply:?}");
}

#[test]
fn an_object_between_marks_is_a_call_and_the_end_of_the_turn_is_no_text() {
    let reply = reply(
        "objects",
        "<think>Which file?</think>\nThis one.\n<acme:call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</acme:call>\n<|acme_end|>",
    );
    assert_eq!(reply.reasoning, "Which file?");
    assert_eq!(reply.text.trim(), "This one.");
    assert_reads(&reply, "a");
}

#[test]
fn a_list_holds_calls_with_keys_of_its_own() {
    let text = "<|muse|>Two.<|/muse|><|acts|>[{\"act\": \"read_file\", \"with\": {\"path\": \"a\"}}, {\"act\": \"read_file\", \"with\": {\"path\": \"b\"}}]<|/acts|>";
    let reply = reply("list", text);
    assert_eq!(
        (reply.reasoning.as_str(), reply.text.as_str()),
        ("Two.", "")
    );
    assert_eq!(reply.runnable().count(), 2, "{reply:?}");
}

#[test]
fn a_message_between_marks_is_text_and_the_form_in_it_is_quoted() {
    let text = "<|muse|>Short.<|/muse|><|says|>Write <|acts|>[{\"act\": \"read_file\", \"with\": {\"path\": \"a\"}}]<|/acts|> so.<|/says|>";
    let reply = reply("list", text);
    assert_eq!(reply.reasoning, "Short.");
    assert_eq!(reply.calls.len(), 0, "{reply:?}");
    assert!(
        reply.text.starts_with("Write <|acts|>") && reply.text.ends_with(" so."),
        "{reply:?}"
    );
}

#[test]
fn a_name_in_the_opening_is_found_whatever_else_stands_there() {
    for extra in ["", " as=json", " <|kind|>json"] {
        let text = format!(
            "<|lane|>plan<|body|>Read it.<|stop|><|begin|>bot<|lane|>work for=tools.read_file{extra}<|body|>{{\"path\": \"a\"}}<|do|>"
        );
        let reply = reply("channel", &text);
        assert_eq!(
            (reply.reasoning.as_str(), reply.text.as_str()),
            ("Read it.", ""),
            "{extra}"
        );
        assert_reads(&reply, "a");
    }
    let reply = reply(
        "channel",
        "<|lane|>plan<|body|>No.<|stop|><|begin|>bot<|lane|>say<|body|>Hello.<|finish|>",
    );
    assert_eq!(
        (reply.reasoning.as_str(), reply.text.as_str()),
        ("No.", "Hello.")
    );
}

#[test]
fn tags_are_read_with_and_without_the_tags_that_the_template_leaves_out() {
    for end in ["</fn>\n</use>", "</use>", "</fn></use>"] {
        let text = format!(
            "<think>x</think>\n\n<use>\n<fn=read_file>\n<arg=path>\na\n</arg>\n{end}<|im_end|>"
        );
        let reply = reply("tags", &text);
        assert_eq!(reply.reasoning, "x");
        assert_eq!(reply.text.trim(), "", "{end}: {reply:?}");
        assert_reads(&reply, "a");
    }
}

#[test]
fn one_mark_may_close_reasoning_text_and_calls() {
    let text = "<|plan|>check the map<|done|><|tell|>Here it is.<|done|><|tool|>read_file<|args|><param name=\"path\">a</param><|eos|>";
    let reply = reply("attributes", text);
    assert_eq!(
        (reply.reasoning.as_str(), reply.text.as_str()),
        ("check the map", "Here it is.")
    );
    assert_reads(&reply, "a");
}

#[test]
fn pairs_loose_json_and_lines_are_read() {
    assert_reads(
        &reply(
            "pairs",
            "<|run|>read_file\n<|k|>path<|/k|> <|v|>a<|/v|><|ran|>",
        ),
        "a",
    );
    let text = "<|inner>idea\nLook.<inner|><|invoke>do:read_file{path:<|s|>a \"b\", {c}<|s|>}<invoke|><turn|>";
    let loose = reply("loose", text);
    assert_eq!(loose.reasoning.trim(), "Look.");
    assert_reads(&loose, "a \"b\", {c}");
    assert_reads(
        &reply("lines", "@@ask read_file@@\npath = a=b\n\n@@end@@"),
        "a=b",
    );
}

#[test]
fn a_mark_in_a_value_does_not_end_the_call() {
    let text = "<acme:call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"</acme:call>\"}}</acme:call>";
    assert_reads(&reply("objects", text), "</acme:call>");
    let text = "<|invoke>do:read_file{path:<|s|><invoke|><|s|>}<invoke|>";
    assert_reads(&reply("loose", text), "<invoke|>");
}

#[test]
fn what_is_written_is_read_back() {
    for (name, template) in templates() {
        let grammar = grammar_of(&template);
        for word in vocabulary()
            .iter()
            .step_by(7)
            .chain(&["", "a\nb\n", " x ", "</arg>", "<|s|>", "@@end@@"])
        {
            let calls = [
                write_file(word, &format!("{word}\n{word}")),
                write_file("b", word),
            ];
            let text = written(&template, &calls);
            let reply = parse(&text, &grammar);
            let read: Vec<_> = reply.calls.iter().map(|call| &call.call).collect();
            let place = format!("{name}: {word:?} in {text}");
            assert_eq!(read, calls.iter().collect::<Vec<_>>(), "{place}: {reply:?}");
            assert!(reply.text.trim().is_empty(), "{place}: {:?}", reply.text);
            let all_run = reply
                .calls
                .iter()
                .all(|call| call.status == Status::Complete);
            assert!(all_run && reply.problems.is_empty(), "{place}: {reply:?}");
        }
    }
}

#[test]
fn calls_are_written_in_the_form_of_the_template() {
    let path = json!({"path": "a.txt"});
    let call = [ToolCall::new(
        "read_file",
        path.as_object().unwrap().clone(),
    )];
    for (name, expected) in [
        (
            "objects",
            "<acme:call>{\"name\": \"read_file\", \"arguments\": {\"path\":\"a.txt\"}}</acme:call>",
        ),
        (
            "list",
            "<|acts|>[{\"act\": \"read_file\", \"with\": {\"path\":\"a.txt\"}}]<|/acts|>",
        ),
        (
            "channel",
            "<|lane|>work for=tools.read_file<|body|>{\"path\":\"a.txt\"}<|do|>",
        ),
        (
            "tags",
            "<use><fn=read_file>\n<arg=path>a.txt</arg>\n</fn>\n</use>",
        ),
        (
            "attributes",
            "<|tool|>read_file<|args|>\n<param name=\"path\">a.txt</param>\n<|done|>",
        ),
        (
            "pairs",
            "<|run|>read_file\n\n<|k|>path<|/k|>\n<|v|>a.txt<|/v|>\n<|ran|>",
        ),
        (
            "loose",
            "<|invoke>do:read_file{path:<|s|>a.txt<|s|>}<invoke|>",
        ),
        ("lines", "@@ask read_file@@\npath= a.txt\n@@end@@"),
    ] {
        assert_eq!(written(&template(name), &call), expected, "{name}");
    }
}

/// Replies of every form, whole and broken.
fn samples(template: &Value) -> Vec<String> {
    let calls = [
        write_file("a", "1 < 2 </use> )]\n<|/v|>"),
        write_file("b", ""),
    ];
    let fields = &template["fields"];
    let mark = |field: &str, key: &str| {
        let value = &fields[field][key];
        value
            .as_str()
            .or_else(|| value[0].as_str())
            .unwrap_or_default()
            .to_owned()
    };
    let reasoning = ["thinking", "reasoning_content"].map(|field| {
        format!(
            "{}so <|x|> it is{}",
            mark(field, "open"),
            mark(field, "close")
        )
    });
    let call = written(template, &calls);
    vec![
        format!("{}Well:\n{call}\nDone.", reasoning.concat()),
        format!("{call}{}", mark("content", "close")),
        call.replace("\":", "\"").replace('=', ""),
        format!("{} {call}", call.split_at(call.len() / 2).0),
    ]
}

#[test]
fn every_cut_reads_alike() {
    for (_, template) in templates() {
        let fixed = grammar_of(&template);
        let registry = read(&template).register(Registry::builtin(), "mine");
        let auto = Grammar::builder()
            .registry(registry)
            .tools(tools())
            .build()
            .unwrap();
        for text in samples(&template) {
            for grammar in [&fixed, &auto] {
                check_every_cut(grammar, &text);
                let ends = (0..text.len()).filter(|end| text.is_char_boundary(*end));
                for end in ends.step_by(97) {
                    check_every_cut(grammar, &text[..end]);
                }
            }
        }
    }
}

#[test]
fn a_call_that_is_cut_off_never_runs() {
    for (name, template) in templates() {
        let text = written(&template, &[write_file("a", "some content that is long")]);
        let end = text.find("content that").unwrap();
        let reply = parse(&text[..end], &grammar_of(&template));
        assert_eq!(reply.runnable().count(), 0, "{name}: {reply:?}");
        let mut faults = reply.faults();
        let truncated = faults.any(|fault| fault.code == ProblemCode::Truncated);
        assert!(truncated, "{name}: {reply:?}");
    }
}

#[test]
fn a_broken_call_is_a_problem_and_never_an_answer() {
    for (name, text) in [
        ("objects", "<acme:call>read_file the path a</acme:call>"),
        (
            "channel",
            "<|lane|>work for=tools.read_file<|body|>path a<|do|>",
        ),
        ("tags", "<use>\n<fn read_file>path a</use>"),
        ("attributes", "<|tool|>read_file(path=a)<|done|>"),
        ("loose", "<|invoke>do:read_file{path:<|s|>a<|s|><invoke|>"),
    ] {
        let reply = reply(name, text);
        assert_eq!(reply.runnable().count(), 0, "{name}: {reply:?}");
        assert_eq!(reply.text, "", "{name}: {reply:?}");
        assert!(reply.faults().next().is_some(), "{name}: {reply:?}");
    }
}

#[test]
fn prose_about_the_marks_is_text() {
    for (name, text) in [
        (
            "objects",
            "Put it between `<acme:call>` and </acme:call>, said the manual.",
        ),
        ("channel", "The mark <|lane|>work opens a lane."),
        ("loose", "Say <|invoke>do: and the name."),
    ] {
        let reply = reply(name, text);
        assert_eq!(
            (reply.text.as_str(), reply.calls.len()),
            (text, 0),
            "{name}"
        );
        assert!(reply.problems.is_empty(), "{name}: {reply:?}");
    }
}

#[test]
fn the_prompt_tells_whether_the_reply_starts_in_reasoning() {
    for (name, prompt, expected) in [
        (
            "objects",
            "<|im_start|>assistant\n<think>\n",
            Opening::Reasoning,
        ),
        (
            "objects",
            "<|im_start|>assistant\n<think>\n\n</think>\n\n",
            Opening::Text,
        ),
        (
            "objects",
            "<|im_start|>assistant\n<think>x<|im_end|><|im_start|>assistant\n",
            Opening::Text,
        ),
        ("list", "<|muse|><|turn|>", Opening::Text),
        ("list", "<|turn|><|muse|>", Opening::Reasoning),
        ("attributes", "<|bot|><|plan|>", Opening::Reasoning),
    ] {
        assert_eq!(
            read(&template(name)).opening(prompt),
            expected,
            "{name}: {prompt}"
        );
    }
}

#[test]
fn reasoning_may_begin_with_the_message() {
    let starts = json!({
        "start_anchor": "Bot:",
        "fields": {
            "thinking": {"open_pattern": r"(?:^|<muse>\s*)", "close": "</muse>"},
            "content": {"open": "<reply>\n", "close_pattern": r"\n?</reply>"},
        },
    });
    let grammar = grammar_of(&starts);
    let text = "Hmm.</muse>\n<reply>\nYes.\n</reply>";
    check_every_cut(&grammar, text);
    let reply = parse(text, &grammar);
    assert_eq!(
        (reply.reasoning.as_str(), reply.text.trim()),
        ("Hmm.", "Yes.")
    );
    // A server may have taken the reasoning away.
    assert_eq!(parse("Yes.", &grammar).text, "Yes.");
}

#[test]
fn marks_of_a_template_are_guarded() {
    for (name, template) in templates() {
        let registry = read(&template).register(Registry::builtin(), "mine");
        let guard = Guard::for_registry(&registry).unwrap();
        let text = written(&template, &[write_file("a", "b")]);
        let quoted = guard.neutralise(&text);
        assert_eq!(guard.restore(&quoted), text, "{name}");
        let reply = parse(&quoted, &grammar_of(&template));
        assert_eq!(reply.calls.len(), 0, "{name}: {quoted}");
    }
}

#[test]
fn the_schema_decides_the_types_of_values() {
    let tool = ToolSpec::new(
        "set",
        "",
        json!({"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}),
    );
    let registry = read(&template("tags")).register(Registry::builtin(), "mine");
    let grammar = Grammar::builder()
        .registry(registry)
        .tools(Toolset::new([tool]).unwrap())
        .dialect("mine")
        .build()
        .unwrap();
    let reply = parse("<use><fn=set><arg=n>7</arg><arg=s>7</arg></use>", &grammar);
    let args = &reply.calls[0].call.args;
    assert_eq!(
        (args.get("n"), args.get("s")),
        (Some(&json!(7)), Some(&json!("7")))
    );
}

#[test]
fn a_tokenizer_configuration_holds_the_template_among_other_things() {
    let config = json!({"model_max_length": 1, "response_template": template("list")});
    assert!(ResponseTemplate::from_json(&config.to_string()).is_ok());
    assert!(ResponseTemplate::from_json(&template("list").to_string()).is_ok());
}
