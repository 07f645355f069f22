//! Text as a terminal shows it: lines of a width, with their styles.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `style` | the styles, in the sixteen colours that every terminal has its own of |
//! | `wrap` | lines that fit a width, cut where people cut them |
//! | `markdown` | what a model says |
//! | `code` | code in colours |
//! | `diff` | changes in colours |

pub(crate) mod code;
pub(crate) mod diff;
pub(crate) mod markdown;
pub(crate) mod style;
pub(crate) mod wrap;

use ratatui::text::Line;

/// Lines that belong to nobody.
pub(crate) type Lines = Vec<Line<'static>>;
