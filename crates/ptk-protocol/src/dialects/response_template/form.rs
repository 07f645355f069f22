//! What a template says of calls: how one opens, where its name stands, and how
//! its arguments are written.

use std::sync::Arc;

use regex_syntax::hir::{Hir, HirKind};

use super::error::{Result, TemplateError, TemplateFault};
use super::marks::{expand, is_space};
use super::node::TemplateNode;
use super::opening::CallOpening;
use super::python;
use super::spec::{Content, Delimiter, Field};
use crate::dialects::CallKeys;
use crate::dialects::declared::param;
use crate::dialects::engine::json_marks::JsonMarks;
use crate::dialects::engine::tag_form::{
    JsonBody, NamePosition, Param, SPACES, TagForm, ValueLines,
};

/// How calls are written.
#[derive(Debug)]
pub(super) struct CallForm {
    pub(super) opening: CallOpening,
    /// The group of the opening that holds the tool's name. Without it, the name
    /// stands in the JSON.
    pub(super) name: Option<String>,
    /// The group of the opening that holds the call's id.
    pub(super) id: Option<String>,
    /// The marks that close a call.
    pub(super) close: Vec<String>,
    pub(super) body: CallBody,
    pub(super) keys: CallKeys,
    /// Whether all calls stand in one list.
    pub(super) is_list: bool,
}

/// How the arguments, or the whole call, are written.
#[derive(Debug)]
pub(super) enum CallBody {
    Json(Arc<JsonMarks>),
    /// JSON with strings between marks of their own, or keys without quotes.
    Loose(Loose),
    Tags(Arc<TagForm>),
    Lines {
        between: String,
        colon: String,
    },
}

/// How JSON differs from JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loose {
    pub(super) bare_keys: bool,
    pub(super) strings: Vec<(String, String)>,
}

impl CallForm {
    pub(super) fn of(field: &Field<'_>) -> Result<Self> {
        let Some(open) = &field.open else {
            return Err(field.node.fault(TemplateFault::MissingKey("open")));
        };
        let shape = CallSources::of(field)?;
        let opening = CallOpening::new(&open.patterns(), shape.name.as_deref());
        let opening = opening.map_err(|fault| open.fault(fault))?;
        open.check_openings(&opening.marks)?;
        for group in shape.name.iter().chain(&shape.id) {
            if !open.patterns().iter().any(|hir| has_group(hir, group)) {
                return Err(field.node.unsupported(format!(
                    "`transform` uses {{{group}}}, which `open_pattern` has no group for; a name that stands behind the call is known too late"
                )));
            }
        }
        let close = field.close.as_ref();
        let close = close.map(Delimiter::texts).transpose()?;
        let close = close.unwrap_or_default();
        let body = match &field.content {
            Content::Json { bare_keys, strings } if *bare_keys || !strings.is_empty() => {
                CallBody::Loose(Loose {
                    bare_keys: *bare_keys,
                    strings: strings.clone(),
                })
            }
            Content::Tags { place, pattern } => {
                let form = tag_form(pattern, &opening, &close).map_err(|fault| TemplateError {
                    place: place.clone(),
                    fault,
                })?;
                CallBody::Tags(Arc::new(form))
            }
            Content::Lines { between, colon } => CallBody::Lines {
                between: between.clone(),
                colon: colon.clone(),
            },
            Content::Json { .. } | Content::Text => {
                let marks = JsonMarks::new(opening.marks.clone(), close.clone());
                CallBody::Json(Arc::new(marks))
            }
        };
        let is_named = shape.name.is_some();
        if matches!(body, CallBody::Tags(_) | CallBody::Lines { .. }) {
            if !is_named {
                return Err(field.node.unsupported(
                    "the name of the tool has to stand in a group of `open_pattern`, which `transform` gives as the name",
                ));
            }
            if close.is_empty() {
                return Err(field.node.fault(TemplateFault::MissingKey("close")));
            }
        }
        if field.each && is_named {
            return Err(field.node.unsupported(
                "`transform_each` reads a list of calls, each with its own name; the name cannot stand before the list",
            ));
        }
        Ok(Self {
            opening,
            name: shape.name,
            id: shape.id,
            close,
            body,
            keys: shape.keys,
            is_list: field.each,
        })
    }
}

