//! Reads the case files in `tests/cases`. Their form is described in
//! `tests/cases/README.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ptk_protocol::{Arguments, Drafts, Fences, ProblemCode, ToolSpec};
use serde_json::value::RawValue;

/// One case: an input, its settings, and the expected result.
#[derive(Debug)]
pub(crate) struct Case {
    /// The file and the line in which the case starts.
    pub(crate) place: String,
    pub(crate) name: String,
    pub(crate) settings: Settings,
    pub(crate) input: String,
    pub(crate) expected: Expected,
}

/// The settings of a case.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a line of a case, and they are free of each other"
)]
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) dialect: Option<String>,
    pub(crate) tools: Tools,
    pub(crate) extra_tools: Vec<ToolSpec>,
    pub(crate) drafts: Option<Drafts>,
    pub(crate) fences: Fences,
    pub(crate) in_reasoning: bool,
    pub(crate) likely_in_reasoning: bool,
    pub(crate) is_transcript: bool,
    pub(crate) cut_by_limit: bool,
    pub(crate) escaped: bool,
}

/// The tools that a case declares.
#[derive(Debug, Clone, Default)]
pub(crate) enum Tools {
    /// The tools of `tools.json`.
    #[default]
    Default,
    /// These tools of `tools.json`.
    Named(Vec<String>),
    /// No tools: any name may be a tool's.
    Undeclared,
}

/// The expected result of a case.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    pub(crate) calls: Vec<ExpectedCall>,
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) problems: BTreeSet<String>,
    pub(crate) all_text: bool,
    pub(crate) outcome: Option<String>,
    pub(crate) says: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct ExpectedCall {
    pub(crate) name: String,
    pub(crate) args: Arguments,
    pub(crate) status: String,
    pub(crate) problems: BTreeSet<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) id: Option<String>,
    /// The arguments that the tool would get, coerced by its schema.
    pub(crate) runs_as: Option<Arguments>,
}

/// The cases of one file, or what is wrong with it and where.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut lines = text.split('\n').enumerate().peekable();
    let mut cases = Vec::new();
    // What stands before the first case introduces the file.
    while lines.next_if(|(_, line)| !is_title(line)).is_some() {}
    while let Some((number, title)) = lines.next() {
        let at = |line: usize, what: &str| format!("{file}:{}: {what}", line + 1);
        let mut settings = Settings::default();
        let mut ruled = false;
        for (number, line) in lines.by_ref() {
            if line == "----" {
                ruled = true;
                break;
            }
            setting(&mut settings, line).map_err(|error| at(number, &error))?;
        }
        if !ruled {
            return Err(at(number, "the case has no `----` before its input"));
        }
        let mut input = Vec::new();
        let mut ruled = false;
        for (_, line) in lines.by_ref() {
            if line == "----" {
                ruled = true;
                break;
            }
            input.push(line);
        }
        if !ruled {
            return Err(at(number, "the case has no `----` behind its input"));
        }
        let mut input = input.join("\n");
        if settings.escaped {
            input = unescape(&input).map_err(|error| at(number, &error))?;
        }
        let mut expected = Expected::default();
        let mut key = "";
        while let Some((number, line)) = lines.next_if(|(_, line)| !is_title(line)) {
            expectation(&mut expected, &settings, &mut key, line)
                .map_err(|error| at(number, &error))?;
        }
        if expected.all_text && (!expected.calls.is_empty() || !expected.text.is_empty()) {
            return Err(at(number, "`all text` stands alone"));
        }
        cases.push(Case {
            place: format!("{file}:{}", number + 1),
            name: title.trim_start_matches("==== ").trim().to_owned(),
            settings,
            input,
            expected,
        });
    }
    Ok(cases)
}

fn is_title(line: &str) -> bool {
    line.starts_with("==== ")
}

fn setting(settings: &mut Settings, line: &str) -> Result<(), String> {
    let (key, value) = line
        .split_once(": ")
        .ok_or_else(|| format!("expected `setting: value`, found `{line}`"))?;
    match (key, value) {
        ("dialect", name) => settings.dialect = Some(name.to_owned()),
        ("tools", "undeclared") => settings.tools = Tools::Undeclared,
        ("tools", "none") => settings.tools = Tools::Named(Vec::new()),
        ("tools", names) => {
            settings.tools = Tools::Named(names.split(", ").map(str::to_owned).collect());
        }
        ("tool", json) => {
            let tool = serde_json::from_str(json).map_err(|error| error.to_string())?;
            settings.extra_tools.push(tool);
        }
        ("drafts", "rescue") => settings.drafts = Some(Drafts::Rescue),
        ("drafts", "ignore") => settings.drafts = Some(Drafts::Ignore),
        ("drafts", "run") => settings.drafts = Some(Drafts::Run),
        ("fences", "quote") => settings.fences = Fences::Quote,
        ("fences", "last may call") => settings.fences = Fences::LastMayCall,
        ("starts in", "reasoning") => settings.in_reasoning = true,
        ("starts in", "likely reasoning") => settings.likely_in_reasoning = true,
        ("prompt", "a transcript") => settings.is_transcript = true,
        ("cut by", "the token limit") => settings.cut_by_limit = true,
        ("input", "escaped") => settings.escaped = true,
        _ => return Err(format!("there is no setting `{line}`")),
    }
    Ok(())
}

