//! What a request names: files, folders, patterns, quoted texts, and so on.
//!
//! With marks in place of them, requests about different things read alike:
//! "read Cargo.toml and tell me the version" is "read {file} and tell me the
//! version".

use super::kinds;
use super::names::{Found, NameIndex, Sureness};
use super::quotes;
use super::shapes::{identifier, is_glob, is_number};
use super::words::{Word, is_plain, stem, words};

/// How many words of a request are read.
const MOST_WORDS: usize = 300;

/// How many words a name has at most.
const MOST_WORDS_OF_A_NAME: usize = 6;

/// What is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file that exists.
    File,
    /// A folder that exists.
    Folder,
    /// A path that does not exist.
    New,
    /// A pattern of paths.
    Glob,
    /// A text in quotation marks.
    Quote,
    /// A name of code.
    Identifier,
    /// A kind of files, by their endings.
    Endings(Vec<String>),
    /// A number.
    Number,
}

impl Kind {
    /// What stands for it in a request.
    pub(super) fn mark(&self) -> &'static str {
        match self {
            Self::File => "{file}",
            Self::Folder => "{folder}",
            Self::New => "{new}",
            Self::Glob => "{glob}",
            Self::Quote | Self::Identifier => "{text}",
            Self::Endings(_) => "{kind}",
            Self::Number => "{number}",
        }
    }
}

/// Something that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    /// What it is.
    pub(super) kind: Kind,
    /// Its first byte in the request.
    pub(super) start: usize,
    /// The byte behind it.
    pub(super) end: usize,
    /// What is meant: a path as it is on disk, a text without its quotes.
    pub(super) value: String,
    /// How sure it is that this is meant.
    pub(super) sureness: Sureness,
}

/// A word or a mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The stem of the word, or the mark of the mention.
    pub(super) token: String,
    /// Its first byte in the request.
    pub(super) start: usize,
    /// The byte behind it.
    pub(super) end: usize,
    /// What it is.
    pub(super) role: Role,
    /// What it ends.
    pub(super) ends: Ends,
}

/// What a piece of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It names something.
    Mention,
    /// A word that says nothing about what is asked for.
    Plain,
    /// Another word.
    Word,
}

/// What ends with a piece of a request, by the punctuation behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ends {
    /// Nothing.
    Nothing,
    /// A phrase.
    Phrase,
    /// A sentence.
    Sentence,
}

impl Ends {
    fn with(after: &str) -> Self {
        match after.chars().find(|letter| !"\"')]”’".contains(*letter)) {
            Some('.' | '?' | '!' | ';') => Self::Sentence,
            Some(',' | ':') => Self::Phrase,
            _ => Self::Nothing,
        }
    }
}

/// Whether single words are taken for the names that they are, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eagerness {
    /// Only where something else says that a name is meant.
    Careful,
    /// Wherever a word is a name.
    Eager,
}

/// A request, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading {
    /// The request, piece by piece.
    pub(super) pieces: Vec<Piece>,
    /// What it names, in order.
    pub(super) mentions: Vec<Mention>,
}

impl Reading {
    /// The mentions of a kind.
    pub(super) fn of<'a>(&'a self, mark: &'a str) -> impl Iterator<Item = &'a Mention> {
        self.mentions
            .iter()
            .filter(move |mention| mention.kind.mark() == mark)
    }
}

/// Reads a request.
pub(super) fn read(request: &str, names: &NameIndex, eagerness: Eagerness) -> Reading {
    let words = words(request, MOST_WORDS);
    let quotes = quotes::quotes(request);
    let reader = Reader {
        words: &words,
        names,
        eagerness,
    };
    let mut reading = Reading::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let quote = quotes
            .iter()
            .find(|quote| quote.start <= word.start && word.start < quote.end);
        if let Some(quote) = quote {
            let mention = reader.quoted(quote);
            let end = mention.end;
            let after = request.get(mention.end..).unwrap_or_default();
            reading.add(mention, after);
            at += words
                .iter()
                .skip(at)
                .take_while(|word| word.start < end)
                .count()
                .max(1);
        } else if let Some((mention, taken)) = reader.mention(at) {
            let after = request.get(mention.end..).unwrap_or_default();
            reading.add(mention, after);
            at += taken;
        } else {
            reading.pieces.push(Piece {
                token: stem(&word.folded),
                start: word.start,
                end: word.end,
                role: if is_plain(&word.folded) {
                    Role::Plain
                } else {
                    Role::Word
                },
                ends: Ends::with(word.after),
            });
            at += 1;
        }
    }
    reading
}