/// Where the name, the arguments and the id of a call stand.
#[derive(Debug, Default)]
struct CallSources {
    name: Option<String>,
    id: Option<String>,
    keys: CallKeys,
}

/// What a placeholder stands for.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    /// All that was read.
    Content,
    /// A key of what was read.
    Key(String),
    /// A group of the opening.
    Group(String),
}

impl CallSources {
    fn of(field: &Field<'_>) -> Result<Self> {
        let Some(transform) = &field.transform else {
            return Ok(Self::default());
        };
        let call = match transform.get("function") {
            Some(function) => {
                transform.object(&["type", "function", "id"])?;
                function
            }
            None => transform.clone(),
        };
        let source = |node: &TemplateNode<'_>| source(node, field.each);
        let mut shape = Self::default();
        let id = transform.get("id").or_else(|| call.get("id"));
        if let Some(id) = id
            && let Source::Group(group) = source(&id)?
        {
            shape.id = Some(group);
        }
        if call.value.is_string() {
            return match source(&call)? {
                Source::Content => Ok(shape),
                _ => Err(call.unsupported("the call has to be {content}, or name and arguments")),
            };
        }
        call.object(&["type", "name", "arguments", "id"])?;
        let missing = |key| call.fault(TemplateFault::MissingKey(key));
        let name = call.get("name").ok_or_else(|| missing("name"))?;
        let arguments = call.get("arguments").ok_or_else(|| missing("arguments"))?;
        match (source(&name)?, source(&arguments)?) {
            (Source::Group(name), Source::Content) => shape.name = Some(name),
            (Source::Key(name), Source::Key(arguments)) => {
                shape.keys = CallKeys {
                    name: vec![name],
                    args: vec![arguments],
                };
            }
            _ => {
                return Err(call.unsupported(
                    "name and arguments have to be a group of `open_pattern` and {content}, or two keys of the content",
                ));
            }
        }
        Ok(shape)
    }
}

/// What a placeholder stands for. `each`: whether the keys of the content are
/// placeholders themselves.
fn source(node: &TemplateNode<'_>, each: bool) -> Result<Source> {
    let text = node.string()?;
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let is_word =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let Some(path) = inner.filter(|path| path.split('.').all(is_word)) else {
        return Err(node
            .unsupported("a placeholder such as {name} has to stand here, and nothing beside it"));
    };
    match path.split_once('.') {
        None if path == "content" && !each => Ok(Source::Content),
        None if each => Ok(Source::Key(path.to_owned())),
        None => Ok(Source::Group(path.to_owned())),
        Some(("content", key)) if !key.contains('.') && !each => Ok(Source::Key(key.to_owned())),
        Some(_) => Err(node.unsupported(
            "PTK finds the name and the arguments at the top of the content; a longer path is not read",
        )),
    }
}

fn has_group(hir: &Hir, name: &str) -> bool {
    match hir.kind() {
        HirKind::Capture(capture) => {
            capture.name.as_deref() == Some(name) || has_group(&capture.sub, name)
        }
        HirKind::Repetition(repetition) => has_group(&repetition.sub, name),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().any(|part| has_group(part, name))
        }
        _ => false,
    }
}

const TAG_FORMS: TemplateFault = TemplateFault::Pattern(
    "the pattern of an argument has to be fixed texts around the groups `key` and `value`, like `<p=(?P<key>\\w+)>(?P<value>.*?)</p>`",
);

