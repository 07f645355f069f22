//! Decides whether a grammar allows a text, for tests.

use std::collections::HashSet;

use super::{Gbnf, Part};

/// What has to follow, the next item last.
type Stack<'a> = Vec<Item<'a>>;

#[derive(Clone, Copy)]
enum Item<'a> {
    Part(&'a Part),
    /// The rest of a literal.
    Text(&'a str),
    /// A part that is repeated so often.
    Again(&'a Part, u32, Option<u32>),
}

impl Item<'_> {
    /// What distinguishes items of one grammar.
    fn key(&self) -> (usize, usize, u32, Option<u32>) {
        match *self {
            Self::Part(part) => (std::ptr::from_ref(part).addr(), 0, 0, None),
            Self::Text(text) => (text.as_ptr().addr(), 1 + text.len(), 0, None),
            Self::Again(part, least, most) => {
                (std::ptr::from_ref(part).addr(), usize::MAX, least, most)
            }
        }
    }
}

impl Gbnf {
    /// Whether the grammar allows the text.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        let mut stacks = self.opened(vec![vec![Item::Part(&Part::Rule(0))]]);
        for c in text.chars() {
            let next = stacks.into_iter().filter_map(|mut stack| {
                match stack.pop()? {
                    Item::Text(text) => stack.push(Item::Text(text.strip_prefix(c)?)),
                    Item::Part(Part::Class(class)) if class.contains(c) => {}
                    _ => return None,
                }
                Some(stack)
            });
            stacks = self.opened(next.collect());
        }
        stacks.iter().any(Vec::is_empty)
    }

    /// Replaces the topmost items by what they stand for, until each stack is
    /// empty or waits for a character.
    fn opened<'a>(&'a self, mut waiting: Vec<Stack<'a>>) -> Vec<Stack<'a>> {
        let mut seen = HashSet::new();
        let mut ready = Vec::new();
        while let Some(mut stack) = waiting.pop() {
            let keys: Vec<_> = stack.iter().map(Item::key).collect();
            if !seen.insert(keys) {
                continue;
            }
            match stack.last().copied() {
                None | Some(Item::Part(Part::Class(_))) => {
                    ready.push(stack);
                }
                Some(Item::Text(text)) if !text.is_empty() => {
                    ready.push(stack);
                }
                Some(item) => {
                    stack.pop();
                    self.open(item, stack, &mut waiting);
                }
            }
        }
        ready
    }

    fn open<'a>(&'a self, item: Item<'a>, mut stack: Stack<'a>, waiting: &mut Vec<Stack<'a>>) {
        match item {
            Item::Part(Part::Choice(parts)) => {
                for part in parts {
                    let mut stack = stack.clone();
                    stack.push(Item::Part(part));
                    waiting.push(stack);
                }
                return;
            }
            Item::Part(Part::Literal(text)) => stack.push(Item::Text(text)),
            Item::Part(Part::Rule(index)) => {
                let rule = self.rules.get(*index);
                stack.extend(rule.map(|rule| Item::Part(&rule.part)));
            }
            Item::Part(Part::Sequence(parts)) => stack.extend(parts.iter().rev().map(Item::Part)),
            Item::Part(Part::Repeat { part, least, most }) => {
                stack.push(Item::Again(part, *least, *most));
            }
            Item::Again(part, least, most) if most != Some(0) => {
                if least == 0 {
                    waiting.push(stack.clone());
                }
                let most = most.map(|most| most - 1);
                stack.push(Item::Again(part, least.saturating_sub(1), most));
                stack.push(Item::Part(part));
            }
            Item::Again(..) | Item::Text(_) | Item::Part(Part::Class(_)) => {}
        }
        waiting.push(stack);
    }
}
