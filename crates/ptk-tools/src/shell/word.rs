//! A word of a command line: what of it is known before the shell runs.

use std::fmt;
use std::path::{Path, PathBuf};

use brush_parser::word::{
    self, BraceExpressionMember, BraceExpressionOrText, Parameter, ParameterExpr, WordPiece,
    WordPieceWithSource,
};

use super::variables::Variables;
use super::{ansi_c, options, tolerant};

/// How many words one with braces may become.
const MAX_BRACES: usize = 64;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Just this text.
    Text(String),
    /// A pattern of file names, not quoted.
    Glob(String),
    /// The home folder of whoever runs it.
    Home,
    /// The folder in which it runs.
    Folder,
    /// What only the shell will know.
    Unknown,
}

/// A word of a command line.
///
/// Quotes are gone from it. What a substitution or a pattern stands for is not
/// known before the command runs, nor is a variable, unless its value stands in
/// the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    source: String,
    pieces: Vec<Piece>,
    has_variables: bool,
}

/// The words that one becomes, and the commands that run for that.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) words: Vec<Word>,
    pub(super) nested: Vec<String>,
}

impl Word {
    /// A word that means itself.
    pub(crate) fn plain(text: &str) -> Self {
        Self {
            source: text.to_owned(),
            pieces: vec![Piece::Text(text.to_owned())],
            has_variables: false,
        }
    }

    /// A word of which nothing is known but how it is written.
    pub(crate) fn unknown(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            pieces: vec![Piece::Unknown],
            has_variables: false,
        }
    }

    /// The text that the program gets, if it is known for sure.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether a part of it is the value of a variable.
    pub(crate) fn has_variables(&self) -> bool {
        self.has_variables
    }

    /// How it was written, or would be with the values of its variables.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is exactly this text.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.literal() == Some(text)
    }

    /// The text it begins with for sure.
    pub(crate) fn start(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether it is a pattern of file names that can be looked up.
    pub(crate) fn is_glob(&self) -> bool {
        let is_glob = |piece: &Piece| matches!(piece, Piece::Glob(_));
        self.pieces.iter().any(is_glob) && !self.pieces.contains(&Piece::Unknown)
    }

    /// The word without a text that it begins with, such as `of=`.
    pub(crate) fn without(&self, prefix: &str) -> Option<Self> {
        let (first, rest) = self.pieces.split_first()?;
        let Piece::Text(text) = first else {
            return None;
        };
        let text = text.strip_prefix(prefix)?;
        let mut pieces = Vec::new();
        push_text(&mut pieces, text);
        // Behind it, bash leaves a `~` as it is; `dd of=~/x` is no such thing.
        pieces.extend(rest.iter().cloned());
        Some(Self {
            source: self.source.replacen(prefix, "", 1),
            pieces,
            has_variables: self.has_variables,
        })
    }

    /// What it says about folders holds no more.
    pub(super) fn forget(&mut self) {
        for piece in &mut self.pieces {
            if matches!(piece, Piece::Home | Piece::Folder) {
                *piece = Piece::Unknown;
            }
        }
    }

    /// The path that it means, patterns left as they are. `None` where a part
    /// of it is not known.
    pub(crate) fn path(&self, home: Option<&Path>, folder: Option<&Path>) -> Option<PathBuf> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(part) | Piece::Glob(part) => text.push_str(part),
                Piece::Home => text.push_str(home?.to_str()?),
                Piece::Folder => text.push_str(folder?.to_str()?),
                Piece::Unknown => return None,
            }
        }
        match Path::new(&text) {
            path if path.is_absolute() => Some(path.to_owned()),
            path => Some(folder?.join(path)),
        }
    }

    /// Written so that a shell reads it back as the same text.
    #[must_use]
    pub fn quoted(text: &str) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,^".contains(c);
        if !text.is_empty() && text.chars().all(is_plain) {
            return text.to_owned();
        }
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// Reads a word of the shell, where these variables are known.
pub(super) fn read(source: &str, variables: &Variables) -> Reading {
    let mut reading = Reading::default();
    match braces(source) {
        Some(all) => all.iter().for_each(|one| reading.one(one, variables)),
        None => reading.words.push(Word::unknown(source)),
    }
    reading
}

/// The commands that run in a text that is no word, such as a here-document.
pub(super) fn nested_in(source: &str) -> Vec<String> {
    read_pieces(source).map_or_else(
        || vec![source.to_owned()],
        |pieces| {
            let variables = Variables::default();
            let mut reader = Reader::new(&variables);
            reader.all(&pieces, source, Quotes::Double);
            reader.nested
        },
    )
}

fn read_pieces(source: &str) -> Option<Vec<WordPieceWithSource>> {
    if tolerant::is_too_deep(source) {
        return None;
    }
    word::parse(source, &options()).ok()
}

impl Reading {
    /// Reads a word without braces.
    fn one(&mut self, source: &str, variables: &Variables) {
        let Some(pieces) = read_pieces(source) else {
            self.words.push(Word::unknown(source));
            self.nested.push(source.to_owned());
            return;
        };
        let mut reader = Reader::new(variables);
        reader.all(&pieces, source, Quotes::None);
        reader.end();
        self.nested.append(&mut reader.nested);
        let has_variables = reader.has_variables;
        let words = reader.words.into_iter().map(|pieces| Word {
            source: match pieces.as_slice() {
                [Piece::Text(text)] if has_variables => Word::quoted(text),
                _ => source.to_owned(),
            },
            pieces,
            has_variables,
        });
        self.words.extend(words);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

/// Puts the pieces of a word together.
struct Reader<'a> {
    variables: &'a Variables,
    words: Vec<Vec<Piece>>,
    current: Vec<Piece>,
    nested: Vec<String>,
    has_variables: bool,
}

impl<'a> Reader<'a> {
    fn new(variables: &'a Variables) -> Self {
        Self {
            variables,
            words: Vec::new(),
            current: Vec::new(),
            nested: Vec::new(),
            has_variables: false,
        }
    }

