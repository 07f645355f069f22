//! Grammars of the built-in tools: all of their schemas are kept, or it is
//! known what is not.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it in tests, but not in what tests share"
)]

use std::sync::Arc;

use ptk_protocol::dialects::{Dialect, Ptk};
use ptk_protocol::gbnf::Gbnf;
use ptk_tools::tools::all;
use ptk_tools::tools::get_diagnostics::Diagnostics;

#[test]
fn the_schemas_of_the_built_in_tools_are_kept() {
    let registry = all(Diagnostics::default()).unwrap();
    let tools = registry.toolset();
    let dialect: Arc<dyn Dialect> = Arc::new(Ptk::default());
    let grammar = Gbnf::of_reply(tools, &dialect).unwrap();
    let outside: Vec<String> = grammar.outside().iter().map(ToString::to_string).collect();
    assert_eq!(outside, [""; 0]);
    let text = grammar.to_string();
    for name in tools.names() {
        assert!(text.contains(name), "{name}");
        let alone = Gbnf::of_arguments(tools.get(name).unwrap());
        assert_eq!(alone.outside(), [], "{name}");
    }
}
