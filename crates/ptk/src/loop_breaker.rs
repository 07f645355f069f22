//! Brings a model that repeats itself to its answer: it is warned first, then
//! asked to answer without tools, and the run fails only if it calls one even
//! then. The same holds for a model that writes results itself.

use ptk_events::EventKind;
use ptk_protocol::{ErrorCode, Message};
use ptk_store::Note;
use serde_json::json;

use crate::hooks::{Duplicate, DuplicateAction};
use crate::loops::Found;
use crate::turn::ANSWER_NOW;
use crate::{RunError, Session};

impl Session {
    /// Checks whether the last call is part of a loop. Returns whether the
    /// model is to answer now, without tools.
    pub(crate) async fn heed_loops(&mut self) -> Result<bool, RunError> {
        if self.log.turn.must_answer.is_some() {
            return Ok(true);
        }
        if self.log.turn.has_made_up && self.log.turn.made() > 0 {
            self.ask_for_answer("writes the results of tools itself")
                .await?;
            return Ok(true);
        }
        let Some(found) = self.log.turn.loops.found(|tool| self.engine.changes(tool)) else {
            return Ok(false);
        };
        let duplicate = Duplicate {
            kind: found.kind,
            tool: &found.tool,
            count: u32::try_from(found.count).unwrap_or(u32::MAX),
            is_told: found.is_told,
        };
        let action = self.hooks.duplicate(&duplicate);
        match action {
            DuplicateAction::Stop => Err(cannot_answer(&repeated(&found))),
            DuplicateAction::TellThenStop if found.is_told => {
                self.ask_for_answer(&repeated(&found)).await?;
                Ok(true)
            }
            DuplicateAction::TellThenStop | DuplicateAction::Ignore => {
                let note = Note {
                    data: Some(found.to_data()),
                    ..Note::new("The model repeats itself")
                };
                let mut entries = vec![self.log.entry(note)];
                if action == DuplicateAction::TellThenStop {
                    entries.push(self.log.entry(Message::system(found.advice)));
                }
                self.log.append(entries).await?;
                Ok(false)
            }
        }
    }

    /// Logs and publishes that the model has to answer now.
    async fn ask_for_answer(&mut self, why: &str) -> Result<(), RunError> {
        let message = format!(
            "The model {why}, so it is asked to answer from the results that there are, without tools."
        );
        let note = Note {
            data: Some(json!({ ANSWER_NOW: why })),
            ..Note::new(message.clone())
        };
        let entry = self.log.entry(note);
        self.log.append(vec![entry]).await?;
        self.publish(EventKind::Note { message });
        Ok(())
    }
}

/// Describes a loop, for messages.
fn repeated(found: &Found) -> String {
    format!(
        "repeats itself ({}, {}, {} times)",
        found.tool,
        found.kind.as_str(),
        found.count
    )
}

/// The error of a model that cannot be brought to answer.
pub(crate) fn cannot_answer(why: &str) -> RunError {
    let message = format!(
        "The model {why} and did not stop when told; put the task in other words, or try another model"
    );
    RunError::failed(ErrorCode::DuplicateToolCall, message)
}
