//! The reader: one pass over the text, with the open containers on an
//! explicit stack.

use crate::ProblemCode;

use super::blank::{blank_end, fence_length, foreign_blank, is_comment};
use super::frame::{Frame, FrameState, Kind};
use super::lookahead::{Lookahead, StringPosition};
use super::quotes::QuoteFamily;
use super::strict::FirstFault;
use super::writer::RepairWriter;
use super::{End, MAX_DEPTH, RepairError, Repaired};

pub(super) struct Repairer<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) pos: usize,
    pub(super) writer: RepairWriter<'a>,
    pub(super) look: Lookahead<'a>,
    pub(super) stack: Vec<Frame>,
    /// Whether the text ended inside a string.
    pub(super) in_string: bool,
    /// Whether several values at the top were joined to an array.
    pub(super) joined: bool,
    /// Whether strings may be taken to quote code without escaping it.
    pub(super) embedding: bool,
    /// Up to here, the brackets in strings without quotes have no partner, so
    /// that not every such string looks for it anew.
    pub(super) unpaired: usize,
    deepest: usize,
}

impl<'a> Repairer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            writer: RepairWriter::new(text),
            look: Lookahead::new(text),
            stack: vec![Frame::new(Kind::Root, 0, 0)],
            in_string: false,
            joined: false,
            embedding: true,
            unpaired: 0,
            deepest: 0,
        }
    }

    /// Reads the text, of which everything before `fault` is valid.
    pub(super) fn run(mut self, fault: FirstFault) -> Result<Repaired, RepairError> {
        self.writer.trusts_escapes = fault.is_cut;
        self.find_start()?;
        if matches!(self.byte(self.pos), Some(b'{' | b'[')) && self.writer.is_untouched() {
            self.walk_valid(fault.at)?;
        }
        loop {
            self.skip_blank();
            let Some(byte) = self.byte(self.pos) else {
                break;
            };
            let before = self.progress();
            self.step(byte)?;
            if self.progress() == before {
                self.skip_character();
            }
        }
        self.finish()
    }

    fn progress(&self) -> (usize, usize, Option<(Kind, FrameState)>) {
        let top = self.stack.last().map(|frame| (frame.kind, frame.state));
        (self.pos, self.stack.len(), top)
    }

    fn step(&mut self, byte: u8) -> Result<(), RepairError> {
        if self.skip_ellipsis_or_fence() {
            return Ok(());
        }
        match (self.kind(), self.state()) {
            (Kind::Root, FrameState::After) => self.after_root(byte)?,
            (_, FrameState::After) => self.after_value(byte)?,
            (_, FrameState::Key) => self.key(byte)?,
            (_, FrameState::Colon) => self.colon(byte),
            (_, FrameState::Value) => self.value(byte)?,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Repaired, RepairError> {
        let end = self.text.len();
        let depth = self
            .stack
            .iter()
            .filter(|frame| frame.kind.is_container())
            .count();
        while self.stack.len() > 1 {
            if self.kind().is_container() {
                self.writer.note(ProblemCode::MissingCloser, end);
            }
            self.pop(end, end);
        }
        if self.stack.first().is_none_or(|root| root.count == 0) {
            return Err(self.nothing());
        }
        self.pop(end, end);
        self.writer.copy_to(end);
        if self.joined {
            self.writer.push(']');
            if self.deepest >= MAX_DEPTH {
                return Err(RepairError::TooDeep { at: 0 });
            }
        }
        let (json, fixes) = self.writer.finish();
        let end = match (self.in_string, depth) {
            (true, depth) => End::InString { depth },
            (false, 0) => End::Closed,
            (false, depth) => End::Open { depth },
        };
        Ok(Repaired { json, fixes, end })
    }

    fn nothing(&self) -> RepairError {
        const SHOWN: usize = 40;
        let at = blank_end(self.text, 0);
        let found: String = self
            .text
            .get(at..)
            .unwrap_or_default()
            .trim_end()
            .chars()
            .take(SHOWN)
            .collect();
        if found.is_empty() {
            RepairError::Empty
        } else {
            RepairError::NotJson { found, at }
        }
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn kind(&self) -> Kind {
        self.stack.last().map_or(Kind::Root, |frame| frame.kind)
    }

    pub(super) fn state(&self) -> FrameState {
        self.stack
            .last()
            .map_or(FrameState::After, |frame| frame.state)
    }

    pub(super) fn set_state(&mut self, state: FrameState) {
        if let Some(top) = self.stack.last_mut() {
            top.state = state;
        }
    }

    /// Drops `length` bytes of the input.
    pub(super) fn drop_input(&mut self, length: usize, code: ProblemCode) {
        self.writer.note(code, self.pos);
        self.writer.skip(self.pos, self.pos + length);
        self.pos += length;
    }

    pub(super) fn skip_character(&mut self) {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let length = rest.chars().next().map_or(1, char::len_utf8);
        self.drop_input(length, ProblemCode::SurroundingText);
    }

    /// Notes that a value begins here.
    pub(super) fn begin_value(&mut self) {
        let position = self.writer.position(self.pos);
        if let Some(top) = self.stack.last_mut() {
            top.latest = position;
            top.count += 1;
            top.separator = top.comma.take();
            top.string = false;
            top.state = FrameState::After;
        }
    }

    pub(super) fn push(
        &mut self,
        kind: Kind,
        closer: u8,
        opened: usize,
    ) -> Result<(), RepairError> {
        if self.stack.len() > MAX_DEPTH {
            return Err(RepairError::TooDeep { at: self.pos });
        }
        self.stack.push(Frame::new(kind, closer, opened));
        self.deepest = self.deepest.max(self.stack.len() - 1);
        Ok(())
    }

    pub(super) fn skip_blank(&mut self) {
        loop {
            match self.byte(self.pos) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.pos += 1,
                Some(b'/' | b'#') if self.at_comment() => self.skip_comment(),
                Some(b'\\') if matches!(self.byte(self.pos + 1), Some(b'n' | b'r' | b't')) => {
                    self.drop_input(2, ProblemCode::BadEscape);
                }
                Some(byte) if !(0x20..0x7f).contains(&byte) => {
                    match foreign_blank(self.text, self.pos) {
                        Some(length) => self.drop_input(length, ProblemCode::SurroundingText),
                        None => return,
                    }
                }
                _ => return,
            }
        }
    }

    fn at_comment(&self) -> bool {
        if !is_comment(self.text, self.pos) {
            return false;
        }
        // `{color: #fff}` is a value.
        let colour = self.byte(self.pos) == Some(b'#')
            && self.kind() == Kind::Object
            && self.state() == FrameState::Value
            && self
                .byte(self.pos + 1)
                .is_some_and(|byte| byte.is_ascii_alphanumeric());
        !colour
    }

    fn skip_comment(&mut self) {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let length = if rest.starts_with(b"/*") {
            let end = memchr::memmem::find(rest.get(2..).unwrap_or_default(), b"*/");
            end.map_or(rest.len(), |at| at + 4)
        } else {
            memchr::memchr(b'\n', rest)
                .or_else(|| self.comment_end_on_last_line(rest))
                .unwrap_or(rest.len())
        };
        self.drop_input(length, ProblemCode::Comment);
    }

    /// Ends a comment before the closer on the last line: where everything
    /// stands on one line, it would swallow what is still open.
    fn comment_end_on_last_line(&self, rest: &[u8]) -> Option<usize> {
        if !self.stack.iter().any(|frame| frame.kind.is_container()) {
            return None;
        }
        memchr::memchr2(b'}', b']', rest)
    }

    fn skip_ellipsis_or_fence(&mut self) -> bool {
        match self.byte(self.pos) {
            Some(b'.' | 0xe2) if self.state() != FrameState::Colon => {
                let rest = self.text.get(self.pos..).unwrap_or_default();
                let dots = rest.bytes().take_while(|&byte| byte == b'.').count();
                let length = if rest.starts_with('…') {
                    '…'.len_utf8()
                } else {
                    dots
                };
                let glued = rest
                    .as_bytes()
                    .get(length)
                    .is_some_and(u8::is_ascii_alphanumeric);
                if length < 3
                    || glued
                    || (self.kind() == Kind::Root && self.state() == FrameState::Value)
                {
                    return false;
                }
                if self.kind() == Kind::Object && self.state() == FrameState::Value {
                    self.begin_value();
                    self.writer.insert(self.pos, "null");
                }
                self.drop_input(length, ProblemCode::Ellipsis);
                true
            }
            Some(b'`') => match fence_length(self.text, self.pos) {
                Some(length) => {
                    self.skip_fence(length);
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    /// Skips the back-ticks and the name of a language behind them.
    pub(super) fn skip_fence(&mut self, length: usize) {
        let rest = self.bytes.get(self.pos + length..).unwrap_or_default();
        let name = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        let opens = rest
            .get(name)
            .is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'['));
        let name = if opens && rest.first().is_some_and(u8::is_ascii_alphabetic) {
            name
        } else {
            0
        };
        self.drop_input(length + name, ProblemCode::SurroundingText);
    }

    fn key(&mut self, byte: u8) -> Result<(), RepairError> {
        match byte {
            b',' => self.drop_input(1, ProblemCode::ExtraComma),
            b'}' | b']' | b')' => self.close(byte),
            b'{' if self.stack.last().is_some_and(|top| top.count == 0) => {
                self.drop_input(1, ProblemCode::ExtraCloser);
            }
            b'[' if self.stack.last().is_some_and(|top| top.count == 0) => self.become_array(),
            b'[' if self.reopen_array()? => {}
            b'{' | b'[' => self.close_to_list(),
            b'\\' if self.byte(self.pos + 1) == Some(b'"') => {
                self.begin_value();
                self.escaped_string();
                self.set_state(FrameState::Colon);
            }
            _ if QuoteFamily::opening(self.text, self.pos).is_some() => {
                self.begin_value();
                self.string(StringPosition::Key);
                self.set_state(FrameState::Colon);
            }
            _ => self.bare_key(),
        }
        Ok(())
    }

    fn colon(&mut self, byte: u8) {
        match byte {
            b':' => {
                self.pos += 1;
                self.set_state(FrameState::Value);
            }
            b'=' => {
                let length = 1 + usize::from(self.byte(self.pos + 1) == Some(b'>'));
                self.writer.note(ProblemCode::MissingColon, self.pos);
                self.writer.replace(self.pos, self.pos + length, ":");
                self.pos += length;
                self.set_state(FrameState::Value);
            }
            b',' | b'}' | b']' | b')' => {
                if self.stack.last().is_some_and(|top| top.count == 1) {
                    self.become_array();
                    self.set_state(FrameState::After);
                } else {
                    self.writer.note(ProblemCode::MissingColon, self.pos);
                    self.writer.insert(self.pos, ":null");
                    self.set_state(FrameState::After);
                }
            }
            _ => {
                self.writer.note(ProblemCode::MissingColon, self.pos);
                self.writer.insert(self.pos, ":");
                self.set_state(FrameState::Value);
            }
        }
    }

    pub(super) fn value(&mut self, byte: u8) -> Result<(), RepairError> {
        let position = self.writer.position(self.pos);
        match byte {
            b'{' => {
                self.begin_value();
                self.push(Kind::Object, b'}', position)?;
                self.pos += 1;
            }
            b'[' => {
                self.begin_value();
                self.push(Kind::Array, b']', position)?;
                self.pos += 1;
            }
            b'(' => {
                self.begin_value();
                self.push(Kind::Group, b')', position)?;
                self.drop_input(1, ProblemCode::SurroundingText);
            }
            b',' | b'}' | b']' | b')' if self.kind() == Kind::Object => {
                self.begin_value();
                self.writer.note(ProblemCode::ForeignLiteral, self.pos);
                self.writer.insert(self.pos, "null");
            }
            b',' => self.drop_input(1, ProblemCode::ExtraComma),
            b'}' | b']' | b')' => self.close(byte),
            b':' => self.drop_input(1, ProblemCode::SurroundingText),
            b'\\' if self.byte(self.pos + 1) == Some(b'"') => {
                self.begin_value();
                self.escaped_string();
                self.mark_string();
            }
            _ if QuoteFamily::opening(self.text, self.pos).is_some() => {
                self.begin_value();
                self.string(StringPosition::Value);
                self.mark_string();
            }
            _ => self.word()?,
        }
        Ok(())
    }

    pub(super) fn mark_string(&mut self) {
        if let Some(top) = self.stack.last_mut() {
            top.string = true;
        }
    }
}
