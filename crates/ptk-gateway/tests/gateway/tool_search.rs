//! Deferred tools: the gateway plays the search for them that the APIs of OpenAI
//! and Anthropic have, for any model.

mod anthropic;
mod openai;

use ptk_llm::{Request, ScriptedReply};
use serde_json::{Value, json};

use crate::scene::call;

/// A call of the gateway's own search.
fn find(query: &str) -> String {
    call("find_tools", &json!({"query": query}))
}

/// Replies of a model that calls natively: each a tool and its arguments, or a
/// text.
fn native(replies: &[(&str, Value)]) -> Vec<ScriptedReply> {
    let replies = replies.iter().enumerate().map(|(at, (name, args))| {
        let reply = match args {
            Value::Null => json!({"text": name}),
            args => {
                json!({"tool_calls": [{"id": format!("call_{at}"), "name": name, "arguments": args}]})
            }
        };
        serde_json::from_value(reply).unwrap()
    });
    replies.collect()
}

/// All that a model is shown in a request.
fn shown(request: &Request) -> String {
    let system = request.system.clone().into_iter();
    let turns = request.turns().map(|message| message.text().to_owned());
    system.chain(turns).collect::<Vec<_>>().join("\n\n")
}

fn names(request: &Request) -> Vec<&str> {
    request.tools.names().collect()
}

/// The description of a tool, which only its definition has in full.
const ABOUT: &str =
    "Get the weather forecast for a city, hour by hour, as long as a week ahead, wherever it is";

/// The names of the tools that are deferred.
const DEFERRED: [&str; 4] = ["get_weather", "send_mail", "book_room", "list_rooms"];

/// Their descriptions.
fn about(name: &str) -> &'static str {
    match name {
        "get_weather" => ABOUT,
        "send_mail" => "Send an e-mail to a person",
        "book_room" => "Book a room for a meeting",
        _ => "List the rooms of the house",
    }
}
