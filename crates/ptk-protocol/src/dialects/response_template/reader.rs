//! Reads calls: the opening by its pattern, then the body by the engine that
//! fits it.

use std::sync::Arc;

use regex_automata::hybrid::dfa::Cache;

use super::body::WholeBody;
use super::form::{CallBody, CallForm};
use super::opening::Opened;
use crate::ProblemCode;
use crate::dialects::engine::call_object::Called;
use crate::dialects::engine::json_marks::is_tool_name;
use crate::dialects::engine::marked_json::{MarkedJson, looks_meant};
use crate::dialects::engine::tagged::behind_name;
use crate::parse::{Findings, Input, Reader, Refusal, Step, floor};

/// How far behind an opening mark its closing mark is searched where what
/// follows does not open a call: enough for a broken call, too little to
/// swallow prose.
const BROKEN_LIMIT: usize = 4096;

/// Reads one opening, and what follows it.
pub(super) struct CallReader {
    form: Arc<CallForm>,
    cache: Option<Cache>,
    body: Option<Box<dyn Reader>>,
}

impl CallReader {
    pub(super) fn new(form: &Arc<CallForm>) -> Self {
        Self {
            form: Arc::clone(form),
            cache: None,
            body: None,
        }
    }

    /// A reader for the body behind an opening.
    fn body_behind(&self, input: &Input<'_>, at: usize) -> Option<Box<dyn Reader>> {
        let form = &self.form;
        let opening = input.slice(0..at);
        let group = |name: &str| form.opening.group(opening, name);
        let called = match &form.name {
            None => None,
            Some(name) => {
                let name = group(name)?;
                let name = name.trim().trim_matches(['"', '\'']);
                if !is_tool_name(name) {
                    return None;
                }
                let id = form.id.as_deref().and_then(group);
                Some(Called::new(name).with_id(id.as_deref()))
            }
        };
        Some(match (&form.body, called) {
            (CallBody::Json(marks), Some(called)) => {
                Box::new(MarkedJson::arguments_of(Arc::clone(marks), called, at))
            }
            (CallBody::Json(marks), None) => Box::new(MarkedJson::behind(Arc::clone(marks), at)),
            (CallBody::Tags(tags), Some(called)) => behind_name(tags, &called.name, at, input),
            (_, called) => Box::new(WholeBody::new(form, called, at)),
        })
    }
}

impl Reader for CallReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if let Some(body) = &mut self.body {
            return body.read(input, out);
        }
        let form = Arc::clone(&self.form);
        let cache = self.cache.get_or_insert_with(|| form.opening.cache());
        match form.opening.match_at(cache, input.text, input.end) {
            Opened::More => Step::More,
            Opened::No(read) => {
                out.examined(read);
                out.refuse(Refusal::NoName)
            }
            Opened::At(at) => match self.body_behind(input, at) {
                Some(mut body) => {
                    self.cache = None;
                    let step = body.read(input, out);
                    self.body = Some(body);
                    step
                }
                None => out.refuse(Refusal::NoName),
            },
        }
    }
}

/// Reads what begins like a call and is none, after every dialect had its turn:
/// a broken call, if it closes like one.
pub(super) struct BrokenReader {
    form: Arc<CallForm>,
    mark: usize,
    search: usize,
}

impl BrokenReader {
    /// A reader for the opening mark of this index.
    pub(super) fn new(form: &Arc<CallForm>, mark: usize) -> Self {
        let mark = form.opening.marks.get(mark).map_or(0, String::len);
        Self {
            form: Arc::clone(form),
            mark,
            search: mark,
        }
    }
}

impl Reader for BrokenReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let window = input.slice(0..floor(input.text, self.mark + BROKEN_LIMIT));
        let rest = window.get(self.search..).unwrap_or_default();
        let closes = self.form.close.iter();
        let found = closes.filter_map(|close| Some((rest.find(close.as_str())?, close.len())));
        let Some((at, length)) = found.min() else {
            if input.end || input.text.len() > self.mark + BROKEN_LIMIT {
                out.examined(window.len());
                return out.refuse(Refusal::NeverCloses);
            }
            let longest = self.form.close.iter().map(String::len).max().unwrap_or(0);
            self.search = input.resume_at(self.mark, longest);
            return Step::More;
        };
        let close = self.search + at;
        let end = close + length;
        let body = input.slice(self.mark..close);
        let on_own_lines = body.starts_with('\n') && body.ends_with('\n');
        let opens_again = self
            .form
            .opening
            .marks
            .iter()
            .any(|mark| body.contains(mark.as_str()));
        if opens_again || !looks_meant(body, on_own_lines, input) {
            out.examined(end);
            return out.refuse(Refusal::AboutMarks);
        }
        let message = "What opens like a call cannot be read as one".to_owned();
        out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
        Step::Done(end)
    }
}
