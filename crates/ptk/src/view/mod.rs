//! The conversation as the user is shown it: its state, folded from events or
//! from the entries of the log.
//!
//! Every user interface shows the same state: a terminal draws it, a page
//! renders it. It knows nothing of screens, and reads no clock.
//!
//! ```
//! use ptk::Ptk;
//! use ptk::events::Filter;
//! use ptk::llm::Script;
//! use ptk::view::{Conversation, ItemKind};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let ptk = Ptk::builder().provider(Script::new(["Hello, Ada."])).build()?;
//! let mut events = ptk.tools().bus().subscribe(Filter::all());
//! ptk.run("I am Ada.").await?;
//!
//! let mut shown = Conversation::new();
//! while let Ok(delivery) = events.try_recv() {
//!     shown.deliver(&delivery);
//! }
//! let said = shown.items().iter().filter_map(|item| match &item.kind {
//!     ItemKind::Prompt(text) => Some(text.as_str()),
//!     ItemKind::Text(said) => Some(said.text.as_str()),
//!     _ => None,
//! });
//! assert_eq!(said.collect::<Vec<_>>(), ["I am Ada.", "Hello, Ada."]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod live;
mod logged;
mod tail;

use std::collections::HashMap;

use ptk_events::{CallId, CompactionWay, ShownCode};
use ptk_store::{LoggedCall, Usage};

pub use call::{CallState, CallView};
pub use tail::{MAX_TAIL, Tail};

/// The notice for a reply that is neither an answer nor a call.
const MALFORMED: &str = "The reply cannot be used; the model is told why.";

/// A conversation as the user sees it.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    items: Vec<Item>,
    /// How many items there have ever been.
    count: u64,
    /// How many changes there have ever been.
    changes: u64,
    /// The positions of calls.
    calls: HashMap<CallId, usize>,
    /// The position where the streaming reply begins.
    reply: Option<usize>,
    /// The position of an answer that may be continued.
    answer: Option<usize>,
    is_running: bool,
    usage: Usage,
    /// Calls that were parsed in a reply and have not begun.
    read: HashMap<CallId, LoggedCall>,
    /// The reasoning of the model before its reply was parsed.
    thought: String,
}

/// An item of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The id, unique in the conversation.
    pub id: u64,
    /// The revision, new whenever the item has changed.
    pub revision: u64,
    /// The content of the item.
    pub kind: ItemKind,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ItemKind {
    /// A prompt of the user.
    Prompt(String),
    /// Reasoning of the model.
    Thought(Said),
    /// Text of the model.
    Text(Said),
    /// A call.
    Call(Box<CallView>),
    /// A notice beside the conversation.
    Notice(Notice),
}

/// Text of the model, with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The text.
    pub text: String,
    /// Whether the text is complete.
    pub standing: Standing,
}

/// Whether a text of the model is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// More may come.
    Streaming,
    /// The text is complete.
    Said,
    /// The text broke off, and does not count.
    Broken,
}

/// A notice for the user, beside the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The severity of the notice.
    pub tone: Tone,
    /// The text of the notice.
    pub text: String,
}

/// The severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// For information.
    Aside,
    /// The turn failed.
    Error,
}

