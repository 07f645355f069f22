//! The data model of a grammar.

/// A rule of a grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The name: letters, digits and dashes.
    pub name: String,
    /// The part that the rule stands for.
    pub part: Part,
}

/// A part of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Exactly this text; it may be empty.
    Literal(String),
    /// One character of a class.
    Class(Class),
    /// The rule of this index.
    Rule(usize),
    /// Parts that follow each other.
    Sequence(Vec<Part>),
    /// One of these parts; an empty choice fits no text.
    Choice(Vec<Part>),
    /// A part that is repeated.
    Repeat {
        /// The part that is repeated. It is never empty.
        part: Box<Part>,
        /// The least number of repetitions.
        least: u32,
        /// The largest number of repetitions; `None` if there is no limit.
        most: Option<u32>,
    },
}

/// A set of characters, listed or all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Class {
    /// The ranges of characters, both ends included.
    pub ranges: Vec<(char, char)>,
    /// Whether any character but those fits.
    pub is_negated: bool,
}

impl Class {
    /// Creates a class of the characters in these ranges.
    pub(super) fn of(ranges: &[(char, char)]) -> Self {
        Self {
            ranges: ranges.to_vec(),
            is_negated: false,
        }
    }

    /// Creates a class of these characters.
    pub(super) fn any_of(characters: impl IntoIterator<Item = char>) -> Self {
        let mut ranges: Vec<(char, char)> = Vec::new();
        for c in characters {
            match ranges.last_mut() {
                Some((_, last)) if u32::from(*last) + 1 == u32::from(c) => *last = c,
                _ => ranges.push((c, c)),
            }
        }
        Self {
            ranges,
            is_negated: false,
        }
    }

    /// Creates a class of all other characters.
    pub(super) fn none_of(characters: impl IntoIterator<Item = char>) -> Self {
        Self {
            is_negated: true,
            ..Self::any_of(characters)
        }
    }

    /// Whether the class has this character.
    #[must_use]
    pub fn contains(&self, c: char) -> bool {
        let listed = self
            .ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&c));
        listed != self.is_negated
    }
}

impl Part {
    /// The part that no text fits.
    pub(super) const NOTHING: Self = Self::Choice(Vec::new());

    /// Creates a part of exactly this text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    /// Makes the part optional.
    pub(super) fn optional(self) -> Self {
        self.repeated(0, Some(1))
    }

    /// Repeats the part.
    pub(super) fn repeated(self, least: u32, most: Option<u32>) -> Self {
        match (least, most) {
            (_, Some(0)) => Self::text(""),
            (1, Some(1)) => self,
            _ => Self::Repeat {
                part: Box::new(self),
                least,
                most,
            },
        }
    }

    /// Creates a choice of these parts, or the part itself if there is only
    /// one.
    pub(super) fn one_of(parts: Vec<Self>) -> Self {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Self::Choice(inner) => flat.extend(inner),
                part => flat.push(part),
            }
        }
        let mut parts = flat;
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            Some(last) => {
                parts.push(last);
                Self::Choice(parts)
            }
            None => Self::NOTHING,
        }
    }

    /// Creates a sequence of these parts, with adjacent texts joined.
    pub(super) fn all_of(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        let parts = parts.into_iter().flat_map(|part| match part {
            Self::Sequence(inner) => inner,
            part => vec![part],
        });
        for part in parts {
            match (all.last_mut(), part) {
                (_, Self::Literal(text)) if text.is_empty() => {}
                (Some(Self::Literal(before)), Self::Literal(text)) => before.push_str(&text),
                (_, part) => all.push(part),
            }
        }
        match all.pop() {
            Some(only) if all.is_empty() => only,
            Some(last) => {
                all.push(last);
                Self::Sequence(all)
            }
            None => Self::text(""),
        }
    }

    /// The parts right inside this one.
    pub(super) fn inner(&self) -> &[Self] {
        match self {
            Self::Sequence(parts) | Self::Choice(parts) => parts,
            Self::Repeat { part, .. } => std::slice::from_ref(part),
            Self::Literal(_) | Self::Class(_) | Self::Rule(_) => &[],
        }
    }

    /// The parts right inside this one, mutable.
    pub(super) fn inner_mut(&mut self) -> &mut [Self] {
        match self {
            Self::Sequence(parts) | Self::Choice(parts) => parts,
            Self::Repeat { part, .. } => std::slice::from_mut(part),
            Self::Literal(_) | Self::Class(_) | Self::Rule(_) => &mut [],
        }
    }
}
