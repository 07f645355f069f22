//! The kinds of chunks, and their names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kind of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A function outside any type.
    Function,
    /// A function of a type.
    Method,
    /// A class: its header, and what is in it besides methods.
    Class,
    /// A structure.
    Struct,
    /// An enumeration.
    Enum,
    /// A union.
    Union,
    /// A trait or mixin: its header, and what is in it besides methods.
    Trait,
    /// An interface.
    Interface,
    /// The header of an implementation.
    Impl,
    /// The header of a module or namespace.
    Module,
    /// A type alias.
    Type,
    /// A constant, or a variable of a module.
    Constant,
    /// A property of a type.
    Property,
    /// A macro.
    Macro,
    /// A section of a document.
    Section,
    /// Code between definitions: imports, statements.
    Code,
    /// Plain text.
    Text,
}

const KINDS: [(Kind, &str); 17] = [
    (Kind::Function, "function"),
    (Kind::Method, "method"),
    (Kind::Class, "class"),
    (Kind::Struct, "struct"),
    (Kind::Enum, "enum"),
    (Kind::Union, "union"),
    (Kind::Trait, "trait"),
    (Kind::Interface, "interface"),
    (Kind::Impl, "impl"),
    (Kind::Module, "module"),
    (Kind::Type, "type"),
    (Kind::Constant, "constant"),
    (Kind::Property, "property"),
    (Kind::Macro, "macro"),
    (Kind::Section, "section"),
    (Kind::Code, "code"),
    (Kind::Text, "text"),
];

impl Kind {
    /// Every kind that there is.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|(kind, _)| *kind)
    }

    /// The name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("text", |(_, name)| name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for an unknown kind of chunk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("No kind of definition is called `{name}`. Known are: {}", known())]
pub struct UnknownKind {
    /// The unknown name.
    pub name: String,
}

fn known() -> String {
    let names: Vec<&str> = KINDS.iter().map(|(_, name)| *name).collect();
    names.join(", ")
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let lower = name.to_lowercase();
        let found = KINDS.iter().find(|(_, known)| *known == lower);
        found.map(|(kind, _)| *kind).ok_or_else(|| UnknownKind {
            name: name.to_owned(),
        })
    }
}
