//! Generated inputs of the benchmarks: the same every time, of any size.

#![allow(dead_code, reason = "no benchmark needs all of it")]

use std::fmt::Write as _;

use ptk_protocol::{Grammar, GrammarError, ToolSpec, Toolset, ToolsetError};
use serde_json::json;

/// Characters in one piece of a stream: about a token.
const PIECE: usize = 4;

const WORDS: &[&str] = &[
    "the",
    "of",
    "and",
    "a",
    "to",
    "in",
    "that",
    "is",
    "it",
    "for",
    "with",
    "as",
    "on",
    "be",
    "at",
    "by",
    "this",
    "from",
    "or",
    "an",
    "are",
    "was",
    "which",
    "not",
    "but",
    "can",
    "when",
    "there",
    "reader",
    "buffer",
    "server",
    "model",
    "answer",
    "request",
    "window",
    "history",
    "folder",
    "sentence",
    "paragraph",
    "measure",
    "result",
    "branch",
    "change",
    "version",
    "number",
    "letter",
    "because",
    "between",
    "without",
    "through",
    "usually",
    "already",
    "several",
    "another",
    "writes",
    "returns",
    "expects",
    "follows",
    "holds",
    "opens",
    "closes",
    "waits",
    "keeps",
    "small",
    "large",
    "simple",
    "careful",
    "quiet",
    "honest",
    "useful",
    "plain",
    "early",
    "late",
    "implementation",
    "configuration",
    "documentation",
    "understanding",
    "nevertheless",
    "it's",
    "don't",
    "user's",
    "well-known",
    "café",
    "naïve",
];

const CODE: &[&str] = &[
    "use std::collections::HashMap;",
    "fn count(words: &[&str]) -> usize {",
    "    let mut total = 0;",
    "    for word in words {",
    "        if word.starts_with(\"a\") && word.len() > 3 {",
    "            total += 1;",
    "        }",
    "    }",
    "    println!(\"{} words\\t{total}\", words.len());",
    "    total",
    "}",
    "",
    "// The path may hold a backslash: C:\\temp.",
    "#[derive(Debug, Clone)]",
    "struct Entry { name: String, size: u64 }",
    "    let found = map.get(&key).copied().unwrap_or(0);",
];

/// The `SplitMix64` generator: the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap_or(0)
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all.get(self.below(all.len())).copied().unwrap_or_default()
    }
}

/// The tools that are declared in all benchmarks.
pub(crate) fn tools() -> Result<Toolset, ToolsetError> {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer", "minimum": 1});
    Toolset::new([
        ToolSpec::new(
            "read_file",
            "Read a file",
            json!({
                "type": "object",
                "properties": {"path": text, "offset": number, "limit": number},
                "required": ["path"],
            }),
        ),
        ToolSpec::new(
            "write_file",
            "Write a file",
            json!({
                "type": "object",
                "properties": {"path": text, "content": text},
                "required": ["path", "content"],
            }),
        ),
        ToolSpec::new(
            "grep",
            "Search files",
            json!({
                "type": "object",
                "properties": {
                    "pattern": text,
                    "paths": {"type": "array", "items": text},
                    "case": {"enum": ["exact", "ignore"]},
                },
                "required": ["pattern"],
            }),
        ),
        ToolSpec::new(
            "bash",
            "Run a command",
            json!({
                "type": "object",
                "properties": {"command": text, "timeout": number},
                "required": ["command"],
            }),
        ),
    ])
}

/// A grammar with these tools, for one dialect or `auto`.
pub(crate) fn grammar(dialect: &str) -> Result<Grammar, Box<dyn std::error::Error>> {
    let build = |tools| -> Result<Grammar, GrammarError> {
        Grammar::builder().tools(tools).dialect(dialect).build()
    };
    Ok(build(tools()?)?)
}

/// A form of calls: the marks and keys around them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    open: &'static str,
    name: &'static str,
    args: &'static str,
    close: &'static str,
}

/// PTK's own form.
pub(crate) const PTK: Form = Form {
    open: "<PTK_CALL>\n",
    name: "tool",
    args: "args",
    close: "\n</PTK_CALL>",
};

/// The form that most models are trained on.
pub(crate) const HERMES: Form = Form {
    open: "<tool_call>\n",
    name: "name",
    args: "arguments",
    close: "\n</tool_call>",
};

