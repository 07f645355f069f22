//! `ptk`, the default: `<PTK_CALL>{"tool": …, "args": …}</PTK_CALL>`.

use std::sync::Arc;

use super::Writer;
use super::engine::json_marks::JsonMarks;
use super::engine::tagged_json::TaggedJson;
use crate::ToolCall;

const TAG: &str = "PTK_CALL";

/// The default dialect, with one JSON object between two tags.
#[derive(Debug, Clone)]
pub struct Ptk {
    tag: String,
    marks: Arc<JsonMarks>,
}

impl Ptk {
    /// Creates the dialect with another tag, for prompt, history and reader
    /// alike. A tag with a secret of the session in it, such as
    /// `PTK_CALL_7F3A`, is one that no file or web page can forge, if this
    /// dialect is the only one that is read.
    pub fn with_tag(tag: impl Into<String>) -> Self {
        let tag = tag.into();
        let marks = Arc::new(JsonMarks::tag(&tag));
        Self { tag, marks }
    }
}

impl Default for Ptk {
    fn default() -> Self {
        Self::with_tag(TAG)
    }
}

impl TaggedJson for Ptk {
    fn name(&self) -> &'static str {
        "ptk"
    }

    fn marks(&self) -> &Arc<JsonMarks> {
        &self.marks
    }

    fn beside(&self) -> &'static [&'static str] {
        // A bare call would work without the secret in the tag.
        if self.tag == TAG { &["json"] } else { &[] }
    }
}

impl Writer for Ptk {
    fn rules(&self) -> Vec<String> {
        vec!["Valid JSON only: double quotes, no comments, no trailing commas.".to_owned()]
    }

    fn call(&self, call: &ToolCall) -> String {
        format!("<{0}>\n{1}\n</{0}>", self.tag, call.to_json_text())
    }
}
