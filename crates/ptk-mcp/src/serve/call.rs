//! One call: its progress while it runs, the questions about it, its result.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptk_events::{Delivery, EventKind, EventType, Filter, OutputStream, Subscription};
use ptk_permission::DEFAULT_PATIENCE;
use ptk_protocol::{Arguments, ToolCall, ToolResult};
use ptk_tools::{CallOutcome, CallRequest, Conversation};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitResult, ErrorData, InputRequest, InputRequests, InputRequiredResult,
    ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;

use super::Shared;
use super::approval::{self, Answers, Question};
use super::conversations::ClientIdentity;

/// How long calls that are cancelled may take to clean up.
pub(super) const CLEAN_UP: Duration = Duration::from_secs(4);
/// How often a client is asked about one call.
const MAX_QUESTIONS: usize = 4;
/// How often progress is reported at most.
const PROGRESS_EVERY: Duration = Duration::from_millis(20);
/// The name of the question among those that a client has to answer.
const QUESTION: &str = "approval";

/// A call of a client.
pub(super) struct Call<'a> {
    pub(super) shared: &'a Shared,
    pub(super) client: ClientIdentity,
    pub(super) conversation: Conversation,
    pub(super) context: &'a RequestContext<RoleServer>,
    pub(super) params: CallToolRequestParams,
}

impl Call<'_> {
    /// Runs the call, and asks the client's user where that is needed.
    pub(super) async fn run(mut self) -> Result<CallToolResponse, ErrorData> {
        let answers = self.answers()?;
        for _ in 0..MAX_QUESTIONS {
            let outcome = self.once(&answers).await;
            let Some(question) = answers.take_open() else {
                return Ok(result_of(&outcome.result).into());
            };
            if self.answers_with_another_request() {
                return self.input_required(&answers, &question);
            }
            let is_allowed = self.ask(&question).await?;
            answers.give(&question, is_allowed);
        }
        let outcome = self.once(&answers).await;
        Ok(result_of(&outcome.result).into())
    }

    /// The answers that the client sends along.
    fn answers(&mut self) -> Result<Arc<Answers>, ErrorData> {
        let answer = self.params.input_responses.take();
        let answer = answer.and_then(|mut answers| answers.remove(QUESTION));
        let is_allowed = answer.map(|answer| {
            let answer = serde_json::from_value::<ElicitResult>(answer);
            answer.is_ok_and(|answer| approval::is_allowed(&answer))
        });
        let given = match self.params.request_state.take() {
            Some(state) => {
                let questions = &self.shared.questions;
                let given = questions.answered(&self.client, &state, is_allowed);
                given.ok_or_else(|| {
                    let message = "This requestState belongs to no question that is open; send the call without it to be asked again";
                    ErrorData::invalid_params(message, None)
                })?
            }
            None => Vec::new(),
        };
        Ok(Answers::new(self.shows_forms(), given))
    }

    /// Whether the client can show a form to its user.
    fn shows_forms(&self) -> bool {
        let capabilities = self.context.client_capabilities();
        let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
        // Without a word about the kinds, forms are meant.
        elicitation.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
    }

    /// Whether the client takes no requests, and answers a question by sending
    /// its own request again.
    fn answers_with_another_request(&self) -> bool {
        let version = self.context.protocol_version();
        version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
    }

    /// Runs the call through the pipeline of the tools.
    async fn once(&self, answers: &Arc<Answers>) -> CallOutcome {
        let manager = &self.shared.manager;
        let args = Arguments::from(self.params.arguments.clone().unwrap_or_default());
        let call = ToolCall::new(self.params.name.clone(), args);
        let request = CallRequest::new(call)
            .in_conversation(&self.conversation)
            .cancelled_by(&self.context.ct);
        let token = self.context.meta.get_progress_token();
        let progress = token.map(|token| {
            let chunks = Filter::types([EventType::ToolOutputChunk]);
            let events = manager
                .bus()
                .subscribe(chunks.of_call(request.call_id().clone()));
            report(self.context.peer.clone(), token, events)
        });
        let running = answers.during(manager.execute(request));
        match progress {
            None => running.await,
            Some(progress) => tokio::select! {
                outcome = running => outcome,
                never = progress => match never {},
            },
        }
    }

    /// Puts a question to a client that takes requests.
    async fn ask(&self, question: &Question) -> Result<bool, ErrorData> {
        let form = question.form().map_err(internal)?;
        let peer = &self.context.peer;
        let asking = peer.create_elicitation_with_timeout(form, Some(DEFAULT_PATIENCE));
        tokio::select! {
            answer = asking => match answer {
                Ok(answer) => Ok(approval::is_allowed(&answer)),
                Err(error) => {
                    tracing::warn!(%error, "a client did not answer a question");
                    Ok(false)
                }
            },
            () = self.context.ct.cancelled() => Ok(false),
        }
    }

    /// Puts a question to a client that answers with another request.
    fn input_required(
        &self,
        answers: &Answers,
        question: &Question,
    ) -> Result<CallToolResponse, ErrorData> {
        let form = question.form().map_err(internal)?;
        let asked = InputRequest::Elicitation(ElicitRequest::new(form));
        let questions = &self.shared.questions;
        let state = questions.keep(self.client.clone(), answers, question);
        let asked = InputRequests::from([(QUESTION.to_owned(), asked)]);
        Ok(InputRequiredResult::new(Some(asked), Some(state)).into())
    }
}

fn internal(error: &'static str) -> ErrorData {
    ErrorData::internal_error(error, None)
}

/// Reports the progress of a call until it is dropped.
async fn report(
    peer: Peer<RoleServer>,
    token: ProgressToken,
    mut events: Subscription,
) -> Infallible {
    let mut reported: Option<Instant> = None;
    let mut step = 0.0;
    while let Some(delivery) = events.recv().await {
        let Delivery::Event(event) = delivery else {
            continue;
        };
        let EventKind::ToolOutputChunk {
            stream: OutputStream::Progress,
            chunk,
        } = &event.kind
        else {
            continue;
        };
        if reported.is_some_and(|last| last.elapsed() < PROGRESS_EVERY) {
            continue;
        }
        reported = Some(Instant::now());
        step += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), step);
        let progress = progress.with_message(chunk.trim_end());
        if let Err(error) = peer.notify_progress(progress).await {
            tracing::debug!(%error, "progress could not be reported");
            break;
        }
    }
    std::future::pending().await
}

/// A result in the form of the protocol: as text for models, and whole for
/// programs.
fn result_of(result: &ToolResult) -> CallToolResult {
    let text = vec![ContentBlock::text(text_of(result))];
    let mut told = if result.success {
        CallToolResult::success(text)
    } else {
        CallToolResult::error(text)
    };
    told.structured_content = serde_json::to_value(result).ok();
    told
}

/// What a model is shown of a result.
fn text_of(result: &ToolResult) -> String {
    if result.success {
        return match result.payload() {
            Value::String(text) => text,
            _ => result.payload_json(),
        };
    }
    let mut lines = vec![result.error.clone()];
    lines.extend(result.suggestion.clone());
    if !result.fields.is_empty() {
        lines.push(result.payload_json());
    }
    lines.join("\n")
}
