//! What the tools that search share: jail → walk → content → page.
//!
//! A search runs on threads of its own ([`stop`]) that can read the workspace
//! and nothing else. The [`walk`] opens every folder from the handle of the one
//! it began in and follows no link ([`jail`]), keeps the ignore [`rules`], and
//! passes files to a visitor. [`content`] searches one file. What was found is
//! sorted at the end, so that the same call always has the same result, and
//! [`page`] cuts out the requested part.

pub(crate) mod collect;
pub(crate) mod content;
pub(crate) mod files;
pub(crate) mod instead;
pub(crate) mod jail;
#[cfg(target_os = "linux")]
mod kernel;
mod line;
pub(crate) mod matches;
pub(crate) mod page;
mod queue;
pub(crate) mod rules;
pub(crate) mod start;
pub(crate) mod stop;
pub(crate) mod tally;
mod visit;
pub(crate) mod walk;
pub(crate) mod withheld;
