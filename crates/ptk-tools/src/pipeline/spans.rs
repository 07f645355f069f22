//! Calls as spans, named by the conventions of OpenTelemetry for generative AI.
//! They cost nothing while there is no subscriber.

use std::time::Duration;

use ptk_events::is_content_wanted;
use ptk_protocol::{ErrorType, ToolResult};
use serde_json::Value;
use tracing::Span;
use tracing::field::Empty;

use crate::CallRequest;
use crate::usage::Ending;

/// Begins the span of a call.
pub(super) fn begun(tool: &str, request: &CallRequest) -> Span {
    let span = tracing::info_span!(
        "execute_tool",
        otel.name = %format_args!("execute_tool {tool}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        "gen_ai.tool.type" = "function",
        gen_ai.tool.call.id = %request.call_id,
        gen_ai.tool.call.arguments = Empty,
        gen_ai.tool.call.result = Empty,
        call_id = %request.call_id,
        request_id = request.request_id.map(display),
        parent_id = request.parent_id.as_deref(),
        "error.type" = Empty,
        otel.status_code = Empty,
        otel.status_description = Empty,
    );
    if !span.is_disabled() && is_content_wanted() {
        span.record("gen_ai.tool.call.arguments", request.call.args.to_json());
    }
    span
}

/// Ends the span of a call with its result.
pub(super) fn ended(span: &Span, result: &ToolResult, ending: Ending, duration: Duration) {
    span.in_scope(|| {
        if result.success {
            tracing::info!(?duration, "tool call completed");
        } else {
            tracing::warn!(?duration, error = %result.error, "tool call failed");
        }
    });
    if span.is_disabled() {
        return;
    }
    if !result.success {
        span.record("error.type", failure(result, ending));
        span.record("otel.status_code", "ERROR");
    }
    if is_content_wanted() {
        span.record("gen_ai.tool.call.result", result.payload().to_string());
        if !result.success {
            span.record("otel.status_description", result.error.as_str());
        }
    }
}

/// The kind of a failure, in one of a few words.
fn failure(result: &ToolResult, ending: Ending) -> &'static str {
    if ending == Ending::Timeout {
        "timeout"
    } else if result.fields.get("cancelled") == Some(&Value::Bool(true)) {
        "cancelled"
    } else {
        result.error_type.map_or("_OTHER", ErrorType::as_str)
    }
}
