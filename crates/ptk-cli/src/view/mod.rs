//! Shows a run while it goes on, and its result.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `json` | events as JSON lines, for programs |
//! | `person` | the same for users: the answer on stdout, the rest on stderr |
//! | `screen` | the status line at the bottom of a terminal |
//! | `call` | a tool call in a line |
//! | `markdown` | Markdown in colours, while it is streamed |
//! | `words` | times, sizes, tokens, money and paths as text |
//! | `clean` | escapes untrusted text for a terminal |

mod call;
pub(crate) mod clean;
mod json;
mod markdown;
mod person;
mod screen;
mod words;

use std::io::Write;

use anyhow::Result;
use ptk::Execution;
use ptk::events::Delivery;

pub(crate) use call::{about, in_a_line};
pub(crate) use json::{Json, failure, note_line, now, print as print_line, session};
pub(crate) use markdown::MarkdownStream;
pub(crate) use person::HumanView;
pub(crate) use screen::{Screen, columns};
pub(crate) use words::{age, count, fitting, limit_reached, money, short_path, size, tokens, took};

/// Shows a run.
pub(crate) trait View {
    /// Shows an event.
    fn event(&mut self, delivery: &Delivery, out: &mut dyn Write) -> Result<()>;

    /// Updates what changes with time.
    fn tick(&mut self);

    /// Shows a note beside the run.
    fn say(&mut self, text: &str, out: &mut dyn Write) -> Result<()>;

    /// Reports that the user left before the run ended.
    fn left(&mut self, text: &str, out: &mut dyn Write) -> Result<()>;

    /// Shows the end of the run.
    fn end(&mut self, execution: &Execution, out: &mut dyn Write) -> Result<()>;
}
