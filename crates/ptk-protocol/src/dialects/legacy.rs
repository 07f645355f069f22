//! `legacy`: `<TOOL_CALL>{"tool": …, "args": …}</TOOL_CALL>` with results in
//! an envelope, as the first version of the protocol had them.

use std::sync::Arc;

use serde_json::json;

use super::Writer;
use super::engine::json_marks::JsonMarks;
use super::engine::tagged_json::TaggedJson;
use crate::{ToolCall, ToolResult};

const TAG: &str = "TOOL_CALL";

/// The dialect of the first version, with its tag and result envelope.
#[derive(Debug, Clone)]
pub struct Legacy {
    marks: Arc<JsonMarks>,
}

impl Default for Legacy {
    fn default() -> Self {
        Self {
            marks: Arc::new(JsonMarks::tag(TAG)),
        }
    }
}

impl TaggedJson for Legacy {
    fn name(&self) -> &'static str {
        "legacy"
    }

    fn marks(&self) -> &Arc<JsonMarks> {
        &self.marks
    }

    fn beside(&self) -> &'static [&'static str] {
        &["json"]
    }
}

impl Writer for Legacy {
    fn rules(&self) -> Vec<String> {
        vec!["Valid JSON only: double quotes, no comments, no trailing commas.".to_owned()]
    }

    fn call(&self, call: &ToolCall) -> String {
        format!("<{TAG}>\n{}\n</{TAG}>", call.to_json_text())
    }

    fn result_word(&self) -> String {
        "TOOL_RESULT".to_owned()
    }

    fn error_word(&self) -> String {
        "TOOL_ERROR".to_owned()
    }

    fn result(&self, result: &ToolResult, id: Option<&str>) -> String {
        let id = id.map(|id| format!(" {id}")).unwrap_or_default();
        let envelope = if result.success {
            json!({"success": true, "data": result.payload(), "error": null})
        } else {
            json!({"success": false, "data": null, "error": result.error})
        };
        format!("{}{id}: {envelope}", self.result_word())
    }
}
