//! JSON calls behind the word `Action:` on a line, in a fence or without one.
//! The word is common, so a declared tool's name is needed as evidence.

use std::sync::{Arc, LazyLock};

use super::json_marks::JsonMarks;
use super::marked_json::MarkedJson;
use crate::parse::{Finding, Findings, Input, Peek, Reader, Step};

/// The word that a call starts with.
pub(crate) const ACTION: &str = "Action:";

static PLAIN: LazyLock<Arc<JsonMarks>> =
    LazyLock::new(|| Arc::new(JsonMarks::exact(&[ACTION], &[])));

static FENCED: LazyLock<Arc<JsonMarks>> = LazyLock::new(|| {
    Arc::new(JsonMarks {
        fenced: true,
        may_stay_open: true,
        ..JsonMarks::exact(&[ACTION], &["```"])
    })
});

/// Reads the calls behind one `Action:`.
#[derive(Debug, Default)]
pub(crate) struct Action {
    json: Option<MarkedJson>,
    is_meant: bool,
}

impl Reader for Action {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let json = if let Some(json) = &mut self.json {
            json
        } else {
            let marks = match input.peek(ACTION.len()) {
                Peek::More => return Step::More,
                Peek::Byte(b'{' | b'[') => &PLAIN,
                Peek::Byte(b'`') => &FENCED,
                Peek::Byte(_) | Peek::End => return Step::Reject,
            };
            self.json.insert(MarkedJson::new(Arc::clone(marks), 0))
        };
        let step = json.read(input, out);
        if !self.is_meant
            && let Some(first) = out.found.first()
        {
            self.is_meant = matches!(first, Finding::Start(name) if input.declares(name));
            if !self.is_meant {
                out.found.clear();
                out.examined(input.text.len());
                return Step::Reject;
            }
        }
        step
    }
}
