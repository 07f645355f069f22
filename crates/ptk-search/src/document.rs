//! The document of a chunk for tantivy. Tantivy's own document type would copy
//! every text once more.

use std::iter::{self, Map};
use std::ops::Range;
use std::slice::Iter;
use std::sync::Arc;

use tantivy::schema::document::{ReferenceValue, ReferenceValueLeaf};
use tantivy::schema::{Document, Field, Value};

/// The fields of a chunk with their values.
#[derive(Debug)]
pub(crate) struct ChunkDocument(Vec<(Field, Datum)>);

/// The value of a field.
#[derive(Debug)]
pub(crate) enum Datum {
    Text(String),
    /// A text that many chunks share.
    Shared(Arc<str>),
    /// A part of a shared text.
    Part(Arc<str>, Range<usize>),
    Name(&'static str),
    Number(u64),
}

impl ChunkDocument {
    /// A document with capacity for this many fields.
    pub(crate) fn with_capacity(fields: usize) -> Self {
        Self(Vec::with_capacity(fields))
    }

    pub(crate) fn add(&mut self, field: Field, value: Datum) {
        self.0.push((field, value));
    }
}

/// Borrows a field and its value.
type Look<'a> = fn(&'a (Field, Datum)) -> (Field, &'a Datum);

impl Document for ChunkDocument {
    type Value<'a> = &'a Datum;
    type FieldsValuesIter<'a> = Map<Iter<'a, (Field, Datum)>, Look<'a>>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.0.iter().map(|(field, value)| (*field, value))
    }
}

impl<'a> Value<'a> for &'a Datum {
    type ArrayIter = iter::Empty<Self>;
    type ObjectIter = iter::Empty<(&'a str, Self)>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        ReferenceValue::Leaf(match self {
            Datum::Text(text) => ReferenceValueLeaf::Str(text),
            Datum::Shared(text) => ReferenceValueLeaf::Str(text),
            Datum::Part(text, range) => {
                ReferenceValueLeaf::Str(text.get(range.clone()).unwrap_or_default())
            }
            Datum::Name(name) => ReferenceValueLeaf::Str(name),
            Datum::Number(number) => ReferenceValueLeaf::U64(*number),
        })
    }
}
