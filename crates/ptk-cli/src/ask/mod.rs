//! Asks the user: at the terminal, in the chat, or through the program that runs
//! `ptk`.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `forward` | passes questions to the face that shows them, and answers back |
//! | `approver` | questions about calls, at the terminal |
//! | `form` | forms, at the terminal |
//! | `program` | both, as JSON lines for a program |

mod approver;
mod form;
mod forward;
mod program;

pub(crate) use approver::{NoTerminal, approver};
pub(crate) use form::asker;
#[cfg(test)]
pub(crate) use forward::Pending;
pub(crate) use forward::{
    PendingApproval, PendingForm, PendingQuestion, QuestionSender, QuestionTarget,
};
pub(crate) use program::ProgramQuestions;
