//! A module.

use std::fmt;

mod parts;

/// How many.
const MANY: usize = 3;

#[rustfmt::skip]
const TABLE: [&str; 3] = [
    "one",
    "two",
    "three",
];

/// A reader of things.
#[derive(Debug)]
pub struct Reader<T> {
    inner: T,
}

// About nothing.

impl<T: Clone> Reader<T> {
    /// Makes one.
    pub fn new(inner: T) -> Self {
        Self { inner }
    }

    // What is left.
    const LEFT: usize = 1;

    #[must_use]
    pub fn inner(&self) -> T {
        self.inner.clone() // cheap
    }
}

impl<T> fmt::Display for Reader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reader")
    }
}

pub trait Source {
    type Item;

    /// The next one.
    ///
    /// Or none.
    fn next(&mut self) -> Option<Self::Item>;

    fn skip(&mut self) {
        self.next();
    }
}

macro_rules! twice {
    ($x:expr) => {
        ($x, $x)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works() {
        assert_eq!(MANY, 3);
    }
}
