//! Draws the chat.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `canvas` | the conversation in lines, and which of them are visible |
//! | `item` | lays out one item of the conversation |
//! | `call` | a tool call: in a line, or expanded |
//! | `panel` | the part below it: questions, the editor, completions, the status |
//! | `over` | overlays: pages and lists |

mod call;
mod canvas;
mod item;
mod over;
mod panel;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::SystemTime;

use ptk::tools::{Tool, ToolManager};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};

use super::app::App;
use super::text::style;

pub(crate) use canvas::Canvas;

/// The context of drawing, beside the state.
pub(crate) struct Light<'a> {
    pub(crate) now: SystemTime,
    /// Whether to use colours.
    pub(crate) is_coloured: bool,
    /// The tools, which define how their results are shown.
    pub(crate) tools: Option<&'a ToolManager>,
}

impl Light<'_> {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools?.registry().get(name).cloned()
    }

    /// Whether a tool shows its own progress, so that no spinner is drawn.
    fn shows_itself(&self, name: &str) -> bool {
        self.tool(name).is_some_and(|tool| tool.shows_itself())
    }
}

/// Draws the whole screen.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App, light: &Light<'_>) {
    let area = frame.area();
    let below = panel::heights(app, area);
    let [conversation, question, queue, rule, editor, status] = Layout::vertical([
        Constraint::Min(1),
        Constraint::Length(below.question),
        Constraint::Length(below.queue),
        Constraint::Length(1),
        Constraint::Length(below.editor),
        Constraint::Length(1),
    ])
    .areas(area);
    canvas::draw(frame, conversation, app, light);
    panel::question(frame, question, app);
    panel::queue(frame, queue, app);
    panel::rule(frame, rule, app);
    panel::editor(frame, editor, app);
    panel::status(frame, status, app, light);
    panel::offer(frame, rule, app);
    over::draw(frame, area, app);
    if !light.is_coloured {
        style::without_colours(frame.buffer_mut());
    }
}
