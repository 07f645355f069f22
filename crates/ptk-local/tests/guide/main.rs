//! The guide for small models, with a model that has no say.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod answers;
mod calls;
mod properties;
mod seen;
mod tools;
