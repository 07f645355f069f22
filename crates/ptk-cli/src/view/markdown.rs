//! Colours Markdown while it is streamed. No character is removed or moved:
//! text copied from the terminal is what the model wrote.

use super::clean;
use crate::printer::{self, AnsiColor, Style};

const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const CODE: Style = AnsiColor::Green.on_default();
const MARK: Style = Style::new().dimmed();
/// The most `#` of a heading.
const MAX_HEADING: usize = 6;
/// The fewest characters of a fence.
const FENCE: usize = 3;
/// The most digits of a numbered item.
const MAX_DIGITS: usize = 9;

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
    inline: Inline,
    is_escaped: bool,
    before: Option<char>,
    style: Style,
    out: String,
}

/// The inline styles that are open within a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Inline {
    /// Code, with the number of backticks that opened it.
    code: Option<usize>,
    is_bold: bool,
    is_italic: bool,
}

impl Inline {
    fn style(self) -> Style {
        if self.code.is_some() {
            return CODE;
        }
        let style = Style::new();
        let style = if self.is_bold { style.bold() } else { style };
        if self.is_italic {
            style.italic()
        } else {
            style
        }
    }
}

/// The state of the current line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LineState {
    /// It has just begun: `held` is all of it.
    #[default]
    Start,
    /// Text with inline marks.
    Inline,
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
        self.release(None);
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
            LineState::Start | LineState::Inline => self.inline(c),
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
        self.release(Some('\n'));
        self.restyle(Style::new());
        self.out.push('\n');
        self.line = LineState::Start;
        self.inline = Inline::default();
        self.is_escaped = false;
        self.before = None;
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
            '-' | '*' | '+' => said.is_empty(),
            '0'..='9' => said.len() < MAX_DIGITS && said.bytes().all(|it| it.is_ascii_digit()),
            '.' | ')' => !said.is_empty() && said.bytes().all(|it| it.is_ascii_digit()),
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
            (None, None) => {
                self.line = LineState::Inline;
                let is_item = sign.is_some_and(|sign| matches!(sign, '-' | '*' | '+'))
                    || said.ends_with(['.', ')']);
                match (sign, next) {
                    (Some('#'), Some(' ')) => {
                        self.line = LineState::Heading;
                        HEADING
                    }
                    (Some(_), Some(' ')) if is_item => MARK,
                    _ => {
                        held.chars().for_each(|c| self.inline(c));
                        return;
                    }
                }
            }
        };
        held.chars().for_each(|c| self.show(c, style));
        self.before = held.chars().last();
    }

    /// Handles a character of text with inline marks.
    fn inline(&mut self, c: char) {
        let is_mark = matches!(c, '`' | '*' | '_') && !self.is_escaped;
        if is_mark && (self.held.is_empty() || self.held.starts_with(c)) {
            self.held.push(c);
            return;
        }
        self.release(Some(c));
        if is_mark {
            self.held.push(c);
            return;
        }
        self.is_escaped = c == '\\' && !self.is_escaped && self.inline.code.is_none();
        self.show(c, self.inline.style());
        self.before = Some(c);
    }

    /// Shows the held characters, now that the next one is known.
    fn release(&mut self, next: Option<char>) {
        let held = std::mem::take(&mut self.held);
        let Some(sign) = held.chars().next() else {
            return;
        };
        let count = held.chars().count();
        let is_open = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        // `snake_case` is one word.
        let is_part = |c: Option<char>| sign == '_' && is_word(c);
        let may_open = !is_open(next) && !is_part(self.before);
        let may_close = !is_open(self.before) && !is_part(next);
        let mut after = self.inline;
        match (sign, self.inline.code) {
            ('`', None) => after.code = Some(count),
            ('`', Some(open)) if open == count => after.code = None,
            ('*' | '_', None) => {
                for (is_meant, is_on) in [
                    (count >= 2, &mut after.is_bold),
                    (count % 2 == 1, &mut after.is_italic),
                ] {
                    if is_meant && ((*is_on && may_close) || (!*is_on && may_open)) {
                        *is_on = !*is_on;
                    }
                }
            }
            _ => {}
        }
        // Marks have the style of the text inside them.
        let around = Inline {
            code: self.inline.code.or(after.code),
            is_bold: self.inline.is_bold || after.is_bold,
            is_italic: self.inline.is_italic || after.is_italic,
        };
        held.chars().for_each(|c| self.show(c, around.style()));
        self.inline = after;
        self.before = Some(sign);
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

    /// Renders the styles as letters: h heading, c code, m mark, b bold, i
    /// italic.
    fn styled(text: &str) -> String {
        let mut markdown = MarkdownStream::default();
        let mut shown = markdown.push(text);
        shown.push_str(&markdown.finish());
        for (style, name) in [
            (HEADING, "h"),
            (CODE, "c"),
            (MARK, "m"),
            (Style::new().bold().italic(), "bi"),
            (Style::new().bold(), "b"),
            (Style::new().italic(), "i"),
        ] {
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
            ("a **b** c", "a <b>**b**</> c"),
            ("a *b* _c_", "a <i>*b*</> <i>_c_</>"),
            ("***x***", "<bi>***x***</>"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("snake_case_name", "snake_case_name"),
            ("`a*b*`", "<c>`a*b*`</>"),
            ("``a`b``", "<c>``a`b``</>"),
            (r"\*no\*", r"\*no\*"),
            ("- a\n* b\n12. c", "<m>-</> a\n<m>*</> b\n<m>12.</> c"),
            ("*a*", "<i>*a*</>"),
            (
                "```rust\nlet *a = 1;\n```\n*b*",
                "<m>```rust</>\n<c>let *a = 1;</>\n<m>```</>\n<i>*b*</>",
            ),
            ("~~~\n```\n~~~\nx", "<m>~~~</>\n<c>```</>\n<m>~~~</>\nx"),
            ("**open\nnext", "<b>**open</>\nnext"),
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
