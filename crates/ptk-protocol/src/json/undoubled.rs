//! Backslashes that were written once where JSON wants two: LaTeX, regular
//! expressions, Windows paths. `\f` may then be the beginning of `\frac`.
//!
//! Only strings of documents that are not valid JSON are looked at, and only
//! what is written in a string counts as evidence about it.

use std::ops::Range;

/// LaTeX commands that begin like an escape of JSON, by their letter: those that
/// can be nothing else, and those of which the rest may as well be a word behind
/// a tab or a line break.
const COMMANDS: [(u8, &[&str], &[&str]); 5] = [
    (
        b'b',
        &[
            "backslash",
            "bar",
            "barwedge",
            "because",
            "begin",
            "beta",
            "beth",
            "between",
            "bf",
            "bfseries",
            "big",
            "bigcap",
            "bigcup",
            "bigg",
            "biggl",
            "biggr",
            "bigl",
            "bigoplus",
            "bigotimes",
            "bigr",
            "bigskip",
            "bigvee",
            "bigwedge",
            "binom",
            "blacksquare",
            "bm",
            "bmod",
            "boldmath",
            "boldsymbol",
            "bot",
            "bowtie",
            "box",
            "boxed",
            "bra",
            "breve",
            "bullet",
        ],
        &[],
    ),
    (
        b'f',
        &[
            "fbox",
            "flat",
            "footnote",
            "footnotesize",
            "forall",
            "frac",
            "frak",
            "framebox",
            "frown",
        ],
        &[],
    ),
    (
        b'n',
        &[
            "nabla",
            "natural",
            "nearrow",
            "newcommand",
            "newline",
            "nleq",
            "noindent",
            "nonumber",
            "normalsize",
            "notin",
            "nsubseteq",
            "nwarrow",
        ],
        &[
            "ne",
            "neg",
            "neq",
            "nexists",
            "nmid",
            "node",
            "not",
            "nparallel",
            "nu",
        ],
    ),
    (
        b'r',
        &[
            "raggedright",
            "raisebox",
            "rangle",
            "rbrace",
            "rbrack",
            "rceil",
            "ref",
            "relax",
            "renewcommand",
            "rfloor",
            "rho",
            "right",
            "rightarrow",
            "rightharpoonup",
            "rightleftharpoons",
            "rm",
            "root",
            "rule",
            "rVert",
            "rvert",
        ],
        &[],
    ),
    (
        b't',
        &[
            "tbinom",
            "textbf",
            "textit",
            "textrm",
            "textsc",
            "textsf",
            "textstyle",
            "texttt",
            "textwidth",
            "tfrac",
            "therefore",
            "theta",
            "thickapprox",
            "tilde",
            "times",
            "triangle",
            "triangleleft",
            "triangleq",
            "triangleright",
            "twoheadrightarrow",
        ],
        &[
            "tag", "tan", "tanh", "tau", "text", "tiny", "title", "to", "today", "top",
        ],
    ),
];

/// Whether an escape of JSON may stand for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It is read as JSON says, whatever follows.
    No,
    /// A repair may read it as a backslash and what follows.
    Yes,
    /// The text ends too early to say.
    Cut,
}

/// Whether a repair may read the escape of JSON that stands at `offset` of a
/// string's `content` otherwise than JSON does. What is behind the string may be
/// part of `content`.
pub(crate) fn doubt(content: &[u8], offset: usize) -> Doubt {
    let rest = content.get(offset + 1..).unwrap_or_default();
    let Some(&letter) = rest.first() else {
        return Doubt::No;
    };
    match letter {
        b'b' | b'f' => Doubt::Yes,
        b'n' | b'r' | b't' if offset == 2 && has_drive(content) => Doubt::Yes,
        b'n' | b'r' | b't' => match rest.get(1) {
            None => Doubt::Cut,
            Some(next) if !next.is_ascii_alphabetic() => Doubt::No,
            Some(_) => doubt_of_word(rest),
        },
        _ => Doubt::No,
    }
}

/// How long the word of a command can be.
const LONGEST: usize = 20;

fn doubt_of_word(rest: &[u8]) -> Doubt {
    let near = rest.get(..LONGEST).unwrap_or(rest);
    let word = word_of(near);
    let (sure, unsure) = commands_like(word);
    let mut known = sure.iter().chain(unsure);
    if word.len() < rest.len() && known.any(|command| command.as_bytes() == word) {
        Doubt::Yes
    } else if word.len() == rest.len() && known.any(|known| known.as_bytes().starts_with(word)) {
        Doubt::Cut
    } else {
        Doubt::No
    }
}

/// The commands that begin with the same letter: the sure ones and the others.
fn commands_like(word: &[u8]) -> (&'static [&'static str], &'static [&'static str]) {
    let like = COMMANDS
        .iter()
        .find(|(letter, _, _)| word.first() == Some(letter));
    like.map_or((&[], &[]), |&(_, sure, unsure)| (sure, unsure))
}

