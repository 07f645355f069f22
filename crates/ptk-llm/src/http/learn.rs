//! Asks servers what their models can do. Servers differ in where they report
//! it; every piece of information is optional.

use serde_json::{Value, json};

use super::{HttpProvider, Kind};
use crate::{Capabilities, Form, KnownModel, LlmError, LlmErrorKind};

/// The longest name of a model, in bytes. What is longer is not a name.
const MAX_NAME: usize = 512;

/// Asks the server for the capabilities of a model, of which those are `known`
/// that follow from its name. `None` if it reports none.
pub(super) async fn ask(
    provider: &HttpProvider,
    model: &str,
    known: Capabilities,
) -> Option<Capabilities> {
    let root = provider.path().trim_end_matches("/v1").to_owned();
    let shown = json!({"model": model});
    let found = if provider.kind() == Kind::Ollama {
        let path = format!("{root}/api/show");
        of_ollama(&provider.told(&path, Some(&shown)).await?)
    } else {
        let path = format!("{}/models", provider.path());
        let list = provider.told(&path, None).await?;
        let mut found = of_list(&list, model);
        if found.context_window.is_none() && is_llama_cpp(&list) {
            let props = provider.told(&format!("{root}/props"), None).await;
            found = props.map_or(found, |props| of_props(&props));
        }
        found
    };
    let prefers_text = KnownModel::named(model).is_some_and(|it| it.prefers_text);
    let learned = Capabilities {
        native_tools: match known.form {
            Form::Chat if !prefers_text => found.native_tools.or(known.native_tools),
            _ => known.native_tools,
        },
        context_window: found.context_window.or(known.context_window),
        takes_images: known.takes_images && found.takes_images.unwrap_or(true),
        ..known
    };
    (found != Found::default()).then_some(learned)
}

/// The names of the server's models. Services that list them page by page are
/// asked for the longest page, a thousand names.
pub(super) async fn models(provider: &HttpProvider) -> Result<Vec<String>, LlmError> {
    let root = provider.path().trim_end_matches("/v1");
    let own = || format!("{}/models", provider.path());
    let (path, list, name) = match provider.kind() {
        Kind::Ollama => (format!("{root}/api/tags"), "models", "name"),
        Kind::Gemini => (own() + "?pageSize=1000", "models", "name"),
        Kind::Anthropic => (own() + "?limit=1000", "data", "id"),
        _ => (own(), "data", "id"),
    };
    let told = provider.asked(&path, None).await?;
    let models = told.get(list).and_then(Value::as_array);
    let models = models.ok_or_else(|| {
        let error = LlmError::new(&provider.name, None, LlmErrorKind::Unreadable);
        error.message("it is not a list of models")
    })?;
    let models = models.iter();
    let names = models.filter_map(|it| it.get(name)?.as_str());
    let names = names.filter(|name| name.len() <= MAX_NAME);
    let names = names.map(|name| match provider.kind() {
        // The API takes the name behind that of the list.
        Kind::Gemini => name.strip_prefix("models/").unwrap_or(name),
        _ => name,
    });
    Ok(names.map(str::to_owned).collect())
}

/// Whether a model most likely answers no prompts, by its name.
#[must_use]
pub fn is_for_embeddings(name: &str) -> bool {
    name.to_lowercase().contains("embed")
}

#[derive(Debug, Default, PartialEq)]
struct Found {
    native_tools: Option<bool>,
    context_window: Option<u32>,
    takes_images: Option<bool>,
}

/// The capabilities from Ollama's list, which old versions do not have. The
/// window of the model is not used: the server's own is smaller unless
/// configured.
fn of_ollama(told: &Value) -> Found {
    let can = told.get("capabilities").and_then(Value::as_array);
    let has = |capability: &str| can.map(|can| can.iter().any(|it| it == capability));
    Found {
        native_tools: has("tools"),
        takes_images: has("vision"),
        context_window: None,
    }
}

/// The capabilities from a list of models in OpenAI's format, with the
/// extensions of other servers.
fn of_list(list: &Value, model: &str) -> Found {
    let models = list.get("data").and_then(Value::as_array);
    let named = |it: &&Value| it.get("id").and_then(Value::as_str) == Some(model);
    let Some(entry) = models.into_iter().flatten().find(named) else {
        return Found::default();
    };
    let takes = entry.get("supported_parameters").and_then(Value::as_array);
    let windows = [
        "/max_model_len",
        "/loaded_context_length",
        "/context_length",
        "/context_window",
    ];
    let window = windows.iter().find_map(|at| entry.pointer(at)?.as_u64());
    Found {
        native_tools: takes.map(|takes| takes.iter().any(|it| it == "tools")),
        context_window: window.and_then(positive),
        takes_images: None,
    }
}

fn is_llama_cpp(list: &Value) -> bool {
    list.pointer("/data/0/owned_by").and_then(Value::as_str) == Some("llamacpp")
}

/// The capabilities from the properties of a llama.cpp server.
fn of_props(props: &Value) -> Found {
    let caps = props.pointer("/chat_template_caps/supports_tool_calls");
    let window = props.pointer("/default_generation_settings/n_ctx");
    let vision = props.pointer("/modalities/vision");
    Found {
        native_tools: caps.and_then(Value::as_bool),
        takes_images: vision.and_then(Value::as_bool),
        context_window: window.and_then(Value::as_u64).and_then(positive),
    }
}

fn positive(number: u64) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| *number > 0)
}
