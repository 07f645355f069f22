//! `ptk chat`: a conversation in the terminal.
//!
//! The screen is a function of the events: [`ptk::view::Conversation`] folds
//! them, [`app`] adds the user's input, [`draw`] draws both.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `host` | runs the model, the tools and the session |
//! | `orders` | executes the chat's own commands |
//! | `command` | parses the chat's own commands |
//! | `typed` | command lines that the user has typed, which need no approval |
//! | `questions`, `forms` | the questions and forms that wait, and how keys answer them |
//! | `app` | the state of the screen, and how keys change it |
//! | `editor`, `complete` | the prompt editor, and completion |
//! | `mention` | files that a prompt mentions |
//! | `history` | the prompts of earlier chats |
//! | `compose` | the prompt in the user's own editor |
//! | `overlay`, `search` | pages and lists over the conversation, and the search in it |
//! | `fence` | code fences around a text |
//! | `text`, `draw` | layout of text, and drawing of the screen |
//! | `full` | the full-screen chat |
//! | `lines` | the line-by-line chat, without a full screen |

mod app;
mod command;
mod complete;
mod compose;
mod draw;
mod editor;
mod fence;
mod forms;
mod full;
mod history;
mod host;
mod lines;
mod mention;
mod orders;
mod overlay;
mod questions;
mod search;
mod text;
mod typed;

use std::io::{self, IsTerminal as _, Write};

use anyhow::Result;

use crate::agent::PATIENCE;
use crate::args::ChatArgs;
use crate::commands::run::runtime;
use crate::exit::Exit;
use crate::printer;

/// Runs the chat until the user leaves.
pub(crate) fn run(args: &ChatArgs, out: &mut impl Write) -> Result<Exit> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        if is_full(args) {
            Box::pin(full::run(args)).await
        } else {
            lines::run(args, out).await
        }
    });
    runtime.shutdown_timeout(PATIENCE);
    ended
}

/// Whether the terminal supports the full-screen chat.
fn is_full(args: &ChatArgs) -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let is_terminal = io::stdin().is_terminal() && printer::is_stdout_terminal();
    is_terminal && !is_dumb && !args.plain && !args.agent.json && !args.agent.quiet
}
