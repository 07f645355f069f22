//! What a parser looks for: the tools, the dialects and the policies, put
//! together once and used for many replies.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, Anchored, MatchKind, StartKind};

use super::reader::{MarkAt, mark_at};
use crate::Toolset;
use crate::dialects::{Dialect, Place, Registry, UnknownDialect};

/// What happens to calls that are drafted inside reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drafts {
    /// They are not run, unless nothing follows the reasoning.
    #[default]
    Rescue,
    /// They are never run.
    Ignore,
    /// They are calls like any other.
    Run,
}

/// What a code fence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fences {
    /// A quotation, unless it ends the reply and holds nothing but calls of
    /// declared tools.
    #[default]
    LastMayCall,
    /// A quotation, always.
    Quote,
}

/// The tags around reasoning, opening and closing.
const REASONING: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<analysis>", "</analysis>"),
    ("[THINK]", "[/THINK]"),
];

/// Everything that a parser needs to know. Build it once, parse many replies.
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
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    tools: Option<Toolset>,
    dialects: Vec<Arc<dyn Dialect>>,
    drafts: Drafts,
    fences: Fences,
    in_reasoning: bool,
    finder: AhoCorasick,
    /// The marks by their first byte, in lower case.
    by_first: Vec<Vec<String>>,
    meanings: Vec<Meaning>,
    trigger_marks: Vec<String>,
    longest: usize,
}

/// What a mark may mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Meaning {
    pub(super) candidates: Vec<Candidate>,
    pub(super) reasoning: Option<usize>,
    pub(super) reasoning_end: Option<usize>,
    pub(super) closer: bool,
    pub(super) fence: Option<u8>,
}

/// A dialect that may begin at a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) dialect: usize,
    pub(super) trigger: usize,
    pub(super) place: Place,
}

/// Why a grammar cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// There is no such dialect.
    #[error(transparent)]
    UnknownDialect(#[from] UnknownDialect),
    /// The marks cannot be searched for together.
    #[error("the marks of the dialects cannot be searched for: {reason}")]
    Marks {
        /// What the search engine says.
        reason: String,
    },
}

/// Puts a [`Grammar`] together.
#[derive(Debug, Clone, Default)]
pub struct GrammarBuilder {
    registry: Registry,
    tools: Option<Toolset>,
    dialect: Option<String>,
    drafts: Drafts,
    fences: Fences,
    in_reasoning: bool,
}

impl GrammarBuilder {
    /// The tools that were declared to the model. Without this, any name is
    /// taken for a tool's, and forms without marks are not read as calls.
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

    /// The dialects to choose from, with those added from outside (R78, R284).
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// What happens to calls drafted inside reasoning.
    #[must_use]
    pub fn drafts(mut self, drafts: Drafts) -> Self {
        self.drafts = drafts;
        self
    }

    /// What a code fence is.
    #[must_use]
    pub fn fences(mut self, fences: Fences) -> Self {
        self.fences = fences;
        self
    }

    /// The prompt ended with an opening `<think>`, so the reply starts inside
    /// reasoning.
    #[must_use]
    pub fn starts_in_reasoning(mut self) -> Self {
        self.in_reasoning = true;
        self
    }

    /// The grammar.
    ///
    /// # Errors
    ///
    /// If the dialect is not known.
    pub fn build(self) -> Result<Grammar, GrammarError> {
        let dialects = match &self.dialect {
            None => self.registry.all().to_vec(),
            Some(name) => {
                let dialect = self.registry.get(name)?;
                let mut dialects = vec![Arc::clone(dialect)];
                for beside in dialect.also_reads() {
                    dialects.push(Arc::clone(self.registry.get(beside)?));
                }
                dialects
            }
        };
        let mut table = Table::default();
        for (index, dialect) in dialects.iter().enumerate() {
            let triggers = dialect.triggers(self.tools.as_ref());
            for (trigger, found) in triggers.into_iter().enumerate() {
                let place = found.place;
                table.meaning(&found.mark).candidates.push(Candidate {
                    dialect: index,
                    trigger,
                    place,
                });
            }
        }
        let trigger_marks = table.marks.clone();
        for dialect in &dialects {
            for closer in dialect.closers() {
                table.meaning(&closer).closer = true;
            }
        }
        for (index, (open, close)) in REASONING.iter().enumerate() {
            table.meaning(open).reasoning = Some(index);
            table.meaning(close).reasoning_end = Some(index);
        }
        table.meaning("`").fence = Some(b'`');
        table.meaning("~~~").fence = Some(b'~');
        table.inherit();
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(StartKind::Both)
            .build(&table.marks)
            .map_err(|error| GrammarError::Marks {
                reason: error.to_string(),
            })?;
        let longest = table.marks.iter().map(String::len).max().unwrap_or(0);
        Ok(Grammar {
            inner: Arc::new(Inner {
                tools: self.tools,
                dialects,
                drafts: self.drafts,
                fences: self.fences,
                in_reasoning: self.in_reasoning,
                finder,
                by_first: table.by_first(),
                meanings: table.meanings,
                trigger_marks,
                longest,
            }),
        })
    }
}

