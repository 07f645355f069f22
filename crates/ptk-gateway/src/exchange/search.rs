//! Answers with searches for deferred tools: the gateway runs them, and asks the
//! model again with what they found.

use ptk_llm::{FinishReason, Message, Usage};
use ptk_model::DeferredTools;
use ptk_protocol::ToolCall;

use super::{Exchange, add};
use crate::chat_request::{ChatRequest, Choice, LoadedTools};
use crate::failure::Failure;
use crate::offer::Offer;
use crate::response::{End, ResponseEvent, ToolSearch};

/// How often the model is asked for one answer, at most. The last time, it
/// cannot search.
const MAX_ROUNDS: u32 = 8;

impl Exchange<'_> {
    /// Asks until the model calls a tool of the client or answers, and runs its
    /// searches for tools.
    pub(crate) async fn run_with_search(
        &self,
        tell: &mut (dyn FnMut(ResponseEvent<'_>) + Send),
    ) -> Result<End, Failure> {
        let offer = &*self.chat.contract.offer;
        let mut chat = self.chat.clone();
        let mut usage = Usage::default();
        let mut notes = Vec::new();
        for round in 1.. {
            if round == MAX_ROUNDS {
                forbid_search(&mut chat);
            }
            let mut turn = SearchTurn::new(offer);
            let asked = Exchange {
                chat: &chat,
                ..*self
            };
            let mut hear = |event: ResponseEvent<'_>| turn.hear(event, tell);
            let end = asked.run(&mut hear).await?;
            let has_searched = !turn.searches.is_empty();
            if !has_searched && round == 1 {
                return Ok(end);
            }
            add(&mut usage, end.usage);
            notes.extend(end.notes);
            let goes_on = has_searched && !turn.has_calls && end.finish == FinishReason::ToolCalls;
            if !goes_on || round == MAX_ROUNDS {
                let has_calls = turn.has_calls || end.finish != FinishReason::ToolCalls;
                return Ok(End {
                    finish: if has_calls {
                        end.finish
                    } else {
                        FinishReason::Stop
                    },
                    stopped_at: end.stopped_at,
                    usage,
                    notes,
                    ..End::default()
                });
            }
            // The request is no longer the one that the client wrote, and
            // clients get these notes once.
            chat.written = None;
            chat.left_out.clear();
            if let Choice::Tool(name) = &chat.contract.choice
                && offer.is_search(name)
            {
                chat.contract.choice = Choice::Auto;
            }
            turn.add_to(&mut chat);
        }
        Ok(End::default())
    }
}

/// Allows no further search: only tools that the model knows.
fn forbid_search(chat: &mut ChatRequest) {
    let offer = &chat.contract.offer;
    let found: Vec<String> = chat.found().into_iter().map(str::to_owned).collect();
    let is_known = |name: &str| {
        let deferred = offer.deferred.as_ref();
        !offer.is_search(name)
            && (found.iter().any(|it| it == name)
                || deferred.is_none_or(|deferred| !deferred.tools().contains(name)))
    };
    let names = offer.tools.names().filter(|name| is_known(name));
    let names: Vec<String> = names.map(str::to_owned).collect();
    chat.contract.allowed.get_or_insert(names);
}

/// One reply of the model.
struct SearchTurn<'o> {
    offer: &'o Offer,
    text: String,
    /// The id of the search that is open.
    open: Option<String>,
    /// The searches, each with the text before it.
    searches: Vec<(String, ToolSearch)>,
    /// Searches in reasoning, which are none unless nothing follows.
    drafted: Vec<(String, ToolSearch)>,
    has_calls: bool,
}

impl<'o> SearchTurn<'o> {
    fn new(offer: &'o Offer) -> Self {
        Self {
            offer,
            text: String::new(),
            open: None,
            searches: Vec::new(),
            drafted: Vec::new(),
            has_calls: false,
        }
    }

    /// Takes the next event. A search is run, and passed on as one.
    fn hear(&mut self, event: ResponseEvent<'_>, tell: &mut (dyn FnMut(ResponseEvent<'_>) + Send)) {
        match event {
            ResponseEvent::Call { id, name } if self.offer.is_search(name) => {
                self.open = Some(id.to_owned());
                return;
            }
            ResponseEvent::Arguments(_) if self.open.is_some() => return,
            ResponseEvent::CallEnd(args) => {
                if let (Some(id), Some(deferred)) = (self.open.take(), &self.offer.deferred) {
                    let search = ToolSearch {
                        id,
                        found: deferred.find_for(args),
                        args: args.clone(),
                    };
                    tell(ResponseEvent::Search(&search));
                    self.searches.push((std::mem::take(&mut self.text), search));
                    return;
                }
            }
            // A search that broke off is not run.
            ResponseEvent::CallCut(_) if self.open.take().is_some() => return,
            ResponseEvent::Call { .. } => self.has_calls = true,
            ResponseEvent::Text(text) => self.text.push_str(text),
            ResponseEvent::WasReasoning => {
                self.text.clear();
                self.has_calls = false;
                self.drafted.append(&mut self.searches);
            }
            ResponseEvent::WasRescued => self.searches.append(&mut self.drafted),
            ResponseEvent::Arguments(_)
            | ResponseEvent::CallCut(_)
            | ResponseEvent::Reasoning(_)
            | ResponseEvent::WasText
            | ResponseEvent::Search(_)
            | ResponseEvent::Passthrough(_) => {}
        }
        tell(event);
    }

    /// Adds the reply and the results of its searches to a conversation.
    fn add_to(self, chat: &mut ChatRequest) {
        let name = self.offer.searched().and_then(DeferredTools::search);
        let name = name.map(|spec| spec.name.clone()).unwrap_or_default();
        // As the client sends them back: one after the other.
        for (text, search) in self.searches {
            let call = ToolCall::new(&name, search.args.clone()).with_id(&search.id);
            chat.messages.push(Message::Assistant {
                text,
                calls: vec![call],
                state: None,
            });
            let names: Vec<String> = search.found.names().map(str::to_owned).collect();
            chat.messages.push(Message::Result {
                text: self.offer.search_result(&search.args, &names),
                id: search.id.clone(),
                name: name.clone(),
                is_error: false,
            });
            chat.loaded.push(LoadedTools {
                call: search.id,
                names,
                has_text: false,
            });
        }
        if !self.text.is_empty() {
            chat.messages.push(Message::assistant(self.text));
        }
    }
}
