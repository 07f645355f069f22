//! The settings of a parser: the tools, the dialects and the policies, put
//! together once and used for many replies.

use std::sync::Arc;

use super::frames::Frames;
use super::line::is_lead;
use super::marks::Tree;
use super::reader::MarkAt;
use super::table::{Candidate, Hit, LineAt, NOTHING, Next, Stops, Stretch, Table};
use crate::Toolset;
use crate::dialects::{Dialect, Registry, TriggerPosition, UnknownDialect};

/// How calls that are drafted inside reasoning are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drafts {
    /// Drafts are not run, unless nothing follows the reasoning.
    #[default]
    Rescue,
    /// Drafts are never run.
    Ignore,
    /// Drafts are calls like any other.
    Run,
}

/// How a code fence is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fences {
    /// A fence is a quotation, unless it ends the reply and holds nothing but
    /// calls of declared tools.
    #[default]
    LastMayCall,
    /// A fence is always a quotation.
    Quote,
}

/// The settings of a parser. Build it once, parse many replies.
///
/// ```
/// use ptk_protocol::{Grammar, Toolset};
///
/// let any_dialect = Grammar::auto(Toolset::default())?;
/// let only_xml = Grammar::builder().dialect("xml").build()?;
/// # Ok::<(), ptk_protocol::GrammarError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Grammar {
    inner: Arc<GrammarInner>,
    is_transcript: bool,
}

#[derive(Debug)]
struct GrammarInner {
    tools: Option<Toolset>,
    names: Names,
    table: Arc<Table>,
    /// How many of the dialects are forms of the one that was chosen.
    chosen: usize,
    drafts: Drafts,
    fences: Fences,
    opening: Opening,
}

/// What a reply begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opening {
    /// Text, unless a mark ends reasoning that was not opened.
    #[default]
    Text,
    /// Reasoning that the prompt has opened.
    Reasoning,
    /// Reasoning, unless the model's server takes it away: if it does not end,
    /// all of it is [text](crate::Reclassified::Text).
    Likely,
}

/// Why a grammar cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// The dialect is not known.
    #[error(transparent)]
    UnknownDialect(#[from] UnknownDialect),
}

/// Builds a [`Grammar`].
#[derive(Debug, Clone, Default)]
pub struct GrammarBuilder {
    registry: Registry,
    tools: Option<Toolset>,
    dialect: Option<String>,
    is_alone: bool,
    drafts: Option<Drafts>,
    fences: Fences,
    opening: Opening,
}

impl GrammarBuilder {
    /// Sets the tools that were declared to the model. Without this, any name
    /// is taken for a tool's, and forms without marks are not read as calls.
    #[must_use]
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Reads this dialect only; `auto` reads all.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.dialect = (name != "auto").then_some(name);
        self
    }

    /// Reads the dialect that is fixed and nothing beside it, not even calls
    /// without marks: for models that can write no other, as they are limited
    /// to a [`Gbnf`](crate::gbnf::Gbnf).
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    /// Sets the dialects to choose from, with those added from outside.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets how calls drafted inside reasoning are treated.
    #[must_use]
    pub fn drafts(mut self, drafts: Drafts) -> Self {
        self.drafts = Some(drafts);
        self
    }

    /// Sets how a code fence is treated.
    #[must_use]
    pub fn fences(mut self, fences: Fences) -> Self {
        self.fences = fences;
        self
    }

    /// Declares that the prompt ended with an opening `<think>`, so the reply
    /// starts inside reasoning.
    #[must_use]
    pub fn starts_in_reasoning(mut self) -> Self {
        self.opening = Opening::Reasoning;
        self
    }

    /// Sets what replies begin with.
    #[must_use]
    pub fn opening(mut self, opening: Opening) -> Self {
        self.opening = opening;
        self
    }

    /// Builds the grammar.
    ///
    /// # Errors
    ///
    /// If the dialect is not known.
    pub fn build(self) -> Result<Grammar, GrammarError> {
        let mut chosen = 0;
        let mut drafts = Drafts::default();
        let mut opening = self.opening;
        let table = match &self.dialect {
            None => self.registry.table(),
            Some(name) => {
                let dialect = self.registry.get(name)?;
                if dialect.calls_in_reasoning() {
                    drafts = Drafts::Run;
                }
                if opening == Opening::Text {
                    opening = dialect.opening();
                }
                let mut dialects = vec![Arc::clone(dialect)];
                let (forms, beside) = if self.is_alone {
                    (Vec::new(), Vec::new())
                } else {
                    (dialect.other_forms(), dialect.also_reads())
                };
                for form in forms {
                    dialects.push(Arc::clone(self.registry.get(&form)?));
                }
                chosen = dialects.len();
                for beside in beside {
                    dialects.push(Arc::clone(self.registry.get(&beside)?));
                }
                Arc::new(Table::new(dialects))
            }
        };
        let names = Names::new(self.tools.as_ref());
        Ok(Grammar {
            inner: Arc::new(GrammarInner {
                tools: self.tools,
                names,
                table,
                chosen,
                drafts: self.drafts.unwrap_or(drafts),
                fences: self.fences,
                opening,
            }),
            is_transcript: false,
        })
    }
}

