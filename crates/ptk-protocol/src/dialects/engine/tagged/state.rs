//! What the reader knows of a call, and how values and the call end.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::dialects::engine::elements::Elements;
use crate::dialects::engine::json_marks::is_tool_name;
use crate::dialects::engine::marked_json::MarkedJson;
use crate::dialects::engine::named_values::{NamedValues, Whole};
use crate::dialects::engine::tag_form::{NamePosition, Param, TagForm, ValueLines};
use crate::dialects::engine::tags::behind_line_break;
use crate::parse::{Findings, Input, Refusal, Step};

/// The longest name of a call or an argument.
pub(super) const MAX_NAME: usize = 512;

/// Reads one call.
pub(super) struct TagReader {
    pub(super) form: Arc<TagForm>,
    pub(super) at: usize,
    /// How far white space behind `at` was skipped.
    pub(super) space: usize,
    pub(super) state: TaggedState,
    pub(super) values: Option<NamedValues>,
    /// The marks that close the call.
    pub(super) close: Vec<String>,
    /// Whether the name is one that may be called, so that the call can be
    /// announced before it has ended.
    pub(super) sure: bool,
    pub(super) declared: bool,
    pub(super) given: HashSet<String>,
    /// Values of arguments that may be given several times.
    pub(super) lists: Vec<(String, Vec<String>)>,
    /// Where in `lists` an argument stands.
    pub(super) list_indexes: HashMap<String, usize>,
    pub(super) json: Option<MarkedJson>,
}

/// A value that did not end yet.
#[derive(Debug)]
pub(super) struct TagValue {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) search: usize,
    pub(super) close: String,
    /// The marks that open an argument of this kind, and those that open calls.
    pub(super) opens: Vec<String>,
    pub(super) nest: Nest,
    /// How far the value was searched for white space at its end.
    pub(super) seen: usize,
    /// Where the white space before `seen` begins.
    pub(super) visible: usize,
    /// The white space behind the last mark that may end the value, as far as it
    /// was skipped.
    pub(super) gap: Range<usize>,
}

impl TagValue {
    /// Where the value ends up to `known`, without the white space there. Every
    /// byte is examined once, however often more of the value comes.
    pub(super) fn visible_end(&mut self, input: &Input<'_>, known: usize) -> usize {
        if known > self.seen {
            let visible = input.slice(self.seen..known).trim_end();
            if !visible.is_empty() {
                self.visible = self.seen + visible.len();
            }
            self.seen = known;
        }
        self.visible.min(known)
    }
}

#[derive(Debug, Default)]
pub(super) enum TaggedState {
    #[default]
    Head,
    Between,
    /// The name of an argument that stands between tags.
    Key,
    Lead(TagValue),
    TagValue(TagValue),
    CData {
        value: TagValue,
        text: String,
    },
    Json,
    Broken,
}

/// The arguments and calls that are open in a value that shows calls itself,
/// and where the value ended if none of them was meant to be closed.
#[derive(Debug, Default)]
pub(super) struct Nest {
    pub(super) params: usize,
    pub(super) calls: usize,
    /// Whether a call of a declared tool began at the start of a line.
    pub(super) is_call: bool,
    /// Whether a closing tag that nothing in the value opened counts as content.
    pub(super) is_closed: bool,
    /// Whether an argument that was not given yet opens behind such a tag.
    pub(super) has_argument: bool,
    pub(super) ended: Option<Ended>,
}

/// A place where a value may have ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) at: usize,
    /// The length of its closing tag, unless that is missing.
    pub(super) close: Option<usize>,
    /// Whether that would cut a call off that may not be the value's.
    pub(super) cuts: bool,
}

