//! `/v1/models`: the models there are.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{Call, Reply};
use crate::failure::Failure;

/// All of them, as OpenAI's and Anthropic's APIs list them, in one.
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

/// One of them.
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
        let message = format!("There is no model `{name}`; GET /v1/models lists those there are");
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

/// A name from an address. What makes no sense there stays as it is.
fn decoded(name: &str) -> String {
    percent_encoding::percent_decode_str(name)
        .decode_utf8_lossy()
        .into_owned()
}
