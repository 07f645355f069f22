//! Diffs for people and models.

use std::time::Duration;

use similar::TextDiff;

/// How long a diff may take before it becomes coarse.
const MAX_TIME: Duration = Duration::from_millis(500);
/// A line of a diff is not longer.
const MAX_LINE: usize = 400;

/// The unified diff without a header, of at most so many lines.
#[must_use]
pub fn unified(old: &str, new: &str, context: usize, max_lines: usize) -> String {
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_lines(old, new);
    let mut shown = String::new();
    let mut lines = 0;
    let mut left_out = 0;
    for hunk in diff.unified_diff().context_radius(context).iter_hunks() {
        for line in hunk.to_string().lines() {
            if lines < max_lines {
                shown.push_str(&cut(line));
                shown.push('\n');
                lines += 1;
            } else {
                left_out += 1;
            }
        }
    }
    if left_out > 0 {
        shown.push_str(&format!("[… {left_out} more lines of the diff]\n"));
    }
    shown
}

/// A new text as the diff that adds it.
#[must_use]
pub fn added_lines(new: &str, max_lines: usize) -> String {
    let mut shown = String::new();
    for line in new.lines().take(max_lines) {
        shown.push('+');
        shown.push_str(&cut(line));
        shown.push('\n');
    }
    let left_out = new.lines().count().saturating_sub(max_lines);
    if left_out > 0 {
        shown.push_str(&format!("[… {left_out} more lines]\n"));
    }
    shown
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        None => line.to_owned(),
        Some((end, _)) => {
            let left_out = line.len() - end;
            format!(
                "{} [… {left_out} more bytes]",
                line.get(..end).unwrap_or_default()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_bounded_and_says_so() {
        assert_eq!(
            unified("a\nb\n", "a\nc\n", 1, 10),
            "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
        let long = "line\n".repeat(300);
        let shown = unified("", &long, 1, 5);
        assert_eq!(shown.lines().count(), 6);
        assert!(shown.ends_with("[… 296 more lines of the diff]\n"));
        assert_eq!(added_lines("a\nb\nc\n", 2), "+a\n+b\n[… 1 more lines]\n");
    }
}
