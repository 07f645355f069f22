//! Images beside a text, as each API takes them.

use ptk_llm::http::Kind;
use ptk_llm::{Message, Provider as _, Request, complete};
use ptk_protocol::Image;
use serde_json::{Value, json};

use crate::server::{Answer, Server};

const DATA: &str = "R0lGODlhAQABAA==";
const URL: &str = "data:image/gif;base64,R0lGODlhAQABAA==";

/// The message of the user in the body of a request to a server of this kind.
async fn sent(kind: Kind, list: &str) -> Value {
    let server = Server::new(vec![Answer::json(&json!({}))]);
    let provider = server.provider(kind);
    assert!(provider.capabilities(None).takes_images);
    let request = Request::new([Message::User {
        text: "What is this?".to_owned(),
        images: vec![Image::new(b"GIF89a\x01\0\x01\0").unwrap(); 2],
    }]);
    // The server's answer does not matter here.
    let _ = complete(&provider, &request).await;
    let body = server.asked().body;
    let messages = body[list].as_array().unwrap();
    messages.last().unwrap().clone()
}

#[tokio::test]
async fn each_api_gets_images_in_its_own_form() {
    let text = "What is this?";
    let openai = json!({"type": "image_url", "image_url": {"url": URL}});
    let responses = json!({"type": "input_image", "image_url": URL});
    let source = json!({"type": "base64", "media_type": "image/gif", "data": DATA});
    let anthropic = json!({"type": "image", "source": source});
    let gemini = json!({"inlineData": {"mimeType": "image/gif", "data": DATA}});
    for (kind, list, parts, expected) in [
        (
            Kind::OpenAi,
            "messages",
            "content",
            json!([openai, openai, {"type": "text", "text": text}]),
        ),
        (
            Kind::OpenAiResponses,
            "input",
            "content",
            json!([responses, responses, {"type": "input_text", "text": text}]),
        ),
        (
            Kind::Anthropic,
            "messages",
            "content",
            json!([anthropic, anthropic, {"type": "text", "text": text}]),
        ),
        (
            Kind::Gemini,
            "contents",
            "parts",
            json!([gemini, gemini, {"text": text}]),
        ),
        (Kind::Ollama, "messages", "images", json!([DATA, DATA])),
    ] {
        let message = sent(kind, list).await;
        assert_eq!(message[parts], expected, "{kind:?}");
        assert_eq!(message["role"], "user", "{kind:?}");
    }
}

#[tokio::test]
async fn servers_that_know_it_say_whether_their_model_takes_images() {
    let llama_cpp = json!({"data": [{"id": "m", "owned_by": "llamacpp"}]});
    let other = json!({"data": [{"id": "m", "max_model_len": 4096}]});
    for (kind, answers, takes_images) in [
        (
            Kind::Ollama,
            vec![json!({"capabilities": ["completion", "vision"]})],
            true,
        ),
        (
            Kind::Ollama,
            vec![json!({"capabilities": ["completion", "tools"]})],
            false,
        ),
        (
            Kind::OpenAi,
            vec![llama_cpp.clone(), json!({"modalities": {"vision": true}})],
            true,
        ),
        (
            Kind::OpenAi,
            vec![llama_cpp, json!({"modalities": {"vision": false}})],
            false,
        ),
        (Kind::OpenAi, vec![other], true),
    ] {
        let server = Server::new(answers.iter().map(Answer::json).collect());
        let provider = server.provider(kind);
        let learned = provider.learn(Some("m")).await.unwrap();
        assert_eq!(learned.takes_images, takes_images, "{answers:?}");
    }
}

#[tokio::test]
async fn a_model_that_continues_a_text_takes_none() {
    let server = Server::new(vec![Answer::json(&json!({}))]);
    let provider = server.provider(Kind::Completion);
    assert!(!provider.capabilities(None).takes_images);
}
