//! Finds a call in dense text, whatever form it was written in.

use memchr::memmem::{self, Finder};
use serde_json::{Map, Value};

use super::dense::{self, Dense};

/// The most bytes between the name of an argument and its value:
/// `</arg_key><arg_value>` and the like, with a tag for the type between them.
const MAX_GAP: usize = 80;
/// The distance between the name and the arguments of a call is at most twice
/// the length of the arguments, and this.
const REACH: usize = 512;
/// From this length on, a value is distinctive: a command line or a text, not a
/// path or a number that many calls share.
const TELLING: usize = 12;
/// A value shorter than this has to end where the one in the text ends.
const LONG: usize = 16;
/// A value of at least so many bytes may have come in pieces.
const SPLIT: usize = 24;
/// The shortest piece of a value, but for the last.
const PIECE: usize = 8;
/// The most pieces that are looked for.
const MAX_PIECES: usize = 8;
/// Keys under which calls hold their arguments, in dense form.
const WRAPPERS: [&str; 5] = [
    "args:{",
    "arguments:{",
    "parameters:{",
    "params:{",
    "input:{",
];
/// Texts before the name of a tool without arguments.
const BEFORE_NAME: [&str; 8] = [
    "tool:",
    "name:",
    "tool_name:",
    "function:",
    "function_name:",
    "action:",
    "name=",
    "function=",
];

/// A call that is searched for.
#[derive(Debug)]
pub(super) struct Wanted {
    name: String,
    leaves: Vec<Leaf>,
    /// How far the name may be from an argument.
    reach: usize,
}

/// An argument, or a member of one.
#[derive(Debug)]
struct Leaf {
    key: String,
    value: String,
    /// The further items of a list, whose first one is the value.
    items: Vec<String>,
    /// Whether this value alone identifies the call.
    is_telling: bool,
}

impl Wanted {
    pub(super) fn new(name: &str, args: &Map<String, Value>) -> Self {
        let mut leaves = Vec::new();
        collect(args, &mut leaves);
        let length: usize = leaves.iter().map(Leaf::length).sum();
        Self {
            name: dense::of(name),
            leaves,
            reach: REACH + 2 * length,
        }
    }

    /// Whether the call stands in one of these texts, or in pieces in several.
    pub(super) fn stands_in(&self, texts: &[&Dense]) -> bool {
        if self.name.is_empty() {
            return false;
        }
        if self.leaves.is_empty() {
            return texts
                .iter()
                .any(|it| self.stands_without_arguments(&it.text));
        }
        let looks: Vec<Look<'_>> = texts.iter().map(|it| Look::new(it, self)).collect();
        if looks.iter().all(|look| look.names.is_empty()) {
            return false;
        }
        looks
            .iter()
            .any(|look| look.has_telling(self) || look.has_all(self))
            || looks.iter().any(|look| look.has_wrapped(self))
            || looks.iter().any(|look| look.has_pieces(self, texts))
    }

    fn stands_without_arguments(&self, text: &str) -> bool {
        names(text, &self.name).into_iter().any(|at| {
            let before = text.get(..at).unwrap_or_default();
            let after = text.get(at + self.name.len()..).unwrap_or_default();
            let is_tag = before.ends_with('<') && after.starts_with(['>', '/']);
            let is_called =
                after.starts_with("()") || after.starts_with("{}") || after.starts_with("({})");
            is_tag || is_called || BEFORE_NAME.iter().any(|it| before.ends_with(it))
        })
    }
}

