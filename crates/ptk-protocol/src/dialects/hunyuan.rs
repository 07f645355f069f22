//! `hunyuan-v4`: tags that all end with the same suffix, which differs from
//! checkpoint to checkpoint. It is learnt from the outer mark.
//!
//! ```text
//! <tool_calls:6124c78e><tool_call:6124c78e>read_file
//! <arg_key:6124c78e>path</arg_key:6124c78e><arg_value:6124c78e>a.txt</arg_value:6124c78e>
//! </tool_call:6124c78e></tool_calls:6124c78e>
//! ```

use std::sync::Arc;

use super::engine::nested::read_at;
use super::engine::tag_form::TagForm;
use super::tagged::key_value_tags;
use super::{Claim, Dialect, Trigger};
use crate::ProblemCode;
use crate::parse::{Findings, Input, MarkAt, Reader, Refusal, Step, floor, mark_at};

const SECTION: &str = "<tool_calls:";
const CALL: &str = "<tool_call:";

/// The longest suffix.
const MAX_SUFFIX: usize = 64;

/// The dialect of Hunyuan V4. A model is not taught it, as its suffix is only
/// known to the model.
#[derive(Debug, Clone, Copy, Default)]
pub struct HunyuanV4;

impl Dialect for HunyuanV4 {
    fn name(&self) -> &'static str {
        "hunyuan-v4"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![
            Trigger::anywhere(CALL),
            Trigger::anywhere(SECTION).claimed(Claim::Section),
        ]
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        Box::new(SuffixedCalls {
            in_section: trigger > 0,
            marks: None,
            at: 0,
            calls: 0,
            call: None,
        })
    }

    fn also_reads(&self) -> Vec<String> {
        vec!["hermes".to_owned(), "json".to_owned()]
    }
}

/// The marks with the suffix that was learnt.
struct SuffixedMarks {
    open: String,
    section_end: String,
    form: Arc<TagForm>,
}

impl SuffixedMarks {
    fn new(suffix: &str) -> Self {
        let section_end = format!("</tool_calls:{suffix}>");
        let section = (format!("{SECTION}{suffix}>"), section_end.clone());
        let sections = [(section.0.as_str(), section.1.as_str())];
        Self {
            open: format!("{CALL}{suffix}>"),
            section_end,
            form: Arc::new(key_value_tags(|tag| format!("{tag}:{suffix}>"), &sections)),
        }
    }
}

/// Reads the calls of a section, or a call without one.
struct SuffixedCalls {
    in_section: bool,
    marks: Option<SuffixedMarks>,
    /// How far the text was read.
    at: usize,
    calls: usize,
    call: Option<Box<dyn Reader>>,
}

impl Reader for SuffixedCalls {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let step = match self.call.take() {
                Some(call) => self.call(input, out, call),
                None => self.between(input, out),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

impl SuffixedCalls {
    /// Reads the outer mark, or what stands between two calls.
    fn between(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        if self.marks.is_none() {
            let open = if self.in_section { SECTION } else { CALL };
            match suffix(input.from(open.len()), input.end) {
                SuffixAt::More => return Some(Step::More),
                SuffixAt::None => return Some(out.refuse(Refusal::OtherForm)),
                SuffixAt::Finding(suffix) => {
                    self.marks = Some(SuffixedMarks::new(suffix));
                    if self.in_section {
                        self.at = open.len() + suffix.len() + 1;
                    }
                }
            }
        }
        let marks = self.marks.as_ref()?;
        let at = input.skip_space(self.at);
        let rest = input.from(at);
        if rest.is_empty() && !input.end {
            return Some(Step::More);
        }
        match mark_at(rest, &[&marks.open, &marks.section_end]) {
            MarkAt::Partial if !input.end => Some(Step::More),
            MarkAt::Finding { index: 0, .. } if self.in_section || self.calls == 0 => {
                self.call = Some(TagForm::reader(&marks.form, 0));
                self.at = at;
                None
            }
            MarkAt::Finding { index: 1, length } if self.calls > 0 => Some(Step::Done(at + length)),
            MarkAt::Finding { index: 1, length } => {
                let message = "The call is empty".to_owned();
                let end = at + length;
                out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
                Some(Step::Done(end))
            }
            _ if self.calls > 0 => Some(Step::Done(self.at)),
            _ if rest.is_empty() => {
                let message = "The reply ends behind the opening mark of a call".to_owned();
                out.unreadable(ProblemCode::Truncated, message, 0..at, input.text);
                Some(Step::Done(at))
            }
            _ => Some(out.refuse(Refusal::NoCallBehind)),
        }
    }

    fn call(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        mut call: Box<dyn Reader>,
    ) -> Option<Step> {
        match read_at(call.as_mut(), input, self.at, out) {
            Step::More => {
                self.call = Some(call);
                Some(Step::More)
            }
            Step::Done(length) | Step::Skip(length) => {
                self.at += length;
                self.calls += 1;
                // Without a section each call is a construct of its own, the
                // mark that ends the section aside.
                None
            }
            Step::Reject if self.calls > 0 => Some(Step::Done(self.at)),
            Step::Reject => Some(Step::Reject),
        }
    }
}

enum SuffixAt<'t> {
    Finding(&'t str),
    More,
    None,
}

/// The suffix at the start of the text, before `>`.
fn suffix(text: &str, end: bool) -> SuffixAt<'_> {
    let window = text.get(..floor(text, MAX_SUFFIX + 1)).unwrap_or("");
    let is_suffix = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match window.find(|c| !is_suffix(c)) {
        Some(length) if length > 0 && window.as_bytes().get(length) == Some(&b'>') => {
            SuffixAt::Finding(window.get(..length).unwrap_or(""))
        }
        None if window.len() <= MAX_SUFFIX && !end => SuffixAt::More,
        _ => SuffixAt::None,
    }
}
