//! The opening tag of a call, and the name in or behind it.

use std::sync::Arc;

use super::state::{MAX_NAME, TagReader, TaggedState};
use super::values::Follows;
use crate::ProblemCode;
use crate::dialects::engine::json_marks::{CUT_IN_NAME, ends_in_name, is_tool_name, leading_name};
use crate::dialects::engine::named_values::{NamedValues, Whole};
use crate::dialects::engine::tag_form::{JsonBody, NamePosition};
use crate::dialects::engine::tags::{TagEnd, attribute, tag_end};
use crate::parse::{Findings, Input, MarkAt, Refusal, Step, floor, mark_at};

/// The longest opening tag of a call.
const MAX_HEAD: usize = 4 * MAX_NAME;

impl TagReader {
    /// Reads the opening tag.
    pub(super) fn head(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let form = Arc::clone(&self.form);
        let open = form
            .open
            .iter()
            .find(|open| {
                input
                    .text
                    .get(..open.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(open))
            })
            .map_or(0, String::len);
        let rest = input.from(open);
        let rest = rest.get(..floor(rest, MAX_HEAD)).unwrap_or("");
        let mut wrong = None;
        let (name, behind, closed) = match &form.named {
            NamePosition::Behind(ends) => {
                let lead = rest.trim_start();
                let Some((name, behind)) = leading_name(lead) else {
                    return self.undecided(input, out, open);
                };
                let mark = behind.trim_start();
                if open == 0 {
                    match self.arguments_follow(mark, input.end) {
                        Follows::Yes => {}
                        Follows::No => return Some(out.refuse(Refusal::NoCallBehind)),
                        Follows::More => return self.undecided(input, out, open),
                    }
                }
                let length = match mark_at(mark, ends) {
                    MarkAt::Partial if !input.end => return self.undecided(input, out, open),
                    MarkAt::Finding { length, .. } => length,
                    MarkAt::Partial | MarkAt::None => 0,
                };
                (
                    name.to_owned(),
                    open + rest.len() - mark.len() + length,
                    false,
                )
            }
            NamePosition::Rest | NamePosition::Attribute(_) | NamePosition::Tag => {
                let end = match tag_end(rest, &form.tag_end) {
                    TagEnd::At(end) => end,
                    TagEnd::Open => return self.undecided(input, out, open),
                    TagEnd::None => return self.unclosed_head(input, out, open, rest),
                };
                let Some(inner) = rest.get(..end) else {
                    return Some(Step::Reject);
                };
                let is_glued = !inner.starts_with(|c: char| c.is_whitespace());
                if is_glued && matches!(form.named, NamePosition::Attribute(_)) {
                    wrong = Some(open..open);
                }
                let closed = inner.ends_with('/');
                let inner = inner.strip_suffix('/').unwrap_or(inner);
                let name = match &form.named {
                    NamePosition::Attribute(key) => attribute(inner, key).unwrap_or_default(),
                    NamePosition::Tag => inner.split_whitespace().next().unwrap_or("").to_owned(),
                    _ => inner.trim().trim_matches(['"', '\'']).to_owned(),
                };
                (name, open + end + form.tag_end.len(), closed)
            }
        };
        let is_name = match form.named {
            NamePosition::Attribute(_) => !name.is_empty(),
            _ => is_tool_name(&name),
        };
        if !is_name || name.len() > MAX_NAME {
            // An empty or missing name, in a tag that is a call's for certain.
            let is_own = !matches!(form.named, NamePosition::Tag | NamePosition::Behind(_));
            if name.is_empty() && is_own && !form.is_xml {
                self.at = behind;
                return self.go(TaggedState::Broken);
            }
            return Some(out.refuse(Refusal::NoName));
        }
        if form.named == NamePosition::Tag {
            self.close = vec![format!("</{name}>")];
        }
        let mut values = self.named(name, behind, input);
        if let Some(range) = wrong {
            values.note(ProblemCode::WrongMark, range);
        }
        if open == 0 {
            values.note(ProblemCode::MissingOpenMark, 0..0);
        }
        if let NamePosition::Attribute(_) = form.named
            && let Some(reasoning) = attribute(input.slice(open..behind), "reasoning")
        {
            values.set_reasoning(reasoning);
        }
        if closed {
            if form.json == JsonBody::Only {
                return Some(Step::Reject);
            }
            values.finish(out, 0..self.at, Whole::Yes);
            return Some(Step::Done(self.at));
        }
        self.values = Some(values);
        self.go(TaggedState::Between)
    }