    fn all(&mut self, pieces: &[WordPieceWithSource], source: &str, quotes: Quotes) {
        for piece in pieces {
            let range = piece.start_index..piece.end_index;
            let written = source.get(range).unwrap_or_default();
            self.piece(&piece.piece, source, written, quotes);
        }
    }

    fn piece(&mut self, piece: &WordPiece, source: &str, written: &str, quotes: Quotes) {
        match piece {
            WordPiece::Text(text) if quotes == Quotes::None && is_pattern(text) => {
                self.current.push(Piece::Glob(text.clone()));
            }
            WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => self.text(text),
            WordPiece::AnsiCQuotedText(text) => match ansi_c::decoded(text) {
                Some(text) => self.text(&text),
                None => self.current.push(Piece::Unknown),
            },
            WordPiece::DoubleQuotedSequence(inner)
            | WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.text("");
                self.all(inner, source, Quotes::Double);
            }
            WordPiece::TildePrefix(user) => self.current.push(if user.is_empty() {
                Piece::Home
            } else {
                Piece::Unknown
            }),
            WordPiece::EscapeSequence(text) => {
                let behind = text.strip_prefix('\\').unwrap_or(text);
                self.text(if behind == "\n" { "" } else { behind });
            }
            WordPiece::CommandSubstitution(text) => {
                self.nested.push(text.clone());
                self.current.push(Piece::Unknown);
            }
            WordPiece::BackquotedCommandSubstitution(text) => {
                self.nested.push(without_backslashes(text));
                self.current.push(Piece::Unknown);
            }
            WordPiece::ArithmeticExpression(inner) => {
                self.nested.append(&mut nested_in(&inner.value));
                self.current.push(Piece::Unknown);
            }
            WordPiece::ParameterExpansion(parameter) => self.parameter(parameter, written, quotes),
        }
    }

    fn parameter(&mut self, parameter: &ParameterExpr, written: &str, quotes: Quotes) {
        let name = match parameter {
            ParameterExpr::Parameter {
                parameter: Parameter::Named(name),
                indirect: false,
            } => name.as_str(),
            _ => "",
        };
        match name {
            "HOME" => self.current.push(Piece::Home),
            "PWD" => self.current.push(Piece::Folder),
            // It holds the blanks that words end at.
            "IFS" if quotes == Quotes::None => self.end(),
            "" => {
                // Whatever stands in it may hold commands: `${a:-$(b)}`.
                let inner = written.trim_start_matches(['$', '{']);
                let inner = inner.strip_suffix('}').unwrap_or(inner);
                if inner.contains(['$', '`']) {
                    self.nested.append(&mut nested_in(inner));
                }
                self.current.push(Piece::Unknown);
            }
            name => match self.variables.get(name) {
                Some(value) => self.value(value, quotes),
                None => self.current.push(Piece::Unknown),
            },
        }
    }

    /// The value of a variable. Without quotes, it becomes words and patterns.
    fn value(&mut self, value: &[Piece], quotes: Quotes) {
        self.has_variables = true;
        for piece in value {
            match piece {
                Piece::Text(text) if quotes == Quotes::None => {
                    for (at, part) in text.split([' ', '\t', '\n']).enumerate() {
                        if at > 0 {
                            self.end();
                        }
                        match part {
                            "" => {}
                            part if is_pattern(part) => {
                                self.current.push(Piece::Glob(part.to_owned()));
                            }
                            part => self.text(part),
                        }
                    }
                }
                Piece::Text(text) => self.text(text),
                piece => self.current.push(piece.clone()),
            }
        }
    }

    fn text(&mut self, text: &str) {
        push_text(&mut self.current, text);
    }

    fn end(&mut self) {
        if !self.current.is_empty() {
            self.words.push(std::mem::take(&mut self.current));
        }
    }
}

/// Whether file names are looked up for a text. A bracket alone is a program.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) || text.contains('[') && text != "[" && text != "[["
}

/// Text joins the text before it, so that a word that is known is one piece.
fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// Between backquotes, a backslash before one of these is not the command's.
fn without_backslashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some('`' | '\\' | '$') if c == '\\' => plain.extend(chars.next()),
            _ => plain.push(c),
        }
    }
    plain
}

/// The words that `{a,b}` makes of one. `None` if they are too many.
fn braces(source: &str) -> Option<Vec<String>> {
    if !source.contains('{') || tolerant::is_too_deep(source) {
        return Some(vec![source.to_owned()]);
    }
    match word::parse_brace_expansions(source, &options()) {
        Ok(Some(parts)) => expanded(&parts),
        Ok(None) => Some(vec![source.to_owned()]),
        Err(_) => None,
    }
}

fn expanded(parts: &[BraceExpressionOrText]) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    for part in parts {
        let choices = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => {
                let members = members.iter().map(choices);
                members.collect::<Option<Vec<_>>>()?.concat()
            }
        };
        if all.len() * choices.len() > MAX_BRACES {
            return None;
        }
        let with = |start: &String| -> Vec<String> {
            let joined = choices.iter().map(|end| format!("{start}{end}"));
            joined.collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    Some(all)
}

fn choices(member: &BraceExpressionMember) -> Option<Vec<String>> {
    match member {
        BraceExpressionMember::Child(parts) => expanded(parts),
        // A sequence, which names no file that is worth the trouble.
        _ => None,
    }
}
