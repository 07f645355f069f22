//! Plain completion, as OpenAI has it and as llama.cpp has it.

use ptk_llm::http::Kind;
use ptk_llm::{FinishReason, Form, LlmErrorKind, Message, Provider as _, Request, complete};
use serde_json::{Value, json};

use crate::server::{Answer, Server, replied};

fn choice(text: &str, finish: Option<&str>) -> Value {
    json!({"id": "x", "object": "text_completion", "choices": [{"index": 0, "text": text, "finish_reason": finish}]})
}

fn content(text: &str, stop: bool, more: &Value) -> Value {
    let mut piece = json!({"content": text, "stop": stop});
    let members = piece.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    piece
}

#[tokio::test]
async fn a_text_goes_on_in_either_form() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
    let openai = [
        choice("Grüße, ", None),
        choice("Ada", None),
        choice("", Some("stop")),
        usage,
    ];
    let end = json!({"stop_type": "word", "stopping_word": "\nUSER:", "tokens_evaluated": 5, "tokens_predicted": 2});
    let llama = [
        content("Grüße, ", false, &json!({})),
        content("Ada", false, &json!({})),
        content("", true, &end),
    ];
    for piece in [1, 9, usize::MAX] {
        for (kind, events) in [
            (Kind::Completion, openai.as_slice()),
            (Kind::LlamaCppCompletion, llama.as_slice()),
        ] {
            let answer = Answer::events(events).in_pieces(piece);
            let reply = replied(kind, answer).await.unwrap();
            assert_eq!(
                (reply.text.as_str(), reply.finish),
                ("Grüße, Ada", FinishReason::Stop)
            );
            let usage = reply.usage.unwrap();
            assert_eq!((usage.input_tokens, usage.output_tokens), (5, 2));
        }
    }
}

#[tokio::test]
async fn answers_that_do_not_stream_and_those_that_are_cut() {
    for (kind, whole) in [
        (Kind::Completion, choice("One, ", Some("length"))),
        (
            Kind::LlamaCppCompletion,
            content("One, ", true, &json!({"stop_type": "limit"})),
        ),
        (
            Kind::LlamaCppCompletion,
            content("One, ", true, &json!({"stopped_limit": true})),
        ),
    ] {
        let reply = replied(kind, Answer::json(&whole)).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.finish),
            ("One, ", FinishReason::Length)
        );
    }
    for (kind, half) in [
        (Kind::Completion, choice("One, ", None)),
        (
            Kind::LlamaCppCompletion,
            content("One, ", false, &json!({})),
        ),
    ] {
        let error = replied(kind, Answer::events(&[half])).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Cut);
    }
}

#[tokio::test]
async fn a_request_is_one_text() {
    let done = || Answer::events(&[choice("Hi.", Some("stop"))]);
    let server = Server::new(vec![done(), done()]);
    let mut asked = Request::new([Message::user("USER: Hello\n\nASSISTANT:")]);
    asked.stop = vec!["\nUSER:".to_owned()];
    asked.context_window = Some(2048);
    let provider = server.provider(Kind::Completion);
    assert_eq!(provider.capabilities(None).form, Form::Prompt);
    complete(&provider, &asked).await.unwrap();
    let sent = server.asked();
    assert_eq!(sent.path, "/completions");
    let expected = json!({
        "model": "tiny",
        "prompt": "USER: Hello\n\nASSISTANT:",
        "stream": true,
        "max_tokens": 512,
        "stop": ["\nUSER:"],
    });
    assert_eq!(sent.body, expected);

    let asked = Request::new([Message::user("Go on.")])
        .system("Be brief.")
        .max_tokens(9);
    complete(&server.provider(Kind::LlamaCppCompletion), &asked)
        .await
        .unwrap();
    let sent = server.asked();
    assert_eq!(sent.path, "/completion");
    assert_eq!(
        (&sent.body["prompt"], &sent.body["n_predict"]),
        (&json!("Be brief.\n\nGo on."), &json!(9))
    );
}
