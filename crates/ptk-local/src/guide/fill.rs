//! The arguments of a call, by what the tool's schema wants and the request
//! has.

use ptk_protocol::schema::validate_call;
use ptk_protocol::{ToolCall, ToolSpec, Toolset};
use serde_json::{Map, Value, json};

use super::parameters::{Want, want};
use super::patterns;
use super::request::{Manner, Request};
use super::slots::{Kind, Mention};
use super::words::fold;

/// A tool to be called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Callee<'a> {
    /// The tool.
    pub(super) spec: &'a ToolSpec,
    /// What it must be given although its schema does not say so.
    pub(super) needs: &'a [String],
    /// Whether it writes files, so that a path may be new.
    pub(super) writes: bool,
}

/// What a tool is given.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filled {
    /// The arguments by name.
    pub(super) arguments: Map<String, Value>,
    /// How what is searched for was written.
    pub(super) manner: Manner,
}

/// The arguments for a call, if the request has all that the tool must be
/// given; they pass the validator.
pub(super) fn arguments(
    request: &Request<'_>,
    callee: Callee<'_>,
    tools: &Toolset,
) -> Option<Filled> {
    let mut arguments = Map::new();
    let mut manner = Manner::Exact;
    let no_properties = Map::new();
    let properties = callee.spec.properties().unwrap_or(&no_properties);
    for (name, schema) in properties {
        let is_required =
            callee.spec.required().any(|required| required == name) || callee.needs.contains(name);
        let want = want(name, schema);
        let value = if is_required {
            required(request, callee, &want, &mut manner)?
        } else if let Some(value) = optional(request, name, &want) {
            value
        } else {
            continue;
        };
        arguments.insert(name.clone(), value);
    }
    set_flags(properties, &mut arguments, manner);
    let call = ToolCall::new(callee.spec.name.as_str(), arguments.clone());
    let is_valid = validate_call(&call, tools).is_valid();
    is_valid.then_some(Filled { arguments, manner })
}

/// What a parameter is given that must be given something.
fn required(
    request: &Request<'_>,
    callee: Callee<'_>,
    want: &Want,
    manner: &mut Manner,
) -> Option<Value> {
    let text = match want {
        Want::File if callee.writes && callee.spec.required().count() > 1 => {
            target(request)?.value.clone()
        }
        Want::File => {
            let named = request.first("{file}").or_else(|| request.first("{new}"));
            named?.value.clone()
        }
        Want::Folder => request.first("{folder}")?.value.clone(),
        Want::Place => place(request)?.value.clone(),
        Want::Glob => patterns::pattern(request)?,
        Want::Search => {
            let (text, how) = request.searched()?;
            *manner = how;
            text
        }
        Want::Text => request.content()?,
        Want::Command => command(request)?,
        Want::Choice(choices) => return choice(request, choices),
        Want::Number => return number(request),
        Want::Replacements(old, new) => return replacement(request, old, new),
        Want::Case(_) | Want::Literal => return Some(Value::Bool(false)),
        Want::Other => named_thing(request)?,
    };
    (!text.is_empty()).then_some(Value::String(text))
}

/// What a parameter is given that may be left out: only what the request
/// plainly has for it.
fn optional(request: &Request<'_>, name: &str, want: &Want) -> Option<Value> {
    let text = match want {
        Want::Folder => request.first("{folder}")?.value.clone(),
        Want::Place | Want::File => place(request)?.value.clone(),
        Want::Glob => patterns::stated(request)?,
        Want::Number => return counted(request, name),
        _ => return None,
    };
    Some(Value::String(text))
}

/// The folder or file that something is about.
fn place<'a>(request: &Request<'a>) -> Option<&'a Mention> {
    request
        .first("{file}")
        .or_else(|| request.first("{folder}"))
}

/// The file to write: a new one, or the last that is named.
fn target<'a>(request: &Request<'a>) -> Option<&'a Mention> {
    let files = request
        .reading
        .mentions
        .iter()
        .filter(|mention| mention.kind == Kind::File);
    request.first("{new}").or_else(|| files.into_iter().next())
}

