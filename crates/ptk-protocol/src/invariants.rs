//! Invariants of every reply and every JSON-like text, whatever is in it:
//! checked by the fuzz targets for hours and by the tests for a moment.

#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a broken invariant is reported by panicking"
)]

use std::sync::LazyLock;

use serde_json::json;

use crate::dialects::Registry;
use crate::dialects::response_template::ResponseTemplate;
use crate::format::guard::Guard;
use crate::parse::Note;
use crate::parse::{
    Drafts, Event, Fences, Grammar, GrammarBuilder, Opening, Parser, Reclassified, Reply,
};
use crate::{Arguments, SpanKind, Status, ToolCall, ToolSpec, Toolset, json as tolerant};

/// Words that replies about tools are made of; the tests and the fuzz targets put
/// them together at random. The marks of all dialects are among them, and a
/// call in each dialect that can be written.
#[must_use]
pub fn vocabulary() -> &'static [&'static str] {
    static VOCABULARY: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let registry = Registry::builtin();
        let marks = Guard::marks_of(&registry);
        let marks = marks.into_iter().map(|mark| mark.text().to_owned());
        let path = Arguments::from_json(r#"{"path": "a.txt"}"#).unwrap_or_default();
        let call = [ToolCall::new("read_file", path)];
        let dialects = registry.all().iter();
        let calls = dialects.filter_map(|dialect| Some(dialect.writer()?.calls(&call)));
        let mut words: Vec<&str> = marks.chain(calls).map(|word| &*word.leak()).collect();
        words.extend(WORDS);
        words
    });
    &VOCABULARY
}

