//! Grammars made from tools: whatever such a grammar writes is a correct call,
//! and read as one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "the lints allow it in tests, but not in what tests share"
)]

mod hostile;
mod notations;
mod random;
mod schemas;
mod shapes;

use std::sync::Arc;

use ptk_protocol::dialects::{Dialect, Registry};
use ptk_protocol::gbnf::Gbnf;
use ptk_protocol::schema::{check, validate_call};
use ptk_protocol::{Arguments, Grammar, Status, ToolCall, ToolSpec, Toolset, parse};
use serde_json::{Value, json};

/// A random generator, always the same for the same seed.
struct Dice(u64);

impl Dice {
    fn choose(&mut self, of: usize) -> usize {
        // An xorshift generator: the lower bits of the state are good enough.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % of.max(1)
    }

    fn sample(&mut self, grammar: &Gbnf) -> String {
        grammar.sample(&mut |of| self.choose(of))
    }
}

fn dice(seed: u64) -> Dice {
    Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
}

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec::new(name, "Does what it does", parameters)
}

fn toolset(specs: impl IntoIterator<Item = ToolSpec>) -> Toolset {
    Toolset::new(specs).unwrap()
}

fn dialect(name: &str) -> Arc<dyn Dialect> {
    Arc::clone(Registry::builtin().get(name).unwrap())
}

fn alone(tools: &Toolset, dialect: &str) -> Grammar {
    let grammar = Grammar::builder().tools(tools.clone()).dialect(dialect);
    grammar.alone().build().unwrap()
}

/// Asserts that the arguments fit the schema just as they are.
fn assert_valid(tools: &Toolset, name: &str, json: &str) {
    let told = || format!("{json} for {}", tools.get(name).unwrap().parameters);
    let args = Arguments::from_json(json).unwrap_or_else(|error| panic!("{error}: {}", told()));
    let call = ToolCall::new(name, args.clone());
    let verdict = validate_call(&call, tools);
    assert!(verdict.is_valid(), "{:?}: {}", verdict.error(), told());
    let checked = check(tools, name, args);
    assert_eq!(checked.coercions, [], "{}", told());
}

/// Asserts that the text is one whole call, and nothing else, whatever reads
/// it.
fn assert_one_call(tools: &Toolset, form: &Arc<dyn Dialect>, text: &str) {
    let name = form.name();
    let fixed = Grammar::builder().tools(tools.clone()).dialect(name);
    let grammars = [
        alone(tools, name),
        fixed.build().unwrap(),
        Grammar::auto(tools.clone()).unwrap(),
    ];
    for grammar in grammars {
        let reply = parse(text, &grammar);
        let told = format!("{name}: {text:?}\n{reply:?}");
        let [call] = reply.calls.as_slice() else {
            panic!("{told}");
        };
        assert_eq!(call.status, Status::Complete, "{told}");
        assert_eq!(call.problems, [], "{told}");
        assert_eq!(reply.problems, [], "{told}");
        assert_eq!(reply.text.trim(), "", "{told}");
        assert_eq!(
            call.call.args,
            written_args(form, &call.call.name, text),
            "{told}"
        );
    }
}

/// The arguments as they stand in a call, found without the parser.
fn written_args(form: &Arc<dyn Dialect>, name: &str, text: &str) -> Arguments {
    let stand_in = json!({"any": 1});
    let call = ToolCall::new(name, stand_in.as_object().unwrap().clone());
    let written = form.writer().unwrap().call(&call);
    let (before, _) = written.split_once(&stand_in.to_string()).unwrap();
    let behind = text.strip_prefix(before).unwrap();
    let mut values = serde_json::Deserializer::from_str(behind).into_iter::<Value>();
    values.next().unwrap().unwrap();
    Arguments::from_json(&behind[..values.byte_offset()]).unwrap()
}

/// Asserts that a reply is an answer, or its calls are whole and none is lost.
fn assert_no_call_lost(tools: &Toolset, form: &Arc<dyn Dialect>, text: &str) -> usize {
    let reply = parse(text, &alone(tools, form.name()));
    let told = format!("{}: {text:?}\n{reply:?}", form.name());
    assert_eq!(reply.problems, [], "{told}");
    for call in &reply.calls {
        assert_eq!(call.status, Status::Complete, "{told}");
        assert_eq!(call.problems, [], "{told}");
    }
    let example = form
        .writer()
        .unwrap()
        .call(&ToolCall::new("x", Arguments::new()));
    let open: String = example.chars().take(6).collect();
    let words = format!("{}\n{}", reply.text, reply.reasoning).to_lowercase();
    assert!(!words.contains(&open.to_lowercase()), "{told}");
    assert!(
        !reply.calls.is_empty() || !reply.text.trim().is_empty(),
        "{told}"
    );
    reply.calls.len()
}

/// The dialects that have a grammar of calls, and those of replies.
fn dialects_with(
    grammar: fn(&Toolset, &Arc<dyn Dialect>) -> Option<Gbnf>,
) -> Vec<Arc<dyn Dialect>> {
    let tools = toolset([tool("read_file", json!({"type": "object"}))]);
    let registry = Registry::builtin();
    let all = registry.all().iter();
    all.filter(|form| grammar(&tools, form).is_some())
        .cloned()
        .collect()
}
