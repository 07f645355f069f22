//! Handles the text around the value: prose, fences, wrappers, further values.

use crate::ProblemCode;

use super::RepairError;
use super::blank::{blank_end, fence_length};
use super::frame::{FrameState, Kind};
use super::quotes::QuoteFamily;
use super::repair::Repairer;

impl Repairer<'_> {
    /// Goes to where the value begins.
    pub(super) fn find_start(&mut self) -> Result<(), RepairError> {
        loop {
            self.skip_blank();
            let Some(byte) = self.byte(self.pos) else {
                return Ok(());
            };
            match byte {
                b'{' | b'[' if fence_length(self.text, self.pos + 1).is_some() => {
                    self.drop_input(1, ProblemCode::SurroundingText);
                }
                b'(' => match self.label_end(self.pos) {
                    Some(end) => self.drop_input(end - self.pos, ProblemCode::SurroundingText),
                    None => return Ok(()),
                },
                b'{' | b'[' => return Ok(()),
                b'`' => match fence_length(self.text, self.pos) {
                    Some(length) => self.skip_fence(length),
                    None => return Ok(()),
                },
                b'}' | b']' | b')' => self.drop_input(1, ProblemCode::ExtraCloser),
                b',' => self.drop_input(1, ProblemCode::ExtraComma),
                b':' | b';' => self.drop_input(1, ProblemCode::SurroundingText),
                b'\\' if self.byte(self.pos + 1) == Some(b'"') => return Ok(()),
                _ => match QuoteFamily::opening(self.text, self.pos) {
                    // A quote and nothing else is the value of nothing.
                    Some((_, length)) if self.is_last(self.pos + length) => {
                        self.drop_input(length, ProblemCode::MissingQuotes);
                    }
                    Some(_) => return Ok(()),
                    None => return self.find_in_prose(),
                },
            }
        }
    }

    fn is_last(&self, at: usize) -> bool {
        self.text
            .get(at..)
            .is_none_or(|rest| rest.trim().is_empty())
    }

    fn find_in_prose(&mut self) -> Result<(), RepairError> {
        let end = self.look.name_end(self.pos);
        let open = blank_end(self.text, end);
        if let Some(end) = self.label_end(open) {
            self.drop_input(end - self.pos, ProblemCode::SurroundingText);
            return Ok(());
        }
        if end > self.pos && self.byte(open) == Some(b'(') && self.look.is_value(open + 1) {
            self.begin_value();
            let position = self.writer.position(self.pos);
            self.push(Kind::Group, b')', position)?;
            self.drop_input(open + 1 - self.pos, ProblemCode::SurroundingText);
            return Ok(());
        }
        if !self.look.is_value(self.pos)
            && let Some(start) = self.json_in(self.pos)
        {
            self.drop_input(start - self.pos, ProblemCode::SurroundingText);
        }
        Ok(())
    }

    /// Where the value begins behind a label such as the `(1)` of
    /// `Call (1): {"a": 1}`.
    fn label_end(&self, open: usize) -> Option<usize> {
        const LONGEST: usize = 32;
        let rest = self.bytes.get(open..)?;
        let rest = rest.get(..LONGEST).unwrap_or(rest);
        let label = rest.strip_prefix(b"(")?;
        let length = label
            .iter()
            .position(|byte| !byte.is_ascii_alphanumeric())?;
        let closer = open + 1 + length;
        if length == 0 || self.byte(closer) != Some(b')') {
            return None;
        }
        let mut next = blank_end(self.text, closer + 1);
        if matches!(self.byte(next), Some(b':' | b'.' | b'-')) {
            next = blank_end(self.text, next + 1);
        }
        matches!(self.byte(next), Some(b'{' | b'[')).then_some(next)
    }

    /// The first place from `from` on that looks like an object or array; one
    /// that looks more like it is preferred to `[1]` and `{}`.
    fn json_in(&mut self, from: usize) -> Option<usize> {
        let mut faint = None;
        for offset in memchr::memchr2_iter(b'{', b'[', self.bytes.get(from..)?) {
            let at = from + offset;
            let inside = blank_end(self.text, at + 1);
            let quoted = QuoteFamily::opening(self.text, inside).is_some()
                || (self.byte(inside) == Some(b'\\') && self.byte(inside + 1) == Some(b'"'));
            let object = self.byte(at) == Some(b'{');
            let sure = if object {
                quoted || self.look.is_key(inside)
            } else {
                quoted || matches!(self.byte(inside), Some(b'{' | b'['))
            };
            if sure {
                return Some(at);
            }
            let plausible = match self.byte(inside) {
                None | Some(b']' | b'}') => true,
                Some(_) => !object && self.look.is_value(inside),
            };
            if plausible && faint.is_none() {
                faint = Some(at);
            }
        }
        faint
    }

    /// Handles what follows a value at the top level.
    pub(super) fn after_root(&mut self, byte: u8) -> Result<(), RepairError> {
        let latest_is_text = self.stack.last().is_some_and(|root| root.string);
        match byte {
            b'}' | b']' | b')' => self.drop_input(1, ProblemCode::ExtraCloser),
            b';' => self.drop_input(1, ProblemCode::SurroundingText),
            b'+' if latest_is_text => self.join_strings(),
            b':' if latest_is_text && self.look.is_value(self.pos + 1) => {
                self.open_before_latest()?;
            }
            b',' => {
                let next = blank_end(self.text, self.pos + 1);
                if self.look.is_value(next) {
                    self.join(next);
                } else {
                    self.drop_input(1, ProblemCode::ExtraComma);
                }
            }
            b'{' | b'[' => self.join(self.pos),
            _ if self.stands_alone() => self.join(self.pos),
            _ => self.skip_prose(),
        }
        Ok(())
    }

    /// Whether a further scalar begins here: on a line of its own, after a
    /// scalar.
    fn stands_alone(&self) -> bool {
        let before = self.text.get(..self.pos).unwrap_or_default();
        let blank = before.trim_end_matches([' ', '\t', '\r', '\n']);
        let own_line = before
            .get(blank.len()..)
            .is_some_and(|gap| gap.contains('\n'));
        own_line && !blank.ends_with(['}', ']', '`', ')', ';'])
    }

    fn join(&mut self, next: usize) {
        self.writer.note(ProblemCode::Joined, self.pos);
        if !self.joined {
            self.joined = true;
            let opened = self.stack.first().map_or(0, |root| root.opened);
            self.writer.insert_back(self.pos, opened, '[');
        }
        let comma = self.writer.position(self.pos);
        self.writer.replace(self.pos, next, ",");
        self.pos = next;
        if let Some(root) = self.stack.first_mut() {
            root.comma = Some(comma);
            root.state = FrameState::Value;
        }
    }

    /// Skips the rest, up to a further fence that holds JSON.
    fn skip_prose(&mut self) {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let fence = memchr::memmem::find_iter(rest, b"```").find(|&at| {
            let inside = rest.get(at..).unwrap_or_default();
            let mark = inside
                .iter()
                .take_while(|byte| **byte == b'`' || byte.is_ascii_alphanumeric())
                .count();
            let content = inside.get(mark..).unwrap_or_default().trim_ascii_start();
            matches!(content.first(), Some(b'{' | b'['))
        });
        self.drop_input(fence.unwrap_or(rest.len()), ProblemCode::SurroundingText);
    }
}
