//! A model that goes round in circles is told; if it does not listen, the run
//! fails (C13).

use ptk_protocol::{ErrorCode, Message};
use ptk_store::Note;

use crate::hooks::{Duplicate, DuplicateAction};
use crate::{RunError, Session};

impl Session {
    /// Looks whether the last call is part of a loop.
    pub(crate) async fn heed_loops(&mut self) -> Result<(), RunError> {
        let Some(found) = self.log.turn.loops.found(|tool| self.engine.changes(tool)) else {
            return Ok(());
        };
        let duplicate = Duplicate {
            kind: found.kind,
            tool: &found.tool,
            count: u32::try_from(found.count).unwrap_or(u32::MAX),
            is_told: found.is_told,
        };
        let action = self.engine.hooks.duplicate(&duplicate);
        let is_over = match action {
            DuplicateAction::Stop => true,
            DuplicateAction::TellThenStop => found.is_told,
            DuplicateAction::Ignore => false,
        };
        if is_over {
            let message = format!(
                "The model repeats itself ({}, {}, {} times) and did not stop when told; put the task in other words, or try another model",
                found.tool,
                found.kind.as_str(),
                found.count
            );
            return Err(RunError::failed(ErrorCode::DuplicateToolCall, message));
        }
        let note = Note {
            data: Some(found.to_data()),
            ..Note::new("The model repeats itself")
        };
        let mut entries = vec![self.log.entry(note)];
        if action == DuplicateAction::TellThenStop {
            entries.push(self.log.entry(Message::system(found.advice)));
        }
        self.log.append(entries).await
    }
}
