//! What the tools that search share: walk → content → page.
//!
//! A search runs on threads of its own ([`stop`]) that can read the workspace
//! and nothing else. The sandbox's [walk](ptk_sandbox::walk) passes files to a
//! visitor, and [`content`] searches one file. What was found is sorted at the
//! end, so that the same call always has the same result, and [`page`] cuts out
//! the requested part.

pub(crate) mod collect;
pub(crate) mod content;
pub(crate) mod files;
pub(crate) mod instead;
mod line;
pub(crate) mod matches;
pub(crate) mod page;
pub(crate) mod start;
pub(crate) mod stop;
pub(crate) mod tally;
pub(crate) mod withheld;
