//! Dialects that models bring along: the `response_template` in a model's
//! `tokenizer_config.json`, which says how its replies are read. A new model
//! needs no new release.
//!
//! A [`ResponseTemplate`] is checked whole before anything is read with it. Its
//! patterns are matched in one pass while the reply comes in; one that needs
//! more, such as a look-ahead, is refused with the place where it stands.
//!
//! ```
//! use ptk_protocol::dialects::Registry;
//! use ptk_protocol::dialects::response_template::ResponseTemplate;
//! use ptk_protocol::{Grammar, parse};
//!
//! let template = ResponseTemplate::from_json(
//!     r#"{
//!         "start_anchor": "<|bot|>",
//!         "fields": {
//!             "thinking": {"open": "<|plan|>", "close": "<|done|>"},
//!             "tool_calls": {
//!                 "open_pattern": "<\\|use (?P<name>\\w+)\\|>",
//!                 "close": "<|done|>",
//!                 "repeats": true,
//!                 "content": "json",
//!                 "transform": {"function": {"name": "{name}", "arguments": "{content}"}}
//!             },
//!             "content": {}
//!         }
//!     }"#,
//! )?;
//! let registry = template.register(Registry::builtin(), "mine");
//! let grammar = Grammar::builder().registry(registry).dialect("mine").build()?;
//!
//! let reply = parse("<|plan|>Look.<|done|><|use now|>{}<|done|>", &grammar);
//! assert_eq!(reply.reasoning, "Look.");
//! assert_eq!(reply.calls[0].call.name, "now");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Purpose |
//! |---|---|
//! | `node`, `spec` | the template's values, checked |
//! | `python`, `marks` | patterns of Python, and the marks that they stand for |
//! | `opening` | the pattern that opens a call, matched while it comes in |
//! | `form` | how calls are written, in terms of PTK's engines |
//! | `reader`, `body`, `lines`, `loose` | what reads them |
//! | `dialect` | the dialect, and how it is written |
//! | `export` | a dialect as a template |

mod body;
mod dialect;
mod error;
mod export;
mod form;
mod lines;
mod loose;
mod marks;
mod node;
mod opening;
mod python;
mod reader;
mod spec;

use std::sync::Arc;

use serde_json::Value;

use self::dialect::TemplateDialect;
use self::error::Result;
use self::form::CallForm;
use self::node::TemplateNode;
use self::spec::{Delimiter, Field, FieldRole, Spec};
use super::declared::check_distinct;
use super::{Dialect, Frame, FrameKind, Registry};
use crate::parse::{Opening, is_message_mark, is_reasoning_frame, is_silent_mark};

pub use error::{TemplateError, TemplateFault};
pub use export::{ExportError, export};

/// A template that was checked, from which dialects are made.
#[derive(Debug, Clone)]
pub struct ResponseTemplate {
    inner: Arc<Template>,
}

#[derive(Debug)]
struct Template {
    anchor: Delimiter,
    /// The marks around reasoning.
    reasoning: (Vec<String>, Vec<String>),
    calls: Option<Arc<CallForm>>,
    frames: Vec<Frame>,
    /// Marks that have no meaning to the reader of a reply.
    silent: Vec<String>,
    opening: Opening,
}

impl ResponseTemplate {
    /// Reads a template from a file: a `tokenizer_config.json` with a
    /// `response_template`, or the template alone.
    ///
    /// # Errors
    ///
    /// If there is none, or PTK cannot read replies by it.
    pub fn from_json(text: &str) -> std::result::Result<Self, TemplateError> {
        let value: Value = serde_json::from_str(text).map_err(|error| TemplateError {
            place: ROOT.to_owned(),
            fault: TemplateFault::NotJson(error.to_string()),
        })?;
        Self::from_value(&value)
    }

    /// Like [`from_json`](Self::from_json), for JSON that was parsed already.
    ///
    /// # Errors
    ///
    /// If there is none, or PTK cannot read replies by it.
    pub fn from_value(value: &Value) -> std::result::Result<Self, TemplateError> {
        let within = value.get(ROOT).filter(|template| !template.is_null());
        let is_bare = value.get("fields").is_some() || value.get("start_anchor").is_some();
        let node = match within {
            Some(template) => TemplateNode::new(ROOT, template),
            None if is_bare || !value.is_object() => TemplateNode::new(ROOT, value),
            None if value.get("response_schema").is_some() => {
                return Err(
                    TemplateNode::new("response_schema", value).fault(TemplateFault::Legacy)
                );
            }
            None => return Err(TemplateNode::new(ROOT, value).fault(TemplateFault::Missing)),
        };
        let spec = Spec::of(&node)?;
        let inner = Arc::new(Template::of(spec)?);
        Ok(Self { inner })
    }

