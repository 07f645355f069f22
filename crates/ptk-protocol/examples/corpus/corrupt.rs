//! The ways in which models break a call, one at a time.

use ptk_protocol::Toolset;

use crate::random::Random;

/// A kind of breakage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    TrailingComma,
    MissingComma,
    SingleQuotes,
    TypographicQuotes,
    UnquotedKey,
    PythonLiterals,
    Comment,
    RawLineBreak,
    UnescapedQuote,
    MissingQuote,
    MissingCloser,
    ExtraCloser,
    OtherKeys,
    StringifiedArguments,
    FlatArguments,
    InnerFence,
    LowerCaseMark,
    MisspeltMark,
    MissingOpenMark,
    MissingCloseMark,
    ExtraCloseMark,
    OuterFence,
    Prose,
    Indented,
    MissingInnerClose,
    CutOff,
}

const JSON: &[Kind] = &[
    Kind::TrailingComma,
    Kind::MissingComma,
    Kind::SingleQuotes,
    Kind::TypographicQuotes,
    Kind::UnquotedKey,
    Kind::PythonLiterals,
    Kind::Comment,
    Kind::RawLineBreak,
    Kind::UnescapedQuote,
    Kind::MissingQuote,
    Kind::MissingCloser,
    Kind::ExtraCloser,
    Kind::OtherKeys,
    Kind::StringifiedArguments,
    Kind::FlatArguments,
    Kind::InnerFence,
    Kind::LowerCaseMark,
    Kind::MisspeltMark,
    Kind::MissingOpenMark,
    Kind::MissingCloseMark,
    Kind::ExtraCloseMark,
    Kind::OuterFence,
    Kind::Prose,
    Kind::Indented,
    Kind::CutOff,
];
const FUNCTION: &[Kind] = &[
    Kind::TrailingComma,
    Kind::SingleQuotes,
    Kind::PythonLiterals,
    Kind::OuterFence,
    Kind::Prose,
    Kind::Indented,
    Kind::CutOff,
];
const YAML: &[Kind] = &[Kind::OuterFence, Kind::Prose, Kind::LowerCaseMark];
const XML: &[Kind] = &[
    Kind::SingleQuotes,
    Kind::MissingCloseMark,
    Kind::ExtraCloseMark,
    Kind::MissingInnerClose,
    Kind::LowerCaseMark,
    Kind::OuterFence,
    Kind::Prose,
    Kind::Indented,
    Kind::CutOff,
];
/// Values in tags, as they are: there is no JSON around them that could break.
const TAGGED: &[Kind] = &[
    Kind::MissingCloseMark,
    Kind::ExtraCloseMark,
    Kind::LowerCaseMark,
    Kind::OuterFence,
    Kind::Prose,
    Kind::CutOff,
];
const BLOCK: &[Kind] = &[
    Kind::MissingCloseMark,
    Kind::ExtraCloseMark,
    Kind::LowerCaseMark,
    Kind::OuterFence,
    Kind::Prose,
    Kind::CutOff,
];

