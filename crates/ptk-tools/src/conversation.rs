//! [`Conversation`]: what is known of one conversation with a model.

use std::sync::Arc;

use crate::SeenFile;
use crate::files::Files;
use crate::in_flight::InFlight;
use crate::repeats::Repeats;

/// A conversation that calls belong to: the files that its model has seen, and
/// the calls that it has made in this turn. Another conversation with the same
/// [`ToolManager`](crate::ToolManager) has seen other files. Cheap to clone;
/// clones are the same conversation.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    inner: Arc<ConversationState>,
}

#[derive(Debug, Default)]
struct ConversationState {
    files: Files,
    repeats: Repeats,
    in_flight: InFlight,
}

impl Conversation {
    /// A conversation in which nothing has been called yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a new turn: calls may be repeated.
    pub fn begin_turn(&self) {
        self.inner.repeats.clear();
    }

    /// Takes over which files were seen before, by calls of a session that is
    /// continued: those that have not changed need not be read again.
    pub fn remember(&self, files: impl IntoIterator<Item = SeenFile>) {
        self.inner.files.remember(files);
    }

    /// Forgets the lines that a call has shown of these files: the model was
    /// not shown all of its result.
    pub fn hide(&self, files: impl IntoIterator<Item = SeenFile>) {
        self.inner.files.hide(files);
    }

    /// Forgets which files were read and which calls were made.
    pub fn clear(&self) {
        self.inner.repeats.clear();
        self.inner.files.clear();
    }

    pub(crate) fn files(&self) -> &Files {
        &self.inner.files
    }

    pub(crate) fn repeats(&self) -> &Repeats {
        &self.inner.repeats
    }

    pub(crate) fn in_flight(&self) -> &InFlight {
        &self.inner.in_flight
    }
}
