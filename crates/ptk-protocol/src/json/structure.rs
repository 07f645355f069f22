//! Handles commas and closers.

use crate::ProblemCode;

use super::RepairError;
use super::blank::{blank_end, fence_length, operand_start};
use super::frame::{FrameState, Kind};
use super::quotes::QuoteFamily;
use super::repair::Repairer;

impl Repairer<'_> {
    /// Handles what follows a value inside a container.
    pub(super) fn after_value(&mut self, byte: u8) -> Result<(), RepairError> {
        let kind = self.kind();
        match byte {
            b',' => {
                self.expect_another(self.pos);
                self.pos += 1;
            }
            b'}' | b']' | b')' => self.close(byte),
            b';' => self.drop_input(1, ProblemCode::ExtraComma),
            b'+' => self.join_strings(),
            b':' if kind == Kind::Array && self.stack.last().is_some_and(|top| top.string) => {
                if !self.close_before_latest() {
                    self.open_before_latest()?;
                }
            }
            b':' if kind == Kind::Object && self.stack.last().is_some_and(|top| top.string) => {
                self.open_before_latest()?;
            }
            b':' => self.drop_input(1, ProblemCode::SurroundingText),
            b'[' if kind == Kind::Object && self.reopen_array()? => {}
            b'{' | b'[' if kind == Kind::Object => self.close_to_list(),
            _ if self.skip_note() => {}
            _ => {
                self.writer.note(ProblemCode::MissingComma, self.pos);
                self.expect_another(self.pos);
                self.writer.insert(self.pos, ",");
            }
        }
        Ok(())
    }

    /// Expects another member or element; parentheses around several values are
    /// a tuple.
    fn expect_another(&mut self, at: usize) {
        if self.kind() == Kind::Group {
            self.become_tuple(at);
        }
        let position = self.writer.position(at);
        let Some(top) = self.stack.last_mut() else {
            return;
        };
        top.comma = Some(position);
        top.state = match top.kind {
            Kind::Object => FrameState::Key,
            Kind::Root | Kind::Array | Kind::Group => FrameState::Value,
        };
    }

    fn become_tuple(&mut self, at: usize) {
        if let Some(top) = self.stack.last_mut() {
            top.kind = Kind::Array;
            let opened = top.opened;
            self.writer.insert_back(at, opened, '[');
        }
    }

    /// Closes the array before the latest key, as in `{"a": [1, "key": 2`.
    fn close_before_latest(&mut self) -> bool {
        let parent = self.stack.len().checked_sub(2);
        let in_object = parent
            .and_then(|index| self.stack.get(index))
            .is_some_and(|frame| frame.kind == Kind::Object);
        let Some(array) = self.stack.last().filter(|_| in_object) else {
            return false;
        };
        let (Some(separator), latest) = (array.separator, array.latest) else {
            return false;
        };
        // After an object, another object is more likely to begin.
        if self.writer.ends_before(self.pos, separator, '}') {
            return false;
        }
        self.writer.note(ProblemCode::MissingCloser, self.pos);
        self.writer.insert_back(self.pos, separator, ']');
        self.stack.pop();
        if let Some(object) = self.stack.last_mut() {
            object.latest = latest + 1;
            object.separator = Some(separator + 1);
            object.count += 1;
            object.state = FrameState::Value;
        }
        self.pos += 1;
        true
    }

    /// Inserts the brace that is missing before the latest key, as in
    /// `["key": 1` and `"key": 1`.
    pub(super) fn open_before_latest(&mut self) -> Result<(), RepairError> {
        let Some(top) = self.stack.last_mut() else {
            return Ok(());
        };
        top.string = false;
        let latest = top.latest;
        self.writer.note(ProblemCode::MissingCloser, self.pos);
        self.writer.insert_back(self.pos, latest, '{');
        self.push(Kind::Object, b'}', latest)?;
        if let Some(top) = self.stack.last_mut() {
            top.count = 1;
            top.state = FrameState::Value;
        }
        self.pos += 1;
        Ok(())
    }

    /// Joins strings such as `"a" + "b"`.
    pub(super) fn join_strings(&mut self) {
        let operand = operand_start(self.text, self.pos);
        let strings = self.stack.last().is_some_and(|top| top.string)
            && QuoteFamily::opening(self.text, operand).is_some()
            && fence_length(self.text, operand).is_none();
        if !strings || !self.writer.reopen_string(self.pos) {
            self.drop_input(1, ProblemCode::Joined);
            return;
        }
        self.writer.note(ProblemCode::Joined, self.pos);
        let comment = blank_end(self.text, self.pos + 1);
        if comment < operand {
            self.writer.note(ProblemCode::Comment, comment);
        }
        self.writer.skip(self.pos, operand);
        self.pos = operand;
        self.continue_string();
    }

    /// Turns a set into an array.
    pub(super) fn become_array(&mut self) {
        let Some(top) = self.stack.last_mut() else {
            return;
        };
        top.kind = Kind::Array;
        top.state = FrameState::Value;
        let opened = top.opened;
        self.writer.note(ProblemCode::ExtraCloser, self.pos);
        self.writer.take_back(self.pos, opened);
        self.writer.insert_back(self.pos, opened, '[');
    }

    /// Goes on with the array that is the latest value, as in `["x"], ["y"]`,
    /// where only a key can stand: the opener at hand is dropped.
    pub(super) fn reopen_array(&mut self) -> Result<bool, RepairError> {
        let Some(top) = self.stack.last() else {
            return Ok(false);
        };
        let (latest, comma) = (top.latest, top.comma);
        let Some(closer) = self.writer.array_end(self.pos, latest, comma) else {
            return Ok(false);
        };
        self.writer.note(ProblemCode::Joined, self.pos);
        let is_empty = self.writer.ends_before(self.pos, closer, '[');
        if let Some(comma) = comma.filter(|_| is_empty) {
            self.writer.take_back(self.pos, comma);
        }
        self.writer.take_back(self.pos, closer);
        if let Some(top) = self.stack.last_mut() {
            top.comma = None;
            top.state = FrameState::After;
        }
        self.push(Kind::Array, b']', latest)?;
        if comma.is_none() && !is_empty {
            self.writer.insert(self.pos, ",");
        }
        let after_comma = self.writer.position(self.pos);
        if let Some(array) = self.stack.last_mut()
            && !is_empty
        {
            // An array that ends at once leaves a comma to take back.
            array.comma = Some(comma.unwrap_or(after_comma) - 1);
            array.count = 1;
        }
        self.writer.skip(self.pos, self.pos + 1);
        self.pos += 1;
        Ok(true)
    }

    /// Leaves out a note behind a value, as in `"a.txt" (the file)`.
    fn skip_note(&mut self) -> bool {
        match self.look.note_end(self.kind(), self.pos) {
            Some(end) => {
                self.drop_input(end - self.pos, ProblemCode::SurroundingText);
                true
            }
            None => false,
        }
    }

    /// Closes containers up to the nearest list, which can hold an object or
    /// array that cannot stand here.
    pub(super) fn close_to_list(&mut self) {
        while self.kind() == Kind::Object {
            self.writer.note(ProblemCode::MissingCloser, self.pos);
            self.pop(self.pos, self.pos);
        }
    }

    /// Deals with a closer, whether it is the right one or not.
    pub(super) fn close(&mut self, closer: u8) {
        let next = self.pos + 1;
        let Some(below) = self.stack.iter().rposition(|frame| frame.closer == closer) else {
            let lone = self.stack.len() == 1
                || closer == b')'
                || !matches!(
                    self.byte(blank_end(self.text, next)),
                    None | Some(b'}' | b']' | b')' | b'`')
                );
            if lone {
                self.drop_input(1, ProblemCode::ExtraCloser);
            } else {
                self.writer.note(ProblemCode::ExtraCloser, self.pos);
                self.pop(self.pos, next);
                self.pos = next;
            }
            return;
        };
        let top = self.stack.len() - 1;
        if below == top {
            if self.closes_too_early() {
                self.drop_input(1, ProblemCode::ExtraCloser);
                return;
            }
        } else if below + 1 == top && self.is_typing_error(below) {
            self.writer.note(ProblemCode::ExtraCloser, self.pos);
            self.pop(self.pos, next);
            self.pos = next;
            return;
        }
        while self.stack.len() - 1 > below {
            if self.kind().is_container() {
                self.writer.note(ProblemCode::MissingCloser, self.pos);
            }
            self.pop(self.pos, self.pos);
        }
        self.pop(self.pos, next);
        self.pos = next;
    }

    /// Whether a key follows where there can be none: `{"a": 1}, "b": 2}`.
    fn closes_too_early(&mut self) -> bool {
        let outside = self
            .stack
            .len()
            .checked_sub(2)
            .and_then(|parent| self.stack.get(parent));
        let Some(parent) = outside else {
            return false;
        };
        let comma = blank_end(self.text, self.pos + 1);
        self.kind() == Kind::Object
            && parent.kind == Kind::Root
            && self.byte(comma) == Some(b',')
            && self.look.is_sure_key(blank_end(self.text, comma + 1))
    }

    /// Whether a closer is the wrong one by mistake, as in
    /// `{"a": [1}, "b": 2}`: taken for the other kind the rest fits,
    /// otherwise it would stand outside of everything.
    fn is_typing_error(&mut self, below: usize) -> bool {
        let comma = blank_end(self.text, self.pos + 1);
        if self.byte(comma) != Some(b',') {
            return false;
        }
        let following = blank_end(self.text, comma + 1);
        let outside = below.checked_sub(1).and_then(|index| self.stack.get(index));
        match outside.map(|frame| frame.kind) {
            Some(Kind::Object) => false,
            Some(Kind::Array) => self.kind() == Kind::Array && self.look.is_sure_key(following),
            _ if self.kind() == Kind::Array => self.look.is_sure_key(following),
            _ => following < self.bytes.len(),
        }
    }

    /// Closes the top; the input from `from` to `to` is its closer.
    pub(super) fn pop(&mut self, from: usize, to: usize) {
        let Some(frame) = self.stack.pop() else {
            return;
        };
        if let Some(comma) = frame.comma {
            self.writer.note(ProblemCode::ExtraComma, from);
            self.writer.take_back(from, comma);
        }
        match (frame.kind, frame.state) {
            (Kind::Object, FrameState::Colon) => {
                self.writer.note(ProblemCode::MissingColon, from);
                self.writer.insert(from, ":null");
            }
            (Kind::Object, FrameState::Value) => {
                self.writer.note(ProblemCode::ForeignLiteral, from);
                self.writer.insert(from, "null");
            }
            _ => {}
        }
        let closer = match frame.kind {
            Kind::Object => "}",
            Kind::Array => "]",
            Kind::Group if frame.count == 0 => "[]",
            Kind::Group | Kind::Root => "",
        };
        if self.text.get(from..to) != Some(closer) {
            self.writer.replace(from, to, closer);
        }
    }
}
