//! One module for each command that changes something.

pub mod export;
pub mod start;
pub mod stop;
