//! Requests with tools, for models that are too small to call them alone.

use ptk_llm::{Delta, FinishReason, Message, Request, ToolChoice, Usage};
use serde_json::Value;

use super::chat::{Template, Turn};
use super::engine::Engine;
use super::generate::{self, Listener};
use super::trouble::Trouble;
use crate::guide::{Guide, Move, Surroundings};

/// How a small model is to talk: it takes up the tone of what it is shown, and
/// makes less up where that is short.
const MANNER: [(&str, &str); 7] = [
    ("hello", "Hello! How can I help you?"),
    ("What is 3+5?", "3+5 is 8."),
    ("capital of spain?", "The capital of Spain is Madrid."),
    ("thanks", "You are welcome!"),
    (
        "How many hours are there in a day?",
        "There are 24 hours in a day.",
    ),
    (
        "What does HTML stand for?",
        "HTML stands for HyperText Markup Language.",
    ),
    (
        "what are you?",
        "I am a small language model that runs on this machine. I can read, find, list and write files here.",
    ),
];
/// Messages of the conversation that such a model is shown when it talks.
const REMEMBERED: usize = 4;
/// The most tokens of what it says when it talks.
const MOST_TALK: u32 = 200;

/// Does what the guide says comes next.
pub(super) fn reply(
    engine: &mut Engine<'_>,
    template: &Template,
    surroundings: Surroundings,
    request: &Request,
    listener: &dyn Listener,
) -> Result<(), Trouble> {
    let may_call = request.tool_choice != ToolChoice::None;
    let tools = if may_call {
        request.tools.clone()
    } else {
        ptk_protocol::Toolset::default()
    };
    let finish = match Guide::new(&tools, surroundings).next(&request.messages) {
        Move::Call { tool, arguments } => {
            listener.tell(Delta::CallStart {
                index: 0,
                id: None,
                name: tool,
            });
            listener.tell(Delta::Arguments {
                index: 0,
                json: Value::Object(arguments).to_string(),
            });
            listener.tell(Delta::CallEnd { index: 0 });
            FinishReason::ToolCalls
        }
        Move::Answer(text) => {
            listener.tell(Delta::Text(text));
            FinishReason::Stop
        }
        Move::Talk => {
            let request = Request {
                max_tokens: Some(request.max_tokens.unwrap_or(MOST_TALK).min(MOST_TALK)),
                ..request.clone()
            };
            return generate::reply(engine, template, &talk(&request), &request, listener);
        }
    };
    listener.tell(Delta::Usage(Usage::default()));
    listener.tell(Delta::Finish(finish));
    Ok(())
}

/// What a small model is shown when it talks: how to do that, and the last
/// words of the conversation.
fn talk(request: &Request) -> Vec<Turn> {
    let manner = MANNER
        .iter()
        .flat_map(|(asked, said)| [Turn::new("user", *asked), Turn::new("assistant", *said)]);
    let said = request.messages.iter().filter_map(|message| match message {
        Message::User(text) => Some(Turn::new("user", text)),
        Message::Assistant { text, .. } if !text.is_empty() => Some(Turn::new("assistant", text)),
        _ => None,
    });
    let said: Vec<Turn> = said.collect();
    let last = said.len().saturating_sub(REMEMBERED);
    // The manner ends with an answer, so a question follows.
    let last = said
        .into_iter()
        .skip(last)
        .skip_while(|turn| turn.role != "user");
    manner.chain(last).collect()
}
