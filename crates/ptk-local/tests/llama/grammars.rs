//! Calls of a real model that are constrained by grammars of random schemas.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use ptk_llm::{FinishReason, Request, ResponseFormat, Sampling};
use ptk_protocol::dialects::{Dialect, Ptk};
use ptk_protocol::gbnf::Gbnf;
use ptk_protocol::schema::validate_call;
use ptk_protocol::{Grammar, Status, ToolSpec, Toolset, parse};
use serde_json::Value;

use crate::scene::{ask, model, reply};
use crate::schemas::parameters;

/// How many schemas are tried; `PTK_GRAMMARS` asks for another number.
const CASES: u64 = 8;

/// So high that almost anything the grammar allows is sampled.
const TEMPERATURE: f32 = 3.0;

/// The most tokens of a call; a longer one is cut off and not checked.
const MOST_TOKENS: u32 = 120;

fn cases() -> u64 {
    let asked = std::env::var("PTK_GRAMMARS").ok();
    asked.map_or(CASES, |cases| cases.parse().expect("a number"))
}

/// A fixed sequence of random schemas.
fn schemas() -> impl Iterator<Item = Value> {
    let mut runner = TestRunner::deterministic();
    let all = parameters();
    std::iter::from_fn(move || all.new_tree(&mut runner).ok().map(|tree| tree.current()))
}

#[tokio::test]
async fn every_call_that_weights_write_by_a_grammar_is_right() {
    let model = model();
    let dialect: Arc<dyn Dialect> = Arc::new(Ptk::default());
    let mut whole = 0;
    for (seed, parameters) in (0..cases()).zip(schemas()) {
        let spec = ToolSpec::new("act", "Does what it does", parameters);
        let told = spec.parameters.to_string();
        let tools = Toolset::new([spec]).unwrap();
        // Some schemas accept no arguments at all.
        let Some(grammar) = Gbnf::of_call(&tools, &dialect) else {
            continue;
        };
        if !grammar.outside().is_empty() {
            continue;
        }
        let request = Request {
            format: ResponseFormat::Grammar(grammar.to_string()),
            max_tokens: Some(MOST_TOKENS),
            sampling: Sampling {
                temperature: Some(TEMPERATURE),
                top_k: Some(1000),
                top_p: Some(1.0),
                seed: Some(seed),
            },
            ..ask("Act.")
        };
        let said = reply(&model, &request).await.unwrap();
        if said.finish == FinishReason::Length {
            continue;
        }
        whole += 1;
        let read = parse(&said.text, &Grammar::auto(tools.clone()).unwrap());
        let told = format!("{} for {told}", said.text);
        let [call] = read.calls.as_slice() else {
            panic!("{told}");
        };
        assert_eq!(call.status, Status::Complete, "{told}");
        assert_eq!(call.problems, [], "{told}");
        let verdict = validate_call(&call.call, &tools);
        assert!(verdict.is_valid(), "{:?}: {told}", verdict.error());
    }
    println!("{whole} of {} calls were whole", cases());
    assert!(whole * 4 >= cases(), "{whole} of {}", cases());
}
