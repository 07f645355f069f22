//! Whether subscribers of spans want the content of conversations.

use tracing::Level;

/// The target that a subscriber of `tracing` enables to get spans with content:
/// prompts, replies, arguments and results. Without it, spans carry no content.
pub const CONTENT: &str = "ptk::content";

/// Whether a subscriber has enabled [`CONTENT`].
#[must_use]
pub fn is_content_wanted() -> bool {
    // The macro needs the target as a literal.
    tracing::enabled!(target: "ptk::content", Level::TRACE)
}
