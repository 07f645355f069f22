//! The stored form of an entry: JSON, kept word for word.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

/// The most bytes that the JSON of one entry may take.
pub const MAX_ENTRY: usize = 64 * 1024 * 1024;

/// The stored form of an entry: the name and the version of its kind, and JSON,
/// kept word for word.
#[derive(Clone)]
pub struct Body {
    kind: Box<str>,
    version: u32,
    json: Box<RawValue>,
}

impl Body {
    pub(crate) fn new(kind: impl Into<Box<str>>, version: u32, json: Box<RawValue>) -> Self {
        let kind = kind.into();
        Self {
            kind,
            version,
            json,
        }
    }

    pub(crate) fn write(
        kind: &str,
        version: u32,
        body: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self::new(kind, version, to_raw_value(body)?))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.json.get()).ok()
    }

    /// The name and the version of the kind, and the content.
    pub(crate) fn into_parts(self) -> (Box<str>, u32, Box<RawValue>) {
        (self.kind, self.version, self.json)
    }

    /// The name of the kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The version of the kind.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The content, as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get()
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        (&self.kind, self.version, self.json()) == (&other.kind, other.version, other.json())
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.kind, self.version, self.json)
    }
}
