//! Tools that the gateway runs itself, for clients that have none of their own.

use std::sync::Arc;

use ptk::CancellationToken;
use ptk::llm::{FinishReason, Message, Usage};
use ptk::protocol::{Arguments, ToolCall, ToolResult, ToolSpec};
use ptk::tools::{CallOutcome, CallRequest, ToolManager};

use crate::ask::{Ask, Choice};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::offer::Offer;
use crate::said::{End, Note, Said};

/// How often the model is asked for one answer.
const MAX_ROUNDS: u32 = ptk::MAX_ITERATIONS;

/// Tools that the gateway runs itself. All rules of their manager hold, and
/// nobody is there who could be asked.
#[derive(Debug)]
pub struct HostedTools {
    manager: ToolManager,
    offer: Arc<Offer>,
}

impl HostedTools {
    /// Those of these names.
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

    /// Whether they are for this request: its client has none.
    pub(crate) fn are_for(ask: &Ask) -> bool {
        ask.contract.offer.tools.is_empty() && ask.contract.choice == Choice::Auto
    }

    /// What the model is offered.
    pub(crate) fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer)
    }

    /// Asks until the model answers in words, and runs what it calls.
    pub(crate) async fn run(
        &self,
        exchange: &Exchange<'_>,
        tell: &mut (dyn FnMut(Said<'_>) + Send),
    ) -> Result<End, Failure> {
        let mut ask = exchange.ask.clone();
        ask.contract.offer = Arc::clone(&self.offer);
        ask.written = None;
        // Whoever stops listening stops the tools.
        let stop = CancellationToken::new();
        let _guard = stop.clone().drop_guard();
        let mut usage = Usage::default();
        let mut notes = Vec::new();
        let mut has_text = false;
        for round in 1..=MAX_ROUNDS {
            if round == MAX_ROUNDS {
                ask.contract.choice = Choice::None;
            }
            let mut turn = Turn::default();
            let mut hear = |said: Said<'_>| {
                if let Said::Text(_) = said
                    && turn.text.is_empty()
                    && has_text
                {
                    tell(Said::Text("\n\n"));
                }
                has_text |= matches!(said, Said::Text(_));
                if turn.hear(said) {
                    tell(said);
                }
            };
            let asked = Exchange {
                ask: &ask,
                ..*exchange
            };
            let end = asked.run(&mut hear).await?;
            crate::exchange::add(&mut usage, end.usage);
            notes.extend(end.notes);
            // That is said once.
            ask.left_out.clear();
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
            ask.messages.push(Message::Assistant {
                text: turn.text,
                calls: turn.calls,
                state: None,
            });
            ask.messages.extend(outcomes.iter().map(result));
        }
        Err(Failure::unkept(
            "max_iterations",
            format!("The model still calls tools after it was asked {MAX_ROUNDS} times"),
        ))
    }
}

/// What the model says at once.
#[derive(Default)]
struct Turn {
    text: String,
    calls: Vec<ToolCall>,
}

impl Turn {
    /// Takes in the next piece. Whether the client is told of it.
    fn hear(&mut self, said: Said<'_>) -> bool {
        match said {
            Said::Text(text) => self.text.push_str(text),
            Said::Call { id, name } => {
                self.calls
                    .push(ToolCall::new(name, Arguments::new()).with_id(id));
            }
            Said::CallEnd(args) => {
                if let Some(call) = self.calls.last_mut() {
                    call.args = args.clone();
                }
            }
            // One that broke off is not run.
            Said::CallCut(_) => {
                self.calls.pop();
            }
            Said::Reasoning(_) | Said::Arguments(_) | Said::Own(_) => {}
        }
        matches!(said, Said::Text(_) | Said::Reasoning(_))
    }
}

/// What the client is told of a call that was run for it.
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
