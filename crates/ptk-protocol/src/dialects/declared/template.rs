//! Calls in tags, declared by how they look: `<call:NAME>` and
//! `<p k="KEY">VALUE</p>`.

use super::declaration::{Declaration, DeclarationFault};
use crate::dialects::engine::section::Section;
use crate::dialects::engine::tag_form::{
    JsonBody, NamePosition, Param, SPACES, TagForm, ValueLines,
};

const NAME: &str = "NAME";
const KEY: &str = "KEY";
const VALUE: &str = "VALUE";
const CALLS: &str = "\"<call:NAME>\", '<call name=\"NAME\">' or \"<call>NAME\"";
const ARGUMENTS: &str = "'<p k=\"KEY\">VALUE</p>', \"<p=KEY>VALUE</p>\", \"<k>KEY</k><v>VALUE</v>\" or \"<KEY>VALUE</KEY>\"";

/// The opening tag of a call, up to its name, the position of the name, and
/// what ends the tag, if the tag holds the name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TagTemplate {
    open: String,
    named: NamePosition,
    tag_end: Option<String>,
}

/// Parses the form that is declared.
pub(super) fn tag_form(declaration: &Declaration) -> Result<TagForm, DeclarationFault> {
    let body = declaration.body.name();
    let argument = declaration
        .argument
        .as_deref()
        .ok_or(DeclarationFault::Missing {
            field: "argument",
            body,
        })?;
    let (param, argument_end) = param(argument)?;
    let mut open = Vec::new();
    let mut first: Option<TagTemplate> = None;
    for template in &declaration.open {
        let opening = opening(template)?;
        open.push(opening.open.clone());
        let first = first.get_or_insert_with(|| opening.clone());
        if first.named != opening.named {
            return Err(not_understood("open", template, CALLS));
        }
        same_end(first.tag_end.as_deref(), opening.tag_end.as_deref())?;
    }
    let first = first.ok_or(DeclarationFault::NoMark("open"))?;
    same_end(first.tag_end.as_deref(), argument_end.as_deref())?;
    let tag_end = first.tag_end.or(argument_end);
    let section = declaration.section.iter();
    Ok(TagForm {
        open,
        named: first.named,
        tag_end: tag_end.unwrap_or_else(|| ">".to_owned()),
        close: declaration.close.clone(),
        param,
        groups: Vec::new(),
        sections: section
            .map(|[open, close]| Section::new(open, close))
            .collect(),
        is_xml: false,
        json: JsonBody::Read,
        json_block: None,
        addresses: Vec::new(),
        lines: ValueLines::Dropped,
        spaces: SPACES,
    })
}

fn same_end(one: Option<&str>, other: Option<&str>) -> Result<(), DeclarationFault> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => {
            Err(DeclarationFault::TagEnds(one.to_owned(), other.to_owned()))
        }
        _ => Ok(()),
    }
}

fn not_understood(field: &'static str, template: &str, example: &'static str) -> DeclarationFault {
    DeclarationFault::Template {
        field,
        template: template.to_owned(),
        example,
    }
}

/// The text before and behind a placeholder that stands once.
fn around<'t>(template: &'t str, placeholder: &str) -> Option<(&'t str, &'t str)> {
    let (before, behind) = template.split_once(placeholder)?;
    (!behind.contains(placeholder)).then_some((before, behind))
}

/// Whether a tag is whole, so that what follows it stands behind it.
fn is_whole(tag: &str) -> bool {
    tag.ends_with(['>', ']', '}', ')'])
}

/// Splits `<p k="` into `<p` and `k`, with the quote.
fn attribute(tag: &str) -> Option<(&str, &str, char)> {
    let quote = tag.chars().last().filter(|c| matches!(c, '"' | '\''))?;
    let (open, key) = tag
        .strip_suffix(quote)?
        .strip_suffix('=')?
        .rsplit_once(' ')?;
    let is_key = key
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':'));
    (is_key && !key.is_empty()).then_some((open, key, quote))
}

fn opening(template: &str) -> Result<TagTemplate, DeclarationFault> {
    let fault = || not_understood("open", template, CALLS);
    let (before, behind) = around(template, NAME).ok_or_else(fault)?;
    if let Some((open, key, quote)) = attribute(before) {
        let tag_end = behind.strip_prefix(quote).filter(|end| !end.is_empty());
        return Ok(TagTemplate {
            open: open.to_owned(),
            named: NamePosition::Attribute(key.to_owned()),
            tag_end: Some(tag_end.ok_or_else(fault)?.to_owned()),
        });
    }
    if is_whole(before) {
        let ends = Some(behind).filter(|end| !end.is_empty());
        return Ok(TagTemplate {
            open: before.to_owned(),
            named: NamePosition::Behind(ends.map(str::to_owned).into_iter().collect()),
            tag_end: None,
        });
    }
    if before.is_empty() || before == "<" || behind.is_empty() {
        return Err(fault());
    }
    Ok(TagTemplate {
        open: before.to_owned(),
        named: NamePosition::Rest,
        tag_end: Some(behind.to_owned()),
    })
}

/// Parses how an argument is written, and what ends its tag, if the tag holds
/// the argument's name.
pub(in crate::dialects) fn param(
    template: &str,
) -> Result<(Param, Option<String>), DeclarationFault> {
    let fault = || not_understood("argument", template, ARGUMENTS);
    let (tag, close) = around(template, VALUE).ok_or_else(fault)?;
    if let Some(prefix) = tag.strip_suffix("<KEY>") {
        if close.strip_prefix(prefix) != Some("</KEY>") {
            return Err(fault());
        }
        let prefix = prefix.to_owned();
        return Ok((Param::Element { prefix }, Some(">".to_owned())));
    }
    let (before, behind) = around(tag, KEY).ok_or_else(fault)?;
    if close.is_empty() || close.contains(KEY) || behind.is_empty() {
        return Err(fault());
    }
    let close = close.to_owned();
    if let Some((open, key, quote)) = attribute(before) {
        let tag_end = behind.strip_prefix(quote).filter(|end| !end.is_empty());
        let param = Param::Tag {
            open: open.to_owned(),
            named: NamePosition::Attribute(key.to_owned()),
            close,
        };
        return Ok((param, Some(tag_end.ok_or_else(fault)?.to_owned())));
    }
    if is_whole(before) {
        let first = behind.chars().next().ok_or_else(fault)?;
        let second = behind.char_indices().skip(1).find(|(_, c)| *c == first);
        let (key_close, value_open) = second
            .and_then(|(at, _)| behind.split_at_checked(at))
            .ok_or_else(fault)?;
        let param = Param::Pair {
            key: (before.to_owned(), key_close.trim_end().to_owned()),
            kind: None,
            value: (value_open.to_owned(), close),
        };
        return Ok((param, None));
    }
    let param = Param::Tag {
        open: before.to_owned(),
        named: NamePosition::Rest,
        close,
    };
    Ok((param, Some(behind.to_owned())))
}

/// The marks of an argument.
pub(super) fn param_marks(param: &Param) -> Vec<&str> {
    match param {
        Param::Tag { open, close, .. } => vec![open, close],
        Param::Pair { key, value, .. } => vec![&key.0, &key.1, &value.0, &value.1],
        Param::Element { .. } => Vec::new(),
    }
}
