//! Arguments in tags without a call around them: the opening mark is missing,
//! and the tool's name was the end of a sentence, or is missing as well.

use std::sync::Arc;

use super::{BROKEN_LIMIT, TagForm};
use crate::ProblemCode;
use crate::dialects::engine::tag_form::Param;
use crate::dialects::engine::tolerant::find_ignoring_case;
use crate::parse::{Findings, Input, Reader, Refusal, Step, floor};

/// Reads arguments at the start of a line that end like a call: a broken one.
#[derive(Debug)]
pub(super) struct Nameless {
    form: Arc<TagForm>,
    /// How far the closing mark was searched for.
    searched: usize,
}

impl Nameless {
    pub(super) fn new(form: &Arc<TagForm>) -> Self {
        Self {
            form: Arc::clone(form),
            searched: 0,
        }
    }

    /// The first closing mark of the form in `text`, and what is behind it.
    fn close(&self, text: &str) -> Option<(usize, usize)> {
        let closes = self.form.close.iter();
        closes
            .filter_map(|close| {
                let at = find_ignoring_case(text, self.searched, close)?;
                Some((at, at + close.len()))
            })
            .min()
    }

    /// Whether a value stands in the text before the closing mark, and no call
    /// begins in it.
    fn holds_values(&self, body: &str) -> bool {
        let Param::Pair { value, .. } = &self.form.param else {
            return false;
        };
        let mut opens = self.form.open.iter();
        let has = |mark: &str| find_ignoring_case(body, 0, mark).is_some();
        has(&value.0) && has(&value.1) && !opens.any(|open| has(open))
    }
}

impl Reader for Nameless {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let window = input.slice(0..floor(input.text, BROKEN_LIMIT));
        let Some((start, end)) = self.close(window) else {
            if input.end || window.len() < input.text.len() {
                out.examined(window.len());
                return out.refuse(Refusal::NeverCloses);
            }
            let longest = self.form.close.iter().map(String::len).max().unwrap_or(0);
            self.searched = input.resume_at(self.searched, longest);
            return Step::More;
        };
        let Some(ends_line) = input.ends_line(end) else {
            return Step::More;
        };
        if !ends_line || !self.holds_values(input.slice(0..start)) {
            out.examined(end);
            return out.refuse(Refusal::NoCallBehind);
        }
        let message = "The arguments follow no call; its opening mark is missing".to_owned();
        out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
        Step::Done(end)
    }
}