    /// The dialect of this template, under a name to choose it by.
    #[must_use]
    pub fn dialect(&self, name: impl Into<String>) -> Arc<dyn Dialect> {
        Arc::new(TemplateDialect::new(name.into(), Arc::clone(&self.inner)))
    }

    /// Adds the dialect to a registry. It is tried before all others, as it is
    /// the model's own; one of the same name is replaced.
    #[must_use]
    pub fn register(&self, registry: Registry, name: &str) -> Registry {
        if registry.get(name).is_ok() {
            return registry.register(self.dialect(name));
        }
        registry.preceded_by(vec![self.dialect(name)])
    }

    /// What the reply to a prompt begins with: the prompt may have opened the
    /// reasoning behind the last place where a message of the model starts.
    ///
    /// ```
    /// use ptk_protocol::dialects::response_template::ResponseTemplate;
    /// use ptk_protocol::parse::Opening;
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "<|bot|>", "fields": {
    ///         "thinking": {"open": "<|plan|>", "close": "<|done|>"}, "content": {}}}"#,
    /// )?;
    /// assert_eq!(template.opening("<|user|>Hi<|bot|><|plan|>"), Opening::Reasoning);
    /// assert_eq!(template.opening("<|plan|><|bot|>"), Opening::Text);
    /// # Ok::<(), ptk_protocol::dialects::response_template::TemplateError>(())
    /// ```
    #[must_use]
    pub fn opening(&self, prompt: &str) -> Opening {
        let template = &self.inner;
        let start = template.anchor.last_end(prompt).unwrap_or(0);
        let message = prompt.get(start..).unwrap_or_default();
        let last = |marks: &[String]| marks.iter().filter_map(|mark| message.rfind(mark)).max();
        let (open, close) = &template.reasoning;
        match (last(open), last(close)) {
            (Some(open), Some(close)) if open > close => Opening::Reasoning,
            (Some(_), None) => Opening::Reasoning,
            (None, None) => template.opening,
            _ => Opening::Text,
        }
    }
}

/// The key of a template, and the name by which errors call it.
const ROOT: &str = "response_template";

impl Template {
    fn of(spec: Spec<'_>) -> Result<Self> {
        let calls = spec.field(FieldRole::Calls).map(CallForm::of).transpose()?;
        let mut frames = Vec::new();
        let mut silent = Vec::new();
        let mut opening = Opening::Text;
        let mut reasoning = (Vec::new(), Vec::new());
        if let Some(field) = spec.field(FieldRole::Reasoning) {
            let (open, close) = marks_of(field)?;
            let is_at_start = field.open.as_ref().is_none_or(Delimiter::is_at_start);
            if is_at_start {
                opening = Opening::Likely;
            }
            let others = spec
                .fields
                .iter()
                .filter(|it| it.role != FieldRole::Reasoning);
            let others: Vec<&Delimiter> = others.filter_map(|it| it.close.as_ref()).collect();
            let is_shared = |mark: &String| {
                let mut others = others.iter().filter_map(|other| other.texts().ok());
                others.any(|texts| texts.contains(mark))
            };
            let closes_alone = !close.iter().any(is_shared);
            if !is_reasoning_frame(&open, &close) {
                frames.push(Frame {
                    kind: FrameKind::Reasoning,
                    open: open.clone(),
                    close: close.clone(),
                    closes_alone,
                });
            }
            reasoning = (open, close);
        }
        if let Some(field) = spec.field(FieldRole::Content) {
            let (open, close) = marks_of(field)?;
            if field.open.is_none() {
                silent.extend(close);
            } else if !open.iter().all(|mark| is_message_mark(mark)) {
                frames.push(Frame {
                    kind: FrameKind::Message,
                    open,
                    close,
                    closes_alone: false,
                });
            }
        }
        if spec.fields.iter().all(|field| field.open.is_some())
            && let Ok(anchors) = spec.anchor.texts()
        {
            // A message of the model may begin again within the reply.
            silent.extend(anchors.into_iter().filter(|mark| {
                !mark.starts_with(char::is_alphanumeric) && check_distinct("open", mark).is_ok()
            }));
        }
        silent.retain(|mark| !is_silent_mark(mark));
        Ok(Self {
            anchor: spec.anchor,
            reasoning,
            calls: calls.map(Arc::new),
            frames,
            silent,
            opening,
        })
    }
}

/// The marks that open and close a field of text.
fn marks_of(field: &Field<'_>) -> Result<(Vec<String>, Vec<String>)> {
    let open = field.open.as_ref().map(Delimiter::marks);
    let close = field.close.as_ref().map(Delimiter::marks);
    let open = open.transpose()?.unwrap_or_default();
    Ok((open, close.transpose()?.unwrap_or_default()))
}