impl Reading {
    fn add(&mut self, mention: Mention, after: &str) {
        self.pieces.push(Piece {
            token: mention.kind.mark().to_owned(),
            start: mention.start,
            end: mention.end,
            role: Role::Mention,
            ends: Ends::with(after),
        });
        self.mentions.push(mention);
    }
}

/// What is named, its value, and how sure that is.
type Named = (Kind, String, Sureness);

struct Reader<'a> {
    words: &'a [Word<'a>],
    names: &'a NameIndex,
    eagerness: Eagerness,
}

impl Reader<'_> {
    /// What is in quotation marks: a name if it is one, else a text.
    fn quoted(&self, quote: &quotes::Quote<'_>) -> Mention {
        let found = self.names.find(quote.text);
        let exact = found.filter(|found| found.sureness >= Sureness::Title);
        let named = exact.and_then(|found| self.chosen(&found, None));
        let (kind, value, sureness) = named.unwrap_or_else(|| {
            let kind = if is_glob(quote.text) {
                Kind::Glob
            } else if self.is_path(quote.text) {
                Kind::New
            } else {
                Kind::Quote
            };
            (kind, quote.text.to_owned(), Sureness::Exact)
        });
        Mention {
            kind,
            start: quote.start,
            end: quote.end,
            value,
            sureness,
        }
    }

    /// What is named at a word, and by how many words.
    fn mention(&self, at: usize) -> Option<(Mention, usize)> {
        let longest = MOST_WORDS_OF_A_NAME.min(self.words.len() - at);
        for count in (1..=longest).rev() {
            if let Some(named) = self.name(at, count) {
                return self.made(at, count, named);
            }
        }
        if let Some((endings, count)) = self.kind_of_files(at) {
            let named = (Kind::Endings(endings), String::new(), Sureness::Exact);
            return self.made(at, count, named);
        }
        let (kind, value) = self.single(at)?;
        self.made(at, 1, (kind, value, Sureness::Exact))
    }

    fn made(&self, at: usize, count: usize, named: Named) -> Option<(Mention, usize)> {
        let (kind, value, sureness) = named;
        let start = self.words.get(at)?.start;
        let end = self.words.get(at + count - 1)?.end;
        let mention = Mention {
            kind,
            start,
            end,
            value,
            sureness,
        };
        Some((mention, count))
    }

    /// A name that exists, in so many words.
    fn name(&self, at: usize, count: usize) -> Option<Named> {
        let words = self.words.get(at..at + count)?;
        let (last, before) = words.split_last()?;
        if before.iter().any(|word| !word.after.is_empty()) {
            return None;
        }
        let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
        let called = texts.join(" ");
        let possessive = called.strip_suffix("'s").unwrap_or(&called);
        let found = self.names.find(possessive);
        let found = found.or_else(|| {
            let is_typed = last.text.contains('.') || last.text.chars().all(char::is_alphabetic);
            (count == 1 && is_typed && !is_known_word(&last.folded))
                .then(|| self.names.find_misspelt(possessive))
                .flatten()
        })?;
        let next = self.words.get(at + count);
        let hint = hint(self.word(at.checked_sub(1)), next);
        let is_meant = match found.sureness {
            Sureness::Exact | Sureness::Title => true,
            Sureness::Word | Sureness::Slip => {
                self.eagerness == Eagerness::Eager && !is_known_word(&last.folded)
                    || self.is_pointed_at(at, &found, hint)
            }
        };
        is_meant.then(|| self.chosen(&found, hint)).flatten()
    }

    fn word(&self, at: Option<usize>) -> Option<&Word<'_>> {
        self.words.get(at?)
    }

    /// Whether the words around say that a name is meant.
    fn is_pointed_at(&self, at: usize, found: &Found<'_>, hint: Option<Hint>) -> bool {
        let has_folder = found.names.iter().any(|name| name.is_folder);
        let has_file = found.names.iter().any(|name| !name.is_folder);
        match hint {
            Some(Hint::Folder) => return has_folder,
            Some(Hint::File) => return has_file,
            None => {}
        }
        let mut before = (0..at).rev().filter_map(|at| self.words.get(at));
        let mut previous = before.next();
        let determined = previous.is_some_and(|word| is_determiner(&word.folded));
        if determined {
            previous = before.next();
        }
        let Some(previous) = previous else {
            return false;
        };
        let leads = |list: &[&str]| list.contains(&previous.folded.as_str());
        has_folder
            && leads(&[
                "in", "under", "inside", "within", "below", "of", "ls", "dir", "list", "search",
            ])
            || has_file
                && leads(&[
                    "read", "open", "show", "print", "cat", "view", "check", "see",
                ])
            || has_file
                && determined
                && leads(&["in", "from", "to", "into", "on", "does", "at", "says"])
    }

    /// The one name of those that are called so that is meant here.
    fn chosen(&self, found: &Found<'_>, hint: Option<Hint>) -> Option<Named> {
        let fits = |is_folder: bool| match hint {
            Some(Hint::Folder) => is_folder,
            Some(Hint::File) => !is_folder,
            None => true,
        };
        let folders: Vec<String> = self.folders_named();
        let is_in = |path: &str| {
            folders
                .iter()
                .any(|folder| path.starts_with(folder.as_str()))
        };
        let mut fitting = found.names.iter().filter(|name| fits(name.is_folder));
        let first = fitting.clone().next().or_else(|| found.names.first())?;
        let name = fitting.find(|name| is_in(&name.path)).unwrap_or(first);
        let kind = if name.is_folder {
            Kind::Folder
        } else {
            Kind::File
        };
        Some((kind, name.path.clone(), found.sureness))
    }

    /// The folders that are named by one exact word, each with a `/` behind.
    fn folders_named(&self) -> Vec<String> {
        let found = self
            .words
            .iter()
            .filter_map(|word| self.names.find(word.text));
        let folders = found.flat_map(|found| {
            let folders = found.names.into_iter().filter(|name| name.is_folder);
            folders
                .map(|name| format!("{}/", name.path))
                .collect::<Vec<_>>()
        });
        folders.collect()
    }

    /// A kind of files, and how many words it takes to say.
    fn kind_of_files(&self, at: usize) -> Option<(Vec<String>, usize)> {
        let word = self.words.get(at)?;
        let is_noun = |ahead: usize| {
            let noun = self.words.get(at + ahead);
            noun.is_some_and(|noun| kinds::is_noun(&noun.folded))
        };
        let between = self.words.get(at + 1);
        let is_filled = between.is_some_and(|word| FILLERS.contains(&word.folded.as_str()));
        let nouns = if is_filled && is_noun(2) {
            Some(2)
        } else {
            is_noun(1).then_some(1)
        };
        let nouns = nouns.filter(|_| word.after.is_empty());
        let ending = word.folded.trim_start_matches(['*', '.', '-']);
        if word.folded.starts_with('.') && !ending.is_empty() && !ending.contains('.') {
            let is_known = self.names.has_ending(ending) || kinds::is_ending(ending);
            return (is_known || nouns.is_some())
                .then(|| (vec![ending.to_owned()], nouns.map_or(1, |nouns| nouns + 1)));
        }
        let capitals = word.text.strip_suffix('s').filter(|kind| {
            kind.len() > 1 && kind.chars().all(|letter| letter.is_ascii_uppercase())
        });
        if let Some(endings) = capitals.and_then(|kind| kinds::endings(&kind.to_lowercase())) {
            return Some((owned(endings), 1));
        }
        if kinds::stands_alone(&word.folded) {
            let endings = kinds::endings(&word.folded)?;
            return Some((owned(endings), nouns.map_or(1, |nouns| nouns + 1)));
        }
        let nouns = nouns?;
        if let Some(endings) = kinds::endings(&word.folded) {
            return Some((owned(endings), nouns + 1));
        }
        let is_ending = self.names.has_ending(&word.folded) || kinds::is_ending(&word.folded);
        is_ending.then(|| (vec![word.folded.clone()], nouns + 1))
    }

    fn single(&self, at: usize) -> Option<(Kind, String)> {
        let word = self.words.get(at)?;
        let text = word.text;
        if is_glob(text) {
            return Some((Kind::Glob, text.to_owned()));
        }
        if self.is_path(text) {
            return Some((Kind::New, text.to_owned()));
        }
        if is_number(text) {
            return Some((Kind::Number, text.to_owned()));
        }
        identifier(text).map(|name| (Kind::Identifier, name))
    }

    /// Whether a text looks like the path of a file.
    fn is_path(&self, text: &str) -> bool {
        let text = text.trim_end_matches('/');
        if text.contains("://") || text.contains('\n') || text.len() > 200 {
            return false;
        }
        let base = super::names::base(text);
        let (stem, ending) = super::names::split(base);
        let is_name = |part: &str| !part.is_empty() && !part.contains([',', '?', '!', '(', '"']);
        let is_ending = kinds::is_ending(&ending.to_lowercase())
            || self.names.has_ending(&ending.to_lowercase());
        if is_name(stem) && is_ending && !stem.contains(". ") {
            return true;
        }
        let hidden = base.strip_prefix('.').unwrap_or_default();
        if hidden.len() > 3 && hidden.chars().all(|letter| letter.is_ascii_lowercase()) {
            return true;
        }
        let Some((folders, _)) = text.rsplit_once('/') else {
            return false;
        };
        let first = folders.split('/').next().unwrap_or_default();
        let is_known = self
            .names
            .find(first)
            .is_some_and(|found| found.names.iter().any(|name| name.is_folder));
        is_name(base)
            && !text.contains(' ')
            && (is_known || text.starts_with("./") || text.starts_with('/'))
    }
}

