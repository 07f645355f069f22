//! What drawing depends on beside the state: for the screen, and for one item.

use std::sync::Arc;
use std::time::SystemTime;

use ptk::tools::{Tool, ToolManager};
use ratatui::text::{Line, Span};

/// The columns before texts of users and models.
pub(super) const MARGIN: usize = 2;

/// The context of drawing, beside the state.
pub(crate) struct Light<'a> {
    pub(crate) now: SystemTime,
    /// Whether to use colours.
    pub(crate) is_coloured: bool,
    /// The tools, which define how their results are shown.
    pub(crate) tools: Option<&'a ToolManager>,
}

impl Light<'_> {
    /// The tool of this name.
    pub(super) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools?.registry().get(name).cloned()
    }

    /// Whether a tool shows its own progress, so that no spinner is drawn.
    pub(super) fn shows_itself(&self, name: &str) -> bool {
        self.tool(name).is_some_and(|tool| tool.shows_itself())
    }
}

/// How to lay out an item.
pub(super) struct Look<'a> {
    pub(super) width: usize,
    pub(super) is_open: bool,
    pub(super) is_chosen: bool,
    pub(super) light: &'a Light<'a>,
}

/// A line behind the margin.
pub(super) fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw(" ".repeat(MARGIN)));
    line
}
