//! Wraps lines at a width, between words if possible.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::Lines;

pub(crate) use crate::view::fitting;

/// The columns between two tab stops.
const TAB: usize = 4;

/// A grapheme with its style and width.
#[derive(Debug, Clone)]
struct Piece<'a> {
    text: &'a str,
    style: Style,
    width: usize,
}

/// Wraps a line. The first line begins with `first`, the others with `rest`.
pub(crate) fn wrapped<'a>(
    spans: &[Span<'_>],
    width: usize,
    first: &'a [Span<'static>],
    rest: &'a [Span<'static>],
) -> Lines {
    let columns = |spans: &[Span<'_>]| spans.iter().map(Span::width).sum::<usize>();
    // A prefix that leaves no room is dropped.
    let fitting = |spans: &'a [Span<'static>]| if columns(spans) < width { spans } else { &[] };
    let (first, rest) = (fitting(first), fitting(rest));
    let mut out = Row::new(first, columns(first));
    for word in words(spans) {
        let is_blank = word.iter().all(|piece| piece.text.trim().is_empty());
        let wide: usize = word.iter().map(|piece| piece.width).sum();
        if out.used + wide > width && !is_blank && !out.is_fresh() {
            out.end(rest, columns(rest));
        }
        for piece in word {
            // A word that is longer than a line is cut anywhere.
            if out.used + piece.width > width && !out.is_fresh() {
                if is_blank {
                    break;
                }
                out.end(rest, columns(rest));
            }
            out.push(&piece);
        }
    }
    out.finish()
}

/// Wraps a text with line breaks, in one style.
pub(crate) fn lines(text: &str, style: Style, width: usize) -> Lines {
    let each = text.lines();
    each.flat_map(|line| wrapped(&[Span::styled(line, style)], width, &[], &[]))
        .collect()
}

struct Row {
    lines: Lines,
    spans: Vec<Span<'static>>,
    /// The number of spans in the prefix.
    begun: usize,
    used: usize,
}

impl Row {
    fn new(first: &[Span<'static>], used: usize) -> Self {
        Self {
            lines: Vec::new(),
            begun: first.len(),
            spans: first.to_vec(),
            used,
        }
    }

    fn is_fresh(&self) -> bool {
        self.spans.len() == self.begun
    }

    fn end(&mut self, rest: &[Span<'static>], used: usize) {
        while self.spans.len() > self.begun {
            let Some(last) = self.spans.last_mut() else {
                break;
            };
            let kept = last.content.trim_end_matches(' ').len();
            if kept > 0 {
                last.content.to_mut().truncate(kept);
                break;
            }
            self.spans.pop();
        }
        let spans = std::mem::replace(&mut self.spans, rest.to_vec());
        self.lines.push(Line::from(spans));
        self.begun = self.spans.len();
        self.used = used;
    }

    fn push(&mut self, piece: &Piece<'_>) {
        let text = match piece.text {
            "\t" => {
                let stop = TAB - self.used % TAB;
                self.used += stop;
                " ".repeat(stop)
            }
            text => {
                self.used += piece.width;
                text.to_owned()
            }
        };
        let is_fresh = self.is_fresh();
        match self.spans.last_mut() {
            Some(last) if last.style == piece.style && !is_fresh => {
                last.content.to_mut().push_str(&text);
            }
            _ => self.spans.push(Span::styled(text, piece.style)),
        }
    }

    fn finish(mut self) -> Lines {
        self.lines.push(Line::from(self.spans));
        self.lines
    }
}

/// Splits a line into words and the blanks between them, in graphemes.
fn words<'a>(spans: &'a [Span<'_>]) -> Vec<Vec<Piece<'a>>> {
    let mut words: Vec<Vec<Piece<'a>>> = Vec::new();
    let mut last = None;
    for span in spans {
        for text in span.content.graphemes(true) {
            let is_blank = text.chars().all(char::is_whitespace);
            let width = text.width();
            let piece = Piece {
                text,
                style: span.style,
                width: if text == "\t" { TAB } else { width },
            };
            // Wide characters, of scripts without blanks, may be separated
            // anywhere.
            let kind = (is_blank, width > 1);
            match words.last_mut() {
                Some(word) if last == Some(kind) && !kind.1 => word.push(piece),
                _ => words.push(vec![piece]),
            }
            last = Some(kind);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> Vec<String> {
        let lines = wrapped(&[Span::raw(text)], width, &[], &[Span::raw("> ")]);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_are_cut_between_words_where_that_can_be() {
        assert_eq!(shown("", 10), [""]);
        assert_eq!(shown("one two three", 8), ["one two", "> three"]);
        assert_eq!(shown("abcdefghij", 4), ["abcd", "> ef", "> gh", "> ij"]);
        assert_eq!(shown("日本語を読む", 6), ["日本語", "> を読", "> む"]);
        assert_eq!(shown("Đọc tệp nào", 8), ["Đọc tệp", "> nào"]);
        assert_eq!(shown("a\tb", 10), ["a   b"]);
        assert_eq!(shown("x", 0), ["x"]);
    }

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        let text = "Tiếng Việt 日本語 text with 👨‍👩‍👧 and a\tverylongwordthatdoesnotfit 한국어";
        for width in 2..60 {
            for line in wrapped(&[Span::raw(text)], width, &[], &[]) {
                assert!(line.width() <= width, "{width}: {line:?}");
            }
        }
    }
}
