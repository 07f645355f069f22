//! Tools that the gateway runs itself, for clients that have none of their own.

use std::sync::Arc;

use ptk::CancellationToken;
use ptk::llm::{FinishReason, Message, Usage};
use ptk::protocol::{Arguments, ToolCall, ToolResult, ToolSpec};
use ptk::tools::{CallOutcome, CallRequest, ToolManager};

use crate::chat_request::{ChatRequest, Choice};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::offer::Offer;
use crate::response::{End, Note, ResponseEvent};

/// How often the model is asked for one answer, at most.
const MAX_ROUNDS: u32 = ptk::MAX_ITERATIONS;

/// Tools that the gateway runs itself. All rules of their manager hold, and
/// there is no user to ask for consent.
#[derive(Debug)]
pub struct HostedTools {
    manager: ToolManager,
    offer: Arc<Offer>,
}

impl HostedTools {
    /// Creates hosted tools from those of these names.
    #[must_use]
    pub fn new(manager: ToolManager, names: &[String]) -> Self {
        let registry = manager.registry();
        let tools = registry.toolset().iter();
        let tools = tools.filter(|tool| names.contains(&tool.name));
        let tools: Vec<(ToolSpec, bool)> = tools.map(|tool| (tool.clone(), false)).collect();
        // Tools of one registry have differing names.
        let offer = Offer::new(tools).unwrap_or_default();
        Self {
            offer: Arc::new(offer),
            manager,
        }
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
            let requests = turn.calls.iter().cloned();
            let requests = requests.map(|call| CallRequest::new(call).cancelled_by(&stop));
            let outcomes = self.manager.execute_all(requests.collect()).await;
            notes.extend(outcomes.iter().map(ran));
            chat.messages.push(Message::Assistant {
                text: turn.text,
                calls: turn.calls,
                state: None,
            });
            chat.messages.extend(outcomes.iter().map(result));
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
fn ran(outcome: &CallOutcome) -> Note {
    let how = if outcome.result.success {
        "ran"
    } else {
        "failed"
    };
    Note::new("tool_ran", format!("{} {how}", outcome.tool))
}

fn result(outcome: &CallOutcome) -> Message {
    let result: &ToolResult = &outcome.result;
    let text = match (&result.suggestion, result.success) {
        (_, true) => result.payload_json(),
        (Some(suggestion), false) => format!("{} {suggestion}", result.error),
        (None, false) => result.error.clone(),
    };
    Message::Result {
        id: outcome.call_id.to_string(),
        name: outcome.tool.clone(),
        text,
        is_error: !result.success,
    }
}
