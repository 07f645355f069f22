//! Colours headings and code of Markdown while it is streamed. No character is
//! removed or moved: text copied from the terminal is what the model wrote.

use super::clean;
use crate::printer::{self, AnsiColor, Style};

const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const CODE: Style = AnsiColor::Green.on_default();
const MARK: Style = Style::new().dimmed();
/// The most `#` of a heading.
const MAX_HEADING: usize = 6;
/// The fewest characters of a fence.
const FENCE: usize = 3;

/// Colours a text piece by piece; the result does not depend on the pieces.
#[derive(Debug, Default)]
pub(crate) struct MarkdownStream {
    /// The open fence: its character, and how many of them.
    fence: Option<(char, usize)>,
    line: LineState,
    /// Characters that are held back because the next one decides whether they
    /// are marks.
    held: String,
    /// Whether the last character was a carriage return, not shown yet.
    has_returned: bool,
    /// Code within the line, with the number of backticks that opened it.
    code: Option<usize>,
    /// Whether a backslash stands before the next character.
    is_escaped: bool,
    style: Style,
    out: String,
}

/// The state of the current line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LineState {
    /// It has just begun: `held` is all of it.
    #[default]
    Start,
    /// Text, with code in backticks.
    Text,
    Heading,
    /// An opening fence of this character.
    Opening(char),
    /// A closing fence.
    Closing,
    Code,
}

impl MarkdownStream {
    /// Adds a piece, and returns what can be shown.
    pub(crate) fn push(&mut self, text: &str) -> String {
        for c in text.chars() {
            self.character(c);
        }
        std::mem::take(&mut self.out)
    }

    /// Ends the text, and returns what was held back.
    pub(crate) fn finish(&mut self) -> String {
        if std::mem::take(&mut self.has_returned) {
            self.part('\r');
        }
        if self.line == LineState::Start {
            self.begin(None);
        }
        self.release();
        self.restyle(Style::new());
        let out = std::mem::take(&mut self.out);
        *self = Self::default();
        out
    }

    fn character(&mut self, c: char) {
        // Of CR and LF only the LF is shown.
        if std::mem::take(&mut self.has_returned) && c != '\n' {
            self.part('\r');
        }
        if c == '\r' {
            self.has_returned = true;
        } else {
            self.part(c);
        }
    }

    fn part(&mut self, c: char) {
        if c == '\n' {
            self.end_line();
            return;
        }
        if self.line == LineState::Start {
            if self.may_be_mark(c) {
                self.held.push(c);
                return;
            }
            self.begin(Some(c));
        }
        match self.line {
            LineState::Start | LineState::Text => self.text(c),
            LineState::Heading => self.show(c, HEADING),
            LineState::Opening(sign) => {
                // `` ```a``` `` is inline code, not a fence.
                if sign == '`' && c == '`' {
                    self.fence = None;
                }
                self.show(c, MARK);
            }
            LineState::Closing => self.show(c, MARK),
            LineState::Code => self.show(c, CODE),
        }
    }

    fn end_line(&mut self) {
        if self.line == LineState::Start {
            self.begin(None);
        }
        self.release();
        self.restyle(Style::new());
        self.out.push('\n');
        self.line = LineState::Start;
        self.code = None;
        self.is_escaped = false;
    }

    /// Whether the line so far and this character may still be a mark.
    fn may_be_mark(&self, c: char) -> bool {
        let said = self.held.trim_start_matches(' ');
        let is_all = |sign: char| said.chars().all(|it| it == sign);
        if c == ' ' && said.is_empty() {
            return true;
        }
        if let Some((sign, _)) = self.fence {
            return c == sign && is_all(sign);
        }
        match c {
            '`' | '~' => is_all(c),
            '#' => is_all(c) && said.len() < MAX_HEADING,
            _ => false,
        }
    }

