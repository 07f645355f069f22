//! What a person is shown of a conversation: its state, folded from what
//! happens, or from the log of what has happened.
//!
//! Every face shows the same state: a terminal draws it, a page renders it. It
//! knows nothing of screens, and asks no clock.
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

/// What is said of a reply that is no answer and no call.
const MALFORMED: &str = "The reply cannot be used; the model is told why.";

/// A conversation as a person sees it.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    items: Vec<Item>,
    /// Items that there ever were.
    count: u64,
    /// Changes that there ever were.
    changes: u64,
    /// Where calls stand.
    calls: HashMap<CallId, usize>,
    /// Where the reply begins that is coming in.
    reply: Option<usize>,
    /// The answer that may go on.
    answer: Option<usize>,
    is_running: bool,
    usage: Usage,
    /// Calls that were read in a reply and have not begun.
    read: HashMap<CallId, LoggedCall>,
    /// What the model thought before its reply was read.
    thought: String,
}

/// A part of what is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// No other item of the conversation has it, nor will one.
    pub id: u64,
    /// Another one whenever the item has changed.
    pub revision: u64,
    /// What it is.
    pub kind: ItemKind,
}

/// What is shown.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ItemKind {
    /// What a person said.
    Prompt(String),
    /// What the model thinks.
    Thought(Said),
    /// What the model says.
    Text(Said),
    /// A call.
    Call(Box<CallView>),
    /// Something on the side.
    Notice(Notice),
}

/// Words of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The words.
    pub text: String,
    /// Whether they are all there.
    pub standing: Standing,
}

/// Whether words are all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// More may come.
    Streaming,
    /// They are.
    Said,
    /// They broke off, and count for nothing.
    Broken,
}

/// Something on the side, for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub tone: Tone,
    /// What is said.
    pub text: String,
}

/// How much something on the side matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Good to know.
    Aside,
    /// There is no answer.
    Error,
}

impl Conversation {
    /// Nothing was said.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What is shown, in order.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Whether a turn goes on.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// What the replies took, as far as the log tells.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Changes whenever something is shown differently.
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

    /// The last thing that the model said and that counts.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        self.items.iter().rev().find_map(|item| match &item.kind {
            ItemKind::Text(said) if said.standing != Standing::Broken => Some(said.text.as_str()),
            _ => None,
        })
    }

    /// Counts what a turn took, which its events do not tell.
    pub fn took(&mut self, usage: Usage) {
        self.usage.add(usage);
        self.changes += 1;
    }

    /// Says something on the side.
    pub fn note(&mut self, text: impl Into<String>) {
        self.push(ItemKind::Notice(Notice {
            tone: Tone::Aside,
            text: text.into(),
        }));
    }

    /// Says on the side what went wrong.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.push(ItemKind::Notice(Notice {
            tone: Tone::Error,
            text: text.into(),
        }));
    }

    /// Says what is wrong with what an answer says about its code.
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

    /// The item at this place, which is about to change.
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

    /// The words that were coming in are over: thoughts stand first, as one,
    /// and then what was said.
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
                // What was said on the side meanwhile.
                ItemKind::Prompt(_) | ItemKind::Call(_) | ItemKind::Notice(_) => {
                    beside.push(item);
                }
            }
        }
        self.say(&thought, &text, standing);
        // Whoever looks at it looks at the same.
        if let (Some(id), Some(last)) = (id, self.items.get_mut(start..).and_then(<[_]>::last_mut))
            && matches!(last.kind, ItemKind::Text(_))
        {
            last.id = id;
        }
        self.items.extend(beside);
    }

    /// Adds a whole reply. What stands behind the words stays until nothing
    /// can follow them any more.
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

    /// Nothing follows what was said last.
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

    /// The turn is over.
    fn end(&mut self) {
        self.settle(Standing::Broken);
        self.close();
        self.is_running = false;
        // What nobody has told the end of is not known.
        let begun = self.turn_start();
        let open: Vec<usize> = (begun..self.items.len())
            .filter(|at| matches!(self.items.get(*at), Some(Item { kind: ItemKind::Call(call), .. }) if call.state.is_open()))
            .collect();
        for at in open {
            self.with_call(at, |call| call.state = CallState::Unknown);
        }
    }

    /// Where the last turn begins.
    fn turn_start(&self) -> usize {
        let is_prompt = |item: &Item| matches!(item.kind, ItemKind::Prompt(_));
        self.items.iter().rposition(is_prompt).unwrap_or(0)
    }

    fn left_out(&mut self, way: CompactionWay, messages: Option<usize>) {
        self.note(left_out(way, messages));
    }
}

/// That the model no longer knows how the conversation began.
#[must_use]
pub fn left_out(way: CompactionWay, messages: Option<usize>) -> String {
    let which = match messages {
        Some(1) => "Its first message".to_owned(),
        Some(count) => format!("Its first {count} messages"),
        None => "Its beginning".to_owned(),
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
    format!("The conversation no longer fits. {which} {are} {what}.")
}
