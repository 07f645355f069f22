//! The containers that are open at a place in the text.

/// A container that was opened and is not closed yet.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) state: FrameState,
    /// The closer that belongs to it in the input.
    pub(super) closer: u8,
    /// Where it begins in the output.
    pub(super) opened: usize,
    /// Where the latest key or value begins in the output.
    pub(super) latest: usize,
    /// Where in the output a comma stands that no value follows yet.
    pub(super) comma: Option<usize>,
    /// Where in the output the comma before the latest key or value stands.
    pub(super) separator: Option<usize>,
    /// How many keys or values have been read.
    pub(super) count: usize,
    /// Whether the latest value was written as a string.
    pub(super) string: bool,
}

impl Frame {
    pub(super) fn new(kind: Kind, closer: u8, opened: usize) -> Self {
        let state = match kind {
            Kind::Object => FrameState::Key,
            Kind::Root | Kind::Array | Kind::Group => FrameState::Value,
        };
        Self {
            kind,
            state,
            closer,
            opened,
            latest: opened,
            comma: None,
            separator: None,
            count: 0,
            string: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The whole text.
    Root,
    Object,
    /// An array, or a set or tuple that became one.
    Array,
    /// Parentheses around one value, perhaps with a name before them.
    Group,
}

impl Kind {
    pub(super) const fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

/// What the reader expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameState {
    Key,
    Colon,
    Value,
    /// A comma or the closer.
    After,
}
