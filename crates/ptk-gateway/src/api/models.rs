//! The endpoint `/v1/models`: the available models.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{Call, Reply};
use crate::failure::Failure;

/// Lists all models, for OpenAI's and Anthropic's APIs in one.
pub(super) async fn list(call: &Call) -> Reply {
    let names = call.gateway.routes.all().await;
    let (first, last) = (names.first().cloned(), names.last().cloned());
    let data: Vec<Value> = names.iter().map(|name| model(name)).collect();
    Reply::json(&json!({
        "object": "list",
        "data": data,
        "has_more": false,
        "first_id": first,
        "last_id": last,
    }))
}

/// Describes one model.
pub(super) async fn one(call: &Call) -> Result<Reply, Failure> {
    let name = call
        .path
        .split_once("/models/")
        .map(|(_, name)| name)
        .unwrap_or_default();
    let name = decoded(name);
    call.gateway.routes.get(&name)?;
    if call
        .gateway
        .routes
        .all()
        .await
        .iter()
        .all(|known| *known != name)
    {
        let message = format!("Model `{name}` not found; GET /v1/models lists the models");
        return Err(Failure::new(
            StatusCode::NOT_FOUND,
            "model_not_found",
            message,
        ));
    }
    Ok(Reply::json(&model(&name)))
}

fn model(name: &str) -> Value {
    json!({
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "ptk",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    })
}

/// Decodes a name in a path. Invalid escapes stay as they are.
fn decoded(name: &str) -> String {
    percent_encoding::percent_decode_str(name)
        .decode_utf8_lossy()
        .into_owned()
}
