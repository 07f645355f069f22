//! What is known of the line that is being read: how it starts, and whether
//! inline code is open on it.

/// A label that models copy from the transcript; what follows it still starts
/// the line.
pub(super) const LABEL: &str = "ASSISTANT:";

/// How many columns of indentation make a line part of a code block.
const CODE_INDENT: usize = 4;

/// The columns that white space at the start of a line takes.
fn width(space: u8) -> usize {
    match space {
        b' ' => 1,
        b'\t' => CODE_INDENT,
        _ => 0,
    }
}

/// The character that some programs put before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Whether a character before a mark leaves it at the start of its line.
pub(super) fn is_lead(c: char) -> bool {
    c.is_whitespace() || c == BYTE_ORDER_MARK
}

/// What the text before a line leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Continues {
    /// Nothing: the line stands alone.
    Nothing,
    /// A bracket was opened right before, or an element of data stands there.
    Bracket,
    /// A comma or a key stands before, as between the brackets of data, or at
    /// the end of a clause.
    List,
}

/// The line at the parser's place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Line {
    /// What the line starts with, white space left out, up to the length of
    /// the label and one more.
    head: [u8; LABEL.len() + 1],
    length: usize,
    open_ticks: Option<usize>,
    last: Option<char>,
    /// The last two characters that are not white space, the later one first;
    /// they may stand on lines before.
    visible: [Option<char>; 2],
    names_marks: bool,
    /// How far the line is indented.
    indent: usize,
}

impl Line {
    /// Updates the line with text that was passed.
    pub(super) fn pass(&mut self, text: &str) {
        let Some(last) = text.chars().next_back() else {
            return;
        };
        let tail = match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(newline) => {
                self.length = 0;
                self.open_ticks = None;
                self.names_marks = false;
                self.indent = 0;
                text.get(newline + 1..).unwrap_or("")
            }
            None => text,
        };
        let tail = match self.length {
            0 => {
                let lead = tail.trim_start_matches(is_lead);
                let space = tail.get(..tail.len() - lead.len()).unwrap_or("");
                self.indent += space.bytes().map(width).sum::<usize>();
                lead
            }
            _ => tail,
        };
        for byte in tail.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
            let Some(place) = self.head.get_mut(self.length) else {
                break;
            };
            *place = byte;
            self.length += 1;
        }
        self.last = Some(last);
        let mut visible = text.chars().rev().filter(|c| !c.is_whitespace());
        if let Some(later) = visible.next() {
            let before = visible.next().or(self.visible[0]);
            self.visible = [Some(later), before];
        }
    }

    /// What the text before the line leaves open, so that what begins the line
    /// may be part of it.
    pub(super) fn continues(&self) -> Continues {
        match self.visible {
            // A sad face.
            [Some('('), Some(':')] => Continues::Nothing,
            [Some('(' | '[' | '{'), _] | [Some(','), Some('}' | ']')] => Continues::Bracket,
            [Some(','), _] | [Some(':'), Some('"' | '\'')] => Continues::List,
            _ => Continues::Nothing,
        }
    }

    /// Whether the text before this place is whole sentences, or their last one
    /// announces what follows by a colon.
    pub(super) fn ends_sentence(&self) -> bool {
        let is_end = |c: char| ".!?:…。！？：".contains(c);
        let is_closing = |c: char| "\"'”’»)]*_".contains(c);
        match self.visible {
            [None, _] => true,
            [Some(last), before] => is_end(last) || is_closing(last) && before.is_some_and(is_end),
        }
    }

    /// Updates the line with a run of backticks: it opens inline code, closes
    /// it, or is part of it.
    pub(super) fn ticks(&mut self, count: usize) {
        self.open_ticks = match self.open_ticks {
            None => Some(count),
            Some(open) if open == count => None,
            open => open,
        };
    }

    /// Whether nothing but white space or a label stands on the line so far.
    pub(super) fn is_blank(&self) -> bool {
        let head = self.head.get(..self.length).unwrap_or_default();
        head.is_empty() || head.eq_ignore_ascii_case(LABEL.as_bytes())
    }

    /// Whether the line is indented like a block of code in Markdown.
    pub(super) fn is_indented(&self) -> bool {
        self.indent >= CODE_INDENT
    }

    /// Whether a fence may open here: at the start of the line, or of an item
    /// of a list or a quotation.
    pub(super) fn may_open_fence(&self) -> bool {
        let head = self.head.get(..self.length).unwrap_or_default();
        let number = head.strip_suffix(b".").or_else(|| head.strip_suffix(b")"));
        self.is_blank()
            || matches!(head, b"-" | b"*" | b"+")
            || number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
            || head.iter().all(|byte| *byte == b'>')
    }

    /// Whether the line is a quotation in Markdown.
    pub(super) fn is_quotation(&self) -> bool {
        self.length > 0 && self.head.first() == Some(&b'>')
    }

    /// How many backticks would close the inline code that is open here.
    pub(super) fn open_ticks(&self) -> Option<usize> {
        self.open_ticks
    }

    /// The character right before this place.
    pub(super) fn last(&self) -> Option<char> {
        self.last
    }

    /// Records that an opening mark on the line turned out to be part of the
    /// prose.
    pub(super) fn name_mark(&mut self) {
        self.names_marks = true;
    }

    /// Whether the line talks about marks, so that a closing mark on it is
    /// part of the prose too.
    pub(super) fn names_marks(&self) -> bool {
        self.names_marks
    }

    /// Records that inline code was found to end.
    pub(super) fn close_ticks(&mut self) {
        self.open_ticks = None;
    }
}
