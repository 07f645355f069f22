//! Asks the user: at the terminal, in the chat, or through the program that runs
//! `ptk`.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `desk` | passes questions to whoever shows them, and answers back |
//! | `approver` | questions about calls, at the terminal |
//! | `form` | forms, at the terminal |
//! | `program` | both, as JSON lines for a program |

mod approver;
mod desk;
mod form;
mod program;

pub(crate) use approver::{NoTerminal, approver};
#[cfg(test)]
pub(crate) use desk::Asked;
pub(crate) use desk::{AskedCall, AskedForm, Desk, Put, Target};
pub(crate) use form::asker;
pub(crate) use program::ProgramQuestions;
