//! The rules of a grammar while it is built: named, shared, counted, and at the
//! end without those that no text fits.

use std::collections::{HashMap, HashSet};

use super::shape::{FreeText, Shape};
use super::write::write_rule;
use super::{Class, Part, Rule, number};

/// The longest name of a rule, numbers aside.
const MAX_NAME: usize = 40;
/// The most white space where some is allowed.
const MAX_BLANK: u32 = 3;

/// The rules of a grammar while it is built. The first one is the root.
#[derive(Debug)]
pub(super) struct Rules {
    all: Vec<Rule>,
    names: HashSet<String>,
    shared: HashMap<&'static str, usize>,
    /// What the rules of free text stand for.
    texts: HashMap<usize, FreeText>,
    size: usize,
}

impl Default for Rules {
    fn default() -> Self {
        let mut rules = Self {
            all: Vec::new(),
            names: HashSet::new(),
            shared: HashMap::new(),
            texts: HashMap::new(),
            size: 0,
        };
        rules.reserve("root");
        rules
    }
}

impl Rules {
    /// How many bytes the rules take when they are written.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Reserves a rule of this name, or nearly this one, that is filled later.
    pub(super) fn reserve(&mut self, name: &str) -> usize {
        let plain = name.chars().map(|c| match c {
            c if c.is_ascii_alphanumeric() => c,
            _ => '-',
        });
        let mut base: String = plain.take(MAX_NAME).collect();
        if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
            base.insert(0, 'r');
        }
        let mut free = base.clone();
        let mut number = self.all.len();
        while !self.names.insert(free.clone()) {
            free = format!("{base}-{number}");
            number += 1;
        }
        self.all.push(Rule {
            name: free,
            part: Part::NOTHING,
        });
        self.all.len() - 1
    }

    /// Sets the content of a rule.
    pub(super) fn fill(&mut self, index: usize, part: Part) {
        let mut text = String::new();
        let name = self.all.get(index).map_or("", |rule| &rule.name);
        // Writing to a string cannot fail.
        let _ = write_rule(&mut text, &self.all, name, &part);
        self.size += text.len();
        if let Some(rule) = self.all.get_mut(index) {
            rule.part = part;
        }
    }

    /// Adds a rule of this name, or nearly this one.
    pub(super) fn add(&mut self, name: &str, part: Part) -> Part {
        let index = self.reserve(name);
        self.fill(index, part);
        Part::Rule(index)
    }

    /// Records which free text a rule stands for: a notation with regular
    /// expressions needs no rules for it.
    pub(super) fn describe(&mut self, index: usize, text: FreeText) {
        self.texts.insert(index, text);
    }

    /// Adds a rule that is shared by its name.
    fn once(&mut self, name: &'static str, make: impl FnOnce(&mut Self) -> Part) -> Part {
        if let Some(index) = self.shared.get(name) {
            return Part::Rule(*index);
        }
        let index = self.reserve(name);
        self.shared.insert(name, index);
        let part = make(self);
        self.fill(index, part);
        Part::Rule(index)
    }

    /// One character of a JSON string.
    pub(super) fn character(&mut self) -> Part {
        self.once("char", |_| {
            let controls = ('\0'..='\u{1f}').chain(['"', '\\', '\u{7f}']);
            let hex = || Part::Class(Class::of(&[('0', '9'), ('A', 'F'), ('a', 'f')]));
            // Surrogates are left out: one alone is not a character.
            let most = Class::of(&[('0', '9'), ('A', 'C'), ('E', 'F'), ('a', 'c'), ('e', 'f')]);
            let code = Part::Choice(vec![
                Part::all_of([Part::Class(most), hex().repeated(3, Some(3))]),
                Part::all_of([
                    Part::Class(Class::any_of("Dd".chars())),
                    Part::Class(Class::of(&[('0', '7')])),
                    hex().repeated(2, Some(2)),
                ]),
            ]);
            let escaped = Part::Choice(vec![
                Part::Class(Class::any_of("\"/\\bfnrt".chars())),
                Part::all_of([Part::text("u"), code]),
            ]);
            Part::Choice(vec![
                Part::Class(Class::none_of(controls)),
                Part::all_of([Part::text("\\"), escaped]),
            ])
        })
    }

    /// A JSON string.
    pub(super) fn string(&mut self) -> Part {
        self.once("string", |rules| {
            let text = rules.character().repeated(0, None);
            Part::all_of([Part::text("\""), text, Part::text("\"")])
        })
    }

    /// A whole number.
    pub(super) fn integer(&mut self) -> Part {
        self.once("integer", |_| number::integer())
    }

    /// A number.
    pub(super) fn number(&mut self) -> Part {
        self.once("number", |_| number::number())
    }

    /// A comma between members or items.
    pub(super) fn comma(&mut self) -> Part {
        self.once("comma", |_| spaced(","))
    }

    /// The colon behind a key.
    pub(super) fn colon(&mut self) -> Part {
        self.once("colon", |_| spaced(":"))
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self) -> Part {
        self.once("boolean", |_| {
            Part::Choice(vec![Part::text("true"), Part::text("false")])
        })
    }

    /// Any JSON value.
    pub(super) fn value(&mut self) -> Part {
        self.once("value", |rules| {
            Part::Choice(vec![
                rules.string(),
                rules.number(),
                rules.boolean(),
                Part::text("null"),
                rules.array(),
                rules.object(),
            ])
        })
    }

    /// Any JSON array.
    pub(super) fn array(&mut self) -> Part {
        self.once("array", |rules| {
            let item = rules.value();
            rules.list("[", item, 0, None, "]")
        })
    }

    /// Any JSON object.
    pub(super) fn object(&mut self) -> Part {
        self.once("object", |rules| {
            let member = rules.once("member", |rules| {
                Part::all_of([rules.string(), rules.colon(), rules.value()])
            });
            rules.list("{", member, 0, None, "}")
        })
    }

    /// A list of so many items between brackets, with commas.
    pub(super) fn list(
        &mut self,
        open: &str,
        item: Part,
        least: u32,
        most: Option<u32>,
        close: &str,
    ) -> Part {
        if most == Some(0) {
            return Part::text(format!("{open}{close}"));
        }
        let next = Part::all_of([self.comma(), item.clone()]);
        let rest = next.repeated(least.saturating_sub(1), most.map(|most| most - 1));
        let mut items = Part::all_of([item, rest]);
        if least == 0 {
            items = items.optional();
        }
        Part::all_of([Part::text(open), items, Part::text(close)])
    }

    /// A little white space, or none.
    pub(super) fn blank(&mut self) -> Part {
        self.once("blank", |_| {
            Part::Class(Class::any_of("\n ".chars())).repeated(0, Some(MAX_BLANK))
        })
    }

    /// Whether each rule has a text that fits it.
    pub(super) fn fruitful(&self) -> Vec<bool> {
        let mut known = vec![false; self.all.len()];
        loop {
            let mut is_new = false;
            for (index, rule) in self.all.iter().enumerate() {
                let Some(place) = known.get(index).filter(|place| !**place) else {
                    continue;
                };
                let found = *place || is_fruitful(&rule.part, &known);
                if found && let Some(place) = known.get_mut(index) {
                    *place = true;
                    is_new = true;
                }
            }
            if !is_new {
                return known;
            }
        }
    }

    /// Returns the rules that the root needs, without parts that no text fits,
    /// and the shape, whose parts are parts of the root.
    pub(super) fn finish(mut self, root: Part, mut shape: Shape) -> (Vec<Rule>, Shape) {
        self.fill(0, root);
        let fruitful = self.fruitful();
        for rule in &mut self.all {
            prune(&mut rule.part, &fruitful);
        }
        for part in shape.parts_mut() {
            prune(part, &fruitful);
        }
        let mut places: Vec<Option<usize>> = vec![None; self.all.len()];
        let mut kept = Vec::new();
        let mut waiting = vec![0];
        while let Some(index) = waiting.pop() {
            let Some(place) = places.get_mut(index).filter(|place| place.is_none()) else {
                continue;
            };
            *place = Some(0);
            if let Some(rule) = self.all.get(index) {
                needed(&rule.part, &mut waiting);
            }
        }
        for (place, rule) in places.iter_mut().zip(self.all) {
            if place.is_some() {
                *place = Some(kept.len());
                kept.push(rule);
            }
        }
        for rule in &mut kept {
            renumber(&mut rule.part, &places);
        }
        for part in shape.parts_mut() {
            renumber(part, &places);
        }
        let texts = self.texts.into_iter().filter_map(|(index, text)| {
            let place = places.get(index).copied().flatten()?;
            Some((place, text))
        });
        shape.texts = texts.collect();
        (kept, shape)
    }
}

