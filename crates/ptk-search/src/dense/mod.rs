//! The nearest by meaning: vectors kept in a file under the hash of the text
//! they stand for, and the search among them.
//!
//! A vector is kept as one byte for each dimension. It is searched in two
//! steps: the signs of all vectors are compared with those of the query, 64 at
//! once, and only the nearest few hundred are multiplied out. Nothing has to be
//! maintained for that, so a vector that is gone is gone, and the same vectors
//! give the same answer whatever way they came.

mod neighbours;
mod quantised;
mod vectors;

pub use neighbours::Neighbours;
pub use vectors::{Vectors, VectorsError};
