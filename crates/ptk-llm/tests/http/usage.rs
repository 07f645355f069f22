//! What was cached of a prompt, as each server reports it.

use ptk_llm::http::Kind;
use ptk_llm::{Prices, Usage};
use serde_json::{Value, json};

use crate::server::{Answer, replied};

/// A whole chat completion with this usage.
fn chat(usage: &Value, timings: &Value) -> Value {
    json!({
        "choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}],
        "usage": usage, "timings": timings,
    })
}

fn completion(usage: &Value) -> Value {
    json!({"choices": [{"text": "Hi.", "finish_reason": "stop"}], "usage": usage})
}

/// A message of Anthropic's API with this usage.
fn message(usage: &Value) -> Value {
    json!({"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn", "usage": usage})
}

fn response(usage: &Value) -> Value {
    let said = json!({"type": "message", "content": [{"type": "output_text", "text": "Hi."}]});
    json!({"status": "completed", "output": [said], "usage": usage})
}

fn content(usage: &Value) -> Value {
    json!({"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}], "usageMetadata": usage})
}

/// 100 tokens in, and how many of them were read from a cache and written to it.
fn usage(cached: u64, written: u64) -> Usage {
    Usage {
        input_tokens: 100,
        cached_tokens: cached,
        cache_write_tokens: written,
        output_tokens: 5,
        reasoning_tokens: 0,
    }
}

/// The usage of a chat completion with 100 tokens in, and further fields.
fn of(more: Value) -> Value {
    let mut usage = json!({"prompt_tokens": 100, "completion_tokens": 5});
    let fields = usage.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    usage
}

async fn assert_counted(cases: impl IntoIterator<Item = (Kind, Value, Usage)>) {
    for (kind, answer, expected) in cases {
        let reply = replied(kind, Answer::json(&answer)).await.unwrap();
        assert_eq!(reply.usage, Some(expected), "{kind:?} {answer}");
    }
}

#[tokio::test]
async fn what_was_cached_is_counted_in_each_dialect_of_chat_completions() {
    let none = Value::Null;
    assert_counted([
        // OpenAI, vLLM, xAI, and most others.
        (
            Kind::OpenAi,
            chat(
                &of(json!({"prompt_tokens_details": {"cached_tokens": 64}})),
                &none,
            ),
            usage(64, 0),
        ),
        // OpenRouter.
        (
            Kind::OpenAi,
            chat(
                &of(
                    json!({"prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30}}),
                ),
                &none,
            ),
            usage(64, 30),
        ),
        // DeepSeek.
        (
            Kind::OpenAi,
            chat(
                &of(json!({"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40})),
                &none,
            ),
            usage(60, 0),
        ),
        // Moonshot.
        (
            Kind::OpenAi,
            chat(&of(json!({"cached_tokens": 50})), &none),
            usage(50, 0),
        ),
        // A proxy of Anthropic's models, which counts as OpenAI does.
        (
            Kind::OpenAi,
            chat(
                &of(json!({"cache_read_input_tokens": 40, "cache_creation_input_tokens": 50})),
                &none,
            ),
            usage(40, 50),
        ),
        // llama.cpp.
        (
            Kind::OpenAi,
            chat(&of(json!({})), &json!({"cache_n": 88, "prompt_n": 12})),
            usage(88, 0),
        ),
        // No part is larger than the whole, whatever a server says.
        (
            Kind::OpenAi,
            chat(
                &of(
                    json!({"prompt_tokens_details": {"cached_tokens": 90, "cache_write_tokens": 90}}),
                ),
                &none,
            ),
            usage(90, 10),
        ),
        (
            Kind::OpenAi,
            chat(&of(json!({"prompt_cache_hit_tokens": 1000})), &none),
            usage(100, 0),
        ),
        (
            Kind::OpenAi,
            chat(&of(json!({"prompt_tokens_details": null})), &none),
            usage(0, 0),
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_was_cached_is_counted_in_each_api() {
    assert_counted([
        (
            Kind::Completion,
            completion(&of(json!({"prompt_tokens_details": {"cached_tokens": 16}}))),
            usage(16, 0),
        ),
        (
            Kind::LlamaCppCompletion,
            json!({"content": "Hi.", "stop": true, "stop_type": "eos", "tokens_evaluated": 100,
                "tokens_predicted": 5, "tokens_cached": 104, "timings": {"cache_n": 90, "prompt_n": 10}}),
            usage(90, 0),
        ),
        (
            Kind::OpenAiResponses,
            response(
                &json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 5}),
            ),
            usage(64, 0),
        ),
        // Its own count of the input leaves both out.
        (
            Kind::Anthropic,
            message(
                &json!({"input_tokens": 10, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20, "output_tokens": 5}),
            ),
            usage(70, 20),
        ),
        (
            Kind::Gemini,
            content(
                &json!({"promptTokenCount": 100, "cachedContentTokenCount": 32, "candidatesTokenCount": 5}),
            ),
            usage(32, 0),
        ),
    ])
    .await;
}

/// The same tokens cost the same, whichever server counted them.
#[test]
fn what_was_cached_has_its_own_price() {
    let prices = Prices {
        input: 10.0,
        cached_input: Some(1.0),
        cache_write: Some(12.0),
        output: 100.0,
    };
    assert_eq!(
        prices.cost_micros(&usage(70, 20)),
        10 * 10 + 70 + 20 * 12 + 500
    );
    let same = Prices {
        cached_input: None,
        cache_write: None,
        ..prices
    };
    assert_eq!(same.cost_micros(&usage(70, 20)), 1000 + 500);
    // Parts that are larger than the whole cost no more than the whole.
    assert_eq!(same.cost_micros(&usage(1000, 1000)), 1000 + 500);
}
