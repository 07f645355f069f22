//! Colours for diffs.

use ratatui::style::Style;
use ratatui::text::Span;

use super::{Lines, style, wrap};
use crate::view::clean::visible;

/// A diff with colours, line by line.
pub(crate) fn lines(diff: &str, width: usize) -> Lines {
    let each = diff.lines();
    each.flat_map(|line| {
        let text = visible(line);
        wrap::wrapped(&[Span::styled(text, of(line))], width, &[], &[])
    })
    .collect()
}

/// Whether a text is a diff.
pub(crate) fn is_diff(text: &str) -> bool {
    let is_head = |line: &str| line.starts_with("@@ -") && line.contains(" @@");
    text.lines().any(is_head)
}

fn of(line: &str) -> Style {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => style::STRONG,
        [b'+', ..] => style::DONE,
        [b'-', ..] => style::FAILED,
        [b'@', b'@', ..] => style::BUSY,
        _ => style::PLAIN,
    }
}
