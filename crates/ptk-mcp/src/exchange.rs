//! One call of a tool: its deadlines, its progress, its cancellation, and the
//! questions that the server asks before it answers.

use std::sync::Arc;
use std::time::Duration;

use ptk_tools::CallContext;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
    InputRequest, InputRequiredResult, InputResponses, RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until};

use crate::connection::Connection;
use crate::{McpError, ServerDeclaration};

/// How long telling a server that a call is cancelled may take.
const CANCEL: Duration = Duration::from_secs(2);
/// How often a server may ask for more before it answers.
const MAX_ROUNDS: usize = 10;

/// Calls a tool, and returns its answer as JSON.
pub(crate) async fn call(
    connection: &Arc<Connection>,
    declared: &ServerDeclaration,
    context: &CallContext,
    tool: &str,
    args: Map<String, Value>,
) -> Result<Value, McpError> {
    let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
    let end = Instant::now() + declared.max_time();
    for _ in 0..MAX_ROUNDS {
        let request = CallToolRequest::new(params.clone());
        let request = ClientRequest::CallToolRequest(request);
        let sent = connection
            .peer()
            .send_request_with_option(request, PeerRequestOptions::no_options());
        let handle = sent.await.map_err(|error| connection.error(error))?;
        match answer(connection, declared, context, handle, end).await? {
            ServerResult::InputRequiredResult(wanted) => {
                let state = wanted.request_state.clone();
                params.input_responses = Some(responses(connection, wanted).await?);
                params.request_state = state;
            }
            ServerResult::CallToolResult(result) => {
                return serde_json::to_value(result)
                    .map_err(|error| McpError::Protocol(error.to_string()));
            }
            // An answer with content of a kind that is not known.
            ServerResult::CustomResult(result) => return Ok(result.0),
            ServerResult::EmptyResult(_) => return Ok(json!({})),
            _ => {
                let what = "it answered something else than the result of a call";
                return Err(McpError::Protocol(what.to_owned()));
            }
        }
    }
    Err(McpError::Protocol(format!(
        "it asked for more {MAX_ROUNDS} times"
    )))
}

/// Waits for the answer. The time without progress is limited, and so is all of
/// it; while the user is asked, only the latter.
async fn answer(
    connection: &Connection,
    declared: &ServerDeclaration,
    context: &CallContext,
    handle: RequestHandle<RoleClient>,
    end: Instant,
) -> Result<ServerResult, McpError> {
    let shared = &connection.handler.shared;
    let (id, token) = (handle.id.clone(), handle.progress_token.clone());
    let mut watch = shared.watch(token, context);
    let answered = handle.await_response();
    tokio::pin!(answered);
    let mut silent_until = Instant::now() + declared.idle();
    let error = loop {
        tokio::select! {
            biased;
            answered = &mut answered => return answered.map_err(|error| connection.error(error)),
            () = context.cancellation().cancelled() => break McpError::Cancelled,
            () = sleep_until(end) => break McpError::TimedOut(declared.max_time()),
            () = sleep_until(silent_until), if !shared.is_asking() => {
                break McpError::TimedOut(declared.idle());
            }
            () = watch.stirred() => silent_until = Instant::now() + declared.idle(),
        }
    };
    cancel(connection, id, &error).await;
    Err(error)
}

/// Sends the server a cancellation of the request.
async fn cancel(connection: &Connection, id: RequestId, why: &McpError) {
    let reason = match why {
        McpError::Cancelled => "the user has cancelled the call".to_owned(),
        error => error.to_string(),
    };
    let params = CancelledNotificationParam::new(Some(id), Some(reason));
    let told = connection.peer().notify_cancelled(params);
    if tokio::time::timeout(CANCEL, told).await.is_err() {
        connection.give_up();
    }
}

/// Answers what a server wants to know before it goes on.
pub(crate) async fn responses(
    connection: &Connection,
    wanted: InputRequiredResult,
) -> Result<InputResponses, McpError> {
    let mut responses = InputResponses::new();
    for (key, request) in wanted.input_requests.unwrap_or_default() {
        let response = match request {
            InputRequest::Elicitation(request) => {
                let answer = connection.handler.elicit(request.params).await;
                serde_json::to_value(answer)
                    .map_err(|error| McpError::Protocol(error.to_string()))?
            }
            InputRequest::ListRoots(_) => json!({"roots": []}),
            _ => {
                let what = "it wants to ask a model, which is not offered";
                return Err(McpError::Protocol(what.to_owned()));
            }
        };
        responses.insert(key, response);
    }
    Ok(responses)
}