/// Words beside the marks of dialects: parts of calls, quotations, prose.
const WORDS: &[&str] = &[
    "<PTK_CALL>",
    "</PTK_CALL>",
    "<PTK_BATCH>",
    "</PTK_BATCH>",
    "<TOOL_CALL>",
    "</tool_call>",
    "[PTK_CALL]",
    "{\"tool\":\"read_file\",\"args\":{\"path\":\"a.txt\"}}",
    "{\"tool\": \"write_file\", \"args\": {\"path\": \"b\", \"content\": \"x\\n\\u00e9\"}, \"reasoning\": \"why\"}",
    "{\"name\":\"read_file\",\"arguments\":{\"path\":\"c\"}}",
    "{\"tool\":\"nothing\",\"args\":{}}",
    "{\"tool\":\"read_file\",\"args\":",
    "{\"key\": [1, 2]}",
    "[",
    "]",
    "{",
    "}",
    "}}",
    "\"",
    "'",
    "\\",
    "\\\"",
    ":",
    ",",
    ", ",
    "null",
    "True",
    "12.5e3",
    "// note\n",
    "\"path\": \"a\"",
    "read_file(path=\"a.txt\", limit=3)",
    "read_file(",
    "write_file(path='b', content='''x\ny''')",
    ")",
    "TOOL: read_file\nARGS:\n  path: a.txt\n",
    "TOOL: write_file\n",
    "ARGS:\n",
    "  path: b\n",
    "  content: |\n    line\n",
    "<tool name=\"read_file\">",
    "<tool name=\"unknown\">",
    "<arg name=\"path\">",
    "</arg>",
    "</tool>",
    "<tool name=\"read_file\"><arg name=\"path\">v</arg>",
    "<arg name=\"path\"><![CDATA[x]]>",
    "</TOOL>",
    "<![CDATA[",
    "]]>",
    "<tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "[TOOL_CALLS]",
    "[/TOOL_CALLS]",
    "read_file[ARGS]",
    "[CALL_ID]12[ARGS]",
    "<function=read_file>",
    "<function=write_file>\n",
    "</function>",
    "<parameter=path>",
    "<parameter=content>\n",
    "</parameter>",
    "<invoke name=\"read_file\">",
    "<parameter name=\"path\">",
    "</invoke>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "read_file\n<arg_key>path</arg_key>",
    "<arg_key>path</arg_key>",
    "<arg_value>x</arg_value>",
    "<arg_value>",
    "\\n",
    "<tool_sep>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "function<｜tool▁sep｜>read_file\n```json\n",
    "read_file<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<｜DSML｜invoke name=\"read_file\">",
    "<｜DSML｜parameter name=\"path\" string=\"true\">",
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
    "<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|channel|>analysis<|message|>",
    "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>",
    "<|channel|>final<|message|>",
    "<|start|>assistant",
    "<|call|>",
    "<|end|>",
    "<|return|>",
    "<|open|>call tool=\"read_file\" index=\"1\"<|sep|>",
    "<|open|>argument key=\"path\" type=\"string\"<|sep|>",
    "<|close|>argument<|sep|>",
    "<|close|>call<|sep|>",
    "]<]minimax[>[<invoke name=\"read_file\">",
    "]<]minimax[>[<path>",
    "]<]minimax[>[</path>",
    "]<]minimax[>[</invoke>",
    "<function name=\"read_file\">",
    "<param name=\"path\">",
    "</param>",
    "<read_file>",
    "<path>x</path>",
    "<path>",
    "</read_file>",
    "<toolcall>",
    "</toolcall>",
    "functools[",
    "<|python_tag|>",
    "read_file\n",
    ">>>read_file\n",
    "[Calling tool: read_file(",
    ")]",
    "<|tools_prefix|>[{\"read_file\":{\"path\":\"a\"}}]",
    "to=read_file<|message|>",
    "<atem:invoke name=\"read_file\">",
    "\nPTK_RESULT",
    " call_1",
    ": {\"content\": \"x\"}\n",
    "\nTOOL_ERROR: no such file",
    "\n<tool_response>\n",
    "\nObservation: x\n",
    "\nUSER: ",
    "\nASSISTANT: ",
    "<|im_end|>\n<|im_start|>user\n",
    "<PTK_BLOCK write_file>\n",
    "content <<EOF\n",
    "content: |\n",
    "content <<'EOF'\n",
    "  EOF\n",
    "EOF</PTK_BLOCK>\n",
    "path: c.txt\n",
    "EOF\n",
    "</PTK_BLOCK>",
    "[read_file(path='a.txt'), write_file(",
    "path='b', content=\"x",
    "limit=3, ",
    ")]",
    "<|python_start|>",
    "<|python_end|>",
    "<|tool_call_start|>[",
    "<|tool_call_end|>",
    "<function_calls>",
    "</function_calls>",
    "<|tool_call>call:read_file{path:",
    "<|\"|>",
    "}<tool_call|>",
    "call:write_file{",
    "<start_function_call>call:read_file{limit:3,path:",
    "<escape>",
    "}<end_function_call>",
    "[TOOL_CALL]\n{tool => \"read_file\", args => {\n",
    "--path \"a.txt\"\n",
    "}}\n[/TOOL_CALL]",
    "TOOL_NAME: write_file\n",
    "BEGIN_ARG: content\n",
    "END_ARG\n",
    "Action:\n",
    "<write_file>\n",
    "content: x\n",
    "</write_file>",
    "<think>",
    "</think>",
    "[THINK]",
    "`",
    "``",
    "```",
    "```json\n",
    "~~~\n",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "> ",
    "Some words. ",
    "Đọc file ",
    "😀",
    "\u{feff}",
    "“",
    "”",
];

