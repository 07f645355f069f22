//! What servers offer beside tools: prompts and resources, which a person picks.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, InputResponses, ReadResourceRequest,
    ReadResourceRequestParams, ServerResult,
};
use serde_json::{Map, Value};

use crate::connection::{Connection, Listed};
use crate::names::tool_name;
use crate::text::{cleaned, in_line};
use crate::{McpError, exchange};

/// How many characters of a name or an address are taken.
const MAX_WORD: usize = 500;
/// How many characters of a description are taken.
const MAX_DESCRIPTION: usize = 300;
/// How many characters of a text are taken.
const MAX_TEXT: usize = 1024 * 1024;
/// How many parts of a prompt or a resource are taken.
const MAX_PARTS: usize = 100;
/// How often a server may ask for more before it answers.
const MAX_ROUNDS: usize = 10;

/// What servers offer beside tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// Prompts that are ready, by their commands.
    pub prompts: Vec<OfferedPrompt>,
    /// Files and other contents.
    pub resources: Vec<OfferedResource>,
}

/// A prompt that a server has ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedPrompt {
    /// The server, by the user's name for it.
    pub server: String,
    /// Its name for people: `server__name`.
    pub command: String,
    /// What it is for.
    pub description: String,
    /// What it has to be told.
    pub arguments: Vec<PromptArgument>,
    /// Its name at the server.
    name: String,
}

/// A text that a prompt has to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether it may not be left out.
    pub is_required: bool,
}

/// A content that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedResource {
    /// The server, by the user's name for it.
    pub server: String,
    /// Its address.
    pub uri: String,
    /// Its name for people.
    pub name: String,
    /// What it is.
    pub description: String,
}

/// A part of a prompt, or of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferedPart {
    /// What the user would write, or what a model has answered.
    Said {
        /// Whether it stands for an answer of the model.
        by_model: bool,
        /// The words.
        text: String,
    },
    /// A text of its own.
    Text {
        /// Its address.
        uri: String,
        /// Its text.
        text: String,
    },
    /// Something that is not text, such as an image.
    Bytes {
        /// Its address, or what it is.
        uri: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// The prompts and resources of a server.
pub(crate) async fn list(connection: &Connection, server: &str) -> Result<Offers, McpError> {
    let mut offers = Offers::default();
    let mut taken = BTreeSet::new();
    for prompt in connection.list(Listed::Prompts).await? {
        if let Some(prompt) = offered_prompt(&prompt, server, &taken) {
            taken.insert(prompt.command.clone());
            offers.prompts.push(prompt);
        }
    }
    for resource in connection.list(Listed::Resources).await? {
        offers.resources.extend(offered_resource(&resource, server));
    }
    Ok(offers)
}

/// A word of a server, unless what is shown would not be what is meant.
fn exact(value: &Value, key: &str) -> Option<String> {
    let word = value.get(key)?.as_str()?;
    (in_line(word, MAX_WORD) == word && !word.is_empty()).then(|| word.to_owned())
}

fn told(value: &Value, key: &str) -> String {
    let text = value.get(key).and_then(Value::as_str);
    in_line(text.unwrap_or_default(), MAX_DESCRIPTION)
}

fn offered_prompt(prompt: &Value, server: &str, taken: &BTreeSet<String>) -> Option<OfferedPrompt> {
    let name = exact(prompt, "name")?;
    let arguments = prompt.get("arguments").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten().map(|argument| {
        Some(PromptArgument {
            name: exact(argument, "name")?,
            description: told(argument, "description"),
            is_required: argument.get("required") == Some(&Value::Bool(true)),
        })
    });
    Some(OfferedPrompt {
        server: server.to_owned(),
        command: tool_name(server, &name, taken),
        description: told(prompt, "description"),
        arguments: arguments.collect::<Option<_>>()?,
        name,
    })
}

fn offered_resource(resource: &Value, server: &str) -> Option<OfferedResource> {
    let uri = exact(resource, "uri")?;
    let name = match told(resource, "title") {
        title if title.is_empty() => told(resource, "name"),
        title => title,
    };
    Some(OfferedResource {
        server: server.to_owned(),
        uri,
        name,
        description: told(resource, "description"),
    })
}

/// Gets a prompt, with what it has to be told.
pub(crate) async fn prompt(
    connection: &Connection,
    prompt: &OfferedPrompt,
    arguments: Map<String, Value>,
) -> Result<Vec<OfferedPart>, McpError> {
    let params = GetPromptRequestParams::new(&prompt.name).with_arguments(arguments);
    let answer = ask(connection, |responses, state| {
        let mut params = params.clone();
        params.input_responses = responses;
        params.request_state = state;
        ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
    });
    let answer = answer.await?;
    let messages = answer.get("messages").and_then(Value::as_array);
    let messages =
        messages.ok_or_else(|| McpError::Protocol("the prompt has no messages".to_owned()))?;
    let parts = messages.iter().take(MAX_PARTS).filter_map(|message| {
        let by_model = message.get("role").and_then(Value::as_str) == Some("assistant");
        part(message.get("content")?, by_model)
    });
    Ok(parts.collect())
}

/// Reads a resource.
pub(crate) async fn resource(
    connection: &Connection,
    uri: &str,
) -> Result<Vec<OfferedPart>, McpError> {
    let params = ReadResourceRequestParams::new(uri);
    let answer = ask(connection, |responses, state| {
        let mut params = params.clone();
        params.input_responses = responses;
        params.request_state = state;
        ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
    });
    let answer = answer.await?;
    let contents = answer.get("contents").and_then(Value::as_array);
    let contents =
        contents.ok_or_else(|| McpError::Protocol("the resource has no contents".to_owned()))?;
    Ok(contents
        .iter()
        .take(MAX_PARTS)
        .filter_map(content)
        .collect())
}

/// Sends a request, and once more with what the server wants to know.
async fn ask(
    connection: &Connection,
    request: impl Fn(Option<InputResponses>, Option<String>) -> ClientRequest,
) -> Result<Value, McpError> {
    let (mut responses, mut state) = (None, None);
    for _ in 0..MAX_ROUNDS {
        match connection.request(request(responses, state)).await? {
            ServerResult::InputRequiredResult(wanted) => {
                state = wanted.request_state.clone();
                responses = Some(exchange::responses(connection, wanted).await?);
            }
            answer => {
                return serde_json::to_value(answer)
                    .map_err(|error| McpError::Protocol(error.to_string()));
            }
        }
    }
    Err(McpError::Protocol(format!(
        "it asked for more {MAX_ROUNDS} times"
    )))
}

/// What a message of a prompt has.
fn part(content: &Value, by_model: bool) -> Option<OfferedPart> {
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    match text("type")? {
        "text" => Some(OfferedPart::Said {
            by_model,
            text: cleaned(text("text")?, MAX_TEXT),
        }),
        "image" | "audio" => Some(OfferedPart::Bytes {
            uri: told(content, "mimeType"),
            bytes: STANDARD.decode(text("data")?).ok()?,
        }),
        "resource" => self::content(content.get("resource")?),
        "resource_link" => Some(OfferedPart::Said {
            by_model,
            text: told(content, "uri"),
        }),
        _ => None,
    }
}

/// A content of a resource.
fn content(content: &Value) -> Option<OfferedPart> {
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    let uri = told(content, "uri");
    if let Some(text) = text("text") {
        let text = cleaned(text, MAX_TEXT);
        return Some(OfferedPart::Text { uri, text });
    }
    let bytes = STANDARD.decode(text("blob")?).ok()?;
    Some(OfferedPart::Bytes { uri, bytes })
}
