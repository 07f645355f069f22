//! The parts of a template, with the types that the format gives them.

use serde_json::Value;

use super::error::{Result, TemplateError, TemplateFault};
use super::marks::{self, MAX_MARKS};
use super::node::TemplateNode;
use super::python;
use crate::dialects::declared::{check_distinct, check_mark};
use regex_syntax::hir::Hir;

/// The longest literal.
const MAX_LITERAL: usize = 256;
/// The most fields: three are known.
const MAX_FIELDS: usize = 16;

const TOP: &[&str] = &[
    "version",
    "defaults",
    "start_anchor",
    "start_anchor_pattern",
    "fields",
];
const FIELD: &[&str] = &[
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];

/// A whole template.
#[derive(Debug)]
pub(super) struct Spec<'v> {
    pub(super) anchor: Delimiter,
    pub(super) fields: Vec<Field<'v>>,
}

/// One field of the message.
#[derive(Debug)]
pub(super) struct Field<'v> {
    pub(super) node: TemplateNode<'v>,
    pub(super) role: FieldRole,
    /// What opens it; without it, the field is what no other field takes.
    pub(super) open: Option<Delimiter>,
    pub(super) close: Option<Delimiter>,
    pub(super) content: Content,
    pub(super) transform: Option<TemplateNode<'v>>,
    pub(super) each: bool,
}

/// What a field is to PTK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldRole {
    Content,
    Reasoning,
    Calls,
}

/// How the text of a field is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Text,
    Json {
        /// Whether keys may stand without quotes.
        bare_keys: bool,
        /// The marks around strings.
        strings: Vec<(String, String)>,
    },
    Tags {
        /// Where the pattern stands, and the pattern of one argument.
        place: String,
        pattern: String,
    },
    Lines {
        /// What stands between two arguments.
        between: String,
        /// What stands between a name and its value.
        colon: String,
    },
}

/// Literals or a pattern at which something opens or closes.
#[derive(Debug)]
pub(super) struct Delimiter {
    pub(super) place: String,
    kind: DelimiterKind,
}

#[derive(Debug)]
enum DelimiterKind {
    Literals(Vec<String>),
    Pattern(Hir),
}

impl Delimiter {
    /// The delimiter under one of two keys.
    fn of(
        node: &TemplateNode<'_>,
        literal: &'static str,
        pattern: &'static str,
    ) -> Result<Option<Self>> {
        match (node.get(literal), node.get(pattern)) {
            (Some(_), Some(_)) => Err(node.fault(TemplateFault::Both(literal, pattern))),
            (Some(node), None) => {
                let mut literals = Vec::new();
                for (node, text) in node.strings(MAX_MARKS)? {
                    let (length, most) = (text.len(), MAX_LITERAL);
                    if length > most {
                        return Err(node.fault(TemplateFault::TooLong { length, most }));
                    }
                    if text.trim().is_empty() {
                        return Err(
                            node.unsupported("this is empty or white space, which no mark can be")
                        );
                    }
                    literals.push(text.to_owned());
                }
                let place = node.place;
                let kind = DelimiterKind::Literals(literals);
                Ok(Some(Self { place, kind }))
            }
            (None, Some(node)) => {
                let parsed = python::parse(node.string()?);
                let hir = parsed.map_err(|fault| node.fault(fault))?;
                let place = node.place;
                let kind = DelimiterKind::Pattern(hir);
                Ok(Some(Self { place, kind }))
            }
            (None, None) => Ok(None),
        }
    }

    pub(super) fn fault(&self, fault: impl Into<TemplateFault>) -> TemplateError {
        TemplateError {
            place: self.place.clone(),
            fault: fault.into(),
        }
    }