fn expectation<'l>(
    expected: &mut Expected,
    settings: &Settings,
    key: &mut &'l str,
    line: &'l str,
) -> Result<(), String> {
    if let Some(more) = line.strip_prefix('|') {
        let target = match *key {
            "text" => &mut expected.text,
            "reasoning" => &mut expected.reasoning,
            _ => return Err("nothing stands before this line that it could go on with".to_owned()),
        };
        target.push('\n');
        target.push_str(more.strip_prefix(' ').unwrap_or(more));
        return Ok(());
    }
    *key = "";
    if line.is_empty() {
        return Ok(());
    }
    if line == "all text" {
        expected.all_text = true;
        return Ok(());
    }
    let Some((name, value)) = line.split_once(": ") else {
        expected.calls.push(call(line, settings)?);
        return Ok(());
    };
    match name {
        "text" | "reasoning" => {
            *key = name;
            let value = if settings.escaped {
                unescape(value)?
            } else {
                value.to_owned()
            };
            let target = match name {
                "text" => &mut expected.text,
                _ => &mut expected.reasoning,
            };
            *target = value;
        }
        "problems" => expected.problems = codes(value)?,
        "outcome" => expected.outcome = Some(value.to_owned()),
        "says" => expected.says.push(value.to_owned()),
        "runs as" => {
            let call = expected
                .calls
                .last_mut()
                .ok_or("no call stands before this line")?;
            let args = Arguments::from_json(value).map_err(|error| error.to_string())?;
            call.runs_as = Some(args);
        }
        "because" | "id" => {
            let call = expected
                .calls
                .last_mut()
                .ok_or("no call stands before this line")?;
            let field = match name {
                "because" => &mut call.reasoning,
                _ => &mut call.id,
            };
            *field = Some(value.to_owned());
        }
        _ => expected.calls.push(call(line, settings)?),
    }
    Ok(())
}

/// Parses `name {"args": …} status: code, code`; the status is `complete` if
/// left out.
fn call(line: &str, settings: &Settings) -> Result<ExpectedCall, String> {
    let line = if settings.escaped {
        repeat(line)?
    } else {
        line.to_owned()
    };
    let (name, rest) = line
        .split_once(" {")
        .ok_or_else(|| format!("expected `tool {{arguments}}`, found `{line}`"))?;
    let rest = format!("{{{rest}");
    let mut values = serde_json::Deserializer::from_str(&rest).into_iter::<Box<RawValue>>();
    let json = match values.next() {
        Some(Ok(json)) => json.get().to_owned(),
        Some(Err(error)) => return Err(format!("the arguments are not JSON: {error}")),
        None => return Err("the arguments are missing".to_owned()),
    };
    let behind = rest.get(values.byte_offset()..).unwrap_or("").trim();
    let (status, problems) = match behind.split_once(": ") {
        Some((status, problems)) => (status, codes(problems)?),
        None if behind.is_empty() => ("complete", BTreeSet::new()),
        None => (behind, BTreeSet::new()),
    };
    if !["complete", "repaired", "truncated"].contains(&status) {
        return Err(format!("there is no status `{status}`"));
    }
    Ok(ExpectedCall {
        name: name.to_owned(),
        args: Arguments::from_json(&json).map_err(|error| error.to_string())?,
        status: status.to_owned(),
        problems,
        reasoning: None,
        id: None,
        runs_as: None,
    })
}

fn codes(list: &str) -> Result<BTreeSet<String>, String> {
    list.split(", ")
        .map(|code| {
            if ProblemCode::ALL.iter().any(|known| known.as_str() == code) {
                Ok(code.to_owned())
            } else {
                Err(format!("there is no problem code `{code}`"))
            }
        })
        .collect()
}

/// The escapes of an input that says `input: escaped`: those of Rust's
/// strings, and `\{count×text×}` for a repeated text.
fn unescape(text: &str) -> Result<String, String> {
    let text = repeat(text)?;
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, escape)) = rest.split_once('\\') {
        plain.push_str(before);
        let mut chars = escape.chars();
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            Some('\\') => plain.push('\\'),
            Some('u') => {
                let (code, behind) = escape
                    .strip_prefix("u{")
                    .and_then(|code| code.split_once('}'))
                    .ok_or("write `\\u{…}`")?;
                let c = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                plain.push(c.ok_or_else(|| format!("there is no character {code}"))?);
                rest = behind;
                continue;
            }
            other => return Err(format!("there is no escape `\\{other:?}`")),
        }
        rest = chars.as_str();
    }
    plain.push_str(rest);
    Ok(plain)
}

fn repeat(text: &str) -> Result<String, String> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, repeated)) = rest.split_once("\\{") {
        whole.push_str(before);
        let (inside, behind) = repeated.split_once("×}").ok_or("`\\{` does not end")?;
        let (count, part) = inside.split_once('×').ok_or("write `\\{count×text×}`")?;
        let count: usize = count.parse().map_err(|_| "the count is no number")?;
        for _ in 0..count {
            let _ = write!(whole, "{part}");
        }
        rest = behind;
    }
    whole.push_str(rest);
    Ok(whole)
}