fn command(request: &Request<'_>) -> Option<String> {
    if let Some(quote) = request.quotes().first() {
        return Some(quote.value.clone());
    }
    let span = request.span(&["{command}"])?;
    Some(request.words(&span).to_owned())
}

/// The choice whose words the request has.
fn choice(request: &Request<'_>, choices: &[Value]) -> Option<Value> {
    let text = fold(request.text);
    let said = |choice: &&Value| {
        let name = choice.as_str().map(fold);
        name.is_some_and(|name| {
            text.split(|letter: char| !letter.is_alphanumeric())
                .any(|word| word == name)
        })
    };
    choices.iter().find(said).cloned()
}

fn number(request: &Request<'_>) -> Option<Value> {
    let number = &request.first("{number}")?.value;
    let whole = number.parse::<i64>().map(|number| json!(number));
    whole
        .or_else(|_| number.parse::<f64>().map(|number| json!(number)))
        .ok()
}

/// A number of things that are wanted: "the first 10 lines".
fn counted(request: &Request<'_>, name: &str) -> Option<Value> {
    let is_limit = ["limit", "count", "max", "lines"].contains(&name);
    let pieces = &request.reading.pieces;
    let leads = pieces.windows(2).any(|pair| {
        matches!(pair, [first, second] if ["first", "top"].contains(&first.token.as_str()) && second.token == "{number}")
    });
    (is_limit && leads).then(|| number(request)).flatten()
}

/// One replacement of one text by another.
fn replacement(request: &Request<'_>, old: &str, new: &str) -> Option<Value> {
    let quotes = request.quotes();
    let (before, after) = if let [before, after] = quotes.as_slice() {
        (before.value.clone(), after.value.clone())
    } else {
        let before = request.span(&["{old}"])?;
        let after = request.span(&["{text}"])?;
        if before.start < after.end && after.start < before.end {
            return None;
        }
        let text = |span| {
            request
                .words(span)
                .trim_matches(['"', '\'', '`'])
                .to_owned()
        };
        (text(&before), text(&after))
    };
    Some(json!([{old: before, new: after}]))
}

/// Something that a request is about, for a parameter of which nothing is
/// known: a quotation, a name, or what stands behind the last preposition.
fn named_thing(request: &Request<'_>) -> Option<String> {
    if let Some(quote) = request.quotes().first() {
        return Some(quote.value.clone());
    }
    if let Some(name) = request.first("{text}") {
        return Some(name.value.clone());
    }
    let leads = ["in", "for", "of", "to", "on", "at", "about", "from", "with"];
    let pieces = &request.reading.pieces;
    let lead = pieces
        .iter()
        .rposition(|piece| leads.contains(&piece.token.as_str()))?;
    let (first, last) = (pieces.get(lead + 1)?, pieces.last()?);
    request
        .text
        .get(first.start..last.end)
        .map(|words| super::request::stripped(words).to_owned())
}

/// Flags that follow from how a text was written.
fn set_flags(properties: &Map<String, Value>, arguments: &mut Map<String, Value>, manner: Manner) {
    let searched = properties
        .iter()
        .find(|(name, schema)| want(name, schema) == Want::Search);
    let text = searched
        .and_then(|(name, _)| arguments.get(name))
        .and_then(Value::as_str);
    let Some(text) = text.map(str::to_owned) else {
        return;
    };
    let is_special = regex_syntax::escape(&text) != text;
    let mut has_literal = false;
    for (name, schema) in properties {
        match want(name, schema) {
            Want::Case(ignores) if manner == Manner::Spoken => {
                arguments.insert(name.clone(), Value::Bool(ignores));
            }
            Want::Literal if is_special => {
                has_literal = true;
                arguments.insert(name.clone(), Value::Bool(true));
            }
            _ => {}
        }
    }
    if let Some((name, schema)) = searched
        && is_special
        && !has_literal
        && schema.to_string().contains("regular expression")
    {
        arguments.insert(name.clone(), Value::String(regex_syntax::escape(&text)));
    }
}
