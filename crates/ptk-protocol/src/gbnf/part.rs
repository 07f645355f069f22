//! A grammar as data.

/// A rule: what its name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Letters, digits and dashes.
    pub name: String,
    /// What it stands for.
    pub part: Part,
}

/// What a rule is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// This very text; it may be empty.
    Literal(String),
    /// One character.
    Class(Class),
    /// What the rule of this index stands for.
    Rule(usize),
    /// One behind the other.
    Sequence(Vec<Part>),
    /// One of these; nothing at all fits none.
    Choice(Vec<Part>),
    /// Several times the same.
    Repeat {
        /// What is repeated. It is never empty.
        part: Box<Part>,
        /// How often at least.
        least: u32,
        /// How often at most; `None` if there is no limit.
        most: Option<u32>,
    },
}

/// One character of some, or of all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Class {
    /// From the first to the last of each pair, both included.
    pub ranges: Vec<(char, char)>,
    /// Whether any character but those fits.
    pub is_negated: bool,
}

impl Class {
    /// Any of these characters.
    pub(super) fn of(ranges: &[(char, char)]) -> Self {
        Self {
            ranges: ranges.to_vec(),
            is_negated: false,
        }
    }

    /// Any of these characters.
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

    /// Any character but these.
    pub(super) fn none_of(characters: impl IntoIterator<Item = char>) -> Self {
        Self {
            is_negated: true,
            ..Self::any_of(characters)
        }
    }

    /// Whether it has this character.
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
    /// What no text fits.
    pub(super) const NOTHING: Self = Self::Choice(Vec::new());

    /// This very text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    /// The same, or nothing.
    pub(super) fn optional(self) -> Self {
        self.repeated(0, Some(1))
    }

    /// The same so many times.
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

    /// One of these, without a choice where there is only one.
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

    /// One behind the other, with neighbouring texts put together.
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

    /// The same, mutable.
    pub(super) fn inner_mut(&mut self) -> &mut [Self] {
        match self {
            Self::Sequence(parts) | Self::Choice(parts) => parts,
            Self::Repeat { part, .. } => std::slice::from_mut(part),
            Self::Literal(_) | Self::Class(_) | Self::Rule(_) => &mut [],
        }
    }
}
