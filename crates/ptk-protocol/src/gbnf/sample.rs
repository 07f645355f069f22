//! Generates random texts of a grammar, for tests.

use super::{Class, Gbnf, Part};

/// How many rules deep a text may go before it is ended the shortest way.
const DEPTH: usize = 40;
/// How many bytes a text has before it is ended the shortest way.
const LENGTH: usize = 400;
/// The most repetitions of a part that has no limit.
const MOST: u32 = 6;
/// Characters that a sample is made of where the grammar takes any.
const CHARACTERS: &str =
    "ab <>[]{}\"'`~|/\\_-:,.?!\n\u{7f}\u{e9}\u{2028}\u{1f600}PTKCALptkcaltool<<\n``";

impl Gbnf {
    /// Generates a text of the grammar. `choose` gets the number of
    /// possibilities and returns the one to take.
    pub fn sample(&self, choose: &mut dyn FnMut(usize) -> usize) -> String {
        let heights = self.heights();
        let mut sample = Sample {
            grammar: self,
            heights: &heights,
            choose,
            text: String::new(),
        };
        // Words are long chains of rules, so that they are walked in a loop.
        let mut stack = vec![(&Part::Rule(0), 0)];
        while let Some((part, depth)) = stack.pop() {
            sample.step(part, depth, &mut stack);
        }
        sample.text
    }

    /// The least number of rules needed to end, for each rule.
    fn heights(&self) -> Vec<usize> {
        let mut heights = vec![usize::MAX; self.rules.len()];
        loop {
            let mut is_new = false;
            for (index, rule) in self.rules.iter().enumerate() {
                let height = height(&rule.part, &heights).saturating_add(1);
                if let Some(known) = heights.get_mut(index)
                    && height < *known
                {
                    *known = height;
                    is_new = true;
                }
            }
            if !is_new {
                return heights;
            }
        }
    }
}

fn height(part: &Part, heights: &[usize]) -> usize {
    let inner = part.inner().iter().map(|part| height(part, heights));
    match part {
        Part::Literal(_) | Part::Class(_) | Part::Repeat { least: 0, .. } => 0,
        Part::Rule(index) => heights.get(*index).copied().unwrap_or(usize::MAX),
        Part::Sequence(_) | Part::Repeat { .. } => inner.max().unwrap_or(0),
        Part::Choice(_) => inner.min().unwrap_or(usize::MAX),
    }
}

struct Sample<'a> {
    grammar: &'a Gbnf,
    heights: &'a [usize],
    choose: &'a mut dyn FnMut(usize) -> usize,
    text: String,
}

impl<'a> Sample<'a> {
    fn step(&mut self, part: &'a Part, depth: usize, stack: &mut Vec<(&'a Part, usize)>) {
        let is_long = depth > DEPTH || self.text.len() > LENGTH;
        match part {
            Part::Literal(text) => self.text.push_str(text),
            Part::Class(class) => {
                let c = self.character(class);
                self.text.push(c);
            }
            Part::Rule(index) => {
                let rule = self.grammar.rules.get(*index);
                stack.extend(rule.map(|rule| (&rule.part, depth + 1)));
            }
            Part::Sequence(parts) => stack.extend(parts.iter().rev().map(|part| (part, depth))),
            Part::Choice(parts) if is_long => {
                let shortest = parts.iter().min_by_key(|part| height(part, self.heights));
                stack.extend(shortest.map(|part| (part, depth)));
            }
            Part::Choice(parts) => {
                let chosen = parts.get((self.choose)(parts.len()));
                stack.extend(chosen.map(|part| (part, depth)));
            }
            Part::Repeat { part, least, most } => {
                let more = most.map_or(MOST, |most| most - least);
                let more = match (self.choose)(16) {
                    _ if is_long => 0,
                    // Sometimes as many as there may be.
                    0 => more as usize,
                    _ => (self.choose)(more.min(MOST) as usize + 1),
                };
                let count = *least as usize + more;
                stack.extend(std::iter::repeat_n((&**part, depth), count));
            }
        }
    }

    fn character(&mut self, class: &Class) -> char {
        if class.is_negated {
            let fitting = CHARACTERS.chars().filter(|c| class.contains(*c));
            let fitting: Vec<char> = fitting.collect();
            let chosen = (self.choose)(fitting.len());
            return fitting.get(chosen).copied().unwrap_or('a');
        }
        let chosen = (self.choose)(class.ranges.len());
        let (from, to) = class.ranges.get(chosen).copied().unwrap_or(('a', 'a'));
        let all: Vec<char> = (from..=to).collect();
        let chosen = (self.choose)(all.len());
        all.get(chosen).copied().unwrap_or(from)
    }
}
