//! Marks around reasoning and around messages to the user: those of the tables,
//! and those that dialects bring along.

use std::sync::Arc;

use super::message_marks::USER_MESSAGES;
use super::reasoning_marks::{
    OPENED_BY_PROMPT, REASONING, begins_with, closing_alone, closing_opened, next_messages,
};
use crate::dialects::{Dialect, Frame, FrameKind, TriggerPosition};

/// The frames of a set of dialects. Reasoning is counted by rows: those of the
/// table, then reasoning that the prompt has opened, then those of dialects.
/// Messages are counted in the same way, families first.
#[derive(Debug, Default)]
pub(super) struct Frames {
    reasoning: Vec<Frame>,
    /// Each with the dialect whose calls are quoted in it.
    messages: Vec<(usize, Frame)>,
}

impl Frames {
    /// The frames that these dialects bring along.
    pub(super) fn of(dialects: &[Arc<dyn Dialect>]) -> Self {
        let mut frames = Self::default();
        for (index, dialect) in dialects.iter().enumerate() {
            for frame in dialect.frames() {
                match frame.kind {
                    FrameKind::Reasoning => frames.reasoning.push(frame),
                    FrameKind::Message => frames.messages.push((index, frame)),
                }
            }
        }
        frames
    }

    /// The rows of reasoning that are not in the table.
    pub(super) fn reasoning(&self) -> impl Iterator<Item = (usize, &Frame)> {
        let rows = OPENED_BY_PROMPT + 1..;
        rows.zip(&self.reasoning)
    }

    /// The families of messages that are not in the table, each with its
    /// dialect.
    pub(super) fn messages(&self) -> impl Iterator<Item = (usize, usize, &Frame)> {
        let families = USER_MESSAGES.len()..;
        let messages = families.zip(&self.messages);
        messages.map(|(family, (dialect, frame))| (family, *dialect, frame))
    }

    fn row(&self, row: usize) -> Option<&Frame> {
        self.reasoning.get(row.checked_sub(OPENED_BY_PROMPT + 1)?)
    }

    /// Whether the reasoning of a row is closed by this mark.
    pub(super) fn is_closed_by(&self, row: usize, mark: &str) -> bool {
        match (REASONING.get(row), self.row(row)) {
            (Some(row), _) => row.is_closed_by(mark),
            (None, Some(frame)) => is_one_of(frame.close.iter(), mark),
            (None, None) => {
                is_one_of(closing_opened(), mark)
                    || self
                        .reasoning
                        .iter()
                        .any(|frame| is_one_of(frame.close.iter(), mark))
            }
        }
    }

    /// Whether the reasoning of a row ends before this mark, which belongs to
    /// the next message.
    pub(super) fn is_left_at(row: usize, mark: &str) -> bool {
        match REASONING.get(row) {
            Some(row) => row.is_left_at(mark),
            None if row == OPENED_BY_PROMPT => next_messages().any(|next| begins_with(mark, next)),
            None => false,
        }
    }

    /// All marks at which the reasoning of a row may end.
    pub(super) fn ends_of(&self, row: usize) -> Vec<String> {
        match (REASONING.get(row), self.row(row)) {
            (Some(row), _) => row.ends().map(str::to_owned).collect(),
            (None, Some(frame)) => frame.close.clone(),
            (None, None) => {
                let own = self.reasoning.iter().flat_map(|frame| frame.close.clone());
                let marks = closing_opened().chain(next_messages());
                marks.map(str::to_owned).chain(own).collect()
            }
        }
    }

    /// Whether reasoning of a row may open in the middle of a line.
    pub(super) fn may_open_mid_line(&self, row: usize) -> bool {
        let place = REASONING.get(row).map(|row| row.place);
        place == Some(TriggerPosition::Anywhere) || self.row(row).is_some()
    }

    /// Whether a mark ends reasoning that the prompt may have opened.
    pub(super) fn closes_alone(&self, mark: &str) -> bool {
        let mut own = self.reasoning.iter().filter(|frame| frame.closes_alone);
        is_one_of(closing_alone(), mark) || own.any(|frame| is_one_of(frame.close.iter(), mark))
    }
}

fn is_one_of<S: AsRef<str>>(mut marks: impl Iterator<Item = S>, mark: &str) -> bool {
    marks.any(|it| it.as_ref().eq_ignore_ascii_case(mark))
}

/// Whether the table of reasoning has all of these marks as one form or several.
pub(crate) fn is_reasoning_frame(open: &[String], close: &[String]) -> bool {
    let is_known = |mark: &String| {
        let row = REASONING
            .iter()
            .find(|row| row.open.eq_ignore_ascii_case(mark));
        row.is_some_and(|row| close.iter().all(|close| row.is_closed_by(close)))
    };
    !open.is_empty() && !close.is_empty() && open.iter().all(is_known)
}
