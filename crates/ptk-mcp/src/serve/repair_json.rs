//! The tool `repair`: broken JSON as a JSON value.

use ptk_protocol::json;
use ptk_tools::{CallContext, Effects, Plan, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Repairs one JSON-like value, as `ptk parse --repair` does.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepairJson;

/// Arguments of [`RepairJson`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct RepairJsonArgs {
    /// The text that should be JSON, for example "{path: 'a.txt', lines: [1, 2,]}"
    text: String,
}

/// The result of [`RepairJson`].
#[derive(Debug, Serialize)]
pub struct RepairedJson {
    value: Value,
    fixes: Vec<AppliedFix>,
    is_complete: bool,
}

/// A repair, and where it was made.
#[derive(Debug, Serialize)]
struct AppliedFix {
    code: String,
    at: usize,
}

impl TypedTool for RepairJson {
    type Args = RepairJsonArgs;
    type Output = RepairedJson;

    const NAME: &'static str = "repair";
    const DESCRIPTION: &'static str = "Repair a JSON value that a language model wrote: comments, \
        commas, quotes, unquoted keys, literals of other languages, missing brackets, fences. Valid \
        JSON stays as it is.";
    const EFFECTS: Effects = Effects::NONE;

    fn plan(&self, _context: &CallContext, _args: &RepairJsonArgs) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(
        &self,
        context: &CallContext,
        args: RepairJsonArgs,
    ) -> Result<RepairedJson, ToolError> {
        context.blocking(move || repair(&args.text)).await
    }
}

fn repair(text: &str) -> Result<RepairedJson, ToolError> {
    let repaired = json::repair(text).map_err(|error| ToolError::user(error.to_string()))?;
    let value = serde_json::from_str(&repaired.json)
        .map_err(|error| ToolError::system(format!("The repaired JSON is not valid: {error}")))?;
    let fixes = repaired.fixes.iter().map(|fix| AppliedFix {
        code: fix.code.to_string(),
        at: fix.at,
    });
    Ok(RepairedJson {
        value,
        fixes: fixes.collect(),
        is_complete: repaired.end == json::End::Closed,
    })
}

/// The fields of a result.
pub(super) fn output_schema() -> Value {
    serde_json::json!({"properties": {
        "value": {"description": "The repaired value"},
        "fixes": {
            "type": "array",
            "description": "The repairs in their order: code, and at, a byte offset in the text"
        },
        "is_complete": {
            "type": "boolean",
            "description": "Whether the text was closed, and not cut off"
        }
    }})
}
