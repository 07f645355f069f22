//! What is shown of a run while it goes on, and of its end.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `json` | events as JSON lines, for programs |
//! | `person` | the same for people: the answer on stdout, the rest on stderr |
//! | `screen` | the line at the bottom of a terminal that says what is going on |
//! | `call` | a call in a line |
//! | `markdown` | Markdown in colours, while it comes in |
//! | `words` | times and sizes in words, and colours where they are taken |
//! | `clean` | untrusted text without what a terminal would obey |

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
pub(crate) use json::{Json, session};
pub(crate) use markdown::MarkdownStream;
pub(crate) use person::HumanView;
pub(crate) use screen::Screen;
pub(crate) use words::{age, count, fitting, money, size, took};

/// Shows a run.
pub(crate) trait View {
    /// Something happened.
    fn event(&mut self, delivery: &Delivery, out: &mut dyn Write) -> Result<()>;

    /// Some time has passed.
    fn tick(&mut self);

    /// Something is to be said beside it.
    fn say(&mut self, text: &str, out: &mut dyn Write) -> Result<()>;

    /// It was left before it was over.
    fn left(&mut self, text: &str, out: &mut dyn Write) -> Result<()>;

    /// It is over.
    fn end(&mut self, execution: &Execution, out: &mut dyn Write) -> Result<()>;
}
