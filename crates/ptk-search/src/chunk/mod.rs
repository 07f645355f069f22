//! Cuts files into chunks that can be searched: definitions, sections,
//! paragraphs.
//!
//! `outline` → `paint` → `split`. The outline says
//! which lines belong to which definition, one within the other; each line is
//! given to the innermost; runs of lines with one owner become chunks, and long
//! ones are split. So every line with a character on it is in exactly one
//! chunk, whatever the source looks like.

mod grammar;
mod lines;
mod markdown;
mod outline;
mod tree;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Language;
use lines::Source;

/// The version of the chunking rules: an index with another version is rebuilt.
pub const VERSION: u32 = 2;
/// The separator between a scope and one nested in it.
const WITHIN: &str = " > ";

/// A run of lines, counted from one, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lines {
    /// The first line.
    pub first: usize,
    /// The last one.
    pub last: usize,
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first, self.last)
    }
}

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

/// A piece of a file, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<T = String> {
    /// Its lines in the file.
    pub lines: Lines,
    /// The name that is defined there.
    pub symbol: Option<String>,
    /// The kind of the chunk.
    pub kind: Kind,
    /// The enclosing scopes, outermost first: `mod tests > impl Reader`. Empty
    /// at the top of a file.
    pub scope: String,
    /// The lines themselves, without the last line break.
    pub text: T,
}

impl<T> Chunk<T> {
    /// Converts the text.
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Chunk<U> {
        Chunk {
            lines: self.lines,
            symbol: self.symbol,
            kind: self.kind,
            scope: self.scope,
            text: change(self.text),
        }
    }
}

/// A definition or section that owns lines, except those of nested ones.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    /// The first and last line, from zero.
    first: usize,
    last: usize,
    kind: Kind,
    symbol: Option<String>,
    scope: String,
}

/// Cuts files into chunks. Reuses its parser, so use one for each thread.
///
/// ```
/// use ptk_search::chunk::{Chunker, Kind};
/// use ptk_search::Language;
///
/// let source = "use std::fmt;\n\n/// Adds.\nfn add(a: u8, b: u8) -> u8 {\n    a + b\n}\n";
/// let chunks = Chunker::default().chunks(source, Language::Rust);
/// let add = &chunks[1];
/// assert_eq!(add.symbol.as_deref(), Some("add"));
/// assert_eq!(add.kind, Kind::Function);
/// assert_eq!((add.lines.first, add.lines.last), (3, 6));
/// ```
#[derive(Default)]
pub struct Chunker {
    parser: tree_sitter::Parser,
}

impl fmt::Debug for Chunker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chunker")
    }
}

impl Chunker {
    /// Cuts a text into chunks, in order. Every line with a character on it is
    /// in exactly one of them. A text that cannot be parsed is cut like plain
    /// text.
    #[must_use]
    pub fn chunks(&mut self, text: &str, language: Language) -> Vec<Chunk> {
        let own = |range: Range<usize>| text.get(range).unwrap_or_default().to_owned();
        let places = self.places(text, language).into_iter();
        places.map(|chunk| chunk.map(own)).collect()
    }

    /// The same, with byte ranges instead of the texts.
    pub(crate) fn places(&mut self, text: &str, language: Language) -> Vec<Chunk<Range<usize>>> {
        let source = Source::new(text);
        let items = match language {
            Language::Text => Some(Vec::new()),
            Language::Markdown => Some(markdown::outline(&source)),
            language => grammar::of(language)
                .and_then(|grammar| tree::outline(&mut self.parser, grammar, &source)),
        };
        let rest = match (language, &items) {
            (Language::Text | Language::Markdown, _) | (_, None) => Kind::Text,
            _ => Kind::Code,
        };
        lines::chunks(&source, items.as_deref().unwrap_or_default(), rest)
    }
}

/// The lines of a text, without the last line break. `None` if it has fewer.
pub(crate) fn excerpt(text: &str, lines: Lines) -> Option<&str> {
    let source = Source::new(text);
    let first = lines.first.checked_sub(1)?;
    (lines.last <= source.count()).then(|| source.slice(first, lines.last - 1))
}