impl Grammar {
    /// Creates a builder with PTK's own dialects, no tools and default
    /// policies.
    #[must_use]
    pub fn builder() -> GrammarBuilder {
        GrammarBuilder::default()
    }

    /// Creates a grammar that reads every built-in dialect, with these tools
    /// declared.
    ///
    /// # Errors
    ///
    /// Never; a grammar that fixes a dialect may name one that is not known.
    pub fn auto(tools: Toolset) -> Result<Self, GrammarError> {
        Self::builder().tools(tools).build()
    }

    /// Makes the grammar fit replies to a prompt that is a conversation as one
    /// text, whose turns begin with `USER:` and `ASSISTANT:`. A reply ends
    /// where it goes on with one.
    #[must_use]
    pub fn for_transcript(mut self) -> Self {
        self.is_transcript = true;
        self
    }

    /// The declared tools.
    #[must_use]
    pub fn tools(&self) -> Option<&Toolset> {
        self.inner.tools.as_ref()
    }

    pub(super) fn drafts(&self) -> Drafts {
        self.inner.drafts
    }

    pub(super) fn fences(&self) -> Fences {
        self.inner.fences
    }

    /// What replies begin with.
    #[must_use]
    pub fn opening(&self) -> Opening {
        self.inner.opening
    }

    pub(super) fn is_transcript(&self) -> bool {
        self.is_transcript
    }

    /// Whether the dialect of this index was chosen, so that its calls are
    /// expected.
    pub(super) fn expects(&self, dialect: usize) -> bool {
        dialect < self.inner.chosen
    }

    pub(super) fn dialect(&self, index: usize) -> Option<&Arc<dyn Dialect>> {
        self.inner.table.dialects.get(index)
    }

    /// The dialects whose calls are quoted in messages to the user of a family.
    pub(super) fn quoted_in_message(&self, family: usize) -> &[usize] {
        let quoted = self.inner.table.quoted_in_messages.get(family);
        quoted.map_or(&[], Vec::as_slice)
    }

    /// The marks around reasoning and messages.
    pub(super) fn frames(&self) -> &Frames {
        &self.inner.table.frames
    }

    /// Whether the text ends with a closing mark.
    pub(super) fn ends_with_closer(&self, text: &str) -> bool {
        let mut closers = self.inner.table.closers.iter();
        closers.any(|close| ends_with(text, close))
    }

    /// Whether a dialect closes its sections with just this mark.
    pub(super) fn is_section_end(&self, mark: &str) -> bool {
        let mut dialects = self.inner.table.dialects.iter();
        dialects.any(|dialect| dialect.section_ends().iter().any(|end| end == mark))
    }

