//! Layout of text for a terminal: lines of a width, with their styles.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `style` | the styles, in the terminal's own sixteen colours |
//! | `wrap` | wrapping of lines |
//! | `markdown` | layout of Markdown |
//! | `code` | syntax highlighting |
//! | `diff` | colours for diffs |

pub(crate) mod code;
pub(crate) mod diff;
pub(crate) mod markdown;
pub(crate) mod style;
pub(crate) mod wrap;

use ratatui::text::Line;

/// Lines that own their text.
pub(crate) type Lines = Vec<Line<'static>>;
