//! Extensions from outside the crate: a custom dialect and a custom formatter.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::borrow::Cow;
use std::sync::Arc;

use ptk_protocol::dialects::{Dialect, Registry, Trigger, Writer};
use ptk_protocol::invariants::check_every_cut;
use ptk_protocol::parse::{Findings, FoundCall, Input, Reader, Step};
use ptk_protocol::{
    Arguments, Formatter, Grammar, Message, Outcome, Problem, ProblemCode, PtkFormatter, SpanKind,
    Status, ToolCall, ToolResult, ToolSpec, Toolset, parse,
};
use serde_json::json;

/// `@@read_file {"path": "a"}@@`: a name, the arguments as JSON, two marks.
#[derive(Debug)]
struct AtSigns;

const MARK: &str = "@@";

impl Dialect for AtSigns {
    fn name(&self) -> &'static str {
        "at-signs"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::anywhere(MARK)]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(AtSignReader)
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for AtSigns {
    fn rules(&self) -> Vec<String> {
        vec!["Write the name, a space and the arguments as JSON between two pairs of @.".to_owned()]
    }

    fn call(&self, call: &ToolCall) -> String {
        format!("{MARK}{} {}{MARK}", call.name, call.args.to_json())
    }

    fn result_word(&self) -> String {
        "AT_RESULT".to_owned()
    }

    fn error_word(&self) -> String {
        "AT_ERROR".to_owned()
    }
}

struct AtSignReader;

impl Reader for AtSignReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let body = input.from(MARK.len());
        let Some(space) = body.find([' ', '\n']) else {
            return if input.end { Step::Reject } else { Step::More };
        };
        let name = &body[..space];
        if !input.knows(name) {
            return Step::Reject;
        }
        let json = &body[space..];
        let mut values =
            serde_json::Deserializer::from_str(json).into_iter::<serde::de::IgnoredAny>();
        let whole = match values.next() {
            Some(Ok(_)) => true,
            Some(Err(error)) if error.is_eof() && !input.end => return Step::More,
            Some(Err(error)) if error.is_eof() => false,
            None if !input.end => return Step::More,
            _ => return Step::Reject,
        };
        let end = MARK.len()
            + space
            + if whole {
                values.byte_offset()
            } else {
                json.len()
            };
        let rest = input.from(end);
        if whole && rest.len() < MARK.len() && !input.end {
            return Step::More;
        }
        let args = input.slice(MARK.len() + space..end);
        let args = Arguments::from_json(args).unwrap_or_default();
        out.start(name);
        let mut problems = Vec::new();
        if whole {
            out.delta(&args.to_json());
        } else {
            let span = ptk_protocol::Span::new(0, end);
            problems.push(Problem::new(ProblemCode::Truncated, "It was cut off", span));
        }
        let range = MARK.len()..end;
        out.piece(SpanKind::Call, range.clone());
        out.call(FoundCall {
            name: name.to_owned(),
            args,
            reasoning: None,
            id: None,
            status: if whole {
                Status::Complete
            } else {
                Status::Truncated
            },
            problems,
            range,
            open_ended: false,
        });
        Step::Done(if rest.starts_with(MARK) {
            end + MARK.len()
        } else {
            end
        })
    }
}

fn tools() -> Toolset {
    Toolset::new([ToolSpec::new(
        "read_file",
        "Read content of a file",
        json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string", "description": "File path"},
        }}),
    )])
    .unwrap()
}

fn registry() -> Registry {
    Registry::builtin().register(Arc::new(AtSigns))
}

fn grammar(dialect: &str) -> Grammar {
    Grammar::builder()
        .registry(registry())
        .tools(tools())
        .dialect(dialect)
        .build()
        .unwrap()
}

const REPLY: &str = "I look. @@read_file {\"path\": \"a@@b\"}@@ Done.";

