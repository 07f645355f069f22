//! A word of a command line, as far as it is known before the shell runs.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use brush_parser::word::{
    self, BraceExpressionMember, BraceExpressionOrText, Parameter, ParameterExpr, WordPiece,
    WordPieceWithSource,
};

use super::{ansi_c, options, substitution, tolerant};

/// How many words one with braces may become.
const MAX_BRACES: usize = 64;
/// Parts of a word with braces.
const MAX_PARTS: usize = 64;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Just this text.
    Text(String),
    /// A pattern of file names, not quoted.
    Glob(String),
    /// The home folder of the user who runs it.
    Home,
    /// The folder in which it runs.
    Folder,
    /// A text that only the shell will know.
    Unknown,
}

/// A word of a command line.
///
/// Quotes are gone from it. What a variable, a substitution or a pattern stands
/// for is not known before the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    source: String,
    pieces: Vec<Piece>,
}

/// The words that one becomes, and the commands that run for that.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) words: Vec<Word>,
    pub(super) nested: Vec<String>,
    /// Whether those are all commands that run.
    pub(super) is_whole: bool,
    /// Whether the shell evaluates what variables hold, and may run that.
    pub(super) is_evaluated: bool,
}

impl Word {
    /// A word that means itself.
    pub(crate) fn plain(text: &str) -> Self {
        Self {
            source: text.to_owned(),
            pieces: vec![Piece::Text(text.to_owned())],
        }
    }

