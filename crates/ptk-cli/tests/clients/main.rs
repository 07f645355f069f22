//! The gateway with third-party clients: each talks to the binary, whose model
//! replays a script and has no API for tools. `scripts/test test` installs
//! the clients, and `PTK_TEST_CLIENTS` says where they are.
//!
//! A test runs every scene with one client, because importing the client takes
//! most of the time. Failures are reported by scene.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod agents;
mod client;
mod documents;
mod gateway;
mod scenes;

use serde_json::{Value, json};

use client::Client;
use scenes::play;

fn openai_models() -> Value {
    json!({"models": ["script"], "model": "script"})
}

fn anthropic_models() -> Value {
    json!({"models": ["script"], "counted": true})
}

#[test]
fn openai_for_python_chat_completions() {
    play(&Client {
        models: openai_models(),
        ..Client::new("openai_sdk.py", "chat")
    });
}

#[test]
fn openai_for_python_responses() {
    play(&Client::new("openai_sdk.py", "responses"));
}

#[test]
fn openai_for_node_chat_completions() {
    play(&Client {
        models: openai_models(),
        ..Client::new("openai_sdk.mjs", "chat")
    });
}

#[test]
fn openai_for_node_responses() {
    play(&Client::new("openai_sdk.mjs", "responses"));
}

#[test]
fn anthropic_for_python() {
    play(&Client {
        breaks: ("APIStatusError", Some(200)),
        models: anthropic_models(),
        ..Client::new("anthropic_sdk.py", "messages")
    });
}

#[test]
fn anthropic_for_node() {
    play(&Client {
        models: anthropic_models(),
        ..Client::new("anthropic_sdk.mjs", "messages")
    });
}

#[test]
fn ollama() {
    play(&Client {
        raises: ["ResponseError"; 2],
        breaks: ("ResponseError", Some(-1)),
        retries: false,
        models: json!({"models": ["script"], "can": ["completion", "tools"]}),
        ..Client::new("ollama_client.py", "ollama")
    });
}

fn langchain(face: &'static str) -> Client {
    Client {
        raises: ["OpenAIRateLimitError", "OpenAIAPIError"],
        ..Client::new("langchain_client.py", face)
    }
}

#[test]
fn langchain_chat_completions() {
    play(&langchain("chat"));
}

#[test]
fn langchain_responses() {
    play(&Client {
        breaks: ("ValueError", None),
        ..langchain("responses")
    });
}

fn pydantic_ai(face: &'static str) -> Client {
    Client {
        finishes: ["tool_call", "stop"].map(Some),
        raises: ["ModelRateLimitError", "ModelServerError"],
        breaks: ("ModelServerError", Some(500)),
        ..Client::new("pydantic_ai_client.py", face)
    }
}

#[test]
fn pydantic_ai_chat_completions() {
    play(&pydantic_ai("chat"));
}

#[test]
fn pydantic_ai_responses() {
    play(&Client {
        finishes: [Some("stop"); 2],
        ..pydantic_ai("responses")
    });
}

#[test]
fn pydantic_ai_messages() {
    play(&pydantic_ai("messages"));
}

fn agents_sdk(face: &'static str) -> Client {
    Client {
        finishes: [None; 2],
        ..Client::new("agents_sdk.py", face)
    }
}

#[test]
fn agents_sdk_chat_completions() {
    play(&agents_sdk("chat"));
}

#[test]
fn agents_sdk_responses() {
    play(&Client {
        breaks: ("ModelBehaviorError", None),
        ..agents_sdk("responses")
    });
}

fn litellm(face: &'static str) -> Client {
    Client {
        finishes: ["tool_calls", "stop"].map(Some),
        breaks: ("MidStreamFallbackError", Some(500)),
        retries: false,
        ..Client::new("litellm_client.py", face)
    }
}

#[test]
fn litellm_chat_completions() {
    play(&litellm("chat"));
}

#[test]
fn litellm_messages() {
    play(&litellm("messages"));
}

#[test]
fn litellm_ollama() {
    play(&Client {
        breaks: ("BadRequestError", Some(400)),
        ..litellm("ollama")
    });
}

#[test]
fn ai_sdk() {
    play(&Client {
        finishes: ["tool-calls", "stop"].map(Some),
        raises: ["APICallError"; 2],
        breaks: ("StreamProviderError", None),
        ..Client::new("ai_sdk.mjs", "chat")
    });
}