    /// Decides the kind of the line by its beginning and the next character.
    fn begin(&mut self, next: Option<char>) {
        let held = std::mem::take(&mut self.held);
        let said = held.trim_start_matches(' ');
        let sign = said.chars().next();
        let count = said.chars().count();
        let is_fence = |sign: Option<char>| {
            let sign = sign.filter(|sign| matches!(sign, '`' | '~'))?;
            (count >= FENCE && said.chars().all(|it| it == sign)).then_some(sign)
        };
        let style = match (self.fence, is_fence(sign)) {
            (Some((open, length)), Some(sign))
                if sign == open && count >= length && next.is_none_or(char::is_whitespace) =>
            {
                self.fence = None;
                self.line = LineState::Closing;
                MARK
            }
            (Some(_), _) => {
                self.line = LineState::Code;
                CODE
            }
            (None, Some(sign)) => {
                self.fence = Some((sign, count));
                self.line = LineState::Opening(sign);
                MARK
            }
            (None, None) if sign == Some('#') && next == Some(' ') => {
                self.line = LineState::Heading;
                HEADING
            }
            (None, None) => {
                self.line = LineState::Text;
                held.chars().for_each(|c| self.text(c));
                return;
            }
        };
        held.chars().for_each(|c| self.show(c, style));
    }

    /// Handles a character of text.
    fn text(&mut self, c: char) {
        if c == '`' && !self.is_escaped {
            self.held.push(c);
            return;
        }
        self.release();
        self.is_escaped = c == '\\' && !self.is_escaped && self.code.is_none();
        let style = self.code.map_or_else(Style::new, |_| CODE);
        self.show(c, style);
    }

    /// Shows the backticks that are held, now that all of them are known.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        let count = held.len();
        if count == 0 {
            return;
        }
        held.chars().for_each(|c| self.show(c, CODE));
        self.code = match self.code {
            None => Some(count),
            Some(open) if open == count => None,
            open => open,
        };
    }

    fn show(&mut self, c: char, style: Style) {
        self.restyle(style);
        if clean::is_of_prose(c) {
            self.out.push_str(&printer::verbatim(c));
        } else {
            clean::push_prose(&mut self.out, c);
        }
    }

    fn restyle(&mut self, style: Style) {
        if style != self.style {
            self.out.push_str(&format!("{:#}{style}", self.style));
            self.style = style;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders the styles as letters: h heading, c code, m mark.
    fn styled(text: &str) -> String {
        let mut markdown = MarkdownStream::default();
        let mut shown = markdown.push(text);
        shown.push_str(&markdown.finish());
        for (style, name) in [(HEADING, "h"), (CODE, "c"), (MARK, "m")] {
            shown = shown.replace(&style.to_string(), &format!("<{name}>"));
        }
        printer::plain(&shown.replace(&format!("{HEADING:#}"), "</>"))
    }

    #[test]
    fn marks_are_coloured_and_stay() {
        for (text, expected) in [
            ("plain", "plain"),
            ("# A\nb", "<h># A</>\nb"),
            ("#hash", "#hash"),
            ("a **b** _c_ snake_case", "a **b** _c_ snake_case"),
            ("`a*b*` c", "<c>`a*b*`</> c"),
            ("``a`b``", "<c>``a`b``</>"),
            ("`open\nnext", "<c>`open</>\nnext"),
            (r"a \` b", r"a \` b"),
            ("- a\n12. c", "- a\n12. c"),
            (
                "```rust\nlet *a = 1;\n```\n*b*",
                "<m>```rust</>\n<c>let *a = 1;</>\n<m>```</>\n*b*",
            ),
            ("~~~\n```\n~~~\nx", "<m>~~~</>\n<c>```</>\n<m>~~~</>\nx"),
            ("a\r\nb\rc", "a\nb\\u{d}c"),
            ("\u{1b}[2Jx", r"\u{1b}[2Jx"),
            (
                "⚠\u{fe0f} 10\u{a0}% 👨\u{200d}👩",
                "⚠\u{fe0f} 10\u{a0}% 👨\u{200d}👩",
            ),
        ] {
            assert_eq!(styled(text), expected, "{text:?}");
        }
    }

    #[test]
    fn pieces_do_not_matter_and_nothing_is_lost() {
        let text = "# T\n\n1. a **b\u{1b}** `c` \\*d\n- *e*_f_ g_h\n```x\n*y*\n  ```\n~~~\nz\r\n";
        let mut markdown = MarkdownStream::default();
        let whole = markdown.push(text) + &markdown.finish();
        for cut in 0..=text.len() {
            if !text.is_char_boundary(cut) {
                continue;
            }
            let (first, second) = text.split_at(cut);
            let mut markdown = MarkdownStream::default();
            let mut shown = markdown.push(first);
            shown.push_str(&markdown.push(second));
            shown.push_str(&markdown.finish());
            let plain = printer::plain(&shown);
            assert_eq!(plain, clean::visible(&text.replace("\r\n", "\n")));
            assert_eq!(shown, whole);
        }
    }
}
