//! Corrects a response whose beginning turned out to be something else: reasoning
//! that the prompt had opened, or an answer where reasoning was expected.

use ptk_protocol::{Arguments, Reclassified};

use super::{Fault, ReadyCall, State};
use crate::response::{Note, ResponseEvent};

/// Calls in reasoning that the prompt had opened. They are calls after all if
/// nothing follows the reasoning.
pub(super) struct Drafted {
    sent: Vec<(String, Arguments)>,
    written: usize,
    faults: Vec<Fault>,
    later: Vec<ReadyCall>,
    cut: Option<String>,
}

impl State<'_, '_> {
    /// Corrects what was handled of the reply so far.
    pub(super) fn reclassify(&mut self, what: &Reclassified) {
        match what {
            Reclassified::Reasoning { markup: Some(_) } => {
                self.is_repaired = true;
                if self.stream.is_live {
                    // What was streamed cannot be taken back.
                    let note = Note::new(
                        "unopened_reasoning",
                        "The reply began inside reasoning, and was streamed as an answer; \
                         set `starts_in_reasoning` for this model",
                    );
                    self.stream.notes.push(note);
                    return;
                }
                let first = self.before.min(self.stream.calls.len());
                self.drafted = Some(Drafted {
                    sent: self.stream.calls.split_off(first),
                    written: std::mem::take(&mut self.written),
                    faults: std::mem::take(&mut self.faults),
                    later: std::mem::take(&mut self.later),
                    cut: self.cut.take(),
                });
                self.stream.has_text = false;
                self.visible.clear();
                self.stream.say(ResponseEvent::WasReasoning);
            }
            Reclassified::Rescued => {
                let Some(drafted) = self.drafted.take() else {
                    return;
                };
                self.stream.calls.extend(drafted.sent);
                self.written += drafted.written;
                self.faults.extend(drafted.faults);
                self.later.extend(drafted.later);
                self.cut = self.cut.take().or(drafted.cut);
                self.stream.say(ResponseEvent::WasRescued);
            }
            Reclassified::Reasoning { markup: None } => {}
            Reclassified::Text => self.stream.say(ResponseEvent::WasText),
        }
    }
}
