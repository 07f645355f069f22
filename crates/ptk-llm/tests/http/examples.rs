//! Example turns are sent before the conversation, in every API.

use ptk_llm::http::Kind;
use ptk_llm::{Message, complete};

use crate::server::{Answer, Server, request};

#[tokio::test]
async fn examples_are_sent_before_the_conversation() {
    for kind in [
        Kind::OpenAi,
        Kind::OpenAiItself,
        Kind::Anthropic,
        Kind::Gemini,
        Kind::OpenAiResponses,
        Kind::Completion,
        Kind::LlamaCppCompletion,
        Kind::Ollama,
    ] {
        let server = Server::new(vec![Answer::new("401 Unauthorized", "text/plain", "")]);
        let mut asked = request();
        asked.examples = [
            Message::user("Which files are there?"),
            Message::assistant("LIST"),
        ]
        .into();
        complete(&server.provider(kind), &asked).await.unwrap_err();
        let body = server.asked().body.to_string();
        let at = |text: &str| {
            body.find(text)
                .unwrap_or_else(|| panic!("{kind:?}: {body}"))
        };
        assert!(
            at("Which files are there?") < at("LIST"),
            "{kind:?}: {body}"
        );
        assert!(at("LIST") < at("What is in a.txt?"), "{kind:?}: {body}");
    }
}
