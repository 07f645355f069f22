//! What a template says of values: patterns that are too large, and arguments
//! line by line.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it inside tests, but not in the functions that tests share"
)]

use std::time::Duration;

use cpu_time::ThreadTime;
use ptk_protocol::dialects::response_template::ResponseTemplate;
use serde_json::{Value, json};

/// A template whose calls close by this pattern.
fn closed_by(pattern: &str) -> Value {
    json!({
        "start_anchor": "<|bot|>",
        "fields": {
            "tool_calls": {
                "open_pattern": r"<\|use (?P<name>\w+)\|>",
                "close_pattern": pattern,
                "content": "json",
                "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
            },
            "content": {},
        },
    })
}

#[test]
fn patterns_that_stand_for_long_texts_are_refused_at_once() {
    for (pattern, reason) in [
        ("(?:(?:(?:a{32}){32}){32})", "more than 512 bytes"),
        ("(?:(?:(?:(?:a{32}){32}){32}){32})", "more than 512 bytes"),
        (
            "(?:(?:(?:(?:a{32}){32}){32}){32}|b)",
            "more than a few texts",
        ),
        ("(?:(?:(?:a?){32}){32}){32}", "more than a few texts"),
        ("(?:(?:(?:ab|cd){32}){32}){32}", "more than 512 bytes"),
    ] {
        let start = ThreadTime::now();
        let error = ResponseTemplate::from_value(&closed_by(pattern)).unwrap_err();
        assert!(start.elapsed() < Duration::from_millis(100), "{pattern}");
        let message = error.to_string();
        assert!(message.contains("close_pattern"), "{message}");
        assert!(message.contains(reason), "{pattern}: {message}");
    }
    for pattern in ["<done>{2}", "(?:<){3}done", "a{32}>"] {
        ResponseTemplate::from_value(&closed_by(pattern)).unwrap();
    }
}
