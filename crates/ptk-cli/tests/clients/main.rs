//! The gateway as clients of others see it: each speaks to the binary, whose
//! model says what a script says and knows nothing of any API for tools.
//! `scripts/test features` installs the clients, and `PTK_TEST_CLIENTS` says
//! where they are.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod client;
mod gateway;
mod scenes;

use client::Client;

const TOOL_CALLS: [Option<&str>; 2] = [Some("tool_calls"), Some("stop")];
const TOOL_USE: [Option<&str>; 2] = [Some("tool_use"), Some("end_turn")];
const COMPLETED: [Option<&str>; 2] = [Some("completed"); 2];
const OF_STATUS: [&str; 2] = ["RateLimitError", "InternalServerError"];

/// The scenes that every client plays, and those that only some can.
macro_rules! clients {
    ($($name:ident: $client:expr, also [$($scene:ident),*];)+) => {$(
        mod $name {
            #[allow(unused_imports, reason = "some clients have no words of others")]
            use super::*;
            use crate::client::Mode;
            use crate::scenes;

            const CLIENT: Client = $client;

            #[test]
            fn one_call_whole() {
                scenes::one(&CLIENT, Mode::Whole);
            }

            #[test]
            fn one_call_streamed() {
                scenes::one(&CLIENT, Mode::Stream);
            }

            #[test]
            fn several_calls_whole() {
                scenes::several(&CLIENT, Mode::Whole);
            }

            #[test]
            fn several_calls_streamed() {
                scenes::several(&CLIENT, Mode::Stream);
            }

            #[test]
            fn text_whole() {
                scenes::text(&CLIENT, Mode::Whole);
            }

            #[test]
            fn text_streamed() {
                scenes::text(&CLIENT, Mode::Stream);
            }

            #[test]
            fn errors_whole() {
                scenes::errors(&CLIENT, Mode::Whole);
            }

            #[test]
            fn errors_streamed() {
                scenes::errors(&CLIENT, Mode::Stream);
            }

            #[test]
            fn a_failure_in_the_middle_of_a_stream() {
                scenes::broken(&CLIENT);
            }

            #[test]
            fn results_reach_the_model() {
                scenes::recorded(&CLIENT);
            }

            $(
                #[test]
                fn $scene() {
                    scenes::$scene(&CLIENT);
                }
            )*
        }
    )+};
}

clients! {
    openai_python_chat: Client {
        program: "openai_sdk.py",
        face: "chat",
        finishes: TOOL_CALLS,
        raises: OF_STATUS,
        breaks: ("APIError", None),
    }, also [retried, models_of_openai];

    openai_python_responses: Client {
        program: "openai_sdk.py",
        face: "responses",
        finishes: COMPLETED,
        raises: OF_STATUS,
        breaks: ("APIError", None),
    }, also [retried];

    openai_node_chat: Client {
        program: "openai_sdk.mjs",
        face: "chat",
        finishes: TOOL_CALLS,
        raises: OF_STATUS,
        breaks: ("APIError", None),
    }, also [retried, models_of_openai];

    openai_node_responses: Client {
        program: "openai_sdk.mjs",
        face: "responses",
        finishes: COMPLETED,
        raises: OF_STATUS,
        breaks: ("APIError", None),
    }, also [retried];

    anthropic_python: Client {
        program: "anthropic_sdk.py",
        face: "messages",
        finishes: TOOL_USE,
        raises: OF_STATUS,
        breaks: ("APIStatusError", Some(200)),
    }, also [retried, models_of_anthropic];

    anthropic_node: Client {
        program: "anthropic_sdk.mjs",
        face: "messages",
        finishes: TOOL_USE,
        raises: OF_STATUS,
        breaks: ("APIError", None),
    }, also [retried, models_of_anthropic];

    ollama: Client {
        program: "ollama_client.py",
        face: "ollama",
        finishes: [Some("stop"); 2],
        raises: ["ResponseError"; 2],
        breaks: ("ResponseError", Some(-1)),
    }, also [models_of_ollama];

    langchain_chat: Client {
        program: "langchain_client.py",
        face: "chat",
        finishes: TOOL_CALLS,
        raises: ["OpenAIRateLimitError", "OpenAIAPIError"],
        breaks: ("APIError", None),
    }, also [retried];

    langchain_responses: Client {
        program: "langchain_client.py",
        face: "responses",
        finishes: COMPLETED,
        raises: ["OpenAIRateLimitError", "OpenAIAPIError"],
        breaks: ("ValueError", None),
    }, also [retried];

    pydantic_ai_chat: Client {
        program: "pydantic_ai_client.py",
        face: "chat",
        finishes: [Some("tool_call"), Some("stop")],
        raises: ["ModelRateLimitError", "ModelServerError"],
        breaks: ("ModelServerError", Some(500)),
    }, also [retried];

    pydantic_ai_responses: Client {
        program: "pydantic_ai_client.py",
        face: "responses",
        finishes: [Some("stop"); 2],
        raises: ["ModelRateLimitError", "ModelServerError"],
        breaks: ("ModelServerError", Some(500)),
    }, also [retried];

    pydantic_ai_messages: Client {
        program: "pydantic_ai_client.py",
        face: "messages",
        finishes: [Some("tool_call"), Some("stop")],
        raises: ["ModelRateLimitError", "ModelServerError"],
        breaks: ("ModelServerError", Some(500)),
    }, also [retried];

    agents_chat: Client {
        program: "agents_sdk.py",
        face: "chat",
        finishes: [None; 2],
        raises: OF_STATUS,
        breaks: ("APIError", None),
    }, also [retried];

    agents_responses: Client {
        program: "agents_sdk.py",
        face: "responses",
        finishes: [None; 2],
        raises: OF_STATUS,
        breaks: ("ModelBehaviorError", None),
    }, also [retried];

    litellm_chat: Client {
        program: "litellm_client.py",
        face: "chat",
        finishes: TOOL_CALLS,
        raises: OF_STATUS,
        breaks: ("MidStreamFallbackError", Some(500)),
    }, also [];

    litellm_messages: Client {
        program: "litellm_client.py",
        face: "messages",
        finishes: TOOL_CALLS,
        raises: OF_STATUS,
        breaks: ("MidStreamFallbackError", Some(500)),
    }, also [];

    litellm_ollama: Client {
        program: "litellm_client.py",
        face: "ollama",
        finishes: TOOL_CALLS,
        raises: OF_STATUS,
        breaks: ("BadRequestError", Some(400)),
    }, also [];

    ai_sdk: Client {
        program: "ai_sdk.mjs",
        face: "chat",
        finishes: [Some("tool-calls"), Some("stop")],
        raises: ["APICallError"; 2],
        breaks: ("StreamProviderError", None),
    }, also [retried];
}
