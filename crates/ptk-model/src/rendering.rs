//! Renders conversations as a model takes them: as turns, or as one text.

use ptk_llm::{Form, Message};
use ptk_protocol::{Formatter, Message as Said, ToolCall};

/// A message of the model, with its calls in the dialect that it is taught.
#[must_use]
pub fn with_calls(formatter: &dyn Formatter, mut text: String, calls: &[ToolCall]) -> String {
    if calls.is_empty() {
        return text;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&formatter.tool_calls(calls));
    text
}

/// Results of calls in text. In a conversation that is one text they stand as
/// in the examples, and not as something that the user says.
#[must_use]
pub fn result_message(form: Form, text: String) -> Message {
    match form {
        Form::Chat => Message::user(text),
        Form::Prompt => Message::tool(text),
    }
}

/// Joins consecutive messages of one role: many models take only turns.
#[must_use]
pub fn merged(messages: Vec<Message>) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match (merged.last_mut(), message) {
            (
                Some(Message::User {
                    text: before,
                    images: shown,
                }),
                Message::User { text, images },
            ) => {
                before.push_str("\n\n");
                before.push_str(&text);
                shown.extend(images);
            }
            (_, message) => merged.push(message),
        }
    }
    merged
}

/// The whole conversation as one text, for models that go on with it.
#[must_use]
pub fn one_prompt(formatter: &dyn Formatter, system: &str, messages: &[Message]) -> Message {
    let first = (!system.is_empty()).then(|| Said::system(system));
    let said = first.into_iter().chain(messages.iter().map(Said::from));
    let said: Vec<Said> = said.collect();
    let conversation = formatter.conversation(&said);
    Message::user(format!("{conversation}\n\n{}", formatter.cue()))
}