/// Words between a kind of files and "files".
const FILLERS: &[&str] = &["source", "code", "text", "config", "data"];

fn owned(endings: &[&str]) -> Vec<String> {
    endings.iter().map(|ending| (*ending).to_owned()).collect()
}

/// What the word beside a name says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hint {
    File,
    Folder,
}

fn hint(previous: Option<&Word<'_>>, next: Option<&Word<'_>>) -> Option<Hint> {
    let of = |word: Option<&Word<'_>>| match word?.folded.as_str() {
        "folder" | "directory" | "dir" | "subfolder" | "folders" => Some(Hint::Folder),
        "file" | "document" => Some(Hint::File),
        _ => None,
    };
    of(next).or_else(|| of(previous))
}

fn is_determiner(folded: &str) -> bool {
    [
        "the", "my", "our", "your", "this", "that", "his", "her", "their", "a", "an",
    ]
    .contains(&folded)
}

/// Words that are met in requests of any kind, so that a name that looks like
/// one of them must be pointed at.
fn is_known_word(folded: &str) -> bool {
    /// Beyond those that say nothing.
    const COMMON: &[&str] = &[
        "file", "files", "folder", "list", "read", "write", "find", "search", "show", "open",
        "make", "create", "name", "names", "line", "lines", "text", "word", "words", "code",
        "test", "tests", "main", "first", "last", "start", "stop", "note", "notes", "report",
    ];
    is_plain(folded) || COMMON.contains(&folded)
}

