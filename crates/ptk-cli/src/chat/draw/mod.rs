//! Draws the chat.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `canvas` | the conversation in lines, and which of them are visible |
//! | `look` | what drawing depends on beside the state: the time, colours, width |
//! | `item` | lays out one item of the conversation |
//! | `call` | a tool call: in a line, or expanded |
//! | `panel`, `form` | the part below it: questions, the open form, the editor, completions, the status |
//! | `over` | overlays: pages and lists |

mod call;
mod canvas;
mod form;
mod item;
mod look;
mod over;
mod panel;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};

use super::app::App;
use super::text::style;

pub(crate) use canvas::Canvas;
pub(crate) use look::Light;

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
    form::draw(frame, question, app);
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