    /// Finds the first mark in `text` at or behind `from`. `line` describes the
    /// line that `from` lies on.
    pub(super) fn next(&self, text: &Stretch<'_>, from: usize, line: LineAt<'_>) -> Next<'_> {
        let table = &*self.inner.table;
        let stops = if line.turns {
            &table.stops_with_turns
        } else {
            &table.stops
        };
        let bytes = text.all.as_bytes();
        if stops.lines && line.line.is_blank() {
            match self.at_line(text, from, stops) {
                Next::None => {}
                // A mark that starts with a needle is found below, in its turn.
                found => return found,
            }
        }
        let mut at = from;
        while let Some(found) = stops.needles.find(bytes, at) {
            let next = match bytes.get(found) {
                Some(b'\n') => self.at_line(text, found + 1, stops),
                Some(b'_') => match self.word_around(text, from, found) {
                    Next::None => self.mark_at(text, found),
                    word => word,
                },
                Some(b'[' | b'{') if !table.tails.is_empty() => {
                    match self.word_before(text, from, found) {
                        Next::None => self.mark_at(text, found),
                        word => word,
                    }
                }
                Some(b'<') if !table.addresses.is_empty() => {
                    match self.address_before(text, from, found, line) {
                        Next::None => self.mark_at(text, found),
                        address => address,
                    }
                }
                _ => self.mark_at(text, found),
            };
            if !matches!(next, Next::None) {
                return next;
            }
            at = found + 1;
        }
        if text.end {
            return Next::None;
        }
        let rest = text.all.get(from..).unwrap_or("");
        self.open_stem(rest, line)
            .max(self.open_tail(rest))
            .max(self.open_address(rest, line))
            .map_or(Next::None, |length| Next::Partial(bytes.len() - length))
    }

    /// Finds the mark whose bracket stands at `at`, behind a word.
    fn word_before(&self, text: &Stretch<'_>, from: usize, at: usize) -> Next<'_> {
        let before = text.all.get(from..at).unwrap_or("");
        let mut tails = self.inner.table.tails.iter();
        match tails.find(|word| ends_with(before, word)) {
            Some(word) => self.mark_at(text, at - word.len()),
            None => Next::None,
        }
    }

    /// The length of what `text` ends with, if it may become a word that a
    /// bracket makes a mark.
    fn open_tail(&self, text: &str) -> Option<usize> {
        let tails = self.inner.table.tails.iter();
        tails.filter_map(|word| open_length(text, word)).max()
    }

    /// Finds the mark whose `<` stands at `at`, behind a word that starts the line.
    fn address_before(
        &self,
        text: &Stretch<'_>,
        from: usize,
        at: usize,
        line: LineAt<'_>,
    ) -> Next<'_> {
        let before = text.all.get(from..at).unwrap_or("");
        let mut addresses = self.inner.table.addresses.iter();
        let Some(word) = addresses.find(|word| ends_with(before, word)) else {
            return Next::None;
        };
        let start = at - word.len();
        if line.is_blank_behind(text.all.get(from..start).unwrap_or("")) {
            self.mark_at(text, start)
        } else {
            Next::None
        }
    }

    /// The length of what `text` ends with, if it may become a word at the start
    /// of a line that `<` makes a mark.
    fn open_address(&self, text: &str, line: LineAt<'_>) -> Option<usize> {
        let addresses = self.inner.table.addresses.iter();
        let length = addresses.filter_map(|word| open_length(text, word)).max()?;
        let before = text.get(..text.len() - length)?;
        line.is_blank_behind(before).then_some(length)
    }

    /// Finds the word of a result whose first `_` stands at `at`.
    fn word_around(&self, text: &Stretch<'_>, from: usize, at: usize) -> Next<'_> {
        let before = text.all.get(from..at).unwrap_or("");
        let mut stems = self.inner.table.stems.iter();
        let Some(stem) = stems.find(|stem| ends_with(before, stem)) else {
            return Next::None;
        };
        match self.mark_at(text, at - stem.len()) {
            Next::Mark(hit) if hit.meaning.forgery.is_none() => Next::None,
            word => word,
        }
    }

    /// The length of what `text` ends with, if it may become the stem of a
    /// result's word at the start of a line.
    fn open_stem(&self, text: &str, line: LineAt<'_>) -> Option<usize> {
        let letters = text.bytes().rev();
        let length = letters.take_while(u8::is_ascii_alphabetic).count();
        let (before, word) = text.split_at_checked(text.len() - length)?;
        let opens = |stem: &String| {
            let start = stem.get(..word.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        if word.is_empty() || !self.inner.table.stems.iter().any(opens) {
            return None;
        }
        let before = before.trim_end_matches(|c: char| is_lead(c) && c != '\n');
        let starts_line = match before.bytes().next_back() {
            None => line.line.is_blank(),
            // A colon may end a label.
            Some(last) => last == b'\n' || last == b':',
        };
        starts_line.then_some(length)
    }

    /// Finds the mark that starts the line at `from`, white space aside, if it
    /// is one that the needles do not find.
    fn at_line(&self, text: &Stretch<'_>, from: usize, stops: &Stops) -> Next<'_> {
        let rest = text.all.get(from..).unwrap_or("");
        // Most lines are not indented.
        let lead = match rest.as_bytes().first() {
            Some(byte) if byte.is_ascii_graphic() => rest,
            _ => rest.trim_start_matches(|c: char| is_lead(c) && c != '\n'),
        };
        let first = lead.as_bytes().first().copied();
        let starts = |table: &[bool]| {
            first.is_some_and(|first| table.get(usize::from(first)).copied().unwrap_or(false))
        };
        if starts(&stops.line_starts) || starts(&self.inner.names.starts) {
            self.mark_at(text, from + (rest.len() - lead.len()))
        } else {
            Next::None
        }
    }

    /// Finds the mark at `at`.
    pub(super) fn mark_at(&self, text: &Stretch<'_>, at: usize) -> Next<'_> {
        let table = &*self.inner.table;
        let rest = text.all.get(at..).unwrap_or("");
        let walk = table.tree.walk(rest.as_bytes());
        if walk.open && !text.end {
            return Next::Partial(at);
        }
        let named = match self.named_at(rest, text.end) {
            NamedAt::Partial => return Next::Partial(at),
            NamedAt::None => None,
            NamedAt::Finding(candidates, length) => Some((candidates, length)),
        };
        let marked = walk
            .longest
            .and_then(|(mark, length)| Some((table.meanings.get(mark)?, length)));
        let length = marked.map(|(_, length)| length);
        let length = length.or_else(|| named.map(|(_, length)| length));
        let Some(length) = length else {
            return Next::None;
        };
        Next::Mark(Hit {
            start: at,
            end: at + length,
            meaning: marked.map_or(&NOTHING, |(meaning, _)| meaning),
            named: named.map_or(&[], |(candidates, _)| candidates),
        })
    }

    /// Finds the forms that begin with a declared tool's name, such as `f(`.
    fn named_at(&self, rest: &str, end: bool) -> NamedAt<'_> {
        let names = &self.inner.names;
        let first = rest.bytes().next();
        for named in &self.inner.table.named {
            // Most differ in their first byte.
            if named
                .before
                .bytes()
                .next()
                .is_some_and(|byte| first != Some(byte))
            {
                continue;
            }
            // An empty prefix is not compared: that costs more than a long one.
            let name = if named.before.is_empty() {
                Some(rest)
            } else {
                rest.strip_prefix(named.before.as_str())
            };
            let Some(name) = name else {
                if named.before.starts_with(rest) && !rest.is_empty() && !end {
                    return NamedAt::Partial;
                }
                continue;
            };
            if name.is_empty() && !rest.is_empty() && !end {
                return NamedAt::Partial;
            }
            match names.at(name, &named.after, end) {
                NameAt::None => {}
                NameAt::Partial => return NamedAt::Partial,
                NameAt::Finding(length) => {
                    let length = named.before.len() + length + 1;
                    return NamedAt::Finding(&named.candidates, length);
                }
            }
        }
        NamedAt::None
    }

    /// Whether a call may begin at the start of `text`; `None` if more text is
    /// needed to decide.
    pub(crate) fn call_begins(&self, text: &str, end: bool) -> Option<bool> {
        match self.mark_at(&Stretch { all: text, end }, 0) {
            Next::None if text.is_empty() && !end => None,
            Next::None => Some(false),
            Next::Partial(_) => None,
            Next::Mark(hit) if Self::is_weak(&hit, text) => {
                let rest = text.get(hit.end..).unwrap_or("").trim_start();
                self.follows_weak_mark(rest, end)
            }
            Next::Mark(hit) => Some(hit.candidates().next().is_some()),
        }
    }

    /// Whether a mark is but a word at the start of a line, such as `Action:`.
    fn is_weak(hit: &Hit<'_>, text: &str) -> bool {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && hit.named.is_empty()
            && hit
                .candidates()
                .all(|candidate| candidate.place == TriggerPosition::LineStart)
    }

    /// Whether what follows a word at the start of a line makes it a mark: a
    /// declared tool's name, or JSON.
    fn follows_weak_mark(&self, rest: &str, end: bool) -> Option<bool> {
        if rest.is_empty() {
            return end.then_some(false);
        }
        let is_json = rest.starts_with(['{', '[', '`']);
        let Some(tools) = &self.inner.tools else {
            let name = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            let is_name = name.is_empty() || name.starts_with(['{', '\n', '\r']);
            return (end || !name.is_empty()).then_some(is_json || is_name);
        };
        if is_json || tools.names().any(|name| rest.starts_with(name)) {
            return Some(true);
        }
        let may_come = !end && tools.names().any(|name| name.starts_with(rest));
        (!may_come).then_some(false)
    }

    /// Whether this text is the beginning of some mark, and no more.
    pub(crate) fn begins_mark(&self, text: &str) -> bool {
        self.inner.table.tree.walk(text.as_bytes()).open
    }

    /// Whether a mark that opens or closes calls, wherever it stands, stands at
    /// the start of `text`; `None` if more text is needed to decide.
    pub(crate) fn is_marked(&self, text: &str, end: bool) -> Option<bool> {
        match self.mark_at(&Stretch { all: text, end }, 0) {
            Next::None if text.is_empty() && !end => None,
            Next::None => Some(false),
            Next::Partial(_) => None,
            Next::Mark(hit) => Some(
                hit.meaning.closer
                    || hit
                        .candidates()
                        .any(|candidate| candidate.place == TriggerPosition::Anywhere),
            ),
        }
    }

    /// Whether a mark with any meaning stands at the start of `text`, words that
    /// have one only at the start of a line aside; `None` if more text is
    /// needed to decide.
    pub(crate) fn is_markup(&self, text: &str, end: bool) -> Option<bool> {
        match self.mark_at(&Stretch { all: text, end }, 0) {
            Next::None if text.is_empty() && !end => None,
            Next::None => Some(false),
            Next::Partial(_) => None,
            Next::Mark(hit) => {
                let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic());
                Some(!is_word && hit.start < hit.end)
            }
        }
    }
}

/// The names of the declared tools, found in one walk.
#[derive(Debug)]
struct Names {
    /// The bytes with which they start.
    starts: Vec<bool>,
    tree: Tree,
    all: Vec<String>,
}

/// The result of looking for a tool's name.
enum NameAt {
    /// A name of this length, with what has to follow it.
    Finding(usize),
    Partial,
    None,
}

impl Names {
    fn new(tools: Option<&Toolset>) -> Self {
        let names: Vec<String> = tools
            .into_iter()
            .flat_map(Toolset::names)
            .map(str::to_owned)
            .collect();
        let mut starts = vec![false; 256];
        for name in &names {
            let first = name.bytes().next().map_or(0, usize::from);
            if let Some(starts) = starts.get_mut(first) {
                *starts = true;
            }
        }
        Self {
            starts,
            tree: Tree::new(&names),
            all: names,
        }
    }

    /// Whether `text` starts with a name and one of the characters of `after`.
    fn at(&self, text: &str, after: &str, end: bool) -> NameAt {
        let first = text.bytes().next().map_or(0, usize::from);
        if self.starts.get(first) != Some(&true) {
            return NameAt::None;
        }
        let walk = self.tree.walk(text.as_bytes());
        if walk.open && !end {
            return NameAt::Partial;
        }
        let Some((longest, length)) = walk.longest else {
            return NameAt::None;
        };
        // Names that differ in their case only share a place in the tree.
        let exact = self.all.get(longest).filter(|name| text.starts_with(*name));
        let Some(behind) = exact.and_then(|name| text.get(name.len()..)) else {
            return self.search(text, after);
        };
        match behind.chars().next() {
            None if !end => NameAt::Partial,
            Some(c) if after.contains(c) => NameAt::Finding(length),
            _ => self.search(text, after),
        }
    }

    /// Looks for a name like [`at`](Self::at), name by name.
    fn search(&self, text: &str, after: &str) -> NameAt {
        let found = self.all.iter().find(|name| {
            text.strip_prefix(name.as_str())
                .is_some_and(|behind| behind.starts_with(|c| after.contains(c)))
        });
        found.map_or(NameAt::None, |name| NameAt::Finding(name.len()))
    }
}

impl Grammar {
    /// Whether markup without a meaning stands at the start of `text`.
    pub(crate) fn is_silent(&self, text: &str, end: bool) -> bool {
        let found = self.mark_at(&Stretch { all: text, end }, 0);
        matches!(found, Next::Mark(hit) if hit.meaning.silent.is_some())
    }

    /// Whether a closing mark stands at the start of `text`.
    pub(crate) fn closing_mark(&self, text: &str, end: bool) -> MarkAt {
        match self.mark_at(&Stretch { all: text, end }, 0) {
            Next::None if text.is_empty() && !end => MarkAt::Partial,
            Next::Partial(_) => MarkAt::Partial,
            Next::Mark(hit) if hit.meaning.closer => MarkAt::Finding {
                index: 0,
                length: hit.end,
            },
            Next::None | Next::Mark(_) => MarkAt::None,
        }
    }
}

/// Whether `text` ends with `word`, letters in any case.
fn ends_with(text: &str, word: &str) -> bool {
    let start = text.len().checked_sub(word.len());
    let last = start.and_then(|start| text.as_bytes().get(start..));
    last.is_some_and(|last| last.eq_ignore_ascii_case(word.as_bytes()))
}

/// How much of the beginning of `word` `text` ends with, letters in any case.
fn open_length(text: &str, word: &str) -> Option<usize> {
    let last = text.bytes().next_back()?;
    // Few places of the word have the right byte.
    let places = (0..word.len()).zip(word.bytes()).rev();
    let mut lengths = places
        .filter(|(_, byte)| byte.eq_ignore_ascii_case(&last))
        .map(|(place, _)| place + 1);
    lengths.find(|length| ends_with(text, word.get(..*length).unwrap_or(word)))
}

enum NamedAt<'g> {
    Finding(&'g [Candidate], usize),
    Partial,
    None,
}