impl TagReader {
    /// A reader of a call of this form.
    pub(super) fn new(form: &Arc<TagForm>) -> Self {
        Self {
            form: Arc::clone(form),
            at: 0,
            space: 0,
            state: TaggedState::Head,
            values: None,
            close: form.close.clone(),
            sure: false,
            declared: false,
            given: HashSet::new(),
            lists: Vec::new(),
            list_indexes: HashMap::new(),
            json: None,
        }
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "it is what the functions of the states give back"
    )]
    pub(super) fn wait(&mut self, state: TaggedState) -> Option<Step> {
        self.state = state;
        Some(Step::More)
    }

    pub(super) fn go(&mut self, state: TaggedState) -> Option<Step> {
        self.state = state;
        None
    }

    /// The mark that opens the next argument.
    pub(super) fn param_open(&self) -> String {
        match &self.form.param {
            Param::Tag { open, .. } => open.clone(),
            Param::Pair { key, .. } => key.0.clone(),
            Param::Element { prefix } => format!("{prefix}<"),
        }
    }

    /// Whether a tag inside a call is an argument's: its name is one of the
    /// tool's parameters, or these are not known.
    pub(super) fn is_element(&self, key: &str, input: &Input<'_>) -> bool {
        let known = self
            .values
            .as_ref()
            .and_then(|values| input.tools?.get(values.name()))
            .and_then(|tool| tool.properties());
        let is_name = key.starts_with(|c: char| c.is_alphabetic() || c == '_') && is_tool_name(key);
        is_name && known.is_none_or(|known| known.is_empty() || known.contains_key(key))
    }

    /// Sends the part of the open value that is known.
    pub(super) fn grow(&mut self, input: &Input<'_>, out: &mut Findings, range: Range<usize>) {
        if let Some(values) = &mut self.values
            && self.sure
            && values.is_open()
        {
            let raw = input.slice(range);
            values.grow(match self.form.lines {
                ValueLines::OfValue => raw.trim_end(),
                ValueLines::Dropped | ValueLines::OfForm => settled(raw),
            });
            values.send(out);
        }
    }

    /// Ends an argument.
    pub(super) fn end_value(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        key: &str,
        raw: &str,
    ) {
        let Some(values) = &mut self.values else {
            return;
        };
        let elements = match &self.form.param {
            Param::Element { prefix } => Some(Elements {
                prefix,
                is_xml: self.form.is_xml,
            }),
            Param::Tag { .. } | Param::Pair { .. } => None,
        };
        if values.is_open() {
            let schema = values.schema(key, input);
            match elements.map(|elements| elements.json(raw, schema)) {
                Some(Ok(Some(json))) => values.close_json(&json),
                Some(Err(mixed)) => {
                    values.close(raw, input);
                    values.mixed(key, mixed);
                }
                None | Some(Ok(None)) => values.close(raw, input),
            }
        } else if let Some(index) = self.list_indexes.get(key) {
            if let Some((_, items)) = self.lists.get_mut(*index) {
                items.push(raw.to_owned());
            }
        } else if raw.trim_start().starts_with('[') {
            // A whole list.
            values.text(key, raw, input);
        } else {
            self.list_indexes.insert(key.to_owned(), self.lists.len());
            self.lists.push((key.to_owned(), vec![raw.to_owned()]));
        }
        if self.sure {
            values.send(out);
        }
    }

    pub(super) fn is_sent(&self) -> bool {
        self.values.as_ref().is_some_and(NamedValues::is_sent)
    }

    /// Whether the call is meant as one although its tool is not known: it has
    /// begun to give arguments, in tags that nothing else has.
    pub(super) fn is_meant(&self, input: &Input<'_>) -> bool {
        let is_own = self.form.named != NamePosition::Tag && !self.form.is_xml;
        self.declared || (is_own && input.tools.is_some() && !self.given.is_empty())
    }

    /// Whether words stand behind an argument of an unknown tool, on the line of
    /// its closing tag: the text talks about the tags.
    fn is_prose(&self, input: &Input<'_>, end: usize) -> bool {
        let Param::Tag { close, .. } = &self.form.param else {
            return false;
        };
        let mut behind = input.slice(0..end).split(close.as_str()).skip(1);
        behind.any(|text| {
            let line = text.split('\n').next().unwrap_or("").trim_start();
            !line.is_empty() && !line.starts_with('<')
        })
    }

    /// Handles a reply that ends inside the call.
    pub(super) fn cut(&mut self, input: &Input<'_>, out: &mut Findings, end: usize) -> Step {
        let is_meant = self.declared || (self.is_meant(input) && !self.is_prose(input, end));
        if !self.is_sent() && !is_meant {
            out.examined(end);
            return out.refuse(Refusal::UndeclaredTool);
        }
        self.finish(input, out, end, end, Whole::No)
    }

    /// Ends the call; what stands between `body` and `end` is its end tag.
    pub(super) fn finish(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        body: usize,
        end: usize,
        whole: Whole,
    ) -> Step {
        if let Some(mut values) = self.values.take() {
            for (key, items) in self.lists.drain(..) {
                let prefix = match &self.form.param {
                    Param::Element { prefix } => prefix.as_str(),
                    Param::Tag { .. } | Param::Pair { .. } => "",
                };
                let elements = Elements {
                    prefix,
                    is_xml: self.form.is_xml,
                };
                values.list(&key, &items, elements, input);
            }
            values.finish(out, 0..body, whole);
        }
        Step::Done(end)
    }
}

/// The part of a growing value that is kept whatever follows: white space at
/// its end may be dropped.
fn settled(raw: &str) -> &str {
    behind_line_break(raw).unwrap_or(raw).trim_end()
}
