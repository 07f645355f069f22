//! The pattern that opens a call, matched while the reply comes in.

use std::fmt;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};

use super::error::TemplateFault;
use super::marks::{MAX_MARKS, at_start, beginnings, is_space, without_lead};

/// The most memory of a compiled pattern.
const MAX_SIZE: usize = 1 << 20;
/// The most text that an opening may match. What is longer opens nothing.
const MAX_OPENING: usize = 512;

/// A pattern that opens calls.
pub(super) struct CallOpening {
    automaton: DFA,
    groups: PikeVM,
    /// The texts one of which every opening begins with.
    pub(super) marks: Vec<String>,
    /// The opening as it is written around a name.
    pub(super) written: Written,
}

/// An opening as it is written, before and behind the tool's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) before: String,
    pub(super) behind: String,
}

/// The result of matching an opening at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    /// It ends before this offset.
    At(usize),
    /// More text is needed to decide.
    More,
    /// The text does not begin with it, as this many bytes show.
    No(usize),
}

impl fmt::Debug for CallOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOpening")
            .field("marks", &self.marks)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl CallOpening {
    /// Compiles the patterns, one of which opens a call; the name of the tool is
    /// in the group `name`, if in any.
    pub(super) fn new(patterns: &[Hir], name: Option<&str>) -> Result<Self, TemplateFault> {
        let written = patterns.first().map(|first| Written::of(first, name));
        let pattern = Hir::alternation(patterns.iter().map(without_lead).collect());
        if at_start(&pattern).0 || !pattern.properties().look_set().is_empty() {
            return Err(TemplateFault::Pattern(
                "`^`, `$` and word boundaries have no meaning where a call opens; leave them out",
            ));
        }
        let marks = beginnings(&pattern)?;
        if marks.len() > MAX_MARKS {
            let (count, most) = (marks.len(), MAX_MARKS);
            return Err(TemplateFault::Count { count, most });
        }
        let too_large = |_| TemplateFault::Pattern("the pattern is too large");
        let nfa: NFA = thompson::Compiler::new()
            .configure(thompson::Config::new().nfa_size_limit(Some(MAX_SIZE)))
            .build_from_hir(&pattern)
            .map_err(too_large)?;
        Ok(Self {
            automaton: DFA::builder()
                .build_from_nfa(nfa.clone())
                .map_err(|_| TemplateFault::Pattern("the pattern is too large"))?,
            groups: PikeVM::new_from_nfa(nfa)
                .map_err(|_| TemplateFault::Pattern("the pattern is too large"))?,
            marks,
            written: written.unwrap_or_default(),
        })
    }

    /// What one match needs.
    pub(super) fn cache(&self) -> Cache {
        self.automaton.create_cache()
    }

    /// Matches the start of the text. `end`: whether no more will come.
    pub(super) fn match_at(&self, cache: &mut Cache, text: &str, end: bool) -> Opened {
        let is_cut = text.len() > MAX_OPENING;
        let window = text.as_bytes();
        let window = window.get(..MAX_OPENING).unwrap_or(window);
        let found = self.walk(cache, window, is_cut || end);
        found.unwrap_or(Opened::No(window.len()))
    }

    fn walk(&self, cache: &mut Cache, window: &[u8], end: bool) -> Option<Opened> {
        let input = Input::new(window).anchored(Anchored::Yes);
        let mut state = self.automaton.start_state_forward(cache, &input).ok()?;
        let mut last = None;
        for (at, byte) in window.iter().enumerate() {
            state = self.automaton.next_state(cache, state, *byte).ok()?;
            // A match is known one byte late.
            if state.is_match() {
                last = Some(at);
            } else if state.is_dead() || state.is_quit() {
                return Some(last.map_or(Opened::No(at), Opened::At));
            }
        }
        if !end {
            return Some(Opened::More);
        }
        state = self.automaton.next_eoi_state(cache, state).ok()?;
        if state.is_match() {
            last = Some(window.len());
        }
        Some(last.map_or(Opened::No(window.len()), Opened::At))
    }

    /// The text of a named group in an opening.
    pub(super) fn group(&self, opening: &str, name: &str) -> Option<String> {
        let mut cache = self.groups.create_cache();
        let mut groups = self.groups.create_captures();
        let input = Input::new(opening).anchored(Anchored::Yes);
        self.groups.captures(&mut cache, input, &mut groups);
        let span = groups.get_group_by_name(name)?;
        opening.get(span.range()).map(str::to_owned)
    }
}

impl Written {
    /// The shortest text of a pattern, before and behind a group.
    fn of(pattern: &Hir, name: Option<&str>) -> Self {
        let mut written = Self::default();
        let mut is_behind = false;
        written.add(pattern, name, &mut is_behind);
        written
    }

    fn add(&mut self, pattern: &Hir, name: Option<&str>, is_behind: &mut bool) {
        match pattern.kind() {
            HirKind::Literal(literal) => {
                let text = String::from_utf8_lossy(&literal.0);
                let side = if *is_behind {
                    &mut self.behind
                } else {
                    &mut self.before
                };
                side.push_str(&text);
            }
            HirKind::Capture(capture)
                if capture.name.as_deref().is_some_and(|it| Some(it) == name) =>
            {
                *is_behind = true;
            }
            HirKind::Capture(capture) => self.add(&capture.sub, name, is_behind),
            HirKind::Concat(parts) => {
                for part in parts {
                    self.add(part, name, is_behind);
                }
            }
            HirKind::Alternation(parts) => {
                if let Some(first) = parts.first() {
                    self.add(first, name, is_behind);
                }
            }
            HirKind::Repetition(repetition) if repetition.min > 0 && !is_space(&repetition.sub) => {
                self.add(&repetition.sub, name, is_behind);
            }
            // A space or a line break; the space is shorter.
            HirKind::Repetition(repetition) if repetition.min > 0 => {
                let side = if *is_behind {
                    &mut self.behind
                } else {
                    &mut self.before
                };
                side.push(' ');
            }
            HirKind::Class(Class::Unicode(class)) => {
                let first = class.iter().next().map(ClassUnicodeRange::start);
                let side = if *is_behind {
                    &mut self.behind
                } else {
                    &mut self.before
                };
                side.extend(first);
            }
            HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => {}
        }
    }
}
