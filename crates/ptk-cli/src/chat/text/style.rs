//! The styles. They use only the terminal's own sixteen colours, which suit its
//! background, light or dark.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
pub(crate) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const HEADING: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
pub(crate) const CODE: Style = Style::new().fg(Color::Green);
pub(crate) const LINK: Style = Style::new()
    .fg(Color::Blue)
    .add_modifier(Modifier::UNDERLINED);
pub(crate) const DONE: Style = Style::new().fg(Color::Green);
pub(crate) const FAILED: Style = Style::new().fg(Color::Red);
pub(crate) const WARNING: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
pub(crate) const BUSY: Style = Style::new().fg(Color::Cyan);
pub(crate) const PERSON: Style = Style::new().fg(Color::Magenta).add_modifier(Modifier::BOLD);
pub(crate) const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(crate) const FOUND: Style = Style::new().fg(Color::Black).bg(Color::Yellow);

/// Removes the colours from a drawn screen, and keeps all other attributes.
pub(crate) fn without_colours(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.bg != Color::Reset {
            cell.modifier |= Modifier::REVERSED;
        }
        cell.fg = Color::Reset;
        cell.bg = Color::Reset;
    }
}