    /// Begins a call of this name, the arguments of which stand behind `at`.
    pub(super) fn named(&mut self, name: String, at: usize, input: &Input<'_>) -> NamedValues {
        self.at = at;
        self.declared = input.declares(&name);
        self.sure = input.knows(&name);
        NamedValues::new(name)
    }

    /// Handles an opening tag whose end is missing, before the first argument
    /// or the end of the call: `<function=f` and `<parameter=k>`.
    fn unclosed_head(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        open: usize,
        rest: &str,
    ) -> Option<Step> {
        let argument = [self.param_open()];
        let marks = [argument.as_slice(), self.close.as_slice()].concat();
        let found = leading_name(rest).map(|(name, behind)| (name, behind.trim_start()));
        // Behind a name that no tool has, an argument has to follow.
        let is_meant = |(name, behind): &(&str, &str)| {
            input.declares(name) || !matches!(mark_at(behind, &argument), MarkAt::None)
        };
        let Some((name, behind)) = found.filter(is_meant) else {
            return Some(out.refuse(Refusal::NoName));
        };
        match mark_at(behind, &marks) {
            _ if self.form.named != NamePosition::Rest => Some(out.refuse(Refusal::NoName)),
            MarkAt::Partial => self.undecided(input, out, open),
            MarkAt::None => Some(out.refuse(Refusal::NoName)),
            MarkAt::Finding { .. } => {
                let at = open + name.len();
                let mut values = self.named(name.to_owned(), at, input);
                values.note(ProblemCode::MissingCloser, at..at);
                self.values = Some(values);
                self.go(TaggedState::Between)
            }
        }
    }

    /// Waits for more of the opening tag.
    fn undecided(&mut self, input: &Input<'_>, out: &mut Findings, open: usize) -> Option<Step> {
        let rest = input.from(open);
        if rest.len() >= MAX_HEAD {
            return Some(out.refuse(Refusal::NoName));
        }
        if input.end {
            return Some(self.cut_head(input, out, rest));
        }
        self.wait(TaggedState::Head)
    }

    /// Handles a reply that ends in the opening tag: the call was cut off, if
    /// the name of a declared tool stands in it.
    fn cut_head(&mut self, input: &Input<'_>, out: &mut Findings, rest: &str) -> Step {
        let name = match &self.form.named {
            NamePosition::Attribute(key) => attribute(rest, key).unwrap_or_default(),
            NamePosition::Rest => rest.trim().trim_matches(['"', '\'']).to_owned(),
            // Without its mark, it is a word at the end of the reply.
            NamePosition::Behind(_) if rest.len() < input.text.len() => rest.trim().to_owned(),
            NamePosition::Behind(_) | NamePosition::Tag => String::new(),
        };
        if !input.declares(&name) {
            let may_be_name = match &self.form.named {
                NamePosition::Attribute(_) => rest.contains('='),
                NamePosition::Behind(_) => rest.len() < input.text.len(),
                NamePosition::Rest => true,
                NamePosition::Tag => false,
            };
            if !may_be_name || !ends_in_name(rest, input) {
                return Step::Reject;
            }
            let end = input.text.len();
            let message = CUT_IN_NAME.to_owned();
            out.unreadable(ProblemCode::Truncated, message, 0..end, input.text);
            return Step::Done(end);
        }
        self.values = Some(NamedValues::new(name));
        let end = input.text.len();
        self.finish(input, out, end, end, Whole::No)
    }
}
