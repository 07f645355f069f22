//! Usage as servers report it, in one form: [`Usage::input_tokens`] counts all
//! tokens of a prompt, and what was read from a cache or written to it is a part
//! of them.
//!
//! Most APIs count so themselves. Anthropic's leaves out of `input_tokens` what
//! it read from its cache and wrote to it, so these are added here.

use serde_json::Value;

use super::number;
use crate::Usage;

/// Tokens that chat completion servers read from their caches: OpenAI's field,
/// which most have, then those of DeepSeek, Moonshot and proxies of Anthropic's
/// models.
const CACHED: [&str; 4] = [
    "/prompt_tokens_details/cached_tokens",
    "/prompt_cache_hit_tokens",
    "/cached_tokens",
    "/cache_read_input_tokens",
];
/// Tokens that they wrote to it, where that costs more: the fields of `OpenRouter`
/// and of proxies of Anthropic's models.
const WRITTEN: [&str; 2] = [
    "/prompt_tokens_details/cache_write_tokens",
    "/cache_creation_input_tokens",
];

/// The usage in a chat completion or a completion, if it has one. llama.cpp
/// reports what it cached beside it.
pub(super) fn of_completion(answer: &Value) -> Option<Usage> {
    let usage = answer.get("usage").filter(|usage| usage.is_object())?;
    let first = |pointers: &[&str]| {
        let mut numbers = pointers.iter().map(|pointer| number(usage, pointer));
        numbers.find(|number| *number > 0)
    };
    let cached = first(&CACHED).unwrap_or_else(|| number(answer, "/timings/cache_n"));
    Some(within(Usage {
        input_tokens: number(usage, "/prompt_tokens"),
        cached_tokens: cached,
        cache_write_tokens: first(&WRITTEN).unwrap_or_default(),
        output_tokens: number(usage, "/completion_tokens"),
        reasoning_tokens: number(usage, "/completion_tokens_details/reasoning_tokens"),
    }))
}

/// The usage in the last event of llama.cpp's own completion API. Its
/// `tokens_cached` is what is in the cache afterwards, the reply included.
pub(super) fn of_llama_cpp(event: &Value) -> Usage {
    within(Usage {
        input_tokens: number(event, "/tokens_evaluated"),
        cached_tokens: number(event, "/timings/cache_n"),
        output_tokens: number(event, "/tokens_predicted"),
        ..Usage::default()
    })
}

/// The usage in a response of OpenAI's responses API, if it has one.
pub(super) fn of_response(response: &Value) -> Option<Usage> {
    let usage = response.get("usage").filter(|usage| usage.is_object())?;
    Some(within(Usage {
        input_tokens: number(usage, "/input_tokens"),
        cached_tokens: number(usage, "/input_tokens_details/cached_tokens"),
        output_tokens: number(usage, "/output_tokens"),
        reasoning_tokens: number(usage, "/output_tokens_details/reasoning_tokens"),
        ..Usage::default()
    }))
}

/// Adds what an event of Anthropic's API reports to the usage so far: the first
/// event has the input, the last one the output and sometimes the input again.
pub(super) fn add_of_message(so_far: &mut Usage, usage: &Value) {
    let cached = number(usage, "/cache_read_input_tokens");
    let written = number(usage, "/cache_creation_input_tokens");
    let input = number(usage, "/input_tokens") + cached + written;
    if input > 0 {
        so_far.input_tokens = input;
        so_far.cached_tokens = cached;
        so_far.cache_write_tokens = written;
    }
    so_far.output_tokens = number(usage, "/output_tokens").max(so_far.output_tokens);
}

/// The usage in a piece of Gemini's API, which counts reasoning apart from the
/// rest of the output.
pub(super) fn of_content(usage: &Value) -> Usage {
    let thoughts = number(usage, "/thoughtsTokenCount");
    within(Usage {
        input_tokens: number(usage, "/promptTokenCount"),
        cached_tokens: number(usage, "/cachedContentTokenCount"),
        output_tokens: number(usage, "/candidatesTokenCount") + thoughts,
        reasoning_tokens: thoughts,
        ..Usage::default()
    })
}

/// The usage in the last line of Ollama's API, which does not report what was
/// cached.
pub(super) fn of_line(line: &Value) -> Usage {
    Usage {
        input_tokens: number(line, "/prompt_eval_count"),
        output_tokens: number(line, "/eval_count"),
        ..Usage::default()
    }
}

/// The usage with no part larger than the whole, whatever a server reports.
fn within(mut usage: Usage) -> Usage {
    usage.cached_tokens = usage.cached_tokens.min(usage.input_tokens);
    let fresh = usage.input_tokens - usage.cached_tokens;
    usage.cache_write_tokens = usage.cache_write_tokens.min(fresh);
    usage
}
