//! The check for valid JSON: everything that building a
//! [`serde_json::Value`] would refuse is refused, but nothing is built.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Where a text stops being valid JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstFault {
    /// The offset up to which `serde_json` can read the text.
    pub(super) at: usize,
    /// Whether the text only ends too early, and is valid as far as it goes.
    pub(super) is_cut: bool,
}

/// The first fault of `text`; `None` if it is valid.
pub(super) fn first_fault(text: &str) -> Option<FirstFault> {
    let error = serde_json::from_str::<Checked>(text).err()?;
    let line_start = match error.line().checked_sub(2) {
        None => 0,
        Some(breaks) => memchr::memchr_iter(b'\n', text.as_bytes()).nth(breaks)? + 1,
    };
    Some(FirstFault {
        at: (line_start + error.column()).min(text.len()),
        is_cut: error.is_eof(),
    })
}

/// A value that is checked and not built. Unlike `IgnoredAny`, it decodes
/// strings and numbers and keeps to the depth limit, so lone surrogates and
/// `1e999` do not pass.
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CheckedVisitor)
    }
}

struct CheckedVisitor;

impl<'de> Visitor<'de> for CheckedVisitor {
    type Value = Checked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_str<E>(self, _: &str) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_unit<E>(self) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Checked, A::Error> {
        while items.next_element::<Checked>()?.is_some() {}
        Ok(Checked)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Checked, A::Error> {
        while members.next_entry::<Checked, Checked>()?.is_some() {}
        Ok(Checked)
    }
}
