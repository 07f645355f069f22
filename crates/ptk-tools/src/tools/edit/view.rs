//! A text without what a step of tolerance ignores, and the mapping back from
//! it to the text itself.

use std::ops::Range;

use memchr::memmem;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;

use super::lookalikes::{is_blank, plain};

/// What is ignored; each step includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Blur {
    LineEndings,
    TrailingSpace,
    Lookalikes,
}

/// A blurred text.
#[derive(Debug)]
pub(super) struct View {
    text: String,
    /// For each byte, where in the original the part begins and ends that it
    /// came from.
    from: Vec<(u32, u32)>,
}

impl View {
    pub(super) fn new(original: &str, blur: Blur) -> Self {
        let mut view = Self {
            text: String::with_capacity(original.len()),
            from: Vec::with_capacity(original.len()),
        };
        let mut at = 0;
        while let Some(rest) = original.get(at..).filter(|rest| !rest.is_empty()) {
            at += view.step(at, rest, blur);
        }
        view
    }

    /// Takes the next part, and returns how long it was.
    fn step(&mut self, at: usize, rest: &str, blur: Blur) -> usize {
        if rest.starts_with("\r\n") {
            self.push("\n", at, 2);
            return 2;
        }
        if blur >= Blur::TrailingSpace {
            let blank = |c: char| match blur {
                Blur::Lookalikes => is_blank(c),
                _ => c == ' ' || c == '\t',
            };
            let run = rest.len() - rest.trim_start_matches(blank).len();
            if run > 0 {
                let behind = rest.get(run..).unwrap_or_default();
                if behind.starts_with('\n') || behind.starts_with("\r\n") {
                    return run;
                }
                return self.spaces(at, rest, run, blur);
            }
        }
        let mut chars = rest.chars();
        let Some(first) = chars.next() else {
            return rest.len().max(1);
        };
        let marks = match blur {
            Blur::Lookalikes if !rest.as_bytes().get(1).is_none_or(u8::is_ascii) => chars
                .take_while(|c| canonical_combining_class(*c) != 0)
                .map(char::len_utf8)
                .sum(),
            _ => 0,
        };
        let length = first.len_utf8() + marks;
        let cluster = rest.get(..length).unwrap_or_default();
        match plain(first).filter(|_| blur == Blur::Lookalikes && marks == 0) {
            Some(plain) => self.push(plain, at, length),
            None if blur == Blur::Lookalikes && !cluster.is_ascii() => {
                let decomposed: String = cluster.nfd().collect();
                self.push(&decomposed, at, length);
            }
            None => self.push(cluster, at, length),
        }
        length
    }

    /// Takes white space within a line, one character after the other.
    fn spaces(&mut self, at: usize, rest: &str, run: usize, blur: Blur) -> usize {
        let run = rest.get(..run).unwrap_or_default();
        for (offset, c) in run.char_indices() {
            let mut buffer = [0; 4];
            let shown = match plain(c).filter(|_| blur == Blur::Lookalikes) {
                Some(plain) => plain,
                None => c.encode_utf8(&mut buffer),
            };
            self.push(shown, at + offset, c.len_utf8());
        }
        run.len()
    }

    fn push(&mut self, text: &str, at: usize, length: usize) {
        let start = u32::try_from(at).unwrap_or(u32::MAX);
        let end = u32::try_from(at + length).unwrap_or(u32::MAX);
        self.text.push_str(text);
        self.from
            .extend(std::iter::repeat_n((start, end), text.len()));
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The part of the original that a part of the view came from; `None` if
    /// its ends fall into the middle of something.
    pub(super) fn original(&self, part: Range<usize>) -> Option<Range<usize>> {
        let last = part.end.checked_sub(1)?;
        let (start, _) = *self.from.get(part.start)?;
        let (_, end) = *self.from.get(last)?;
        (self.is_edge(part.start) && self.is_edge(part.end)).then_some(start as usize..end as usize)
    }

    /// Whether one part of the original ends here and another begins.
    pub(super) fn is_edge(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.from.get(before));
        before.is_none() || before != self.from.get(at)
    }

    /// The next place where one part of the original ends and another begins.
    pub(super) fn next_edge(&self, at: usize) -> Option<usize> {
        (at + 1..=self.from.len()).find(|at| self.is_edge(*at))
    }

    /// Where in the original the part ends that stands before a place.
    pub(super) fn seen(&self, at: usize) -> usize {
        let before = at.checked_sub(1).and_then(|before| self.from.get(before));
        before.map_or(0, |(_, end)| *end as usize)
    }

    /// Where a place in the original is in the view; `None` if it is in the
    /// middle of something.
    pub(super) fn edge(&self, original: usize) -> Option<usize> {
        let at = self
            .from
            .partition_point(|(start, _)| (*start as usize) < original);
        let before = at.checked_sub(1).and_then(|before| self.from.get(before));
        before
            .is_none_or(|(_, end)| *end as usize <= original)
            .then_some(at)
    }
}

/// Where a text occurs, places that overlap a former one aside. If there is
/// only one, one that overlaps it counts too.
pub(super) fn occurrences(text: &str, wanted: &str) -> Vec<usize> {
    occurrences_where(text, wanted, |_| true)
}

/// Where a text occurs, of places that count.
pub(super) fn occurrences_where(
    text: &str,
    wanted: &str,
    counts: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let finder = memmem::Finder::new(wanted);
    let next = |mut from: usize| loop {
        let at = from + finder.find(text.as_bytes().get(from..)?)?;
        if counts(at) {
            return Some(at);
        }
        from = at + 1;
    };
    let mut found: Vec<usize> =
        std::iter::successors(next(0), |at| next(at + wanted.len())).collect();
    if let [only] = found.as_slice() {
        let second = next(only + 1);
        found.extend(second);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_finds_its_way_back() {
        let original = "a \t\r\n\u{201c}e\u{301}\u{201d}\u{200b} b";
        let view = View::new(original, Blur::Lookalikes);
        assert_eq!(view.as_str(), "a\n\"e\u{301}\" b");
        let quoted = view.as_str().find('"').unwrap();
        let range = view.original(quoted..quoted + 5).unwrap();
        assert_eq!(original.get(range).unwrap(), "\u{201c}e\u{301}\u{201d}");
        // Not into the middle of an accented letter.
        assert_eq!(view.original(quoted..quoted + 2), None);
    }

    #[test]
    fn each_step_blurs_more() {
        let text = "a \r\n\u{2018}b\u{2019}";
        assert_eq!(
            View::new(text, Blur::LineEndings).as_str(),
            "a \n\u{2018}b\u{2019}"
        );
        assert_eq!(
            View::new(text, Blur::TrailingSpace).as_str(),
            "a\n\u{2018}b\u{2019}"
        );
        assert_eq!(View::new(text, Blur::Lookalikes).as_str(), "a\n'b'");
    }

    #[test]
    fn places_that_overlap_are_seen() {
        assert_eq!(occurrences("aaa", "aa"), [0, 1]);
        assert_eq!(occurrences("abab", "ab"), [0, 2]);
        assert_eq!(occurrences("xaby", "ab"), [1]);
        assert_eq!(occurrences_where("aaaa", "aa", |at| at != 0), [1, 2]);
    }
}