/// Marks, in lower case, and what they mean.
#[derive(Default)]
struct Table {
    marks: Vec<String>,
    meanings: Vec<Meaning>,
}

impl Table {
    fn meaning(&mut self, mark: &str) -> &mut Meaning {
        let mark = mark.to_ascii_lowercase();
        let at = self.marks.iter().position(|known| *known == mark);
        let at = at.unwrap_or_else(|| {
            self.marks.push(mark);
            self.meanings.push(Meaning::default());
            self.marks.len() - 1
        });
        #[expect(
            clippy::indexing_slicing,
            reason = "the index was found or made just above"
        )]
        &mut self.meanings[at]
    }

    fn by_first(&self) -> Vec<Vec<String>> {
        let mut by_first = vec![Vec::new(); 256];
        for mark in &self.marks {
            let first = mark.bytes().next().map_or(0, usize::from);
            if let Some(marks) = by_first.get_mut(first) {
                marks.push(mark.clone());
            }
        }
        by_first
    }

    /// A mark that starts with another may be that one too: `[PTK_CALL]` may
    /// be a JSON array that starts with `[`.
    fn inherit(&mut self) {
        let shorter: Vec<Vec<Candidate>> = self
            .marks
            .iter()
            .map(|mark| {
                self.marks
                    .iter()
                    .zip(&self.meanings)
                    .filter(|(other, _)| other.len() < mark.len() && mark.starts_with(&**other))
                    .flat_map(|(_, meaning)| meaning.candidates.iter().copied())
                    .collect()
            })
            .collect();
        for (meaning, shorter) in self.meanings.iter_mut().zip(shorter) {
            meaning.candidates.extend(shorter);
        }
    }
}

impl Grammar {
    /// A builder with PTK's own dialects, no tools and default policies.
    #[must_use]
    pub fn builder() -> GrammarBuilder {
        GrammarBuilder::default()
    }

    /// Reads every built-in dialect, with these tools declared.
    ///
    /// # Errors
    ///
    /// If there are more tools than can be searched for together.
    pub fn auto(tools: Toolset) -> Result<Self, GrammarError> {
        Self::builder().tools(tools).build()
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

    pub(super) fn starts_in_reasoning(&self) -> bool {
        self.inner.in_reasoning
    }

    pub(super) fn dialect(&self, index: usize) -> Option<&Arc<dyn Dialect>> {
        self.inner.dialects.get(index)
    }

    /// Whether reasoning of this index may open in the middle of a line. The
    /// words of the others are too common in prose and markup.
    pub(super) fn may_open_mid_line(index: usize) -> bool {
        REASONING
            .get(index)
            .is_some_and(|(open, _)| !matches!(*open, "<reasoning>" | "<analysis>"))
    }

    /// The closing tag of the reasoning of this index.
    pub(super) fn reasoning_end(index: usize) -> &'static str {
        REASONING.get(index).map_or("", |(_, close)| close)
    }

    /// The first mark in `text` at or behind `from`.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<(usize, usize, &Meaning)> {
        let input = aho_corasick::Input::new(text).span(from..text.len());
        let found = self.inner.finder.find(input)?;
        let meaning = self.inner.meanings.get(found.pattern().as_usize())?;
        Some((found.start(), found.end(), meaning))
    }

    /// The mark at the start of `text`.
    pub(super) fn mark_at(&self, text: &str) -> Option<&Meaning> {
        let input = aho_corasick::Input::new(text).anchored(Anchored::Yes);
        let found = self.inner.finder.find(input)?;
        self.inner.meanings.get(found.pattern().as_usize())
    }

    /// Whether `text` is the beginning of a longer mark.
    pub(super) fn is_partial(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        if bytes.len() >= self.inner.longest {
            return false;
        }
        let marks = bytes.first().and_then(|first| {
            self.inner
                .by_first
                .get(usize::from(first.to_ascii_lowercase()))
        });
        marks.into_iter().flatten().any(|mark| {
            mark.len() > bytes.len()
                && mark
                    .as_bytes()
                    .get(..bytes.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(bytes))
        })
    }

    /// Where the longest end of `text` starts that may become a mark, not
    /// before `from`.
    pub(super) fn partial_from(&self, text: &str, from: usize) -> usize {
        let mut at = text
            .len()
            .saturating_sub(self.inner.longest.saturating_sub(1))
            .max(from);
        while at < text.len() {
            if let Some(rest) = text.get(at..)
                && self.is_partial(rest)
            {
                return at;
            }
            at += 1;
        }
        text.len()
    }

    /// Whether a call may begin at the start of `text`.
    pub(crate) fn trigger_at(&self, text: &str) -> MarkAt {
        mark_at(text, &self.inner.trigger_marks)
    }
}
