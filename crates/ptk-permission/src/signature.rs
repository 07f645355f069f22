//! Signatures: when two calls are the same.

use ptk_protocol::Arguments;
use serde_json::Value;

/// A tool and its arguments, whatever the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Signature(String);

impl Signature {
    /// The signature of a call.
    #[must_use]
    pub fn new(tool: &str, args: &Arguments) -> Self {
        let mut text = tool.to_owned();
        let mut args = Value::Object(args.as_map().clone());
        args.sort_all_objects();
        text.push_str(&args.to_string());
        Self(text)
    }
}
