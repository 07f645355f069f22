//! Whether whoever listens to spans wants to know what was said in them.

use tracing::Level;

/// The target under which a subscriber of `tracing` says that spans may carry
/// what was said: prompts, replies, arguments and results. Whoever does not
/// let it pass gets none of that.
pub const CONTENT: &str = "ptk::content";

/// Whether somebody wants it.
#[must_use]
pub fn is_content_wanted() -> bool {
    // The target has to stand here as it is.
    tracing::enabled!(target: "ptk::content", Level::TRACE)
}