/// The form that the pattern of one argument describes.
fn tag_form(
    pattern: &str,
    opening: &CallOpening,
    close: &[String],
) -> std::result::Result<TagForm, TemplateFault> {
    // A tag named after the argument: its name is known where it closes.
    let named = pattern.replace("(?P=key)", KEY_AGAIN);
    let (text, lines) = template(&python::parse(&named)?)?;
    let (param, tag_end) = param(&text)?;
    // The call closes with what stands last; the rest are tags of no meaning.
    let mut groups = Vec::new();
    let closes = close.iter().map(|close| {
        let (before, last) = split_last(close);
        if !before.is_empty() && !groups.contains(&before) {
            groups.push(before);
        }
        last
    });
    let mut close: Vec<String> = closes.collect();
    close.dedup();
    for tag in open_tags(&opening.written.before) {
        if !close.contains(&tag) && !groups.contains(&tag) {
            groups.push(tag);
        }
    }
    if let Param::Tag { close: own, .. } = &param
        && close.contains(own)
    {
        return Err(TemplateFault::Pattern(
            "the mark that closes an argument closes the call, too",
        ));
    }
    Ok(TagForm {
        open: opening.marks.clone(),
        named: NamePosition::Rest,
        tag_end: tag_end.unwrap_or_else(|| ">".to_owned()),
        close,
        param,
        groups,
        sections: Vec::new(),
        is_xml: false,
        json: JsonBody::Repair,
        json_block: None,
        addresses: Vec::new(),
        lines,
        spaces: SPACES,
    })
}

/// Stands for the name of the argument in its closing tag.
const KEY_AGAIN: &str = "KEY_AGAIN";

/// Splits `</function></call>` and `</function> </call>` into two marks.
fn split_last(close: &str) -> (String, String) {
    let at = close.rfind(|c: char| c.is_whitespace()).map(|at| at + 1);
    let at = at.or_else(|| close.rfind("><").map(|at| at + 1));
    match at.and_then(|at| close.split_at_checked(at)) {
        Some((before, last)) => (before.trim().to_owned(), last.to_owned()),
        None => (String::new(), close.to_owned()),
    }
}

/// The closing tags of the tags that an opening leaves open: a pattern need not
/// mention them.
fn open_tags(opening: &str) -> Vec<String> {
    let starts = opening.split('<').skip(1);
    let names = starts.map(|tag| {
        let end = tag.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | ':')));
        tag.get(..end.unwrap_or(tag.len())).unwrap_or_default()
    });
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| format!("</{name}>")).collect()
}

/// The pattern of an argument as a template with `KEY` and `VALUE`, and what
/// the line breaks around a value are.
fn template(pattern: &Hir) -> std::result::Result<(String, ValueLines), TemplateFault> {
    let parts = match pattern.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        _ => std::slice::from_ref(pattern),
    };
    let mut text = String::new();
    let mut lines = ValueLines::OfValue;
    let (mut keys, mut values) = (0, 0);
    // White space counts where a value stands beside it.
    let mut space_before = false;
    for part in parts {
        match part.kind() {
            HirKind::Capture(capture) if capture.name.as_deref() == Some("key") => {
                keys += 1;
                text.push_str("KEY");
            }
            HirKind::Capture(capture) if capture.name.as_deref() == Some("value") => {
                values += 1;
                text.push_str("VALUE");
                if space_before {
                    lines = ValueLines::Dropped;
                }
            }
            _ if is_space(part) => {
                if text.ends_with("VALUE") {
                    lines = ValueLines::Dropped;
                }
                space_before = true;
                continue;
            }
            HirKind::Literal(literal) => {
                let literal = std::str::from_utf8(&literal.0).map_err(|_| TAG_FORMS)?;
                let starts_line = literal.starts_with('\n') && text.ends_with("VALUE");
                let ends_line = literal.ends_with('\n');
                if starts_line {
                    lines = ValueLines::OfForm;
                }
                let literal = literal.trim_matches('\n').replace(KEY_AGAIN, "KEY");
                text.push_str(&literal);
                space_before = ends_line;
                continue;
            }
            // Other attributes, which the reader of tags passes over.
            HirKind::Repetition(repetition) if repetition.min == 0 => {}
            // Quotes of either kind, and the like.
            _ => match expand(part).as_deref() {
                Some([first, ..]) => text.push_str(first),
                _ => return Err(TAG_FORMS),
            },
        }
        space_before = false;
    }
    if keys != 1 || values != 1 {
        return Err(TAG_FORMS);
    }
    Ok((text, lines))
}