/// The tools that the checks declare.
#[must_use]
pub fn tools() -> Toolset {
    let text = json!({"type": "string"});
    Toolset::new([
        ToolSpec::new(
            "read_file",
            "Read a file",
            json!({
                "type": "object",
                "properties": {"path": text, "limit": {"type": "integer"}},
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
    ])
    .unwrap_or_default()
}

/// Checks a reply made of arbitrary bytes; the first one chooses the dialect
/// and whether tools are declared, the second where it is cut.
pub fn check_reply(data: &[u8]) {
    let (&[choice, cut], rest) = data.split_first_chunk().unwrap_or((&[0, 0], data));
    let text = String::from_utf8_lossy(rest);
    let grammar = grammar(usize::from(choice));
    let whole = read(grammar, std::iter::once(&*text));
    check_account(&whole.reply, &text);
    whole.check_calls(&text);
    let plain = crate::parse(&text, grammar);
    assert_eq!(plain, whole.reply, "explaining changes nothing: {text:?}");
    if whole.is_read_again {
        let answer = crate::parse(&text, &TEXT);
        assert_eq!(answer, whole.reply, "no reasoning was expected: {text:?}");
    }

    let size = usize::from(cut) + 1;
    for size in [1, size] {
        let split = read(grammar, pieces(&text, size));
        assert_eq!(
            split.reply, whole.reply,
            "cut into pieces of {size}: {text:?}"
        );
        assert_eq!(
            split.fragments, whole.fragments,
            "cut into pieces of {size}: {text:?}"
        );
        assert_eq!(
            split.notes, whole.notes,
            "cut into pieces of {size}: {text:?}"
        );
    }
}

/// All grammars, built once: every dialect alone and `auto`, with tools
/// declared and without.
static GRAMMARS: LazyLock<Vec<Grammar>> = LazyLock::new(|| {
    let registry = Registry::builtin();
    let names = registry.all().iter().map(|dialect| dialect.name());
    let mut grammars = Vec::new();
    // `auto` is what most replies meet, so most checks get it.
    for name in names.chain(["auto"; 8]) {
        for builder in [
            Grammar::builder().tools(tools()),
            Grammar::builder().tools(tools()).drafts(Drafts::Run),
            Grammar::builder().fences(Fences::Quote),
        ] {
            grammars.push(build(builder.dialect(name)));
        }
    }
    for opening in [Opening::Likely, Opening::Reasoning, Opening::Likely] {
        for drafts in [Drafts::Rescue, Drafts::Run] {
            let builder = Grammar::builder().tools(tools()).drafts(drafts);
            grammars.push(build(builder.dialect("auto").opening(opening)));
        }
    }
    grammars
});

/// What a reply is read by that does not begin with the expected reasoning.
static TEXT: LazyLock<Grammar> =
    LazyLock::new(|| build(Grammar::builder().tools(tools()).dialect("auto")));

fn build(builder: GrammarBuilder) -> Grammar {
    match builder.build() {
        Ok(grammar) => grammar,
        Err(error) => panic!("{error}"),
    }
}

fn grammar(choice: usize) -> &'static Grammar {
    match GRAMMARS.get(choice % GRAMMARS.len()) {
        Some(grammar) => grammar,
        None => panic!("there are no grammars"),
    }
}

/// Checks every cut in two of a reply against the reply as a whole.
pub fn check_every_cut(grammar: &Grammar, text: &str) {
    let whole = read(grammar, std::iter::once(text));
    check_account(&whole.reply, text);
    whole.check_calls(text);
    let plain = crate::parse(text, grammar);
    assert_eq!(plain, whole.reply, "explaining changes nothing: {text:?}");
    for cut in 1..text.len() {
        if let Some((head, tail)) = text.split_at_checked(cut) {
            let split = read(grammar, [head, tail]);
            assert_eq!(split.reply, whole.reply, "cut at {cut}: {text:?}");
            assert_eq!(split.fragments, whole.fragments, "cut at {cut}: {text:?}");
            assert_eq!(split.notes, whole.notes, "cut at {cut}: {text:?}");
        }
    }
}

/// Checks that a reply read in these pieces is the reply read whole.
pub fn check_pieces<'t>(grammar: &Grammar, text: &str, pieces: impl IntoIterator<Item = &'t str>) {
    let whole = read(grammar, std::iter::once(text));
    let split = read(grammar, pieces);
    assert_eq!(split.reply, whole.reply, "{text:?}");
    assert_eq!(split.fragments, whole.fragments, "{text:?}");
    assert_eq!(split.notes, whole.notes, "{text:?}");
}

/// Checks a response template made of arbitrary bytes, taken as its file and as
/// the pattern that opens its calls: no panic, and what is read by it is the same
/// however the reply is cut.
pub fn check_template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let with_pattern = json!({
        "start_anchor": "<|bot|>",
        "fields": {
            "tool_calls": {"open_pattern": text, "close": "<|end|>", "content": "json"},
            "content": {},
        },
    });
    let templates = [
        ResponseTemplate::from_json(&text),
        ResponseTemplate::from_value(&with_pattern),
    ];
    for template in templates.into_iter().flatten() {
        let registry = template.register(Registry::builtin(), "own");
        let grammar = Grammar::builder().registry(registry).dialect("own").build();
        let reply = format!("{text} {text}{{\"name\": \"f\", \"arguments\": {{}}}}<|end|>");
        if let Ok(grammar) = grammar {
            check_pieces(&grammar, &reply, reply.split_inclusive(|_: char| true));
        }
    }
}

