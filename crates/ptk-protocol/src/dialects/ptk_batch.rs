//! `ptk-batch`: several calls in one block,
//! `<PTK_BATCH>[{"tool": …, "args": …}, …]</PTK_BATCH>`.

use std::sync::Arc;

use super::Writer;
use super::engine::json_marks::JsonMarks;
use super::engine::tagged_json::TaggedJson;
use crate::ToolCall;

const TAG: &str = "PTK_BATCH";

/// The dialect with several calls in one block. Their results come back in call
/// order, each with its id.
#[derive(Debug, Clone)]
pub struct PtkBatch {
    marks: Arc<JsonMarks>,
}

impl Default for PtkBatch {
    fn default() -> Self {
        Self {
            marks: Arc::new(JsonMarks::tag(TAG)),
        }
    }
}

impl TaggedJson for PtkBatch {
    fn name(&self) -> &'static str {
        "ptk-batch"
    }

    fn marks(&self) -> &Arc<JsonMarks> {
        &self.marks
    }

    fn beside(&self) -> &'static [&'static str] {
        &["ptk", "json"]
    }
}

impl Writer for PtkBatch {
    fn rules(&self) -> Vec<String> {
        vec![
            "Put every call that you can make now into one list.".to_owned(),
            "Valid JSON only: double quotes, no comments, no trailing commas.".to_owned(),
        ]
    }

    fn call(&self, call: &ToolCall) -> String {
        self.calls(std::slice::from_ref(call))
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<String> = calls.iter().map(ToolCall::to_json_text).collect();
        format!("<{TAG}>\n[{}]\n</{TAG}>", calls.join(",\n "))
    }

    fn takes_several(&self) -> bool {
        true
    }
}
