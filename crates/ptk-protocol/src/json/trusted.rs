//! The part before the first fault, which is known to be valid: it is only
//! walked through, so that one fault does not make a long text slow.

use super::RepairError;
use super::frame::{FrameState, Kind};
use super::repair::Repairer;
use super::undoubled::{Doubt, doubt};

/// How far before the fault the careful reading begins: a fault may have its
/// cause in a string before it.
const MARGIN: usize = 4096;

impl Repairer<'_> {
    /// Walks through the valid beginning of the text. The first fault stands
    /// at `fault` or behind it.
    pub(super) fn walk_valid(&mut self, fault: usize) -> Result<(), RepairError> {
        let limit = fault.saturating_sub(MARGIN);
        while let Some(byte) = self.byte(self.pos).filter(|_| self.pos < limit) {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.pos += 1,
                b'{' => self.walk_into(Kind::Object, b'}')?,
                b'[' => self.walk_into(Kind::Array, b']')?,
                b'}' | b']' if self.stack.len() > 2 => {
                    self.stack.pop();
                    self.pos += 1;
                }
                b'}' | b']' => return Ok(()),
                b',' => {
                    let position = self.pos;
                    if let Some(top) = self.stack.last_mut() {
                        top.comma = Some(position);
                        top.state = match top.kind {
                            Kind::Object => FrameState::Key,
                            Kind::Root | Kind::Array | Kind::Group => FrameState::Value,
                        };
                    }
                    self.pos += 1;
                }
                b':' => {
                    self.set_state(FrameState::Value);
                    self.pos += 1;
                }
                b'"' => match self.valid_string_end(limit) {
                    Some(end) => self.walk_over(end, byte),
                    None => return Ok(()),
                },
                _ => {
                    let rest = self.bytes.get(self.pos..).unwrap_or_default();
                    let length = rest.iter().position(|byte| {
                        matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
                    });
                    match length {
                        Some(length) => self.walk_over(self.pos + length, byte),
                        None => return Ok(()),
                    }
                }
            }
        }
        Ok(())
    }

    fn walk_into(&mut self, kind: Kind, closer: u8) -> Result<(), RepairError> {
        self.begin_value();
        self.push(kind, closer, self.pos)?;
        self.pos += 1;
        Ok(())
    }

    fn walk_over(&mut self, end: usize, first: u8) {
        let is_key = self.state() == FrameState::Key;
        self.begin_value();
        if is_key {
            self.set_state(FrameState::Colon);
        } else if first == b'"' {
            self.mark_string();
        }
        self.pos = end;
    }

    fn valid_string_end(&self, limit: usize) -> Option<usize> {
        let mut at = self.pos + 1;
        loop {
            at += memchr::memchr2(b'"', b'\\', self.bytes.get(at..limit)?)?;
            if self.byte(at) == Some(b'"') {
                return Some(at + 1);
            }
            // What is valid here may still be read otherwise.
            let content = self.bytes.get(self.pos + 1..)?;
            if doubt(content, at - self.pos - 1) != Doubt::No {
                return None;
            }
            at += 2;
        }
    }
}
