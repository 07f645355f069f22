//! Signatures: when two calls are the same, and when two declarations are.

use std::fmt::Debug;

use ptk_protocol::Arguments;
use serde_json::Value;

/// A tool and its arguments, whatever the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Signature(String);

impl Signature {
    pub(crate) fn new(tool: &str, args: &Arguments) -> Self {
        let mut text = tool.to_owned();
        let mut args = Value::Object(args.as_map().clone());
        args.sort_all_objects();
        text.push_str(&args.to_string());
        Self(text)
    }
}

/// How many characters stand for a declaration.
const LENGTH: usize = 32;

/// A short hash of a declaration, which differs if the declaration does.
pub(crate) fn in_short(declaration: &impl Debug) -> String {
    let hash = blake3::hash(format!("{declaration:?}").as_bytes());
    hash.to_hex().chars().take(LENGTH).collect()
}
