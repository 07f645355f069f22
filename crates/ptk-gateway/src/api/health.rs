//! Health checks and metrics, for monitoring.

use hyper::StatusCode;
use serde_json::json;

use super::{Call, JSON, Reply};

/// Answers that the gateway runs.
pub(super) fn alive() -> Reply {
    Reply::json(&json!({"status": "ok"}))
}

/// Answers whether the gateway has models to ask.
pub(super) async fn ready(call: &Call) -> Reply {
    if call.gateway.routes.is_ready().await {
        return Reply::json(&json!({"status": "ready"}));
    }
    let body =
        json!({"status": "unready", "message": "The server behind the gateway does not answer"});
    Reply::whole(StatusCode::SERVICE_UNAVAILABLE, JSON, body.to_string())
}

/// The metrics of the gateway.
pub(super) fn metrics(call: &Call) -> Reply {
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Reply::whole(StatusCode::OK, KIND, call.gateway.metrics.text())
}