/// `auto` reads it beside the built-in dialects.
#[test]
fn a_dialect_from_outside_is_read_by_auto() {
    let text = format!(
        "{REPLY}\n<PTK_CALL>{{\"tool\": \"read_file\", \"args\": {{\"path\": \"b\"}}}}</PTK_CALL>"
    );
    let reply = parse(&text, &grammar("auto"));
    let dialects: Vec<&str> = reply.calls.iter().map(|call| &*call.dialect).collect();
    assert_eq!(dialects, ["at-signs", "ptk"]);
    assert_eq!(reply.calls[0].call.args.to_json(), r#"{"path":"a@@b"}"#);
    assert_eq!(reply.text.trim(), "I look.  Done.");
    assert!(
        reply
            .calls
            .iter()
            .all(ptk_protocol::ParsedCall::is_runnable)
    );
}

/// Fixed, it reads its own calls and no others.
#[test]
fn a_dialect_from_outside_can_be_fixed() {
    let grammar = grammar("at-signs");
    assert_eq!(parse(REPLY, &grammar).calls.len(), 1);
    let other = r#"<PTK_CALL>{"tool": "read_file", "args": {"path": "b"}}</PTK_CALL>"#;
    assert_eq!(parse(other, &grammar).outcome(), Outcome::Text(other));
}

/// A reader from outside is treated like the built-in ones: calls are checked,
/// quotations are not called, any cut reads alike and every byte is emitted.
#[test]
fn a_dialect_from_outside_is_guarded_like_a_built_in_one() {
    let grammar = grammar("auto");
    for text in [
        REPLY,
        "@@read_file {}@@",
        "Write `@@read_file {\"path\": \"a\"}@@` so.",
        "mail me @@home or a@@b",
        "@@read_file {\"path\": \"a",
        "<think>@@read_file {\"path\": \"a\"}@@</think>",
        "```\n@@read_file {\"path\": \"a\"}@@\n```",
    ] {
        check_every_cut(&grammar, text);
    }
    let faulty = parse("@@read_file {}@@", &grammar);
    assert!(!faulty.calls[0].is_runnable());
    let quoted = parse("Write `@@read_file {\"path\": \"a\"}@@` so.", &grammar);
    assert!(quoted.calls.is_empty());
    let cut = parse("@@read_file {\"path\": \"a", &grammar);
    assert!(matches!(cut.outcome(), Outcome::Malformed(_)));
    let fenced = parse("```\n@@read_file {\"path\": \"a\"}@@\n```", &grammar);
    assert_eq!(fenced.calls[0].status, Status::Repaired);
}

/// A name that is taken replaces the dialect that had it.
#[test]
fn a_dialect_can_be_replaced() {
    #[derive(Debug)]
    struct Replacement;
    impl Dialect for Replacement {
        fn name(&self) -> &'static str {
            "yaml"
        }
        fn triggers(&self) -> Vec<Trigger> {
            AtSigns.triggers()
        }
        fn reader(&self, trigger: usize) -> Box<dyn Reader> {
            AtSigns.reader(trigger)
        }
    }
    let registry = Registry::builtin().register(Arc::new(Replacement));
    assert_eq!(registry.all().len(), Registry::builtin().all().len());
    let grammar = Grammar::builder()
        .registry(registry)
        .tools(tools())
        .build()
        .unwrap();
    assert_eq!(parse(REPLY, &grammar).calls[0].dialect, "yaml");
    let yaml = "TOOL: read_file\nARGS:\n  path: a";
    assert!(parse(yaml, &grammar).calls.is_empty());
}

/// The formatter teaches it, and what it writes is read back.
#[test]
fn a_dialect_from_outside_is_taught_and_read_back() {
    let dialect = Arc::clone(registry().get("at-signs").unwrap());
    let formatter = PtkFormatter::new(dialect).unwrap();
    let prompt = formatter.system_prompt(&tools());
    assert!(prompt.contains("@@read_file {\"path\":"), "{prompt}");
    assert!(prompt.contains("between two pairs of @"), "{prompt}");
    assert!(!prompt.contains("AT_RESULT"), "{prompt}");
    assert!(!prompt.contains("PTK_CALL"), "{prompt}");

    let call = ToolCall::new(
        "read_file",
        Arguments::from_json(r#"{"path":"@@ \"x\" 😀"}"#).unwrap(),
    );
    let written = formatter.tool_calls(std::slice::from_ref(&call));
    for dialect in ["at-signs", "auto"] {
        let reply = parse(&written, &grammar(dialect));
        assert_eq!(reply.calls[0].call, call, "{written}");
    }
    let result = ToolResult::data(json!(0));
    assert_eq!(formatter.tool_result(&result, None), "AT_RESULT: 0");
}

/// A formatter that says everything in capitals.
#[derive(Debug)]
struct Loud(PtkFormatter);

impl Formatter for Loud {
    fn system_prompt(&self, tools: &Toolset) -> String {
        format!("LOUD\n{}", self.0.system_prompt(tools))
    }

    fn tool_definitions(&self, tools: &Toolset) -> String {
        self.0.tool_definitions(tools)
    }

    fn conversation(&self, messages: &[Message]) -> String {
        self.0.conversation(messages).to_uppercase()
    }

    fn break_marks<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.break_marks(text)
    }

    fn tool_calls(&self, calls: &[ToolCall]) -> String {
        self.0.tool_calls(calls)
    }

    fn tool_result(&self, result: &ToolResult, id: Option<&str>) -> String {
        format!("{}!", self.0.tool_result(result, id))
    }

    fn malformed(&self, problems: &[Problem], tool: Option<&str>, tools: &Toolset) -> String {
        format!("{}!", self.0.malformed(problems, tool, tools))
    }
}

/// A formatter behind the trait is the one that speaks.
#[test]
fn a_formatter_can_be_replaced() {
    let inner = PtkFormatter::new(Arc::clone(registry().get("ptk").unwrap())).unwrap();
    let formatter: Arc<dyn Formatter> = Arc::new(Loud(inner));
    assert!(formatter.system_prompt(&tools()).starts_with("LOUD\n"));
    assert_eq!(formatter.conversation(&[Message::user("hi")]), "USER: HI");
    assert_eq!(
        formatter.tool_result(&ToolResult::data(json!(1)), None),
        "PTK_RESULT: 1!"
    );
    let told = formatter.malformed(&[], None, &tools());
    assert!(told.ends_with("Please try again with correct format.!"));
    let args = Arguments::from_json(r#"{"path":"<~PTK_CALL>"}"#).unwrap();
    assert_eq!(
        formatter.restore(args).to_json(),
        r#"{"path":"<PTK_CALL>"}"#
    );
}