    /// The last key of its place.
    fn key(&self) -> &'static str {
        let known = FIELD.iter().chain(TOP);
        let mut known = known.filter(|key| self.place.ends_with(&format!(".{key}")));
        known.next().copied().unwrap_or("open")
    }

    /// Its patterns.
    pub(super) fn patterns(&self) -> Vec<Hir> {
        match &self.kind {
            DelimiterKind::Literals(literals) => {
                let mut literals: Vec<&str> =
                    literals.iter().map(|text| text.trim_start()).collect();
                // The longest one that fits counts.
                literals.sort_by_key(|text| std::cmp::Reverse(text.len()));
                let literals = literals.into_iter();
                literals.map(|text| Hir::literal(text.as_bytes())).collect()
            }
            DelimiterKind::Pattern(hir) => vec![hir.clone()],
        }
    }

    /// Whether it matches at the start of the message.
    pub(super) fn is_at_start(&self) -> bool {
        match &self.kind {
            DelimiterKind::Literals(_) => false,
            DelimiterKind::Pattern(hir) => marks::at_start(hir).0,
        }
    }

    /// All texts that it stands for, white space around them left out.
    pub(super) fn texts(&self) -> Result<Vec<String>> {
        let mut all: Vec<String> = Vec::new();
        match &self.kind {
            DelimiterKind::Literals(literals) => {
                all.extend(literals.iter().map(|text| text.trim().to_owned()));
            }
            DelimiterKind::Pattern(hir) => {
                for part in marks::at_start(hir).1 {
                    all.extend(marks::list(&part).map_err(|fault| self.fault(fault))?);
                }
            }
        }
        let (count, most) = (all.len(), MAX_MARKS);
        if count > most {
            return Err(self.fault(TemplateFault::Count { count, most }));
        }
        Ok(all)
    }

    /// Like [`texts`](Self::texts), where each has to be a mark: a text that
    /// does not occur in any prose.
    pub(super) fn marks(&self) -> Result<Vec<String>> {
        let marks = self.texts()?;
        for mark in &marks {
            check_distinct(self.key(), mark).map_err(|fault| self.fault(fault))?;
        }
        Ok(marks)
    }

    /// Checks that these texts can open calls.
    pub(super) fn check_openings(&self, marks: &[String]) -> Result<()> {
        for mark in marks {
            check_mark(self.key(), mark).map_err(|fault| self.fault(fault))?;
        }
        Ok(())
    }

    /// The end of its last match in a prompt.
    pub(super) fn last_end(&self, prompt: &str) -> Option<usize> {
        let ends = |text: &String| prompt.rfind(text.as_str()).map(|at| at + text.len());
        match &self.kind {
            DelimiterKind::Literals(literals) => literals.iter().filter_map(ends).max(),
            DelimiterKind::Pattern(_) => self.texts().ok()?.iter().filter_map(ends).max(),
        }
    }
}

impl<'v> Spec<'v> {
    /// Reads a template.
    pub(super) fn of(node: &TemplateNode<'v>) -> Result<Self> {
        node.object(TOP)?;
        if let Some(version) = node.get("version")
            && version.value != &Value::from(1)
        {
            let found = version.value.to_string();
            return Err(version.fault(TemplateFault::Version(found.chars().take(40).collect())));
        }
        if let Some(defaults) = node.get("defaults") {
            defaults.map()?;
        }
        let anchor = Delimiter::of(node, "start_anchor", "start_anchor_pattern")?;
        let anchor = anchor.ok_or_else(|| node.fault(TemplateFault::MissingKey("start_anchor")))?;
        let all = node.get("fields");
        let all = all.ok_or_else(|| node.fault(TemplateFault::MissingKey("fields")))?;
        let count = all.map()?.len();
        if count == 0 || count > MAX_FIELDS {
            let most = MAX_FIELDS;
            return Err(all.fault(TemplateFault::Count { count, most }));
        }
        let names: Vec<&str> = all.map()?.keys().map(String::as_str).collect();
        let fields = names
            .iter()
            .filter_map(|name| Some((*name, all.get(name)?)));
        let fields: Result<Vec<Field<'v>>> =
            fields.map(|(name, node)| Field::of(name, node)).collect();
        let fields = fields?;
        let mut leftovers = fields.iter().filter(|field| field.open.is_none());
        if let (Some(_), Some(second)) = (leftovers.next(), leftovers.next()) {
            return Err(second.node.unsupported(
                "a second field without `open`; only one can take what no other field does",
            ));
        }
        Ok(Self { anchor, fields })
    }

    pub(super) fn field(&self, role: FieldRole) -> Option<&Field<'v>> {
        self.fields.iter().find(|field| field.role == role)
    }
}

