//! Cuts files into chunks that can be searched: definitions, sections,
//! paragraphs.
//!
//! `outline` → `paint` → `split`. The outline says
//! which lines belong to which definition, one within the other; each line is
//! given to the innermost; runs of lines with one owner become chunks, and long
//! ones are split. So every line with a character on it is in exactly one
//! chunk, whatever the source looks like.

mod grammar;
mod kind;
mod lines;
mod markdown;
mod outline;
mod piece;
mod tree;

use std::fmt;
use std::ops::Range;

pub use kind::{Kind, UnknownKind};
pub use piece::{Chunk, Lines};

use crate::Language;
use lines::Source;

/// The version of the chunking rules: an index with another version is rebuilt.
pub const VERSION: u32 = 2;

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
