//! Hashes of declarations, to tell when one has changed.

use std::fmt::Debug;

/// How many characters stand for a declaration.
const LENGTH: usize = 32;

/// A short hash of a declaration, which differs if the declaration does.
pub(crate) fn in_short(declaration: &impl Debug) -> String {
    let hash = blake3::hash(format!("{declaration:?}").as_bytes());
    hash.to_hex().chars().take(LENGTH).collect()
}
