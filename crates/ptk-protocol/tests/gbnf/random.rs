//! Random texts of the grammars of random schemas.

use std::sync::{Arc, LazyLock};

use proptest::collection::vec;
use proptest::prelude::*;
use ptk_protocol::dialects::Dialect;
use ptk_protocol::gbnf::Gbnf;
use ptk_protocol::{ToolSpec, Toolset};

use crate::schemas::parameters;
use crate::{
    assert_no_call_lost, assert_one_call, assert_valid, dialects_with, dice, tool, toolset,
};

/// The dialects that have a grammar.
static CALLS: LazyLock<Vec<Arc<dyn Dialect>>> = LazyLock::new(|| dialects_with(Gbnf::of_call));
static REPLIES: LazyLock<Vec<Arc<dyn Dialect>>> = LazyLock::new(|| dialects_with(Gbnf::of_reply));

fn tools() -> impl Strategy<Value = Toolset> {
    vec(("[a-z][a-z0-9_]{0,8}", parameters()), 1..4).prop_map(|specs| {
        let mut tools: Vec<ToolSpec> = Vec::new();
        for (name, parameters) in specs {
            if tools.iter().all(|tool| tool.name != name) {
                tools.push(tool(&name, parameters));
            }
        }
        toolset(tools)
    })
}

/// `PROPTEST_CASES` asks for another number of cases.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let cases = asked.and_then(|cases| cases.parse().ok()).unwrap_or(300);
    ProptestConfig::with_cases(cases)
}

/// Whether all of a schema is kept, or nothing fits it.
fn nothing_is_lost(grammar: &Gbnf) -> bool {
    grammar
        .outside()
        .iter()
        .all(|outside| outside.keyword == "false")
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn arguments_by_the_grammar_are_valid(parameters in parameters(), seed in any::<u64>()) {
        let spec = tool("act", parameters);
        let tools = toolset([spec.clone()]);
        let grammar = Gbnf::of_arguments(&spec);
        prop_assert!(nothing_is_lost(&grammar), "{:?} of {}", grammar.outside(), spec.parameters);
        let mut dice = dice(seed);
        if grammar.outside().is_empty() {
            for _ in 0..4 {
                let args = dice.sample(&grammar);
                assert_valid(&tools, "act", &args);
                prop_assert!(grammar.accepts(&args), "{args}");
            }
        }
    }

    #[test]
    fn calls_by_the_grammar_are_read_as_written(tools in tools(), seed in any::<u64>()) {
        let mut dice = dice(seed);
        let forms = &*CALLS;
        let form = &forms[dice.choose(forms.len())];
        if let Some(grammar) = Gbnf::of_call(&tools, form) {
            prop_assert!(nothing_is_lost(&grammar), "{}: {:?}", form.name(), grammar.outside());
            for _ in 0..2 {
                let call = dice.sample(&grammar);
                assert_one_call(&tools, form, &call);
                prop_assert!(grammar.accepts(&call), "{call}");
            }
        }
    }

    #[test]
    fn replies_by_the_grammar_lose_no_call(tools in tools(), seed in any::<u64>()) {
        let mut dice = dice(seed);
        let forms = &*REPLIES;
        let form = &forms[dice.choose(forms.len())];
        if let Some(grammar) = Gbnf::of_reply(&tools, form) {
            for _ in 0..2 {
                let reply = dice.sample(&grammar);
                assert_no_call_lost(&tools, form, &reply);
                prop_assert!(grammar.accepts(&reply), "{reply}");
            }
        }
    }
}