impl Form {
    fn call(self, name: &str, args: &str) -> String {
        let Self {
            open,
            name: name_key,
            args: args_key,
            close,
        } = self;
        format!(r#"{open}{{"{name_key}": "{name}", "{args_key}": {args}}}{close}"#)
    }
}

/// Paragraphs, in lines of 60 to 400 characters, with the punctuation that
/// prose has: quotation marks, parentheses, now and then inline code.
pub(crate) fn prose(bytes: usize) -> String {
    let mut random = Random(1);
    let mut text = String::with_capacity(bytes + 512);
    while text.len() < bytes {
        for _ in 0..=random.below(3) {
            let end = text.len() + 60 + random.below(260);
            while text.len() < end {
                sentence(&mut random, &mut text);
                text.push(' ');
            }
            text.pop();
            text.push('\n');
        }
        text.push('\n');
    }
    cut(&mut text, bytes);
    text
}

fn sentence(random: &mut Random, text: &mut String) {
    let start = text.len();
    let words = 5 + random.below(14);
    for position in 0..words {
        let word = random.of(WORDS);
        let _ = match random.below(200) {
            0..=2 => write!(text, "\"{word}\""),
            3..=5 => write!(text, "({word} {})", random.of(WORDS)),
            6 => write!(text, "`{word}`"),
            7 => write!(text, "{}", random.below(5000)),
            _ => write!(text, "{word}"),
        };
        if position + 1 < words {
            text.push_str(if random.one_in(9) { ", " } else { " " });
        }
    }
    if let Some(first) = text.get_mut(start..=start) {
        first.make_ascii_uppercase();
    }
    text.push_str(random.of(&[".", ".", ".", ".", "?", ":", "!"]));
}

/// Prose with one call of a few arguments near its end.
pub(crate) fn one_call(form: Form, bytes: usize) -> String {
    let call = form.call(
        "read_file",
        r#"{"path": "crates/ptk-protocol/src/parse/engine/mod.rs", "offset": 120, "limit": 80}"#,
    );
    let before = prose(bytes.saturating_sub(call.len() + 150));
    let behind = prose(140);
    format!("{}\n\n{call}\n\n{behind}", before.trim_end())
}

/// A source file.
fn source(bytes: usize) -> String {
    let mut random = Random(2);
    let mut content = String::with_capacity(bytes + 64);
    while content.len() < bytes {
        content.push_str(random.of(CODE));
        content.push_str(random.of(CODE).trim_start());
        content.push('\n');
    }
    content
}

/// A call that writes a source file, in the tags of DeepSeek V3.2 and V4.
pub(crate) fn write_file_in_dsml(bytes: usize) -> String {
    let content = source(bytes.saturating_sub(300));
    let tag = |name: &str, value: &str| {
        format!("<｜DSML｜parameter name=\"{name}\" string=\"true\">{value}</｜DSML｜parameter>\n")
    };
    let (path, content) = (tag("path", "src/count.rs"), tag("content", &content));
    format!(
        "I'll write the file.\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"write_file\">\n{path}{content}</｜DSML｜invoke>\n</｜DSML｜tool_calls>\n"
    )
}

/// A call that writes a source file: an escape about every 40 bytes.
pub(crate) fn write_file(form: Form, bytes: usize) -> String {
    let content = source(bytes.saturating_sub(bytes / 14));
    let args = json!({"path": "src/count.rs", "content": content}).to_string();
    format!(
        "I'll write the file.\n\n{}\n",
        form.call("write_file", &args)
    )
}

/// A list of records with one fault in the middle: a comma too many.
pub(crate) fn broken_json(bytes: usize) -> String {
    json_rows(bytes, true)
}

/// The list of [`broken_json`] without the fault.
pub(crate) fn valid_json(bytes: usize) -> String {
    json_rows(bytes, false)
}

fn json_rows(bytes: usize, broken: bool) -> String {
    let mut random = Random(3);
    let mut text = String::with_capacity(bytes + 512);
    text.push_str("{\"rows\": [");
    let mut fault = broken;
    while text.len() < bytes {
        let mut words = String::new();
        sentence(&mut random, &mut words);
        let row = json!({
            "id": random.below(100_000),
            "name": random.of(WORDS),
            "tags": [random.of(WORDS), random.of(WORDS)],
            "text": format!("{words}\nAnd a second line."),
            "score": 0.25,
            "ok": true,
        });
        text.push_str(&row.to_string());
        if fault && text.len() >= bytes / 2 {
            text.pop();
            text.push_str(",}");
            fault = false;
        }
        text.push_str(",\n");
    }
    text.truncate(text.len() - 2);
    text.push_str("]}");
    text
}

/// A text as a stream brings it. Nothing is stored, so that little but the
/// parser is measured.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(PIECE)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Shortens a text to so many bytes, or to the character before.
fn cut(text: &mut String, bytes: usize) {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}
