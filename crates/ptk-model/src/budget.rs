//! The budget of a model's window: its instructions, the tools and the
//! conversation share it.

use std::fmt::Debug;

use ptk_llm::Message;

/// What is kept free where tokens are only estimated, in hundredths of the
/// window.
pub const MARGIN: u32 = 10;
/// The window that is assumed of a model whose window is not known. Most have a
/// larger one; without any, a conversation would grow until its server refuses
/// it.
pub const ASSUMED_WINDOW: u32 = 65_536;
/// Tokens kept free for the reply unless configured; at most a quarter of the
/// window.
const REPLY: u32 = 4096;
/// Tokens that are counted for an image: what most services take for one that
/// they scaled down. Some models take more for a large one, and their servers
/// then say that the request is too long.
const PER_IMAGE: u64 = 1600;
/// Tokens of the marks around a message.
const PER_MESSAGE: u64 = 4;
/// How full the window may be after room was made, in hundredths.
const ROOM: u64 = 60;
/// How much of the window one result may take, in hundredths.
const RESULT: u64 = 25;

/// Counts the tokens of a text.
///
/// Too many is better than too few.
pub trait TokenCounter: Send + Sync + Debug {
    /// The number of tokens, about. Never more than the text has bytes.
    fn count(&self, text: &str) -> u64;

    /// The share of the window that is kept free because counts are inexact, in
    /// hundredths.
    fn margin(&self) -> u32 {
        MARGIN
    }
}

/// An estimate that needs no model. It goes by what most tokenizers have in
/// common: a word is a token for every seven letters, a number one for every
/// three digits, signs one for every two, and every character beyond ASCII is
/// one. In code, prose and data it is too low by less than [`MARGIN`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate;

impl TokenCounter for Estimate {
    fn count(&self, text: &str) -> u64 {
        let mut tokens = 0;
        let mut rest = text.as_bytes();
        while let Some(first) = rest.first() {
            let kind = Kind::of(*first);
            let run = rest.iter().take_while(|byte| Kind::of(**byte) == kind);
            let length = run.count();
            tokens += match kind {
                Kind::Letter => length.div_ceil(7),
                Kind::Digit => length.div_ceil(3),
                Kind::Sign => length.div_ceil(2),
                // One space belongs to the word after it.
                Kind::Space => usize::from(length > 1 || *first != b' '),
                Kind::Beyond => 1,
                Kind::Rest => 0,
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        tokens as u64
    }
}

/// The class of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    Sign,
    Space,
    /// The beginning of a character beyond ASCII.
    Beyond,
    /// The rest of one.
    Rest,
}

impl Kind {
    const fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Self::Letter,
            b'0'..=b'9' => Self::Digit,
            b' ' | b'\n' | b'\r' | b'\t' => Self::Space,
            0x80..=0xbf => Self::Rest,
            0xc0..=0xff => Self::Beyond,
            _ => Self::Sign,
        }
    }
}

/// An upper bound of [`cost`], without counting: no token has less than a byte.
#[must_use]
pub fn most(message: &Message) -> u64 {
    let calls = match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    };
    let calls = calls
        .iter()
        .map(|call| (call.name.len() + call.args.to_json().len()) as u64 + PER_MESSAGE);
    let images = message.images().len() as u64 * PER_IMAGE;
    message.text().len() as u64 + calls.sum::<u64>() + images + PER_MESSAGE
}

/// How many tokens a message takes.
#[must_use]
pub fn cost(tokens: &dyn TokenCounter, message: &Message) -> u64 {
    let calls = match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    };
    let calls: u64 = calls
        .iter()
        .map(|call| tokens.count(&call.name) + tokens.count(&call.args.to_json()) + PER_MESSAGE)
        .sum();
    let images = message.images().len() as u64 * PER_IMAGE;
    tokens.count(message.text()) + calls + images + PER_MESSAGE
}

/// The tokens available for a request: the window without the reply and the
/// margin. Without a window there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The size of the window.
    pub window: Option<u32>,
    /// Tokens kept for the reply, where there is a window.
    pub reply: u64,
    /// Tokens for the request: instructions, tools and conversation.
    pub available: u64,
}

impl Budget {
    /// The budget of a window of this size, with this limit of a reply and this
    /// [margin](TokenCounter::margin).
    #[must_use]
    pub fn new(window: Option<u32>, reply: Option<u32>, margin: u32) -> Self {
        let Some(window) = window else {
            return Self {
                window,
                reply: 0,
                available: u64::MAX,
            };
        };
        let reply = reply.unwrap_or(REPLY.min(window / 4)).min(window);
        let margin = u64::from(window) * u64::from(margin) / 100;
        Self {
            window: Some(window),
            reply: u64::from(reply),
            available: u64::from(window - reply).saturating_sub(margin),
        }
    }

    /// Tokens kept free because counts are inexact.
    #[must_use]
    pub fn margin(self) -> u64 {
        let window = self.window.map_or(0, u64::from);
        window.saturating_sub(self.reply + self.available.min(window))
    }

    /// How many tokens may be left after room was made.
    #[must_use]
    pub fn with_room(self) -> u64 {
        share(self.available, ROOM)
    }

    /// How many tokens one result may take.
    #[must_use]
    pub fn of_a_result(self) -> u64 {
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
