//! The body of a request, field by field: each is parsed once, where it is
//! used.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::failure::Failure;

/// The fields of a JSON object, not parsed.
#[derive(Debug)]
pub(crate) struct Fields<'b> {
    fields: Vec<(Cow<'b, str>, &'b RawValue)>,
}

impl<'b> Fields<'b> {
    /// The fields of a body.
    pub(crate) fn of(body: &'b [u8]) -> Result<Self, Failure> {
        if body.trim_ascii().is_empty() {
            return Err(Failure {
                param: None,
                ..Failure::invalid("", "The body is empty; send a JSON object")
            });
        }
        serde_json::from_slice(body).map_err(|error| Failure {
            param: None,
            ..Failure::invalid(
                "",
                format!("The body is no JSON object that can be read: {error}"),
            )
        })
    }

    /// The raw value of a field; `None` if it is missing or null.
    pub(crate) fn raw(&mut self, name: &str) -> Option<&'b RawValue> {
        let mut found = None;
        // If a field occurs twice, the last one counts, as it does elsewhere.
        self.fields.retain(|(field, value)| {
            let is_it = field == name;
            if is_it {
                found = Some(*value);
            }
            !is_it
        });
        found.filter(|value| value.get() != "null")
    }

    /// The raw value of a field, which can still be read.
    pub(crate) fn peek(&self, name: &str) -> Option<&'b RawValue> {
        let mut fields = self.fields.iter().rev();
        let (_, value) = fields.find(|(field, _)| field == name)?;
        Some(value)
    }

    /// Parses a field.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let Some(raw) = self.raw(name) else {
            return Ok(None);
        };
        read(name, raw).map(Some)
    }

    /// Parses a required field.
    pub(crate) fn need<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Failure> {
        let missing = || Failure {
            code: "missing_required_parameter".into(),
            ..Failure::invalid(name, format!("The field `{name}` is missing"))
        };
        self.read(name)?.ok_or_else(missing)
    }
}

/// Parses the value of a field.
pub(crate) fn read<T: DeserializeOwned>(name: &str, raw: &RawValue) -> Result<T, Failure> {
    serde_json::from_str(raw.get()).map_err(|error| {
        // The position in the field does not help a client that sent one line.
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        Failure::invalid(name, format!("The field `{name}` cannot be read: {why}"))
    })
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(map.size_hint().unwrap_or(12));
                while let Some(name) = map.next_key::<FieldName<'de>>()? {
                    fields.push((name.0, map.next_value()?));
                }
                Ok(Fields { fields })
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// The name of a field, borrowed where it can be.
struct FieldName<'n>(Cow<'n, str>);

impl<'de> Deserialize<'de> for FieldName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = FieldName<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(FieldName(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(FieldName(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Read)
    }
}