    /// A word of which nothing is known but how it is written.
    pub(crate) fn unknown(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            pieces: vec![Piece::Unknown],
        }
    }

    /// A word that means the home folder.
    pub(super) fn home() -> Self {
        Self {
            source: "~".to_owned(),
            pieces: vec![Piece::Home],
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

    /// The word as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the word is exactly this text.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.literal() == Some(text)
    }

    /// The text that the word begins with for sure.
    pub(crate) fn start(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// Whether it may begin with anything, so that it may be an option, or no
    /// word at all.
    pub(crate) fn begins_unknown(&self) -> bool {
        matches!(self.pieces.first(), Some(Piece::Unknown))
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether the word is a pattern of file names that can be looked up.
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
        // Behind it, bash leaves a `~` as it is; `dd of=~/x` is not such a
        // case.
        pieces.extend(rest.iter().cloned());
        Some(Self {
            source: self.source.replacen(prefix, "", 1),
            pieces,
        })
    }

    /// Forgets the folders in it, which may not hold any more.
    pub(super) fn forget(&mut self) {
        for piece in &mut self.pieces {
            if matches!(piece, Piece::Home | Piece::Folder) {
                *piece = Piece::Unknown;
            }
        }
    }

    /// The path that the word means, patterns left as they are. `None` where a
    /// part of it is not known.
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

    /// A text quoted so that a shell reads it back as the same text.
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

/// Reads a word of the shell.
pub(super) fn read(source: &str) -> Reading {
    let mut reading = Reading {
        words: Vec::new(),
        nested: Vec::new(),
        is_whole: true,
        is_evaluated: false,
    };
    let braces = braces(source);
    let is_one = matches!(&braces, Some(all) if all.words == [source]);
    if !is_one {
        // This is what stands in it, whatever its braces expand to.
        reading.one(source);
        reading.words.clear();
    }
    for one in braces.iter().flat_map(|all| &all.words) {
        reading.one(one);
    }
    if !braces.is_some_and(|all| all.is_all) {
        reading.words.push(Word::unknown(source));
    }
    reading.nested.dedup();
    reading
}

fn read_pieces(source: &str) -> Option<Vec<WordPieceWithSource>> {
    if tolerant::is_too_deep(source) {
        return None;
    }
    tolerant::without_panic(|| word::parse(source, &options()).ok())
}

impl Reading {
    /// Reads a word without braces.
    fn one(&mut self, source: &str) {
        let Some(pieces) = read_pieces(source) else {
            self.words.push(Word::unknown(source));
            self.nested.push(source.to_owned());
            self.is_whole = false;
            return;
        };
        let mut reader = Reader::default();
        reader.all(&pieces, source, Quotes::None);
        reader.has_missed |= has_signs(&pieces, source, 0..source.len(), Quotes::None);
        if may_have_braces(&pieces) {
            reader.current.push(Piece::Unknown);
        }
        reader.end();
        self.nested.append(&mut reader.nested);
        self.is_whole &= !reader.has_missed;
        // The old form of a number; it is not looked for in its quotes.
        self.is_evaluated |= reader.is_evaluated || source.contains("$[");
        let words = reader.words.into_iter().map(|pieces| Word {
            source: source.to_owned(),
            pieces,
        });
        self.words.extend(words);
    }
}

/// Whether signs of commands stand in a part of a word outside of those pieces
/// that are known to run, or to quote, what is in them.
fn has_signs(
    pieces: &[WordPieceWithSource],
    source: &str,
    part: Range<usize>,
    quotes: Quotes,
) -> bool {
    let mut left = String::new();
    let mut end = part.start;
    for piece in pieces {
        let range = piece.start_index..piece.end_index;
        let Some(before) = source.get(end..range.start) else {
            return true;
        };
        left.push_str(before);
        end = range.end;
        match &piece.piece {
            WordPiece::Text(_) | WordPiece::TildePrefix(_) => {
                left.push_str(source.get(range).unwrap_or("`"));
            }
            WordPiece::DoubleQuotedSequence(inner)
            | WordPiece::GettextDoubleQuotedSequence(inner) => {
                if has_signs(inner, source, range, Quotes::Double) {
                    return true;
                }
                left.push(' ');
            }
            _ => left.push(' '),
        }
    }
    left.push_str(source.get(end..part.end).unwrap_or("`"));
    let signs: &[&str] = match quotes {
        Quotes::None => &["$(", "`", "${", "<(", ">("],
        Quotes::Double => &["$(", "`", "${"],
    };
    signs.iter().any(|sign| left.contains(sign))
}

/// Whether braces are left that a shell may make several words of.
fn may_have_braces(pieces: &[WordPieceWithSource]) -> bool {
    let texts = pieces.iter().map(|it| match &it.piece {
        WordPiece::Text(text) => text.as_str(),
        _ => "",
    });
    let text: String = texts.collect();
    let inner = text.split_once('{').and_then(|(_, it)| it.rsplit_once('}'));
    inner.is_some_and(|(inner, _)| inner.contains(',') || inner.contains(".."))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

/// Puts the pieces of a word together.
#[derive(Default)]
struct Reader {
    words: Vec<Vec<Piece>>,
    current: Vec<Piece>,
    nested: Vec<String>,
    /// Whether something stands in it that may run and was not understood.
    has_missed: bool,
    is_evaluated: bool,
}

impl Reader {
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
            WordPiece::TildePrefix(user) if user.is_empty() => self.current.push(Piece::Home),
            WordPiece::TildePrefix(user) => {
                // The name of a user may be anything up to the next `/`.
                let nested = substitution::in_evaluated(user);
                self.nested.extend(nested.commands);
                self.current.push(Piece::Unknown);
            }
            WordPiece::EscapeSequence(text) => {
                let behind = text.strip_prefix('\\').unwrap_or(text);
                self.text(if behind == "\n" { "" } else { behind });
            }
            WordPiece::CommandSubstitution(text) => {
                self.nested.push(text.clone());
                self.current.push(Piece::Unknown);
            }
            WordPiece::BackquotedCommandSubstitution(text) => {
                self.nested.push(substitution::without_backslashes(text));
                self.current.push(Piece::Unknown);
            }
            WordPiece::ArithmeticExpression(inner) => self.evaluated(&inner.value),
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
            "" if !is_plain(written) => {
                self.is_evaluated = true;
                self.evaluated(written.trim_start_matches(['$', '{']));
            }
            _ => self.current.push(Piece::Unknown),
        }
    }

    /// Reads a text that is evaluated, whatever quotes it.
    fn evaluated(&mut self, text: &str) {
        let mut found = substitution::in_evaluated(text);
        self.nested.append(&mut found.commands);
        self.has_missed |= !found.is_whole;
        self.is_evaluated |= found.is_evaluated;
        self.current.push(Piece::Unknown);
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

/// Adds text to a text piece before it, so that a known word is one piece.
fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// Whether `$x` or `${x}` shows a variable and does no more.
fn is_plain(written: &str) -> bool {
    let is_short = written.strip_prefix('$').is_some_and(|it| it.len() == 1);
    is_short || substitution::behind_plain(written) == Some("")
}

/// The words that braces make of one.
struct Braces {
    words: Vec<String>,
    /// Whether these are all.
    is_all: bool,
}

/// The words that `{a,b}` makes of one. `None` if that is not known.
fn braces(source: &str) -> Option<Braces> {
    let one = || Braces {
        words: vec![source.to_owned()],
        is_all: true,
    };
    if !source.contains('{') || tolerant::is_too_deep(source) {
        return Some(one());
    }
    match word::parse_brace_expansions(source, &options()) {
        // Joining very many parts takes long, and such words are not written by
        // hand.
        Ok(Some(parts)) if parts.len() > MAX_PARTS => None,
        Ok(Some(parts)) => Some(expanded(&parts)),
        Ok(None) => Some(one()),
        Err(_) => None,
    }
}

fn expanded(parts: &[BraceExpressionOrText]) -> Braces {
    let mut words = vec![String::new()];
    let mut is_all = true;
    for part in parts {
        let choices = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => {
                let members = members.iter().map(choices);
                members.fold(Vec::new(), |mut all, mut member| {
                    is_all &= member.is_all;
                    all.append(&mut member.words);
                    all
                })
            }
        };
        let with = |start: &String| -> Vec<String> {
            let joined = choices.iter().map(|end| format!("{start}{end}"));
            joined.collect()
        };
        let mut joined = words.iter().flat_map(with);
        let first: Vec<String> = joined.by_ref().take(MAX_BRACES).collect();
        is_all &= joined.next().is_none();
        drop(joined);
        words = first;
    }
    Braces { words, is_all }
}

fn choices(member: &BraceExpressionMember) -> Braces {
    let sequence: Vec<String> = match member {
        BraceExpressionMember::Child(parts) => return expanded(parts),
        BraceExpressionMember::NumberSequence {
            start,
            end,
            increment,
        } => {
            let numbers = steps(*start, *end, *increment);
            numbers.map(|number| number.to_string()).collect()
        }
        BraceExpressionMember::CharSequence {
            start,
            end,
            increment,
        } => {
            let code = |c: char| i64::from(u32::from(c));
            let codes = steps(code(*start), code(*end), *increment);
            let chars = codes.filter_map(|it| char::from_u32(u32::try_from(it).ok()?));
            chars.map(String::from).collect()
        }
    };
    let is_all = sequence.len() <= MAX_BRACES;
    Braces {
        words: sequence.into_iter().take(MAX_BRACES).collect(),
        is_all,
    }
}

/// The numbers from one to another, and one too many where there are more.
fn steps(start: i64, end: i64, increment: i64) -> impl Iterator<Item = i64> {
    let step = increment.saturating_abs().max(1);
    let step = if end < start { -step } else { step };
    let next = move |number: &i64| number.checked_add(step);
    let numbers = std::iter::successors(Some(start), next);
    numbers
        .take_while(move |it| if step < 0 { *it >= end } else { *it <= end })
        .take(MAX_BRACES + 1)
}
