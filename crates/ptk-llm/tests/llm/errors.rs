//! What is said when something goes wrong, and to whom it is left to try again.

use std::sync::Arc;

use ptk_llm::{LlmError, LlmErrorKind, Providers, Script};

/// R135.
#[test]
fn a_provider_that_is_not_there_is_named() {
    let mut providers = Providers::new();
    let error = providers.current().unwrap_err();
    assert_eq!(
        error.to_string(),
        "Provider ai-studio not registered; register one first"
    );

    providers.register("ai-studio", Arc::new(Script::parse("\"Hi.\"").unwrap()));
    assert!(providers.current().is_ok());
    assert!(providers.set("openai").is_err());
    assert!(providers.current().is_ok(), "the current one stays");
}

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
