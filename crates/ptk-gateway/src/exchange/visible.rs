//! The text of a reply that a client sees: nothing after a stop sequence, no
//! blanks around calls, and nothing at all before it is certain that text is
//! wanted.

/// Text on its way to a client.
#[derive(Debug, Default)]
pub(super) struct Visible {
    stops: Vec<String>,
    /// Text that may be the beginning of a stop sequence.
    tail: String,
    /// Blanks that only matter if text follows.
    blanks: String,
    /// Text that waits until it is known whether it is wanted.
    held: Option<String>,
    /// The stop sequence that was reached.
    stopped_at: Option<String>,
    has_calls: bool,
}

impl Visible {
    pub(super) fn new(stops: &[String], is_held: bool) -> Self {
        Self {
            stops: stops
                .iter()
                .filter(|stop| !stop.is_empty())
                .cloned()
                .collect(),
            held: is_held.then(String::new),
            ..Self::default()
        }
    }

    pub(super) fn stopped_at(&self) -> Option<&str> {
        self.stopped_at.as_deref()
    }

    /// Adds further text.
    pub(super) fn push(&mut self, text: &str, tell: &mut dyn FnMut(&str)) {
        if self.stopped_at.is_some() {
            return;
        }
        if self.stops.is_empty() {
            return self.parsed(text, tell);
        }
        self.tail.push_str(text);
        let found = self
            .stops
            .iter()
            .filter_map(|stop| Some((self.tail.find(stop.as_str())?, stop)));
        if let Some((at, stop)) = found.min_by_key(|(at, _)| *at) {
            self.stopped_at = Some(stop.clone());
            let tail = std::mem::take(&mut self.tail);
            return self.parsed(tail.get(..at).unwrap_or_default(), tell);
        }
        let keep = self
            .stops
            .iter()
            .map(|stop| overlap(&self.tail, stop))
            .max();
        let sure = self.tail.len() - keep.unwrap_or(0);
        let kept = self.tail.split_off(sure);
        let sure = std::mem::replace(&mut self.tail, kept);
        self.parsed(&sure, tell);
    }

    /// Ends a part of the text: the text so far is sent, whatever follows.
    pub(super) fn settle(&mut self, tell: &mut dyn FnMut(&str)) {
        if self.stopped_at.is_some() {
            return;
        }
        self.flush_tail(tell);
        let blanks = std::mem::take(&mut self.blanks);
        self.out(&blanks, tell);
    }

    /// Marks a call, or an invalid one: blanks around it do not matter.
    pub(super) fn aside(&mut self) {
        self.has_calls = true;
    }

    /// Prepares for a call: the text before it is sent, blanks are not.
    pub(super) fn call(&mut self, tell: &mut dyn FnMut(&str)) {
        self.flush_tail(tell);
        self.blanks.clear();
        self.has_calls = true;
        self.release(tell);
    }

    /// Forgets all text so far: it was not meant for the client.
    pub(super) fn clear(&mut self) {
        self.tail.clear();
        self.blanks.clear();
        self.has_calls = false;
        if let Some(held) = &mut self.held {
            held.clear();
        }
    }

    /// Ends the reply. Text that is held back is returned for the caller to
    /// decide.
    pub(super) fn end(&mut self, tell: &mut dyn FnMut(&str)) -> Option<String> {
        self.flush_tail(tell);
        if !self.has_calls && self.stopped_at.is_none() {
            let blanks = std::mem::take(&mut self.blanks);
            self.out(&blanks, tell);
        }
        self.held.take()
    }

    fn flush_tail(&mut self, tell: &mut dyn FnMut(&str)) {
        let tail = std::mem::take(&mut self.tail);
        self.parsed(&tail, tell);
    }

    fn release(&mut self, tell: &mut dyn FnMut(&str)) {
        if let Some(held) = self.held.take().filter(|held| !held.is_empty()) {
            tell(&held);
        }
    }

    fn parsed(&mut self, text: &str, tell: &mut dyn FnMut(&str)) {
        let words = text.trim_end();
        if words.is_empty() {
            return self.blanks.push_str(text);
        }
        if self.blanks.is_empty() {
            self.out(words, tell);
        } else {
            let mut all = std::mem::take(&mut self.blanks);
            all.push_str(words);
            self.out(&all, tell);
        }
        self.blanks
            .push_str(text.get(words.len()..).unwrap_or_default());
    }

    fn out(&mut self, text: &str, tell: &mut dyn FnMut(&str)) {
        match &mut self.held {
            Some(held) => held.push_str(text),
            None if text.is_empty() => {}
            None => tell(text),
        }
    }
}

/// How many bytes at the end of a text begin a stop sequence.
fn overlap(text: &str, stop: &str) -> usize {
    let most = stop.len().min(text.len() + 1).saturating_sub(1);
    let mut lengths = (1..=most).rev();
    let fits = |length: &usize| {
        stop.as_bytes()
            .get(..*length)
            .is_some_and(|it| text.as_bytes().ends_with(it))
    };
    lengths.find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen of these pieces.
    fn seen(stops: &[&str], pieces: &[&str]) -> (String, Option<String>) {
        let stops: Vec<String> = stops.iter().map(|&stop| stop.to_owned()).collect();
        let mut visible = Visible::new(&stops, false);
        let mut seen = String::new();
        let mut tell = |text: &str| seen.push_str(text);
        for piece in pieces {
            visible.push(piece, &mut tell);
        }
        visible.end(&mut tell);
        (seen, visible.stopped_at().map(str::to_owned))
    }

    #[test]
    fn nothing_is_seen_behind_a_text_to_stop_at_however_it_is_cut() {
        let text = "one two STOP three";
        let whole = (String::from("one two"), Some("STOP".to_owned()));
        for cut in 0..=text.len() {
            let (before, behind) = text.split_at(cut);
            assert_eq!(seen(&["STOP"], &[before, behind]), whole, "cut at {cut}");
        }
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(seen(&["STOP"], &letters), whole);
    }

    #[test]
    fn what_only_begins_like_it_is_seen() {
        assert_eq!(seen(&["STOP"], &["a ST", "UB S"]).0, "a STUB S");
        assert_eq!(seen(&["ab", "bc"], &["xa", "c", "b"]).0, "xacb");
        assert_eq!(seen(&["é!"], &["Ren\u{e9}", "?"]).0, "René?");
    }

    #[test]
    fn the_first_place_counts() {
        assert_eq!(
            seen(&["two", "one"], &["zero one two"]),
            ("zero".to_owned(), Some("one".to_owned()))
        );
    }

    #[test]
    fn blanks_around_calls_are_not_seen() {
        let mut visible = Visible::new(&[], false);
        let mut seen = String::new();
        visible.push("\n ", &mut |text| seen.push_str(text));
        visible.push("I look.\n\n", &mut |text| seen.push_str(text));
        visible.call(&mut |text| seen.push_str(text));
        visible.push("\n", &mut |text| seen.push_str(text));
        visible.end(&mut |text| seen.push_str(text));
        assert_eq!(seen, "\n I look.");
    }
}