/// Breaks the text of one or more calls once, in a way that fits the dialect.
/// `None` where the kind that was drawn has nothing to break here.
pub(crate) fn once(
    dialect: &str,
    text: &str,
    tools: &Toolset,
    random: &mut Random,
) -> Option<(Kind, String)> {
    let kinds = match dialect {
        "function" => FUNCTION,
        "yaml" => YAML,
        "xml" => XML,
        "block" => BLOCK,
        "glm" | "qwen3-coder" => TAGGED,
        _ => JSON,
    };
    let kind = *random.pick(kinds)?;
    let broken = match kind {
        Kind::TrailingComma => {
            let closer = if dialect == "function" { ")" } else { "}" };
            splice(text, random, closer, |at| (at, 0, ","))
                .filter(|_| !text.contains("{}") && !text.contains("()"))
        }
        Kind::MissingComma => splice(text, random, "\",\"", |at| (at + 1, 1, " ")),
        Kind::SingleQuotes => single_quotes(text),
        Kind::TypographicQuotes => pairs(text, "“", "”"),
        Kind::UnquotedKey => text
            .contains("\"args\":")
            .then(|| text.replacen("\"args\":", "args:", 1)),
        Kind::PythonLiterals => python_literals(text),
        Kind::Comment => splice(text, random, "\"args\":", |at| {
            (at, 0, "// the arguments\n")
        }),
        Kind::RawLineBreak => text.contains("\\n").then(|| text.replacen("\\n", "\n", 1)),
        Kind::UnescapedQuote => text.contains("\\\"").then(|| text.replace("\\\"", "\"")),
        Kind::MissingQuote => {
            let closing = *random.pick(&["\",", "\"}", "\":"])?;
            let places: Vec<usize> = text.match_indices(closing).map(|(at, _)| at).collect();
            random.pick(&places).map(|at| remove(text, *at, 1))
        }
        Kind::MissingCloser => last(text, "}").map(|at| remove(text, at, 1)),
        Kind::ExtraCloser => last(text, "}").map(|at| insert(text, at, "}")),
        Kind::OtherKeys => text.contains("\"tool\":").then(|| {
            text.replace("\"tool\":", "\"name\":")
                .replace("\"args\":", "\"arguments\":")
        }),
        Kind::StringifiedArguments => stringified(text),
        Kind::FlatArguments => flat(text, tools),
        Kind::InnerFence => inner_fence(text),
        Kind::LowerCaseMark => Some(lower_marks(text)),
        Kind::MisspeltMark => {
            let other = *random.pick(&["-", " ", ""])?;
            Some(
                text.replace("PTK_", &format!("PTK{other}"))
                    .replace("TOOL_CALL", &format!("TOOL{other}CALL")),
            )
        }
        Kind::MissingOpenMark => text.split_once(">\n").map(|(_, rest)| rest.to_owned()),
        Kind::MissingCloseMark => {
            last(text, "</").map(|at| text.get(..at).unwrap_or("").to_owned())
        }
        Kind::ExtraCloseMark => {
            last(text, "</").map(|at| format!("{text}\n{}", text.get(at..).unwrap_or("")))
        }
        Kind::OuterFence => Some(format!(
            "```{}\n{text}\n```",
            random.pick(&["", "json", "xml", "tool_code"])?
        )),
        Kind::Prose => Some(format!(
            "I'll do that now.\n\n{text}\n\nLet me know what it says."
        )),
        Kind::Indented => Some(format!("  {}", text.replace('\n', "\n  "))),
        Kind::MissingInnerClose => last(text, "</arg>").map(|at| remove(text, at, "</arg>".len())),
        Kind::CutOff => {
            let mut at = random.below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.get(..at).map(str::to_owned)
        }
    }?;
    (broken != text).then_some((kind, broken))
}

/// Changes the text at one occurrence of `needle`, chosen at random.
fn splice<'r>(
    text: &str,
    random: &mut Random,
    needle: &str,
    change: impl Fn(usize) -> (usize, usize, &'r str),
) -> Option<String> {
    let places: Vec<usize> = text.match_indices(needle).map(|(at, _)| at).collect();
    let places: Vec<usize> = places
        .into_iter()
        .filter(|at| !in_string(text, *at))
        .collect();
    let (at, length, new) = change(*random.pick(&places)?);
    Some(format!(
        "{}{new}{}",
        text.get(..at)?,
        text.get(at + length..)?
    ))
}

/// Whether a place lies inside a JSON string.
fn in_string(text: &str, place: usize) -> bool {
    let mut inside = false;
    let mut escaped = false;
    for byte in text.bytes().take(place) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' => inside = !inside,
            _ => {}
        }
    }
    inside && text.as_bytes().get(place) != Some(&b'"')
}

fn last(text: &str, needle: &str) -> Option<usize> {
    text.rfind(needle)
}

