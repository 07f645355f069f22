//! The right lines of code: an index of a workspace, by words and by meaning.

pub mod dense;
pub mod embed;
pub mod words;
