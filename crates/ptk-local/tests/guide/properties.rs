//! What holds for any request and any names.

use proptest::prelude::*;
use ptk_local::guide::{Guide, Move, Name, Surroundings};
use ptk_protocol::ToolCall;
use ptk_protocol::schema::validate_call;

use crate::tools::{ALL, asked, offered};

/// Words that requests are made of, so that something is called now and then.
const WORDS: &[&str] = &[
    "read",
    "write",
    "find",
    "search",
    "list",
    "for",
    "in",
    "to",
    "with",
    "the",
    "files",
    "all",
    "called",
    "text",
    "replace",
    "run",
    "README.md",
    "src",
    "a.txt",
    "*.rs",
    "\"quoted\"",
    "'",
    "{",
    "snake_case",
    "12",
    "Rust",
    ":",
    "docs/",
    "é",
    "first",
    "line",
    "second",
    "weather",
    "…",
    "two",
    "lines",
    "starting",
    "[",
    "[1]",
    "**",
    "/",
    ".",
    "\n",
];

fn request() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => prop::sample::select(WORDS).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ];
    prop::collection::vec(word, 0..14).prop_map(|words| words.join(" "))
}

fn names() -> impl Strategy<Value = Vec<Name>> {
    let path = prop_oneof!["[a-z]{1,4}(/[a-z]{1,4}){0,2}(\\.[a-z]{1,3})?", "\\PC{1,10}"];
    let name = (path, any::<bool>()).prop_map(|(path, is_folder)| Name { path, is_folder });
    prop::collection::vec(name, 0..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_called_was_offered_and_is_valid(
        request in request(),
        names in names(),
        tools in prop::sample::subsequence(ALL, 0..=ALL.len()),
    ) {
        let tools = offered(&tools);
        let guide = Guide::new(&tools, Surroundings::new(names, ["write_file", "edit"]));
        if let Move::Call { tool, arguments } = asked(&guide, &request) {
            let call = ToolCall::new(tool, arguments);
            let validation = validate_call(&call, &tools);
            prop_assert!(validation.is_valid(), "{:?}", validation.error());
        }
    }
}