impl Conversation {
    /// Creates an empty conversation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The items, in order.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Whether a turn is running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// The usage of the replies, as far as it was logged.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The revision, which changes whenever something is shown differently.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.changes
    }

    /// The calls that have begun and not ended, in the order in which they
    /// began.
    pub fn running(&self) -> impl Iterator<Item = &CallView> {
        self.calls().filter(|call| call.state.is_open())
    }

    /// All calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &CallView> {
        self.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Call(call) => Some(&**call),
            _ => None,
        })
    }

    /// The last text of the model that did not break off.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        self.items.iter().rev().find_map(|item| match &item.kind {
            ItemKind::Text(said) if said.standing != Standing::Broken => Some(said.text.as_str()),
            _ => None,
        })
    }

    /// Adds the usage of a turn, which its events do not contain.
    pub fn took(&mut self, usage: Usage) {
        self.usage.add(usage);
        self.changes += 1;
    }

    /// Adds a notice.
    pub fn note(&mut self, text: impl Into<String>) {
        self.push(ItemKind::Notice(Notice {
            tone: Tone::Aside,
            text: text.into(),
        }));
    }

    /// Adds a notice of an error.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.push(ItemKind::Notice(Notice {
            tone: Tone::Error,
            text: text.into(),
        }));
    }

    /// Adds notices about wrong claims of an answer about its code.
    fn check_code(&mut self, answer: &str) {
        for code in ShownCode::of(answer) {
            for problem in &code.problems {
                self.note(format!(
                    "What the answer says about code of {} is wrong: {problem}",
                    code.path
                ));
            }
        }
    }

    fn push(&mut self, kind: ItemKind) -> usize {
        self.count += 1;
        self.changes += 1;
        self.items.push(Item {
            id: self.count,
            revision: self.changes,
            kind,
        });
        self.items.len() - 1
    }

    /// The item at this position, which is marked as changed.
    fn change(&mut self, at: usize) -> Option<&mut ItemKind> {
        self.changes += 1;
        let item = self.items.get_mut(at)?;
        item.revision = self.changes;
        Some(&mut item.kind)
    }

    fn prompt(&mut self, text: &str) {
        self.end();
        self.is_running = true;
        self.push(ItemKind::Prompt(text.to_owned()));
    }

    /// Ends the streaming reply: its reasoning becomes one item, followed by
    /// one of its text.
    fn settle(&mut self, standing: Standing) {
        let Some(start) = self.reply.take() else {
            return;
        };
        let mut thought = String::new();
        let mut text = String::new();
        let mut id = None;
        let mut beside = Vec::new();
        for item in self.items.drain(start..) {
            match item.kind {
                ItemKind::Thought(said) => thought.push_str(&said.text),
                ItemKind::Text(said) => {
                    id = id.or(Some(item.id));
                    text.push_str(&said.text);
                }
                // Items that were added meanwhile.
                ItemKind::Prompt(_) | ItemKind::Call(_) | ItemKind::Notice(_) => {
                    beside.push(item);
                }
            }
        }
        self.say(&thought, &text, standing);
        // The text keeps its id, so that it stays the same item.
        if let (Some(id), Some(last)) = (id, self.items.get_mut(start..).and_then(<[_]>::last_mut))
            && matches!(last.kind, ItemKind::Text(_))
        {
            last.id = id;
        }
        self.items.extend(beside);
    }

    /// Adds a whole reply. Whitespace at its end stays until nothing can follow
    /// the text any more.
    fn say(&mut self, thought: &str, text: &str, standing: Standing) {
        if !thought.trim().is_empty() {
            self.push(ItemKind::Thought(Said {
                text: thought.trim().to_owned(),
                standing,
            }));
        }
        if !text.trim().is_empty() {
            self.push(ItemKind::Text(Said {
                text: text.trim_start().to_owned(),
                standing,
            }));
        }
    }

    /// Closes the last text, so that nothing follows it.
    fn close(&mut self) {
        self.answer = None;
        let last = self.items.len().checked_sub(1);
        let is_ragged = |at: &usize| matches!(self.items.get(*at), Some(Item { kind: ItemKind::Text(said), .. }) if said.text.ends_with(char::is_whitespace));
        if let Some(at) = last.filter(is_ragged)
            && let Some(ItemKind::Text(said)) = self.change(at)
        {
            said.text.truncate(said.text.trim_end().len());
        }
    }

    fn malformed(&mut self) {
        self.close();
        self.note(MALFORMED);
    }

    /// Ends the turn.
    fn end(&mut self) {
        self.settle(Standing::Broken);
        self.close();
        self.is_running = false;
        // Calls whose end was not reported have an unknown outcome.
        let begun = self.turn_start();
        let open: Vec<usize> = (begun..self.items.len())
            .filter(|at| matches!(self.items.get(*at), Some(Item { kind: ItemKind::Call(call), .. }) if call.state.is_open()))
            .collect();
        for at in open {
            self.with_call(at, |call| call.state = CallState::Unknown);
        }
    }

    /// The position where the last turn begins.
    fn turn_start(&self) -> usize {
        let is_prompt = |item: &Item| matches!(item.kind, ItemKind::Prompt(_));
        self.items.iter().rposition(is_prompt).unwrap_or(0)
    }

    fn left_out(&mut self, way: CompactionWay, messages: Option<usize>) {
        self.note(left_out(way, messages));
    }
}

/// The notice that the model no longer sees the beginning of the conversation.
#[must_use]
pub fn left_out(way: CompactionWay, messages: Option<usize>) -> String {
    let which = match messages {
        Some(1) => "the first message".to_owned(),
        Some(count) => format!("the first {count} messages"),
        None => "the beginning".to_owned(),
    };
    let what = match way {
        CompactionWay::Summarised => "told to the model in short",
        _ => "left out of what the model is shown",
    };
    let are = if messages.is_some_and(|count| count != 1) {
        "are"
    } else {
        "is"
    };
    // The user may have asked for it, so this does not say that it no longer fit.
    format!("To make room, {which} of the conversation {are} {what}.")
}
