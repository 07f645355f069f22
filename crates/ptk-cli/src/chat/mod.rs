//! `ptk chat`: a conversation in the terminal.
//!
//! What is shown is a function of what happens: [`ptk::view::Conversation`]
//! folds events, [`app`] adds what the person does, [`draw`] draws both.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `host` | the model, the tools and the session at work |
//! | `orders` | what the chat itself is told to do, and what comes of it |
//! | `command` | what can be told it |
//! | `desk` | questions about calls, and their answers |
//! | `app` | the state of the screen, and what keys do to it |
//! | `editor`, `complete` | the text that is being written |
//! | `overlay`, `search` | what stands over the conversation, and finding words in it |
//! | `text`, `draw` | lines of a width, and the screen |
//! | `full` | the whole terminal |
//! | `lines` | line by line, where there is no terminal that could be taken |

mod app;
mod command;
mod complete;
mod desk;
mod draw;
mod editor;
mod full;
mod host;
mod lines;
mod orders;
mod overlay;
mod search;
mod text;

use std::io::{self, IsTerminal as _, Write};

use anyhow::Result;

use crate::agent::PATIENCE;
use crate::args::ChatArgs;
use crate::commands::run::runtime;
use crate::exit::Exit;
use crate::printer;

/// Talks until somebody leaves.
pub(crate) fn run(args: &ChatArgs, out: &mut impl Write) -> Result<Exit> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        if is_full(args) {
            full::run(args).await
        } else {
            lines::run(args, out).await
        }
    });
    runtime.shutdown_timeout(PATIENCE);
    ended
}

/// Whether there is a terminal that can be taken as a whole.
fn is_full(args: &ChatArgs) -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let is_terminal = io::stdin().is_terminal() && printer::is_stdout_terminal();
    is_terminal && !is_dumb && !args.plain && !args.agent.json && !args.agent.quiet
}