/// Checks the repair of arbitrary bytes: no panic, and what comes out is JSON.
pub fn check_repair(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let strict = serde_json::from_str::<serde_json::Value>(text.trim());
    match tolerant::repair(&text) {
        Ok(repaired) => {
            let value = serde_json::from_str::<serde_json::Value>(&repaired.json);
            assert!(value.is_ok(), "{text:?} became {:?}", repaired.json);
            if strict.is_ok() {
                assert!(repaired.fixes.is_empty(), "{text:?} is valid");
                assert_eq!(repaired.json, text.trim(), "valid JSON is never altered");
            }
        }
        Err(_) => assert!(strict.is_err(), "{text:?} is valid and was refused"),
    }
}

/// A reply, why it was read so, and the argument fragments of each call as they
/// were streamed.
struct Read {
    reply: Reply,
    notes: Vec<Note>,
    fragments: Vec<String>,
    starts: Vec<String>,
    /// How many calls turned out to be drafts, and those that may be rescued.
    drafts: usize,
    drafted: (Vec<String>, Vec<String>),
    /// Whether the reply was read once more, without the expected reasoning.
    is_read_again: bool,
}

fn read<'t>(grammar: &Grammar, pieces: impl IntoIterator<Item = &'t str>) -> Read {
    let mut result = Read {
        reply: Reply::default(),
        notes: Vec::new(),
        fragments: Vec::new(),
        starts: Vec::new(),
        drafts: 0,
        drafted: Default::default(),
        is_read_again: false,
    };
    let mut parser = Parser::new(grammar).explained();
    let mut sink = |event: Event<'_>| {
        match &event {
            Event::CallStart { index, name } => {
                let calls = result.drafts + result.starts.len();
                assert_eq!(*index, calls, "calls are counted in order");
                result.starts.push(name.clone());
                result.fragments.push(String::new());
            }
            Event::ArgumentsDelta { index, json } => match index
                .checked_sub(result.drafts)
                .and_then(|index| result.fragments.get_mut(index))
            {
                Some(fragments) => fragments.push_str(json),
                None => panic!("arguments of a call that did not start"),
            },
            Event::Reclassified(Reclassified::Reasoning { markup: Some(_) }) => {
                result.drafts = result.starts.len();
                result.drafted = (
                    std::mem::take(&mut result.starts),
                    std::mem::take(&mut result.fragments),
                );
            }
            Event::Reclassified(Reclassified::Text) => result.is_read_again = true,
            Event::Reclassified(Reclassified::Rescued) => {
                (result.starts, result.fragments) = std::mem::take(&mut result.drafted);
            }
            _ => {}
        }
        result.reply.absorb(event);
    };
    for piece in pieces {
        parser.push_to(piece, &mut sink);
    }
    parser.finish_to(&mut sink);
    result.notes = parser.notes();
    result
}