fn remove(text: &str, at: usize, length: usize) -> String {
    format!(
        "{}{}",
        text.get(..at).unwrap_or(""),
        text.get(at + length..).unwrap_or("")
    )
}

fn insert(text: &str, at: usize, new: &str) -> String {
    format!(
        "{}{new}{}",
        text.get(..at).unwrap_or(""),
        text.get(at..).unwrap_or("")
    )
}

/// Replaces double quotes by single ones, as in Python, where no text has an
/// apostrophe or an escaped quote.
fn single_quotes(text: &str) -> Option<String> {
    (!text.contains(['\'', '\\']) && !text.contains("CDATA")).then(|| text.replace('"', "'"))
}

/// Replaces each pair of quotes by an opening and a closing one.
fn pairs(text: &str, open: &str, close: &str) -> Option<String> {
    if text.contains('\\') {
        return None;
    }
    let mut result = String::new();
    for (index, part) in text.split('"').enumerate() {
        if index > 0 {
            result.push_str(if index % 2 == 1 { open } else { close });
        }
        result.push_str(part);
    }
    Some(result)
}

fn python_literals(text: &str) -> Option<String> {
    let mut result = text.to_owned();
    for (json, python) in [("true", "True"), ("false", "False"), ("null", "None")] {
        for before in [":", "=", "[", ","] {
            for after in ["}", ",", "]", ")"] {
                result = result.replace(
                    &format!("{before}{json}{after}"),
                    &format!("{before}{python}{after}"),
                );
            }
        }
    }
    (result != text).then_some(result)
}

/// The range of the object behind the first `"args":`.
fn args_range(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find("\"args\":")? + "\"args\":".len();
    let rest = text.get(start..)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
    values.next()?.ok()?;
    Some(start..start + values.byte_offset())
}

fn stringified(text: &str) -> Option<String> {
    let range = args_range(text)?;
    let string = serde_json::Value::String(text.get(range.clone())?.to_owned()).to_string();
    Some(format!(
        "{}{string}{}",
        text.get(..range.start)?,
        text.get(range.end..)?
    ))
}

/// Moves the arguments beside the name; not where one has the name of a key of
/// the call.
fn flat(text: &str, tools: &Toolset) -> Option<String> {
    const TAKEN: &[&str] = &[
        "tool",
        "name",
        "tool_name",
        "function",
        "function_name",
        "args",
        "arguments",
        "parameters",
        "params",
        "input",
        "reasoning",
        "reason",
        "thought",
        "id",
        "call_id",
        "tool_call_id",
        "type",
        "index",
    ];
    let range = args_range(text)?;
    let args = text.get(range.clone())?;
    let members = args.strip_prefix('{')?.strip_suffix('}')?;
    let taken = tools.iter().any(|tool| {
        tool.properties()
            .is_some_and(|properties| properties.keys().any(|key| TAKEN.contains(&key.as_str())))
    });
    if members.is_empty() || taken {
        return None;
    }
    let start = range.start - "\"args\":".len();
    Some(format!(
        "{}{members}{}",
        text.get(..start)?,
        text.get(range.end..)?
    ))
}

fn inner_fence(text: &str) -> Option<String> {
    let open = text.find(">\n")? + 2;
    let close = text.find("\n</")?;
    Some(format!(
        "{}```json\n{}\n```{}",
        text.get(..open)?,
        text.get(open..close)?,
        text.get(close..)?
    ))
}

fn lower_marks(text: &str) -> String {
    let mut result = text.to_owned();
    for mark in ["PTK_CALL", "PTK_BATCH", "PTK_BLOCK", "TOOL_CALL"] {
        result = result
            .replace(&format!("<{mark}"), &format!("<{}", mark.to_lowercase()))
            .replace(&format!("</{mark}"), &format!("</{}", mark.to_lowercase()));
    }
    result.replace("TOOL: ", "Tool: ").replace("ARGS:", "Args:")
}