/// A sign with a space behind it, or without.
fn spaced(sign: &str) -> Part {
    Part::all_of([Part::text(sign), Part::text(" ").optional()])
}

/// Whether some text fits the part, if some text fits the known rules.
fn is_fruitful(part: &Part, known: &[bool]) -> bool {
    match part {
        Part::Literal(_) | Part::Class(_) => true,
        Part::Rule(index) => known.get(*index).copied().unwrap_or(false),
        Part::Sequence(parts) => parts.iter().all(|part| is_fruitful(part, known)),
        Part::Choice(parts) => parts.iter().any(|part| is_fruitful(part, known)),
        Part::Repeat { part, least, .. } => *least == 0 || is_fruitful(part, known),
    }
}

/// Removes the parts that no text fits.
fn prune(part: &mut Part, fruitful: &[bool]) {
    match part {
        Part::Choice(parts) => {
            parts.retain(|part| is_fruitful(part, fruitful));
        }
        Part::Repeat { part: inner, .. } if !is_fruitful(inner, fruitful) => {
            *part = Part::text("");
        }
        _ => {}
    }
    for inner in part.inner_mut() {
        prune(inner, fruitful);
    }
}

/// Adds the rules that a part refers to itself.
pub(super) fn needed(part: &Part, rules: &mut Vec<usize>) {
    if let Part::Rule(index) = part {
        rules.push(*index);
    }
    for inner in part.inner() {
        needed(inner, rules);
    }
}

fn renumber(part: &mut Part, places: &[Option<usize>]) {
    if let Part::Rule(index) = part
        && let Some(place) = places.get(*index).copied().flatten()
    {
        *index = place;
    }
    for inner in part.inner_mut() {
        renumber(inner, places);
    }
}
