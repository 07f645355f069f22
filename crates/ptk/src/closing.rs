//! The last request of a turn: the model is to answer from the results that
//! there are, without tools.

use std::collections::HashSet;

use ptk_llm::Message;
use ptk_protocol::Role;
use ptk_store::{Call, Content, Item, Transcript};
use serde_json::Value;

use crate::engine::Terms;
use crate::render::{self, Renderer};

/// What is asked for, before the person's own words.
const ANSWER_FROM_THIS: &str = "Answer from this:";
/// The longest argument that is named above a result, in bytes.
const MAX_ARGUMENT: usize = 120;

/// The conversation for the last request. `messages` is what the model would be
/// shown if it could go on.
///
/// A model that is taught in words goes on as it did before, with calls or with
/// made-up results. So it is shown neither calls nor the form of results, but
/// what was found, as plain text.
pub(crate) fn messages(
    terms: &Terms,
    messages: Vec<Message>,
    transcript: &Transcript,
    question: &str,
) -> Vec<Message> {
    if terms.tools.is_empty() {
        return messages;
    }
    let mut messages = if terms.is_native {
        messages
    } else {
        found(terms, transcript.items())
    };
    // Small models repeat a question that stands first, or alone.
    messages.push(Message::user(format!("{ANSWER_FROM_THIS} {question}")));
    messages
}

/// The conversation, with what calls gave back in the place of the calls.
fn found(terms: &Terms, items: &[Item]) -> Vec<Message> {
    let renderer = Renderer { terms };
    let is_prompt =
        |item: &Item| matches!(&item.content, Content::Message(it) if it.role == Role::User);
    let prompt = items.iter().rposition(is_prompt).unwrap_or_default();
    let mut seen = HashSet::new();
    let mut messages = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match &item.content {
            Content::Reply(reply) if !reply.calls.is_empty() => {
                // What was looked at twice is told once.
                let calls = reply.calls.iter().filter(|_| reply.has_results());
                let calls = calls.filter(|call| {
                    let is_new = seen.insert((call.name.clone(), call.arguments.to_json()));
                    is_new || call.result().success
                });
                let told = calls.map(|call| Message::User(result(&renderer, call)));
                messages.extend(told);
            }
            // It is asked again behind what was found.
            Content::Message(_) if at == prompt => {}
            // How it is to call tools does not help it to answer.
            Content::Rejected(_) => {}
            Content::Message(note) if note.role == Role::System && at > prompt => {}
            _ => messages.extend(renderer.item(item)),
        }
    }
    let mut seen = HashSet::new();
    messages.retain(|message| seen.insert(message.text().to_owned()));
    messages
}

/// What a call was about, and what came of it.
fn result(renderer: &Renderer<'_>, call: &Call) -> String {
    let mut about = call.name.clone();
    for value in call.arguments.as_map().values() {
        let value = match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        if value.len() <= MAX_ARGUMENT && !value.contains('\n') {
            about.push(' ');
            about.push_str(&value);
        }
    }
    let result = call.result();
    let told = if result.success {
        render::in_words(&result)
    } else {
        format!("Failed: {}", result.error)
    };
    renderer.bounded(format!("{about}:\n{told}"))
}