impl Read {
    /// Checks that every call that starts also ends, under its name, and that
    /// what was streamed of its arguments is what they turned out to be.
    fn check_calls(&self, text: &str) {
        let names: Vec<&str> = self
            .reply
            .calls
            .iter()
            .map(|call| &*call.call.name)
            .collect();
        assert_eq!(self.starts, names, "{text:?}");
        for (fragments, call) in self.fragments.iter().zip(&self.reply.calls) {
            if call.status == Status::Truncated {
                assert!(!call.is_runnable());
                continue;
            }
            match Arguments::from_json(fragments) {
                Ok(args) => assert_eq!(args, call.call.args, "{text:?}"),
                Err(error) => panic!("{fragments:?} of {text:?} is not JSON: {error}"),
            }
        }
    }
}

/// Checks that every byte is in exactly one piece, and that text and reasoning
/// are the content of their pieces.
fn check_account(reply: &Reply, text: &str) {
    let mut at = 0;
    let mut shown = String::new();
    let mut thought = String::new();
    for piece in &reply.pieces {
        assert_eq!(
            piece.start, at,
            "a gap or overlap in {text:?}: {:?}",
            reply.pieces
        );
        let Some(slice) = text.get(piece.start..piece.end) else {
            panic!("{piece:?} is no stretch of {text:?}")
        };
        match piece.kind {
            SpanKind::Text => shown.push_str(slice),
            SpanKind::Reasoning => thought.push_str(slice),
            SpanKind::Call | SpanKind::Mark | SpanKind::Problem => {}
        }
        at = piece.end;
    }
    assert_eq!(at, text.len(), "the end of {text:?} is missing");
    assert_eq!(reply.text, shown, "{text:?}");
    assert_eq!(reply.reasoning, thought, "{text:?}");
}

