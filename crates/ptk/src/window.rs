//! How much a model can be told: one budget for its instructions, the tools
//! and the conversation.

use std::fmt::Debug;

use ptk_llm::Message;

/// What is kept free because tokens are only estimated, in hundredths of the
/// window.
pub const MARGIN: u32 = 10;
/// What is kept free for the reply where nothing is said, in tokens; at most
/// a quarter of the window.
const REPLY: u32 = 4096;
/// What the marks around a message take, in tokens.
const PER_MESSAGE: u64 = 4;
/// How full the window may be after it was made room in, in hundredths.
const ROOM: u64 = 60;
/// How much of it one result may take, in hundredths.
const RESULT: u64 = 25;

/// Tells how many tokens a text has (R147).
///
/// Too many is better than too few.
pub trait TokenCounter: Send + Sync + Debug {
    /// About how many.
    fn count(&self, text: &str) -> u64;
}

/// An estimate that needs no model: four ASCII characters are a token, and so
/// is every other character.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate;

impl TokenCounter for Estimate {
    fn count(&self, text: &str) -> u64 {
        let ascii = text.bytes().filter(u8::is_ascii).count();
        let others = text.chars().count() - ascii;
        (ascii.div_ceil(4) + others) as u64
    }
}

/// What a message takes.
pub(crate) fn cost(tokens: &dyn TokenCounter, message: &Message) -> u64 {
    let calls = match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    };
    let calls: u64 = calls
        .iter()
        .map(|call| tokens.count(&call.name) + tokens.count(&call.args.to_json()) + PER_MESSAGE)
        .sum();
    tokens.count(message.text()) + calls + PER_MESSAGE
}

/// What may be told, in tokens: the window without the reply and the margin.
/// Without a window there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) window: Option<u32>,
    pub(crate) available: u64,
}

impl Budget {
    pub(crate) fn new(window: Option<u32>, reply: Option<u32>) -> Self {
        let available = window.map_or(u64::MAX, |window| {
            let reply = reply.unwrap_or(REPLY.min(window / 4));
            let margin = u64::from(window) * u64::from(MARGIN) / 100;
            u64::from(window.saturating_sub(reply)).saturating_sub(margin)
        });
        Self { window, available }
    }

    /// What there may be left after room was made.
    pub(crate) fn with_room(self) -> u64 {
        share(self.available, ROOM)
    }

    /// What one result may take, in tokens.
    pub(crate) fn of_a_result(self) -> u64 {
        share(self.available, RESULT)
    }
}

fn share(tokens: u64, hundredths: u64) -> u64 {
    if tokens == u64::MAX {
        tokens
    } else {
        tokens * hundredths / 100
    }
}
