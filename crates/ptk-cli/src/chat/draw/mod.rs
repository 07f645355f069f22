//! The chat on a screen.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `canvas` | the conversation in lines, which of them are seen, and where one is in it |
//! | `item` | one item of the conversation in lines |
//! | `call` | a call: in a line, or open |
//! | `panel` | what stands below it: questions, what is written, what is offered |
//! | `over` | what stands over it: pages and lists |

mod call;
mod canvas;
mod item;
mod over;
mod panel;
#[cfg(test)]
mod tests;

use std::time::SystemTime;

use ptk::tools::ToolManager;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};

use super::app::{App, Focus};
use super::text::style;

pub(crate) use canvas::Canvas;

/// What a drawing needs beside the state.
pub(crate) struct Light<'a> {
    pub(crate) now: SystemTime,
    /// Whether there are colours.
    pub(crate) is_coloured: bool,
    /// The tools, which know how their results are shown.
    pub(crate) tools: Option<&'a ToolManager>,
}

/// Draws all of it.
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
    let has_cursor = app.overlay.is_none() && app.focus != Focus::Question;
    if !has_cursor {
        // Nothing is written there now.
        frame.buffer_mut();
    }
    if !light.is_coloured {
        style::without_colours(frame.buffer_mut());
    }
}
