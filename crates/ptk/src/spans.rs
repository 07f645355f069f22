//! Runs, iterations and requests as spans, named by the conventions of
//! OpenTelemetry for generative AI. Calls have theirs from the tools. They cost
//! nothing while there is no subscriber.

use ptk_events::{Correlation, is_content_wanted};
use ptk_llm::{Completion, LlmError, LlmErrorKind, Message, Provider, Request};
use ptk_store::{SessionId, Usage};
use serde_json::{Value, json};
use tracing::Span;
use tracing::field::Empty;

use crate::RunError;
use crate::ask::counted;

/// The agent name of runs.
const AGENT: &str = "ptk";

/// The span of a run that begins or is resumed.
pub(crate) fn run(
    session: &SessionId,
    of: &Correlation,
    provider: &str,
    model: Option<&str>,
) -> Span {
    tracing::info_span!(
        "invoke_agent",
        otel.name = %format_args!("invoke_agent {AGENT}"),
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = AGENT,
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.conversation.id = %session,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_creation.input_tokens = Empty,
        request_id = of.request_id.map(display),
        parent_id = of.parent_id.as_deref(),
        "error.type" = Empty,
        otel.status_code = Empty,
        otel.status_description = Empty,
    )
}

/// Records the end of a run.
pub(crate) fn run_ended(span: &Span, usage: Usage, error: Option<&RunError>) {
    if span.is_disabled() {
        return;
    }
    used(span, usage);
    if let Some(error) = error {
        let kind = match error {
            RunError::Llm(error) => failure(error),
            RunError::TimedOut(_) => "timeout".to_owned(),
            RunError::Cancelled => "cancelled".to_owned(),
            RunError::Stopped(_) => "stopped".to_owned(),
            error => error
                .code()
                .map_or("_OTHER".to_owned(), |code| code.to_string()),
        };
        failed(span, &kind, error);
    }
}

/// The span of an iteration: one request to the model and its calls.
pub(crate) fn iteration(number: u32, of: &Correlation) -> Span {
    tracing::info_span!(
        "iteration",
        otel.name = "iteration",
        ptk.iteration = number,
        request_id = of.request_id.map(display),
        parent_id = of.parent_id.as_deref(),
    )
}

/// The span of a request to a model.
pub(crate) fn request(provider: &dyn Provider, request: &Request, of: &Correlation) -> Span {
    let model = request.model.as_deref().or_else(|| provider.model());
    let span = tracing::info_span!(
        "chat",
        otel.name = %format_args!("chat {}", model.unwrap_or_else(|| provider.name())),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider.name(),
        gen_ai.request.model = model,
        gen_ai.request.max_tokens = request.max_tokens,
        gen_ai.request.temperature = request.sampling.temperature.map(f64::from),
        gen_ai.request.top_p = request.sampling.top_p.map(f64::from),
        gen_ai.request.top_k = request.sampling.top_k,
        gen_ai.request.seed = request.sampling.seed,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_creation.input_tokens = Empty,
        gen_ai.system_instructions = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        request_id = of.request_id.map(display),
        parent_id = of.parent_id.as_deref(),
        "error.type" = Empty,
        otel.status_code = Empty,
        otel.status_description = Empty,
    );
    if !span.is_disabled() && is_content_wanted() {
        let messages: Vec<Value> = request.turns().map(message).collect();
        span.record("gen_ai.input.messages", Value::Array(messages).to_string());
        if let Some(system) = &request.system {
            let parts = json!([{"type": "text", "content": system}]);
            span.record("gen_ai.system_instructions", parts.to_string());
        }
    }
    span
}

/// Records the reply of the model.
pub(crate) fn replied(span: &Span, completion: &Completion) {
    if span.is_disabled() {
        return;
    }
    let finish = completion.finish.to_string();
    span.record("gen_ai.response.finish_reasons", finish.as_str());
    if let Some(usage) = counted(completion.usage, None) {
        used(span, usage);
    }
    if is_content_wanted() {
        let calls = completion.calls.iter().map(|call| {
            json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments})
        });
        let text = json!({"type": "text", "content": completion.text});
        let parts: Vec<Value> = std::iter::once(text).chain(calls).collect();
        let said = json!([{"role": "assistant", "parts": parts, "finish_reason": finish}]);
        span.record("gen_ai.output.messages", said.to_string());
    }
}

/// Records that the model did not reply.
pub(crate) fn unanswered(span: &Span, error: &RunError) {
    if span.is_disabled() {
        return;
    }
    let kind = match error {
        RunError::Llm(error) => failure(error),
        RunError::TimedOut(_) => "timeout".to_owned(),
        _ => "cancelled".to_owned(),
    };
    failed(span, &kind, error);
}

fn used(span: &Span, usage: Usage) {
    if usage.input_tokens == 0 && usage.output_tokens == 0 {
        return;
    }
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    for (name, tokens) in [
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
        (
            "gen_ai.usage.cache_creation.input_tokens",
            usage.cache_write_tokens,
        ),
    ] {
        if tokens > 0 {
            span.record(name, tokens);
        }
    }
}

fn failed(span: &Span, kind: &str, error: &RunError) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
    // An error may quote content.
    if is_content_wanted() {
        span.record("otel.status_description", error.to_string());
    }
}

/// The kind of a model's failure, as an attribute.
fn failure(error: &LlmError) -> String {
    match (error.kind, error.status) {
        (LlmErrorKind::TimedOut, _) => "timeout".to_owned(),
        (_, Some(status)) => status.to_string(),
        (kind, None) => format!("{kind:?}"),
    }
}

fn message(message: &Message) -> Value {
    let text = json!({"type": "text", "content": message.text()});
    let (role, parts) = match message {
        Message::System(_) => ("system", vec![text]),
        Message::User { images, .. } => {
            // Their content would be far larger than any text.
            let images = images.iter().map(|image| {
                json!({"type": "blob", "modality": "image", "mime_type": image.media_type()})
            });
            ("user", images.chain([text]).collect())
        }
        Message::Assistant { calls, .. } => {
            let calls = calls.iter().map(|call| {
                json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.args})
            });
            ("assistant", std::iter::once(text).chain(calls).collect())
        }
        Message::Result { id, .. } => {
            let response =
                json!({"type": "tool_call_response", "id": id, "response": message.text()});
            ("tool", vec![response])
        }
    };
    json!({"role": role, "parts": parts})
}
