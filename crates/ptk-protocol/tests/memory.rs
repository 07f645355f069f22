//! How much memory a long call takes while it streams: its text once, its
//! arguments once, and little more.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow this inside tests, but not in the functions that tests share"
)]

use std::cell::Cell;

use peak_alloc::PeakAlloc;
use ptk_protocol::{Event, Grammar, Parser, ToolSpec, Toolset};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const SIZE: usize = 8 << 20;
/// The length of a chunk of a stream.
const CHUNK: usize = 1024;

fn grammar() -> Grammar {
    let tools = Toolset::new([ToolSpec::new(
        "write_file",
        "Write a file",
        json!({"type": "object", "properties": {
            "path": {"type": "string"}, "content": {"type": "string"},
        }}),
    )]);
    Grammar::auto(tools.unwrap()).unwrap()
}

/// The most memory that is in use after a chunk or when a call ends, as a
/// multiple of the reply's length.
fn peak(text: &str, grammar: &Grammar) -> f64 {
    let before = ALLOCATOR.current_usage();
    let most = Cell::new(before);
    let look = || most.set(most.get().max(ALLOCATOR.current_usage()));
    let calls = Cell::new(0);
    let mut sink = |event: Event<'_>| {
        if let Event::CallEnd { .. } = event {
            calls.set(calls.get() + 1);
            look();
        }
    };
    let mut parser = Parser::new(grammar);
    let mut rest = text;
    while let Some((chunk, behind)) = rest.split_at_checked(CHUNK) {
        parser.push_to(chunk, &mut sink);
        look();
        rest = behind;
    }
    parser.push_to(rest, &mut sink);
    parser.finish_to(&mut sink);
    assert_eq!(calls.get(), 1);
    #[expect(clippy::cast_precision_loss, reason = "a ratio to look at")]
    let times = (most.get() - before) as f64 / text.len() as f64;
    times
}

#[test]
fn a_long_call_takes_about_twice_its_length() {
    let grammar = grammar();
    let line = "    let total = items.iter().map(|item| item.price).sum::<u64>();\n";
    let content = line.repeat(SIZE / line.len());
    let json = serde_json::to_string(&content).unwrap();
    for (name, text) in [
        (
            "ptk",
            format!(
                r#"<PTK_CALL>{{"tool":"write_file","args":{{"path":"a","content":{json}}}}}</PTK_CALL>"#
            ),
        ),
        (
            "qwen3-coder",
            format!(
                "<tool_call>\n<function=write_file>\n<parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"
            ),
        ),
        (
            "pythonic",
            format!("<|python_start|>[write_file(path='a', content={json})]"),
        ),
        (
            "block",
            format!("<PTK_BLOCK write_file>\npath: a\ncontent <<EOF\n{content}\nEOF\n</PTK_BLOCK>"),
        ),
    ] {
        let times = peak(&text, &grammar);
        assert!(times < 2.1, "{name} takes {times:.2} times its length");
    }
}
