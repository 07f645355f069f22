//! Text in files: which encoding it has, where its lines are, how much of it
//! fits, what changed.

mod binary;
mod encoding;
mod excerpt;
mod survey;
mod utf8;
mod whole;

pub(crate) use binary::{Binary, HEAD};
pub(crate) use encoding::Encoding;
pub(crate) use excerpt::{Excerpt, ExcerptError, Room, Taken, WantedContent, WantedLines};
pub(crate) use whole::Text;
pub use whole::text_of;

/// How much of a file is held in memory; a larger one is streamed.
pub(crate) const MAX_FILE_SIZE: u64 = 10 * 1024 * 1024;
/// How many tokens of files one call shows. With four bytes a token it
/// stays below what a result may have.
pub(crate) const MAX_TOKENS: usize = 10_000;
const BYTES_PER_TOKEN: usize = 4;
/// The most that one call shows, in bytes.
pub(crate) const MAX_BYTES: usize = MAX_TOKENS * BYTES_PER_TOKEN;

/// About how many tokens a text has.
pub(crate) const fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// How many lines a text has. A line break ends a line, and does not begin one.
pub(crate) fn line_count(text: &str) -> usize {
    let ended = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    ended + usize::from(!text.is_empty() && !text.ends_with('\n'))
}
