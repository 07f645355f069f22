//! Decodes tokens to text: whole characters, and no stop sequences.

/// Generated text, cut at stop sequences.
#[derive(Debug)]
pub(super) struct Output {
    stops: Vec<String>,
    /// Bytes that are not a whole character yet.
    bytes: Vec<u8>,
    /// Text that may be the beginning of a stop sequence.
    held: String,
    is_stopped: bool,
}

impl Output {
    pub(super) fn new(stops: &[String]) -> Self {
        Self {
            stops: stops
                .iter()
                .filter(|stop| !stop.is_empty())
                .cloned()
                .collect(),
            bytes: Vec::new(),
            held: String::new(),
            is_stopped: false,
        }
    }

    /// Adds bytes, and returns the text that is final.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.bytes.extend_from_slice(bytes);
        let whole = whole(&self.bytes);
        let rest = self.bytes.split_off(whole);
        let text = std::mem::replace(&mut self.bytes, rest);
        self.held.push_str(&String::from_utf8_lossy(&text));
        self.told()
    }

    /// Whether a stop sequence was generated.
    pub(super) const fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// The rest of the text, at the end.
    pub(super) fn finish(mut self) -> String {
        if !self.is_stopped {
            self.held.push_str(&String::from_utf8_lossy(&self.bytes));
        }
        self.held
    }

    fn told(&mut self) -> String {
        let at = self
            .stops
            .iter()
            .filter_map(|stop| self.held.find(stop))
            .min();
        if let Some(at) = at {
            self.is_stopped = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let kept = self.stops.iter().map(|stop| beginning(&self.held, stop));
        let kept = kept.max().unwrap_or(0);
        let held = self.held.split_off(self.held.len() - kept);
        std::mem::replace(&mut self.held, held)
    }
}

/// How many bytes at the end of a text begin a stop sequence.
fn beginning(text: &str, stop: &str) -> usize {
    let lengths = stop.char_indices().map(|(at, _)| at).rev();
    let mut beginnings = lengths.filter_map(|at| stop.get(..at));
    beginnings
        .find(|beginning| text.ends_with(beginning))
        .map_or(0, str::len)
}

/// How many bytes are whole characters. Invalid bytes count as such, and are
/// decoded as replacement characters.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(error) => {
            let bad = error.valid_up_to() + error.error_len().unwrap_or(1);
            bad + whole(bytes.get(bad..).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Output;

    fn told(stops: &[&str], pieces: &[&[u8]]) -> (String, bool) {
        let stops: Vec<String> = stops.iter().map(|&stop| stop.to_owned()).collect();
        let mut output = Output::new(&stops);
        let mut text = String::new();
        for piece in pieces {
            text.push_str(&output.push(piece));
            if output.is_stopped() {
                break;
            }
        }
        let is_stopped = output.is_stopped();
        text.push_str(&output.finish());
        (text, is_stopped)
    }

    #[test]
    fn characters_come_whole() {
        let crab = "a🦀b".as_bytes();
        for at in 0..crab.len() {
            let (head, tail) = crab.split_at(at);
            assert_eq!(told(&[], &[head, tail]), ("a🦀b".to_owned(), false));
        }
        let broken = b"a\xffb\xf0\x9f".as_slice();
        assert_eq!(told(&[], &[broken]).0, "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn nothing_of_a_stop_is_told() {
        let text = "one\nUser: two".as_bytes();
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            let (told, is_stopped) = told(&["\nUser:", "x"], &[head, tail]);
            assert_eq!((told.as_str(), is_stopped), ("one", true));
        }
        assert_eq!(told(&["END"], &[b"the EN", b"D"]).0, "the ");
        assert_eq!(told(&["END"], &[b"the EN", b"G"]).0, "the ENG");
        assert_eq!(told(&["END"], &[b"the EN"]).0, "the EN");
    }
}