/// The letters at the beginning.
fn word_of(rest: &[u8]) -> &[u8] {
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic());
    rest.get(..length.count()).unwrap_or_default()
}

fn has_drive(content: &[u8]) -> bool {
    matches!(content, [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic())
}

/// What the backslashes of a string say about each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Backslashes {
    /// At least one was not doubled.
    undoubled: bool,
    /// There is a command of LaTeX.
    latex: bool,
    /// The string is a Windows path.
    path: bool,
}

impl Backslashes {
    /// Looks at all escapes of a string.
    pub(super) fn of(content: &str) -> Self {
        let bytes = content.as_bytes();
        let mut found = Self::default();
        let mut at = 0;
        while let Some(offset) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
            at += offset;
            found.learn(bytes, at);
            at += 2;
        }
        found.path = has_drive(bytes)
            && match bytes.get(3) {
                // An escape that JSON has, and that no folder begins with.
                Some(b'\\' | b'"' | b'/') => false,
                Some(b'u') if is_hex(bytes, 4..8) => false,
                Some(b'n') => !bytes.contains(&b' ') && (found.undoubled || is_path(content)),
                Some(b'b' | b'f' | b'r' | b't') => true,
                _ => found.undoubled,
            };
        found.undoubled |= found.path;
        found
    }

    fn learn(&mut self, content: &[u8], at: usize) {
        let rest = content.get(at + 1..).unwrap_or_default();
        let near = rest.get(..LONGEST).unwrap_or(rest);
        let word = word_of(near);
        match rest.first() {
            None | Some(b'"' | b'\\' | b'/' | b'\'' | b'`' | ..0x20 | 0x80..) => {}
            Some(b'u') if is_hex(rest, 1..5) => {}
            Some(b'x') if is_hex(rest, 1..3) => {}
            Some(b'b' | b'f' | b'n' | b'r' | b't') => {
                self.latex |= is_sure_command(word, rest.get(word.len()));
                self.undoubled |= self.latex || is_word_boundary(content, at);
            }
            Some(_) => {
                self.undoubled = true;
                self.latex |= word.len() > 1;
            }
        }
    }

    /// Whether the escape behind which `rest` stands, one of JSON's own, is a
    /// backslash and a letter.
    pub(super) fn are_literal(self, rest: &str) -> bool {
        let rest = rest.as_bytes();
        match rest.first() {
            Some(b'b' | b'f') => self.undoubled,
            Some(b'n' | b'r' | b't') => {
                self.path
                    || (self.latex && is_command(word_of(rest.get(..LONGEST).unwrap_or(rest))))
            }
            _ => false,
        }
    }
}

/// Whether a text that begins with a drive and `\n` is the path of a file, and
/// not a line below a label of one letter: nothing in it is forbidden in names,
/// every name has more than the letter behind its backslash, and there is an
/// escape that lines of words do not have, or the extension of a file.
fn is_path(content: &str) -> bool {
    const LONGEST_EXTENSION: usize = 5;
    let is_forbidden =
        |c: char| c.is_whitespace() || matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*' | '/');
    let behind = content.get(2..).unwrap_or_default();
    let mut names = behind.split('\\').skip(1);
    if behind.contains(is_forbidden) || names.clone().any(|name| name.len() < 2) {
        return false;
    }
    let extension = behind
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension);
    let is_extension = extension.len() <= LONGEST_EXTENSION
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_extension || names.any(|name| name.starts_with(['b', 'f', 'r', 't']))
}

fn is_hex(bytes: &[u8], place: Range<usize>) -> bool {
    bytes
        .get(place)
        .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

fn is_command(word: &[u8]) -> bool {
    let (sure, unsure) = commands_like(word);
    let mut known = sure.iter().chain(unsure);
    known.any(|command| command.as_bytes() == word)
}

fn is_sure_command(word: &[u8], next: Option<&u8>) -> bool {
    let (sure, _) = commands_like(word);
    sure.iter().any(|command| command.as_bytes() == word)
        || (word == b"text" && next == Some(&b'{'))
}

/// Whether the `\b` at `at` stands at the edge of a word, as in `\bword\b`. One
/// next to another is a backspace.
fn is_word_boundary(content: &[u8], at: usize) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let before = content.get(..at).unwrap_or_default();
    let behind = content.get(at + 2..).unwrap_or_default();
    let is_escaped = before.iter().rev().nth(1) == Some(&b'\\');
    content.get(at + 1) == Some(&b'b')
        && !before.ends_with(b"\\b")
        && !behind.starts_with(b"\\b")
        && (is_word(before.last()) && !is_escaped) != is_word(behind.first())
}
