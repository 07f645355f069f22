//! Answers with tools that the gateway runs itself.

use ptk_llm::{FinishReason, Message, Usage};
use ptk_protocol::{Arguments, ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use super::{Exchange, add};
use crate::chat_request::Choice;
use crate::failure::Failure;
use crate::hosted::HostedTools;
use crate::response::{End, Note, ResponseEvent};

/// How often the model is asked for one answer, at most.
const MAX_ROUNDS: u32 = 10;

impl Exchange<'_> {
    /// Asks until the model answers in text, and runs its calls.
    pub(crate) async fn run_with_tools(
        &self,
        hosted: &HostedTools,
        tell: &mut (dyn FnMut(ResponseEvent<'_>) + Send),
    ) -> Result<End, Failure> {
        let mut chat = self.chat.clone();
        chat.contract.offer = hosted.offer();
        chat.written = None;
        // If the client leaves, the tools are stopped.
        let stop = CancellationToken::new();
        let _guard = stop.clone().drop_guard();
        let running = hosted.begin();
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
                ..*self
            };
            let end = asked.run(&mut hear).await?;
            add(&mut usage, end.usage);
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
            let results = running.run(turn.calls.clone(), &stop).await;
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
            | ResponseEvent::WasReasoning
            | ResponseEvent::WasRescued
            | ResponseEvent::WasText
            | ResponseEvent::Search(_)
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
