//! Ollama's API: `/api/chat`, and what its clients request before it.

mod request;
mod write;

use std::time::Instant;

use hyper::StatusCode;
use serde_json::{Value, json};

use self::request::{known, read};
use self::write::{OllamaWriter, loaded, message};
use super::{Call, JSON, Reply, streamed, whole};
use crate::failure::Failure;
use crate::fields::Fields;

const LINES: &str = "application/x-ndjson";
/// The version at `/api/version`: PTK is not a version of Ollama.
const VERSION: &str = "0.0.0-ptk";
/// The modification time of models, which is not known.
const LONG_AGO: &str = "1970-01-01T00:00:00Z";

pub(super) async fn chat(call: Call) -> Result<Reply, Failure> {
    let start = Instant::now();
    let (call, (chat, streams)) = super::read(call, read).await?;
    call.ticket.asked(&chat.model, streams);
    if chat.messages.is_empty() && chat.system.is_none() {
        call.gateway.routes.get(&chat.model)?;
        let kind = if streams { LINES } else { JSON };
        return Ok(Reply::whole(StatusCode::OK, kind, loaded(&chat.model)));
    }
    if streams {
        let writer = OllamaWriter::new(&chat.model, start);
        return streamed(call, LINES, vec![(chat, writer)], |_, _| {}).await;
    }
    let model = chat.model.clone();
    let answers = whole(&call, &[chat]).await?;
    let body = answers.first().map(|answer| message(&model, start, answer));
    Ok(Reply::whole(StatusCode::OK, JSON, body.unwrap_or_default()))
}

/// The endpoint `/api/tags`: the available models.
pub(super) async fn tags(call: &Call) -> Reply {
    let names = call.gateway.routes.all().await;
    let models: Vec<Value> = names
        .iter()
        .map(|name| {
            json!({
                "name": name,
                "model": name,
                "modified_at": LONG_AGO,
                "size": 0,
                "digest": "",
                "details": details(),
            })
        })
        .collect();
    Reply::json(&json!({ "models": models }))
}

/// The endpoint `/api/show`: what a model can do. All can call tools here.
pub(super) fn show(call: &Call) -> Result<Reply, Failure> {
    let mut fields = Fields::of(&call.body)?;
    // Some clients still send `name`.
    let older: Option<String> = fields.read("name")?;
    let asked = match fields.read("model")?.or(older) {
        Some(name) => name,
        None => fields.need("model")?,
    };
    let name = known(&call.gateway, asked);
    call.gateway.routes.get(&name)?;
    Ok(Reply::json(&json!({
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": details(),
        "model_info": {"general.architecture": "ptk", "general.basename": name},
        "capabilities": ["completion", "tools"],
        "modified_at": LONG_AGO,
    })))
}

/// The endpoint `/api/version`: not Ollama's version, in its format.
pub(super) fn version() -> Reply {
    Reply::json(&json!({ "version": VERSION }))
}

fn details() -> Value {
    json!({
        "parent_model": "",
        "format": "",
        "family": "",
        "families": [],
        "parameter_size": "",
        "quantization_level": "",
    })
}
