//! Tools that the gateway runs itself, for clients that have none of their own.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptk_llm::{FinishReason, Message, Usage};
use ptk_protocol::{Arguments, ToolCall, ToolResult, ToolSpec};
use tokio_util::sync::CancellationToken;

use crate::chat_request::{ChatRequest, Choice};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::offer::Offer;
use crate::response::{End, Note, ResponseEvent};

/// How often the model is asked for one answer, at most.
const MAX_ROUNDS: u32 = 10;

/// Why tools cannot be hosted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HostedError(String);

/// Runs calls of tools.
pub trait ToolRunner: Debug + Send + Sync {
    /// Runs these calls, unless that is cancelled. There is a result for each,
    /// in the same order.
    fn run<'a>(
        &'a self,
        calls: Vec<ToolCall>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Vec<ToolResult>>;
}

/// Tools that the gateway runs itself, for clients that offer none. There is no
/// user to ask for consent.
#[derive(Debug)]
pub struct HostedTools {
    runner: Box<dyn ToolRunner>,
    offer: Arc<Offer>,
}

impl HostedTools {
    /// Creates hosted tools.
    ///
    /// # Errors
    ///
    /// If two of them have the same name, or they are too complex.
    pub fn new(
        tools: impl IntoIterator<Item = ToolSpec>,
        runner: impl ToolRunner + 'static,
    ) -> Result<Self, HostedError> {
        let tools = tools.into_iter().map(|tool| (tool, false));
        let offer = Offer::new(tools.collect());
        Ok(Self {
            offer: Arc::new(offer.map_err(|failure| HostedError(failure.message))?),
            runner: Box::new(runner),
        })
    }

    /// Creates hosted tools from those of these names. All rules of their
    /// manager hold.
    ///
    /// # Errors
    ///
    /// If they are too complex.
    #[cfg(feature = "tools")]
    pub fn of_manager(
        manager: ptk_tools::ToolManager,
        names: &[String],
    ) -> Result<Self, HostedError> {
        let registry = manager.registry();
        let tools = registry.toolset().iter();
        let tools = tools.filter(|tool| names.contains(&tool.name));
        Self::new(tools.cloned().collect::<Vec<_>>(), manager)
    }

    /// Whether they are used for a request: its client offers none.
    pub(crate) fn are_for(chat: &ChatRequest) -> bool {
        chat.contract.offer.tools.is_empty() && chat.contract.choice == Choice::Auto
    }

    /// The tools that the model is offered.
    pub(crate) fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer)
    }

    /// Asks until the model answers in text, and runs its calls.
    pub(crate) async fn run(
        &self,
        exchange: &Exchange<'_>,
        tell: &mut (dyn FnMut(ResponseEvent<'_>) + Send),
    ) -> Result<End, Failure> {
        let mut chat = exchange.chat.clone();
        chat.contract.offer = Arc::clone(&self.offer);
        chat.written = None;
        // If the client leaves, the tools are stopped.
        let stop = CancellationToken::new();
        let _guard = stop.clone().drop_guard();
        let mut usage = Usage::default();
        let mut notes = Vec::new();
        let mut has_text = false;
        for round in 1..=MAX_ROUNDS {
            if round == MAX_ROUNDS {
                chat.contract.choice = Choice::None;
            }
            let mut turn = HostedTurn::default();
            let mut hear = |event: ResponseEvent<'_>| {
                if let ResponseEvent::Text(_) = event
                    && turn.text.is_empty()
                    && has_text
                {
                    tell(ResponseEvent::Text("\n\n"));
                }
                has_text |= matches!(event, ResponseEvent::Text(_));
                if turn.hear(event) {
                    tell(event);
                }
            };
            let asked = Exchange {
                chat: &chat,
                ..*exchange
            };
            let end = asked.run(&mut hear).await?;
            crate::exchange::add(&mut usage, end.usage);
            notes.extend(end.notes);
            // Clients get these notes once.
            chat.left_out.clear();
            if turn.calls.is_empty() || end.finish != FinishReason::ToolCalls {
                return Ok(End {
                    finish: end.finish,
                    stopped_at: end.stopped_at,
                    usage,
                    notes,
                    ..End::default()
                });
            }
            let results = self.runner.run(turn.calls.clone(), &stop).await;
            let ran_calls = || turn.calls.iter().zip(&results);
            notes.extend(ran_calls().map(|(call, result)| ran(call, result)));
            let results: Vec<Message> = ran_calls()
                .map(|(call, result)| result_of(call, result))
                .collect();
            chat.messages.push(Message::Assistant {
                text: turn.text,
                calls: turn.calls,
                state: None,
            });
            chat.messages.extend(results);
        }
        Err(Failure::unkept(
            "max_iterations",
            format!("The model still calls tools after it was asked {MAX_ROUNDS} times"),
        ))
    }
}

/// One reply of the model.
#[derive(Default)]
struct HostedTurn {
    text: String,
    calls: Vec<ToolCall>,
}

impl HostedTurn {
    /// Adds the next event. Returns whether it is passed on to the client.
    fn hear(&mut self, event: ResponseEvent<'_>) -> bool {
        match event {
            ResponseEvent::Text(text) => self.text.push_str(text),
            ResponseEvent::Call { id, name } => {
                self.calls
                    .push(ToolCall::new(name, Arguments::new()).with_id(id));
            }
            ResponseEvent::CallEnd(args) => {
                if let Some(call) = self.calls.last_mut() {
                    call.args = args.clone();
                }
            }
            // A call that broke off is not run.
            ResponseEvent::CallCut(_) => {
                self.calls.pop();
            }
            ResponseEvent::Reasoning(_)
            | ResponseEvent::Arguments(_)
            | ResponseEvent::Passthrough(_) => {}
        }
        matches!(event, ResponseEvent::Text(_) | ResponseEvent::Reasoning(_))
    }
}

/// The note for the client about a call that was run for it.
fn ran(call: &ToolCall, result: &ToolResult) -> Note {
    let how = if result.success { "ran" } else { "failed" };
    Note::new("tool_ran", format!("{} {how}", call.name))
}

fn result_of(call: &ToolCall, result: &ToolResult) -> Message {
    let text = match (&result.suggestion, result.success) {
        (_, true) => result.payload_json(),
        (Some(suggestion), false) => format!("{} {suggestion}", result.error),
        (None, false) => result.error.clone(),
    };
    Message::Result {
        id: call.id.clone().unwrap_or_default(),
        name: call.name.clone(),
        text,
        is_error: !result.success,
    }
}

#[cfg(feature = "tools")]
impl ToolRunner for ptk_tools::ToolManager {
    fn run<'a>(
        &'a self,
        calls: Vec<ToolCall>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Vec<ToolResult>> {
        let requests = calls.into_iter();
        let requests = requests.map(|call| ptk_tools::CallRequest::new(call).cancelled_by(cancel));
        let requests = requests.collect();
        Box::pin(async move {
            let outcomes = self.execute_all(requests).await;
            outcomes.into_iter().map(|outcome| outcome.result).collect()
        })
    }
}