/// The arguments, and the members of those that have some.
fn collect(args: &Map<String, Value>, leaves: &mut Vec<Leaf>) {
    for (key, value) in args {
        match value {
            Value::Object(members) => collect(members, leaves),
            Value::Array(items) if items.iter().any(Value::is_object) => {
                let members = items.iter().filter_map(Value::as_object);
                members.for_each(|members| collect(members, leaves));
            }
            Value::Array(items) => {
                let mut texts = items.iter().map(text_of);
                let mut leaf = Leaf::new(key, &texts.next().unwrap_or_default());
                leaf.items = texts.map(|text| dense::of(&text)).collect();
                leaves.push(leaf);
            }
            value => leaves.push(Leaf::new(key, &text_of(value))),
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

impl Leaf {
    fn length(&self) -> usize {
        let items: usize = self.items.iter().map(|item| item.len() + MAX_GAP).sum();
        self.key.len() + self.value.len() + items
    }

    fn new(key: &str, text: &str) -> Self {
        let value = dense::of(text);
        let is_telling = value.len() >= TELLING && text.trim().contains(char::is_whitespace);
        Self {
            key: dense::of(key),
            value,
            items: Vec::new(),
            is_telling,
        }
    }
}

/// The positions at which a tool's name stands as that of a call: between
/// signs, not among the words of a sentence.
fn names(text: &str, name: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = memmem::find_iter(text.as_bytes(), name.as_bytes());
    found
        .filter(|at| {
            let before = text.get(..*at).and_then(|text| text.chars().next_back());
            let after = text
                .get(at + name.len()..)
                .and_then(|text| text.chars().next());
            let is_set_off = before.is_none_or(|c| !is_word(c));
            // Behind a sign that introduces it, its line may just end.
            let is_introduced = before.is_some_and(|c| matches!(c, ':' | '=' | '>'));
            // Words before it ran into it when blanks were left out.
            let is_opened = after.is_some_and(|c| matches!(c, '(' | '{' | '>'));
            is_opened || (is_set_off && (is_introduced || after.is_none_or(|c| !is_word(c))))
        })
        .collect()
}

/// A text, with the positions of the wanted tool's name in it.
struct Look<'a> {
    text: &'a str,
    names: Vec<usize>,
    /// Where lines began, counted from `offset` before the text.
    lines: &'a [usize],
    offset: usize,
}

impl<'a> Look<'a> {
    fn new(dense: &'a Dense, wanted: &Wanted) -> Self {
        Self {
            text: &dense.text,
            names: names(&dense.text, &wanted.name),
            lines: &dense.lines,
            offset: 0,
        }
    }

    /// Whether a distinctive value stands there as an argument of the tool. The
    /// other arguments do not matter.
    fn has_telling(&self, wanted: &Wanted) -> bool {
        let telling = wanted.leaves.iter().filter(|leaf| leaf.is_telling);
        telling
            .flat_map(|leaf| self.places(leaf, wanted))
            .any(|at| self.is_named_near(at, wanted))
    }

    /// Whether all arguments stand there, near the name of the tool.
    fn has_all(&self, wanted: &Wanted) -> bool {
        let Some(longest) = wanted.leaves.iter().max_by_key(|leaf| leaf.value.len()) else {
            return false;
        };
        self.places(longest, wanted).any(|at| {
            let window = self.around(at, wanted.reach);
            let is_there = |leaf: &Leaf| window.places(leaf, wanted).next().is_some();
            self.is_named_near(at, wanted) && wanted.leaves.iter().all(is_there)
        })
    }

    /// Whether a distinctive value stands there among arguments, while the tool
    /// is named elsewhere.
    fn has_wrapped(&self, wanted: &Wanted) -> bool {
        let telling = wanted.leaves.iter().filter(|leaf| leaf.is_telling);
        telling
            .flat_map(|leaf| self.places(leaf, wanted).map(move |at| (leaf, at)))
            .any(|(leaf, at)| {
                let before = self.before(at, MAX_GAP + leaf.key.len());
                let key = before.rfind(leaf.key.as_str()).unwrap_or_default();
                let end = at - before.len() + key;
                let before = self.text.get(..end).unwrap_or_default();
                WRAPPERS.iter().any(|wrapper| before.ends_with(wrapper))
            })
    }

    /// Whether a long value begins there as an argument of the tool, and its
    /// rest is found in pieces in any of the texts.
    fn has_pieces(&self, wanted: &Wanted, texts: &[&Dense]) -> bool {
        let long = |leaf: &&Leaf| leaf.is_telling && leaf.value.len() >= SPLIT;
        wanted.leaves.iter().filter(long).any(|leaf| {
            let Some(start) = start_of(&leaf.value, TELLING) else {
                return false;
            };
            let longest = memmem::find_iter(self.text.as_bytes(), start.as_bytes())
                .filter(|at| self.is_value_of(&leaf.key, *at))
                .filter(|at| self.is_named_near(*at, wanted))
                .map(|at| common(self.text, at, &leaf.value))
                .max();
            longest.is_some_and(|length| {
                is_covered(leaf.value.get(length..).unwrap_or_default(), texts)
            })
        })
    }

    /// Where the value of an argument stands behind the argument's name.
    fn places(&self, leaf: &Leaf, wanted: &Wanted) -> impl Iterator<Item = usize> {
        // An empty value is found by its name alone.
        let sought = if leaf.value.is_empty() {
            &leaf.key
        } else {
            &leaf.value
        };
        let found = memmem::find_iter(self.text.as_bytes(), sought.as_bytes());
        found.filter(move |at| {
            leaf.value.is_empty()
                || (self.ends_at(at + leaf.value.len(), leaf)
                    && self.goes_on(at + leaf.value.len(), &leaf.items)
                    && (self.is_value_of(&leaf.key, *at) || self.is_positional(*at, wanted)))
        })
    }

    /// Whether the items of a list follow each other from here on.
    fn goes_on(&self, end: usize, items: &[String]) -> bool {
        let mut rest = self.text.get(end..).unwrap_or_default();
        items.iter().all(|item| {
            let near = (MAX_GAP + item.len()).min(rest.len());
            let near = (near..=rest.len()).find(|end| rest.is_char_boundary(*end));
            let near = near.and_then(|end| rest.get(..end)).unwrap_or_default();
            let at = near.find(item.as_str());
            let after = at.and_then(|at| rest.get(at + item.len()..));
            rest = after.unwrap_or_default();
            after.is_some()
        })
    }

    /// Whether the value in the text does not go on behind the wanted one.
    fn ends_at(&self, end: usize, leaf: &Leaf) -> bool {
        let rest = self.text.get(end..).unwrap_or_default();
        let goes_on = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        leaf.value.len() >= LONG
            || !rest.starts_with(goes_on)
            || self.lines.binary_search(&(end + self.offset)).is_ok()
    }

    /// Whether what stands at `at` follows this key, with a sign between them.
    fn is_value_of(&self, key: &str, at: usize) -> bool {
        let before = self.before(at, MAX_GAP + key.len());
        before.rfind(key).is_some_and(|found| {
            let gap = before.get(found + key.len()..).unwrap_or_default();
            gap.contains([':', '=', '<', '>', '|'])
        })
    }

    /// Whether the value is the only argument, in the brackets of a call.
    fn is_positional(&self, at: usize, wanted: &Wanted) -> bool {
        let before = self.text.get(..at).unwrap_or_default();
        let name = before.strip_suffix('(');
        wanted.leaves.len() == 1 && name.is_some_and(|text| text.ends_with(&wanted.name))
    }

    /// Whether the tool is named near to this place.
    fn is_named_near(&self, at: usize, wanted: &Wanted) -> bool {
        let from = at.saturating_sub(wanted.reach);
        let next = self.names.partition_point(|name| *name < from);
        self.names
            .get(next)
            .is_some_and(|name| *name <= at + wanted.reach)
    }

    /// So many bytes before a place, or slightly fewer.
    fn before(&self, at: usize, bytes: usize) -> &'a str {
        let start = at.saturating_sub(bytes);
        let start = (start..=at).find(|start| self.text.is_char_boundary(*start));
        let before = start.and_then(|start| self.text.get(start..at));
        before.unwrap_or_default()
    }

    /// The text around a place.
    fn around(&self, at: usize, reach: usize) -> Self {
        let from = (0..=at.saturating_sub(reach))
            .rev()
            .find(|from| self.text.is_char_boundary(*from));
        let to = (at.saturating_add(reach).min(self.text.len())..=self.text.len())
            .find(|to| self.text.is_char_boundary(*to));
        let from = from.unwrap_or_default();
        let range = from..to.unwrap_or(self.text.len());
        Self {
            text: self.text.get(range).unwrap_or_default(),
            names: Vec::new(),
            lines: self.lines,
            offset: from,
        }
    }
}

/// Whether all of a text is found in pieces.
fn is_covered(mut rest: &str, texts: &[&Dense]) -> bool {
    for _ in 0..MAX_PIECES {
        if rest.is_empty() {
            return true;
        }
        let start = start_of(rest, PIECE).unwrap_or(rest);
        let finder = Finder::new(start.as_bytes());
        let longest = texts
            .iter()
            .flat_map(|it| {
                let found = finder.find_iter(it.text.as_bytes());
                found.map(|at| common(&it.text, at, rest))
            })
            .max();
        let Some(length) = longest.filter(|length| *length > 0) else {
            return false;
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    rest.is_empty()
}

/// The first bytes of a text, of which there are at least so many.
fn start_of(text: &str, bytes: usize) -> Option<&str> {
    let end = (bytes..=text.len()).find(|end| text.is_char_boundary(*end))?;
    text.get(..end)
}

/// How many bytes two texts share, one of them from `at` on.
fn common(text: &str, at: usize, other: &str) -> usize {
    let text = text.get(at..).unwrap_or_default().chars();
    let pairs = text.zip(other.chars());
    let same = pairs.take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}
