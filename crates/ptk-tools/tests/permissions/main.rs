//! What may run: what a command line is taken for, what is dangerous about it,
//! which rule allows it, and who is asked.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod answers;
mod certain;
mod commands;
mod denials;
mod hostile;
mod later;
mod offers;
mod paths;
mod properties;
mod rules;
mod scene;
mod unprotected;
mod unread;
mod user_file;