#[cfg(test)]
mod tests {
    use super::{Eagerness, Kind, read};
    use crate::guide::names::NameIndex;
    use crate::guide::surroundings::Name;

    fn index() -> NameIndex {
        NameIndex::new(vec![
            Name::file("README.md"),
            Name::file("docs/design notes.md"),
            Name::file("docs/README.md"),
            Name::file("src/crème.rs"),
            Name::file("pancakes.md"),
            Name::folder("src"),
            Name::folder("docs"),
        ])
    }

    /// The request with marks in place of what it names.
    fn marked(request: &str, eagerness: Eagerness) -> String {
        let reading = read(request, &index(), eagerness);
        let tokens: Vec<&str> = reading
            .pieces
            .iter()
            .map(|piece| piece.token.as_str())
            .collect();
        tokens.join(" ")
    }

    #[test]
    fn marks_stand_for_what_is_named() {
        for (request, expected) in [
            ("Read README.md and go", "read {file} and go"),
            ("open the design notes, now", "open the {file} now"),
            ("show creme.rs", "show {file}"),
            ("cat 'docs/design notes.md'", "cat {file}"),
            ("what is in src?", "what is in {folder}"),
            ("find *.rs below src/", "find {glob} below {folder}"),
            ("all csv files", "all {kind}"),
            ("the Rust source files", "the {kind}"),
            ("any .md?", "any {kind}"),
            ("any PDFs?", "any {kind}"),
            ("put \"a b\" into new.txt", "put {text} into {new}"),
            ("create .gitignore", "creat {new}"),
            ("run parse_all 3 times", "run {text} {number} tim"),
        ] {
            assert_eq!(marked(request, Eagerness::Careful), expected);
        }
    }

    #[test]
    fn a_word_is_a_name_only_where_that_is_meant() {
        let request = "how many eggs do pancakes need";
        assert!(!marked(request, Eagerness::Careful).contains("{file}"));
        assert!(marked(request, Eagerness::Eager).contains("{file}"));
        assert!(marked("open the pancakes", Eagerness::Careful).contains("{file}"));
    }

    #[test]
    fn of_files_that_are_called_alike_the_folder_decides() {
        for (request, path) in [
            ("read README.md", "README.md"),
            ("read README.md in docs", "docs/README.md"),
        ] {
            let reading = read(request, &index(), Eagerness::Careful);
            let file = reading.of("{file}").next();
            assert_eq!(file.map(|file| file.value.as_str()), Some(path));
        }
    }

    #[test]
    fn a_quotation_that_is_no_name_is_a_text() {
        let reading = read("find \"the end\"", &index(), Eagerness::Careful);
        let kinds: Vec<&Kind> = reading
            .mentions
            .iter()
            .map(|mention| &mention.kind)
            .collect();
        assert_eq!(kinds, [&Kind::Quote]);
    }
}