/// The text in pieces of about `size` bytes.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = size.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// Words of the vocabulary, and now and then anything else. The words of
    /// one dialect alone meet each other more often than those of all.
    fn reply() -> impl Strategy<Value = String> {
        let part = |words: &'static [&'static str]| {
            let word = prop_oneof![
                12 => select(words).prop_map(str::to_owned),
                1 => any::<String>(),
                1 => "[a-z ]{0,12}",
            ];
            vec(word, 0..24).prop_map(|words| words.concat())
        };
        prop_oneof![
            3 => part(vocabulary()),
            1 => part(XML),
            1 => part(BLOCK),
            1 => part(JSON),
            1 => part(PYTHON),
            1 => part(KEY_VALUES),
            1 => part(ARROWS),
            1 => part(YAML),
            1 => part(LINES),
        ]
    }

    const XML: &[&str] = &[
        "<tool name=\"read_file\">",
        "<tool name=\"no\">",
        "<arg name=\"path\">",
        "<arg name=\"limit\" type=\"number\">",
        "</arg>",
        "</tool>",
        "<![CDATA[",
        "]]>",
        "v",
        " ",
        "\n",
        "&lt;",
        "{\"path\": \"a\"}",
        "words ",
    ];

    const BLOCK: &[&str] = &[
        "<PTK_BLOCK write_file>\n",
        "<PTK_BLOCK write_file>",
        "path: a\n",
        "content: |\n",
        "content <<EOF\n",
        "content <<'EOF'\n",
        "EOF\n",
        "  EOF\n",
        "EOF",
        "</PTK_BLOCK>",
        "\n",
        "\r\n",
        "words ",
        "\"",
    ];

    const JSON: &[&str] = &[
        "<PTK_CALL>",
        "</PTK_CALL>",
        "<PTK_BATCH>[",
        "{\"tool\":\"read_file\",\"args\":{\"path\":\"",
        "\"}}",
        "\"",
        "\\",
        "\n",
        ",",
        "}",
        "]",
        "```json\n",
        "\n```",
        "a b",
        "<think>",
        "</think>",
    ];

    const PYTHON: &[&str] = &[
        "[read_file(",
        "read_file(",
        "write_file(",
        "other(",
        "path=",
        "limit=",
        "'",
        "\"",
        "\"\"\"",
        "a b",
        "\\n",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\",
        "3",
        "None",
        "r'",
        "**{'path': 'x'}",
        "[1, {'k': (True,)}]",
        ", ",
        ")",
        "]",
        "# why",
        "\n",
        "<|python_start|>",
        "<|tool_call_start|>",
        "<|tool_call_end|>",
        "<function_calls>",
        "</function_calls>",
        "```\n",
        "<think>",
        "</think>",
    ];

    const KEY_VALUES: &[&str] = &[
        "<|tool_call>",
        "<tool_call|>",
        "<start_function_call>",
        "<end_function_call>",
        "call:read_file{",
        "call:write_file{",
        "call:other{",
        "path:",
        "limit:",
        "<|\"|>",
        "<escape>",
        "\"k\":",
        "\"x\\n\"",
        "{a:[1,",
        "]",
        "}",
        ",",
        "42",
        "word",
        "null",
        " ",
        "\n",
        "<",
    ];

    const ARROWS: &[&str] = &[
        "[TOOL_CALL]",
        "[/TOOL_CALL]",
        "\n",
        "{tool => \"read_file\", args => {",
        "{tool => \"read_file\"}",
        "--path ",
        "--limit ",
        "--",
        "\"a",
        "\"",
        "\\",
        "3",
        "[1, {}]",
        "{",
        "}",
        "}}",
        " ",
        "words",
    ];

    const YAML: &[&str] = &[
        "TOOL: write_file\n",
        "ARGS:\n",
        "REASONING: so\n",
        "<write_file>\n",
        "</write_file>",
        "  path: a\n",
        "path: b\n",
        "content: |\n",
        "  content: |-\n",
        "  content: >\n",
        "    line\n",
        "  line\n",
        "\ttab\n",
        "  - item\n",
        "  limit: [1,\n",
        "    2]\n",
        "\"path\": \"x: y\"\n",
        "  content: a # b\n",
        "\n",
        "   \n",
        "\r\n",
        "words\n",
        "```\n",
    ];

    const LINES: &[&str] = &[
        "```tool\n",
        "```\n",
        "```",
        "TOOL_NAME: write_file\n",
        "TOOL_NAME: other\n",
        "BEGIN_ARG: path\n",
        "BEGIN_ARG: limit\n",
        "END_ARG\n",
        "END_ARG",
        "a\n",
        "\"b\"\n",
        "\n",
        "Action:",
        "Action:\n```json\n",
        "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}",
        "[{\"tool_name\": \"read_file\", \"parameters\": {}}]",
        "{\"name\": \"other\"}",
        "{",
        "words\n",
    ];

    /// `PROPTEST_CASES` asks for another number of cases.
    fn config() -> ProptestConfig {
        let asked = std::env::var("PROPTEST_CASES").ok();
        let cases = asked.and_then(|cases| cases.parse().ok()).unwrap_or(3000);
        ProptestConfig::with_cases(cases)
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn any_reply_in_any_pieces_is_read_alike_and_accounted_for(
            choice: u8, cut: u8, text in reply()
        ) {
            let mut data = vec![choice, cut % 32];
            data.extend(text.bytes());
            check_reply(&data);
        }

        #[test]
        fn any_text_is_repaired_into_json_or_refused(text in reply()) {
            check_repair(text.as_bytes());
        }
    }

    #[test]
    fn every_cut_of_a_mixed_reply_reads_alike() {
        let grammar = Grammar::auto(tools()).unwrap();
        let text = "Hi `x` <think>no <PTK_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"q\"}}</PTK_CALL> \
                    </think>\n<PTK_CALL>\n{\"tool\":\"read_file\",\"args\":{\"path\":\"a\",}}\n</PTK_CALL>\n\
                    TOOL: read_file\nARGS:\n  path: é\n\nread_file(path='b')\n```\nread_file(path='c')\n```\n";
        check_every_cut(&grammar, text);
    }
}
