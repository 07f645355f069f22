//! Writes random grammars in each notation, with texts and whether the grammar
//! allows them: `COUNT` lines of JSON, always the same for the same `SEED`.
//! `scripts/check-grammars` compares that with what others make of them.
//!
//! ```sh
//! cargo run -p ptk-protocol --example grammars -- COUNT [SEED]
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "it is run by scripts alone, on what it made itself"
)]

#[path = "../tests/gbnf/schemas.rs"]
mod schemas;

use std::sync::Arc;

use proptest::prelude::{RngExt as _, Strategy};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ptk_protocol::dialects::{Dialect, Registry};
use ptk_protocol::gbnf::Gbnf;
use ptk_protocol::{Arguments, ToolCall, ToolSpec, Toolset};
use serde_json::json;

/// Names of tools, of which some are hard to write.
const NAMES: &[&str] = &[
    "read_file",
    "start",
    "a",
    "ab",
    "Bash",
    "ptk",
    "say \"hi\"",
    "naïve",
    "two\nlines",
    "\\",
    "a/b:c.d-e$f",
    "名前",
    "]",
    "string",
    "ends with space ",
];
/// What is put into texts to spoil them.
const SPOILS: &[&str] = &[
    "",
    " ",
    "\n",
    "\"",
    "\\",
    "{",
    "}",
    "]",
    ",",
    ",,",
    ":",
    "0",
    "-",
    "1e5",
    ".",
    "x",
    "é",
    "null",
    "<",
    ">",
    "</",
    "```",
    "<PTK_CALL>",
    "<ptk_c",
    "<tool_call>",
    "<think>",
    "</think>",
    "\u{7f}",
    "\u{1f600}",
    "\\u00e9",
    "\\ud83d",
    "\t",
];

struct Random(TestRunner);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0.rng().random_range(0..most.max(1))
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn made<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        strategy.new_tree(&mut self.0).unwrap().current()
    }

    fn sample(&mut self, grammar: &Gbnf) -> String {
        grammar.sample(&mut |most| self.below(most))
    }

    /// The text with one change, which mostly spoils it.
    fn spoilt(&mut self, text: &str) -> String {
        let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        places.push(text.len());
        let from = self.of(&places);
        let to = match self.below(4) {
            0 => from,
            1 => places.iter().copied().find(|at| *at > from).unwrap_or(from),
            2 => self.of(&places).max(from),
            _ => text.len(),
        };
        let between = match self.below(4) {
            0 => text[from..to].to_uppercase(),
            1 => text[from..to].repeat(2),
            _ => self.of(SPOILS).to_owned(),
        };
        format!("{}{between}{}", &text[..from], &text[to..])
    }
}

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|it| it.parse::<u64>().unwrap());
    let (count, seed) = (
        numbers.next().unwrap_or(100),
        numbers.next().unwrap_or(2027),
    );
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &key);
    let mut random = Random(TestRunner::new_with_rng(Config::default(), rng));
    let registry = Registry::builtin();
    let plain = Toolset::new([ToolSpec::new("read_file", "", json!({"type": "object"}))]).unwrap();
    let forms = registry.all().iter();
    let forms: Vec<_> = forms
        .filter(|form| Gbnf::of_call(&plain, form).is_some())
        .collect();
    for number in 0..count {
        // Each dialect in turn, so that none is left out by chance.
        let form = forms[usize::try_from(number).unwrap() % forms.len()];
        let tools = tools(&mut random);
        let (kind, grammar) = match random.below(4) {
            0 => (
                "arguments",
                Some(Gbnf::of_arguments(tools.iter().next().unwrap())),
            ),
            1 => ("call", Gbnf::of_call(&tools, form)),
            _ => ("reply", Gbnf::of_reply(&tools, form)),
        };
        let Some(grammar) = grammar else {
            continue;
        };
        let mut texts: Vec<String> = (0..4).map(|_| random.sample(&grammar)).collect();
        texts.extend(written(&mut random, &tools, form));
        for at in 0..texts.len() {
            for _ in 0..3 {
                texts.push(random.spoilt(&texts[at].clone()));
            }
        }
        let texts = texts
            .iter()
            .map(|text| json!([text, grammar.accepts(text)]));
        let line = json!({
            "name": format!("{} {kind}", form.name()),
            "gbnf": grammar.to_string(),
            "structural_tag": grammar.structural_tag(),
            "lark": grammar.lark(),
            "texts": texts.collect::<Vec<_>>(),
        });
        println!("{line}");
    }
}

fn tools(random: &mut Random) -> Toolset {
    let mut tools: Vec<ToolSpec> = Vec::new();
    for _ in 0..=random.below(3) {
        let name = random.of(NAMES);
        if tools.iter().all(|tool| tool.name != name) {
            let parameters = random.made(&schemas::parameters());
            tools.push(ToolSpec::new(name, "", parameters));
        }
    }
    Toolset::new(tools).unwrap()
}

/// Calls as the dialect writes them.
fn written(random: &mut Random, tools: &Toolset, form: &Arc<dyn Dialect>) -> Vec<String> {
    let mut calls = Vec::new();
    for tool in tools.iter() {
        let args = random.sample(&Gbnf::of_arguments(tool));
        let args = Arguments::from_json(&args).unwrap_or_default();
        calls.push(ToolCall::new(&tool.name, args));
    }
    let writer = form.writer().unwrap();
    let mut texts: Vec<String> = calls.iter().map(|call| writer.call(call)).collect();
    texts.push(writer.calls(&calls));
    texts.push(format!("Let me see.\n{}", writer.calls(&calls)));
    texts
}
