//! Words that contain no mark: a rule for each beginning of a mark, which says
//! what may not follow it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::rules::Rules;
use super::shape::{FreeText, TextForm};
use super::{Class, Part};

/// How much of a mark is kept out of the words. A longer beginning would take
/// more rules, and occurs only in marks.
const MAX_MARK: usize = 6;

/// The beginnings of all marks, as a tree with a fallback from each.
#[derive(Debug)]
pub(super) struct MarkTree {
    nodes: Vec<MarkTreeNode>,
    /// All characters of marks, in lower case.
    letters: BTreeSet<char>,
    /// What is kept out of the words: the beginnings of the marks, in lower
    /// case.
    without: Arc<[String]>,
}

#[derive(Debug, Default, Clone)]
struct MarkTreeNode {
    next: BTreeMap<char, usize>,
    /// The longest beginning of a mark that this one ends with.
    back: usize,
    /// Whether a mark ends here.
    is_mark: bool,
}

/// Where words may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// Words may end anywhere.
    Anywhere,
    /// Words may end before the first character of a line.
    AtLineStart,
}

impl MarkTree {
    /// Creates the tree of these marks; letters match in any case.
    pub(super) fn new<S: AsRef<str>>(marks: impl IntoIterator<Item = S>) -> Self {
        let mut nodes = vec![MarkTreeNode::default()];
        let mut letters = BTreeSet::new();
        let mut without = BTreeSet::new();
        for mark in marks {
            let mut at = 0;
            let mark = mark.as_ref().chars().map(|c| c.to_ascii_lowercase());
            let mark: String = mark.take(MAX_MARK).take_while(|c| *c != '\n').collect();
            for c in mark.chars() {
                letters.insert(c);
                let end = nodes.len();
                let Some(node) = nodes.get_mut(at) else { break };
                at = *node.next.entry(c).or_insert(end);
                if at == end {
                    nodes.push(MarkTreeNode::default());
                }
            }
            if let Some(node) = nodes.get_mut(at).filter(|_| at > 0) {
                node.is_mark = true;
                without.insert(mark);
            }
        }
        let mut marks = Self {
            nodes,
            letters,
            without: without.into_iter().collect(),
        };
        marks.find_ways_back();
        marks
    }

    /// Sets the fallback of each beginning: the longest one that it ends with.
    fn find_ways_back(&mut self) {
        let mut waiting = VecDeque::from([0]);
        while let Some(at) = waiting.pop_front() {
            let Some(node) = self.nodes.get(at).cloned() else {
                continue;
            };
            for (c, next) in node.next {
                let back = if at == 0 {
                    0
                } else {
                    self.behind(node.back, c)
                };
                let is_mark = self.nodes.get(back).is_some_and(|back| back.is_mark);
                if let Some(next) = self.nodes.get_mut(next) {
                    next.back = back;
                    next.is_mark |= is_mark;
                }
                waiting.push_back(next);
            }
        }
    }

    /// The beginning of a mark that is reached from this one by a character.
    fn behind(&self, mut at: usize, c: char) -> usize {
        loop {
            let Some(node) = self.nodes.get(at) else {
                return 0;
            };
            match node.next.get(&c) {
                Some(next) => return *next,
                None if at == 0 => return 0,
                None => at = node.back,
            }
        }
    }

    /// Rules for words without these marks.
    pub(super) fn words(&self, rules: &mut Rules, name: &str, ends: Ends) -> Words<'_> {
        let states = self.nodes.iter().map(|node| {
            let is_mark = node.is_mark;
            (!is_mark).then(|| rules.reserve(name))
        });
        let states: Vec<Option<usize>> = states.collect();
        let line = match ends {
            Ends::Anywhere => states.first().copied().flatten(),
            Ends::AtLineStart => Some(rules.reserve(name)),
        };
        for (at, index) in states.iter().enumerate() {
            let Some(index) = *index else { continue };
            let mut choices = self.steps(at, &states, line, &[]);
            if ends == Ends::Anywhere {
                choices.push(Part::text(""));
            } else if let (0, Some(line)) = (at, line) {
                let mut choices = choices.clone();
                choices.push(Part::text(""));
                rules.fill(line, Part::one_of(choices));
            }
            rules.fill(index, Part::one_of(choices));
        }
        if let Some(line) = line {
            rules.describe(
                line,
                self.free_text(match ends {
                    Ends::Anywhere => TextForm::Any,
                    Ends::AtLineStart => TextForm::Lines,
                }),
            );
        }
        Words {
            marks: self,
            states,
            line,
        }
    }

    /// The description of words without these marks.
    fn free_text(&self, form: TextForm) -> FreeText {
        FreeText {
            without: Arc::clone(&self.without),
            form,
        }
    }

    /// The characters that may follow a beginning, and where they lead.
    fn steps(
        &self,
        at: usize,
        states: &[Option<usize>],
        line: Option<usize>,
        without: &[char],
    ) -> Vec<Part> {
        let mut ways: BTreeMap<usize, Vec<char>> = BTreeMap::new();
        let mut listed: Vec<char> = vec!['\n'];
        listed.extend(without.iter().filter(|c| **c != '\n'));
        for letter in &self.letters {
            let next = self.behind(at, *letter);
            if next == 0 || without.contains(letter) {
                continue;
            }
            let both = BTreeSet::from([*letter, letter.to_ascii_uppercase()]);
            listed.extend(&both);
            ways.entry(next).or_default().extend(&both);
        }
        listed.sort_unstable();
        let mut choices = Vec::new();
        if let Some(start) = states.first().copied().flatten() {
            let other = Part::Class(Class::none_of(listed));
            choices.push(Part::all_of([other, Part::Rule(start)]));
        }
        if let Some(line) = line {
            choices.push(Part::all_of([Part::text("\n"), Part::Rule(line)]));
        }
        for (next, mut letters) in ways {
            letters.sort_unstable();
            if let Some(index) = states.get(next).copied().flatten() {
                let class = Part::Class(Class::any_of(letters));
                choices.push(Part::all_of([class, Part::Rule(index)]));
            }
        }
        choices
    }
}

/// Words without marks.
#[derive(Debug)]
pub(super) struct Words<'m> {
    marks: &'m MarkTree,
    /// The rule behind each beginning of a mark that is not a whole one.
    states: Vec<Option<usize>>,
    /// The rule at the start of a line.
    line: Option<usize>,
}

impl Words<'_> {
    /// Any words, or none.
    pub(super) fn any(&self) -> Part {
        self.line.map_or(Part::NOTHING, Part::Rule)
    }

    /// At least one word, as a rule of its own: the first character is not
    /// white space.
    pub(super) fn some(&self, rules: &mut Rules, name: &str) -> Part {
        let steps = self.marks.steps(0, &self.states, None, &blank());
        let index = rules.reserve(name);
        rules.fill(index, Part::one_of(steps));
        rules.describe(index, self.marks.free_text(TextForm::NotBlank));
        Part::Rule(index)
    }
}

/// All white space.
pub(super) fn blank() -> Vec<char> {
    let all = '\0'..='\u{3000}';
    all.filter(|c| c.is_whitespace()).collect()
}
