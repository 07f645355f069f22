//! The last request of a turn, in which the model answers from the results so
//! far and cannot call tools.

use std::collections::HashSet;

use ptk_llm::Message;
use ptk_protocol::{Image, Role, ToolResult};
use ptk_store::{Call, Content, Item, Transcript};
use serde_json::Value;

use crate::engine::TurnConfig;
use crate::render::{self, Renderer};

/// The request after an ordinary conversation, before the question.
const ORDINARY: &str = "You cannot call tools any more. Answer now from the results above, in words. If something is missing, say what.";
/// The same for an answer that has to be JSON.
const FOR_JSON: &str = "You cannot call tools any more. Answer now from the results above.";
/// The request after a conversation without calls, before the question.
const PLAIN: &str = "Answer from this:";
/// The longest argument shown above a result, in bytes.
const MAX_ARGUMENT: usize = 120;

/// Whether the last request shows the conversation in other words. For models
/// that call tools natively nothing changes but its end, so that what was cached
/// of it can be used.
pub(crate) fn is_rewritten(config: &TurnConfig) -> bool {
    !config.prompt.is_native && !config.prompt.tools.is_empty()
}

/// The messages of the last request. `messages` is the conversation as an
/// ordinary request would send it.
///
/// A model that calls tools in text imitates the calls and results it sees. Its
/// conversation is rewritten without both: each result becomes plain text. If
/// the reply to that could not be used (`is_retry`), it gets the conversation
/// as it was: a model that samples without randomness would fail the same way.
pub(crate) fn messages(
    renderer: &Renderer<'_>,
    messages: Vec<Message>,
    transcript: &Transcript,
    question: &str,
    is_retry: bool,
) -> Vec<Message> {
    let config = renderer.config();
    if config.prompt.tools.is_empty() {
        return messages;
    }
    if config.prompt.is_native || is_retry {
        let in_words = config.options.answer_schema.is_none();
        let request = if in_words { ORDINARY } else { FOR_JSON };
        let mut messages = messages;
        messages.push(Message::user(format!("{request} {question}")));
        return messages;
    }
    let (mut messages, images) = plain_conversation(renderer, transcript.items());
    let text = format!("{PLAIN} {question}");
    // Small models repeat a question that comes first or stands alone.
    messages.push(match images {
        QuestionImages::Shown(images) => Message::User { text, images },
        QuestionImages::LeftOut => Message::user(render::without_images(&text)),
    });
    messages
}

/// The images of the question of a turn.
enum QuestionImages {
    /// They are shown, if there are any.
    Shown(Vec<Image>),
    /// The model cannot see them.
    LeftOut,
}

/// The conversation with plain results instead of calls, and without the
/// question of this turn; and the images of that question.
fn plain_conversation(renderer: &Renderer<'_>, items: &[Item]) -> (Vec<Message>, QuestionImages) {
    let is_question =
        |item: &Item| matches!(&item.content, Content::Message(it) if it.role == Role::User);
    let question = items.iter().rposition(is_question).unwrap_or_default();
    let mut calls = HashSet::new();
    let mut results = HashSet::new();
    let mut messages = Vec::new();
    let mut images = QuestionImages::Shown(Vec::new());
    for (at, item) in items.iter().enumerate() {
        match &item.content {
            Content::Reply(reply) if !reply.calls.is_empty() => {
                // What tools can do does not help to answer.
                let is_useful = |call: &&Call| !renderer.config().prompt.is_search(&call.name);
                let useful = reply.calls.iter().filter(is_useful);
                for call in useful.filter(|_| reply.has_results()) {
                    let is_new = calls.insert((&call.name, call.arguments.to_json()));
                    let result = plain_result(renderer, call);
                    // A repeated call adds nothing, and is mostly refused.
                    if (is_new || call.result().success) && results.insert(result.clone()) {
                        messages.push(Message::user(result));
                    }
                }
            }
            Content::Message(said) if at == question => {
                let shown = said.images.is_empty() || renderer.shows_images(item);
                images = if shown {
                    QuestionImages::Shown(said.images.clone())
                } else {
                    QuestionImages::LeftOut
                };
            }
            // Advice about calling tools does not help to answer.
            Content::Rejected(_) => {}
            Content::Message(note) if note.role == Role::System && at > question => {}
            _ => messages.extend(renderer.item(item)),
        }
    }
    (messages, images)
}

/// A call's tool and short arguments, then its result or error.
fn plain_result(renderer: &Renderer<'_>, call: &Call) -> String {
    let mut text = call.name.clone();
    for value in call.arguments.as_map().values() {
        let value = match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        if value.len() <= MAX_ARGUMENT && !value.contains('\n') {
            text.push(' ');
            text.push_str(&value);
        }
    }
    let told = |result: &ToolResult| {
        let result = if result.success {
            render::plain_text(result)
        } else {
            format!("Failed: {}", result.error)
        };
        let formatter = &renderer.config().prompt.formatter;
        let text = format!("{text}:\n{result}");
        formatter.break_marks(&text).into_owned()
    };
    renderer.fitting(call, told)
}
