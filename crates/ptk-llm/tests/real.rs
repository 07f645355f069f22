//! Models behind real servers. `scripts/long-checks models` installs them,
//! starts them, and sets variables with their addresses.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use ptk_llm::http::{HttpProvider, Kind, Service};
use ptk_llm::{
    Completion, Constraint, FinishReason, LlmError, LlmErrorKind, Message, Provider as _, Request,
    ResponseFormat, Sampling, complete,
};
use serde_json::{Value, json};

/// The address of a server.
fn address(variable: &str) -> String {
    std::env::var(variable).expect("scripts/long-checks models sets it")
}

fn litellm(path: &str) -> String {
    format!("{}{path}", address("PTK_LITELLM"))
}

fn llama(path: &str) -> String {
    format!("{}{path}", address("PTK_LLAMA"))
}

async fn asked(
    kind: Kind,
    at: &str,
    model: &str,
    request: &Request,
) -> Result<Completion, LlmError> {
    let provider = HttpProvider::at(kind, at).unwrap().with_model(model);
    complete(&provider, request).await
}

fn hello() -> Request {
    let sampling = Sampling {
        temperature: Some(0.0),
        seed: Some(1),
        ..Sampling::default()
    };
    Request::new([Message::user("Say hello.")])
        .sampling(sampling)
        .max_tokens(12)
}

/// The proxy's mock reply comes as chunks or as a whole.
#[tokio::test]
#[ignore = "needs LiteLLM's proxy"]
async fn the_proxy_says_the_same_in_every_language() {
    for kind in [Kind::OpenAi, Kind::OpenAiItself, Kind::Anthropic] {
        let reply = asked(kind, &litellm("/v1"), "mock", &hello())
            .await
            .unwrap();
        assert_eq!(reply.text, "Hello from the proxy.", "{kind:?}");
        assert_eq!(reply.finish, FinishReason::Stop, "{kind:?}");
        let usage = reply.usage.unwrap_or_else(|| panic!("{kind:?}"));
        assert!(usage.output_tokens > 0, "{kind:?}");
    }
}

/// The small model, whose replies the proxy translates into other APIs.
#[tokio::test]
#[ignore = "needs LiteLLM's proxy"]
async fn a_small_model_speaks_other_languages_through_the_proxy() {
    for kind in [Kind::OpenAi, Kind::OpenAiResponses, Kind::Anthropic] {
        let request = hello().system("Be brief.").max_tokens(4);
        let reply = asked(kind, &litellm("/v1"), "smollm2", &request)
            .await
            .unwrap();
        assert!(!reply.text.trim().is_empty(), "{kind:?}");
        assert_eq!(reply.finish, FinishReason::Length, "{kind:?} {reply:?}");
    }
}

#[tokio::test]
#[ignore = "needs LiteLLM's proxy"]
async fn failures_of_the_proxy_are_understood() {
    for (model, kind) in [
        ("busy", LlmErrorKind::RateLimited),
        ("broken", LlmErrorKind::Failing),
        ("long", LlmErrorKind::TooLong),
        ("nobody", LlmErrorKind::Rejected),
    ] {
        let reply = asked(Kind::OpenAi, &litellm("/v1"), model, &hello()).await;
        let error = reply.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
    }
}

#[tokio::test]
#[ignore = "needs the server of llama-cpp-python"]
async fn a_small_model_chats_and_goes_on_with_a_text() {
    let reply = asked(Kind::OpenAi, &llama("/v1"), "smollm2", &hello())
        .await
        .unwrap();
    assert!(!reply.text.trim().is_empty());
    assert!(matches!(
        reply.finish,
        FinishReason::Stop | FinishReason::Length
    ));
    let mut counting = Request::new([Message::user("One, two, three, four, five,")]).max_tokens(8);
    counting.sampling.temperature = Some(0.0);
    let reply = asked(Kind::Completion, &llama("/v1"), "smollm2", &counting)
        .await
        .unwrap();
    assert!(reply.text.contains("six"), "{reply:?}");
    counting.stop = vec!["six".to_owned()];
    let reply = asked(Kind::Completion, &llama("/v1"), "smollm2", &counting)
        .await
        .unwrap();
    assert!(!reply.text.contains("six"), "{reply:?}");
    assert_eq!(reply.finish, FinishReason::Stop);
}

#[tokio::test]
#[ignore = "needs the server of llama-cpp-python"]
async fn a_small_model_is_held_to_a_schema() {
    let schema = json!({
        "type": "object",
        "properties": {"colour": {"enum": ["red", "green"]}},
        "required": ["colour"],
        "additionalProperties": false,
    });
    let mut request = hello().max_tokens(40);
    request.format = ResponseFormat::Schema(schema);
    let service = Service::named("llama.cpp").unwrap();
    let provider = HttpProvider::elsewhere(service, &llama("/v1")).unwrap();
    let provider = provider.with_model("smollm2");
    assert_ne!(provider.capabilities(None).constraint, Constraint::None);
    let reply = complete(&provider, &request).await.unwrap();
    let answer: Value = serde_json::from_str(&reply.text).unwrap_or_else(|_| panic!("{reply:?}"));
    let colour = answer.get("colour").and_then(Value::as_str);
    assert!(matches!(colour, Some("red" | "green")), "{answer}");
}

/// This server ends its stream without any data then.
#[tokio::test]
#[ignore = "needs the server of llama-cpp-python"]
async fn a_prompt_that_does_not_fit_is_no_answer() {
    let long = Request::new([Message::user("word ".repeat(8000))]).max_tokens(4);
    for kind in [Kind::OpenAi, Kind::Completion] {
        let reply = asked(kind, &llama("/v1"), "smollm2", &long).await;
        let error = reply.unwrap_err();
        assert!(
            error.to_string().contains("if a prompt does not fit"),
            "{error}"
        );
    }
}
