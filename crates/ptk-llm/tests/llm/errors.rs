//! Messages of errors, and which of them may be retried.

use ptk_llm::{LlmError, LlmErrorKind};

#[test]
fn statuses_say_whether_to_try_again() {
    use LlmErrorKind::{
        Failing, NotFound, RateLimited, Rejected, TimedOut, TooLong, Unauthorized, Unpaid,
    };
    for (status, message, kind, is_retryable) in [
        (400, "bad temperature", Rejected, false),
        (
            400,
            "This model's maximum context length is 8192 tokens",
            TooLong,
            false,
        ),
        (401, "", Unauthorized, false),
        (402, "", Unpaid, false),
        (403, "", Unauthorized, false),
        (404, "", NotFound, false),
        (408, "", TimedOut, true),
        (413, "", TooLong, false),
        (422, "", Rejected, false),
        (429, "", RateLimited, true),
        (500, "", Failing, true),
        (503, "", Failing, true),
        (504, "", TimedOut, true),
        (529, "overloaded", Failing, true),
    ] {
        let error = LlmError::of_status("p", None, status, message);
        assert_eq!(
            (error.kind, error.is_retryable()),
            (kind, is_retryable),
            "{status}"
        );
    }
}

/// Each server has its own phrases; these are some of them.
#[test]
fn servers_are_understood_by_their_words() {
    use LlmErrorKind::{NoTools, TooLong, Unauthorized};
    for (status, message, kind) in [
        (
            400,
            "request (9000 tokens) exceeds the available context size (4096 tokens)",
            TooLong,
        ),
        (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            TooLong,
        ),
        (
            400,
            "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000",
            TooLong,
        ),
        (
            400,
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096",
            TooLong,
        ),
        (
            400,
            "Please reduce the length of the messages or completion.",
            TooLong,
        ),
        (
            500,
            "the model is loaded with context length of only 4096 tokens",
            TooLong,
        ),
        (
            400,
            "`tool calling` is not supported with this model",
            NoTools,
        ),
        (400, "'tools' is not supported with this model", NoTools),
        (400, "This model doesn't support tool use", NoTools),
        (
            400,
            "Unrecognized request arguments supplied: tool_choice, tools",
            NoTools,
        ),
        (
            400,
            "API key not valid. Please pass a valid API key.",
            Unauthorized,
        ),
    ] {
        let error = LlmError::of_status("p", None, status, message);
        assert_eq!(error.kind, kind, "{message}");
    }
}

#[test]
fn a_long_wait_is_told() {
    let error = LlmError::of_status("p", None, 429, "No");
    let told = |seconds| {
        let wait = std::time::Duration::from_secs(seconds);
        error.clone().retry_after(wait).to_string()
    };
    assert!(!told(59).contains("left alone"));
    assert!(told(3600).contains("; it wants to be left alone for 3600 s; "));
}

#[test]
fn messages_say_who_what_why_and_what_to_do() {
    let told: Vec<String> = [
        LlmError::of_status(
            "openai",
            Some("gpt-5"),
            401,
            "Incorrect API key provided.\n",
        ),
        LlmError::new("ollama", None, LlmErrorKind::Unreachable).message("connection refused"),
        LlmError::new("gemini", Some("flash"), LlmErrorKind::Cut),
    ]
    .iter()
    .map(ToString::to_string)
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    openai (gpt-5) refused the key (status 401): Incorrect API key provided; set a key that may use this model
    ollama cannot be reached: connection refused; see whether it runs and the address is right
    gemini (flash) ended in the middle of its reply; try again
    ");
}
