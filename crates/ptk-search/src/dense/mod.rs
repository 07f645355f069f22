//! Search by meaning: vectors in a file, each under the hash of its text, and a
//! search for the nearest ones.
//!
//! A vector is stored as one byte for each dimension. A search has two steps:
//! the signs of all vectors are compared with those of the query, 64 at once,
//! and only for the nearest few hundred is the dot product computed. That needs
//! no index structure, so a removed vector leaves nothing behind, and the same
//! vectors give the same result in whatever order they were added.

mod neighbours;
mod quantised;
mod vectors;

pub use neighbours::Neighbours;
pub use vectors::{Vectors, VectorsError};