impl<'v> Field<'v> {
    fn of(name: &str, node: TemplateNode<'v>) -> Result<Self> {
        let role = match name {
            "content" => FieldRole::Content,
            "thinking" | "reasoning_content" | "reasoning" => FieldRole::Reasoning,
            "tool_calls" => FieldRole::Calls,
            _ => {
                return Err(node.unsupported(
                    "PTK has no use for this field; known are content, thinking, reasoning_content, reasoning, tool_calls",
                ));
            }
        };
        node.object(FIELD)?;
        let open = Delimiter::of(&node, "open", "open_pattern")?;
        let close = Delimiter::of(&node, "close", "close_pattern")?;
        let repeats = node.flag("repeats")?;
        node.flag("optional")?;
        if let Some(join) = node.get("join") {
            join.string()?;
            if !repeats {
                return Err(join.unsupported("`join` needs `repeats`: true"));
            }
        }
        let each = node.flag("transform_each")?;
        let transform = node.get("transform");
        if each && transform.is_none() {
            return Err(node.fault(TemplateFault::MissingKey("transform")));
        }
        let content = Content::of(&node)?;
        let is_text = content == Content::Text;
        if is_text != (role != FieldRole::Calls) {
            let place = node.get("content").unwrap_or_else(|| node.clone());
            return Err(place.unsupported(if is_text {
                "calls are read from \"json\", \"xml-inline\" or \"kv-lines\""
            } else {
                "this field is text for the user or reasoning; only \"text\" can be streamed"
            }));
        }
        if let (true, Some(transform)) = (is_text, &transform) {
            return Err(transform.unsupported("only `tool_calls` can be transformed"));
        }
        Ok(Self {
            node,
            role,
            open,
            close,
            content,
            transform,
            each,
        })
    }
}

impl Content {
    fn of(field: &TemplateNode<'_>) -> Result<Self> {
        let name = field.text_or("content", "text")?;
        let empty = Value::Object(serde_json::Map::new());
        let args = field.get("content_args");
        let args = args.unwrap_or_else(|| TemplateNode::new(field.place.clone(), &empty));
        match name.as_str() {
            "text" => {
                args.object(&["strip"])?;
                args.flag("strip")?;
                Ok(Self::Text)
            }
            "json" => {
                args.object(&["unquoted_keys", "string_delims", "allow_non_json"])?;
                args.flag("allow_non_json")?;
                let mut strings = Vec::new();
                if let Some(delimiters) = args.get("string_delims") {
                    for pair in delimiters.list(MAX_MARKS)? {
                        let marks = pair.list(2)?;
                        let [open, close] = marks.as_slice() else {
                            return Err(pair.unsupported("a pair of marks is needed"));
                        };
                        let (open, close) = (open.string()?, close.string()?);
                        if open.is_empty() || close.is_empty() {
                            return Err(pair.unsupported("a mark around strings is empty"));
                        }
                        strings.push((open.to_owned(), close.to_owned()));
                    }
                }
                let bare_keys = args.flag("unquoted_keys")?;
                Ok(Self::Json { bare_keys, strings })
            }
            "xml-inline" => {
                args.object(&["tag_pattern", "value_parser", "merge_duplicates"])?;
                args.flag("merge_duplicates")?;
                check_values(&args)?;
                let pattern = args.get("tag_pattern");
                let pattern =
                    pattern.ok_or_else(|| args.fault(TemplateFault::MissingKey("tag_pattern")))?;
                Ok(Self::Tags {
                    pattern: pattern.string()?.to_owned(),
                    place: pattern.place,
                })
            }
            "kv-lines" => {
                args.object(&["line_sep", "kv_sep", "strip", "value_parser"])?;
                args.flag("strip")?;
                check_values(&args)?;
                let between = args.text_or("line_sep", "\n")?;
                let colon = args.text_or("kv_sep", ":")?;
                if between.is_empty() || colon.is_empty() {
                    return Err(args.unsupported("`line_sep` and `kv_sep` may not be empty"));
                }
                Ok(Self::Lines { between, colon })
            }
            "int" | "float" | "bool" => Err(TemplateNode::new(
                format!("{}.content", field.place),
                &empty,
            )
            .unsupported("a number or a boolean is no part of a message")),
            other => Err(
                TemplateNode::new(format!("{}.content", field.place), &empty).unsupported(format!(
                    "unknown content {:?}; known are text, json, xml-inline, kv-lines",
                    other.chars().take(40).collect::<String>()
                )),
            ),
        }
    }
}

/// Checks the parser of values. The tool's schema gives their types, so that
/// the parser has nothing to decide.
fn check_values(args: &TemplateNode<'_>) -> Result<()> {
    let Some(parser) = args.get("value_parser") else {
        return Ok(());
    };
    parser.object(&["name", "args"])?;
    if let Some(args) = parser.get("args") {
        args.map()?;
    }
    let name = parser.text_or("name", "text")?;
    if !matches!(name.as_str(), "text" | "json" | "int" | "float" | "bool") {
        return Err(parser.unsupported("values are read as text, json, int, float or bool"));
    }
    Ok(())
}
