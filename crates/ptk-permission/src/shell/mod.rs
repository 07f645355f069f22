//! What a command line would run, read without running it.
//!
//! [`CommandLine::read`] finds the simple commands in a text for the shell,
//! wherever they hide: in pipes, lists, loops, functions, substitutions and
//! here-documents, behind `sudo` or `timeout`, in `bash -c '…'` or `find -exec`.
//! Of each it knows the words, as far as they can be known before it runs, the
//! redirections, and the folder.
//!
//! ```
//! use ptk_permission::shell::CommandLine;
//!
//! let line = CommandLine::read("cd web && timeout 60 npm test > log.txt; bash -c 'rm -r out'");
//! let programs: Vec<_> = line.commands().iter().filter_map(|it| it.program()).collect();
//! assert_eq!(programs, ["cd", "timeout", "npm", "bash", "rm"]);
//! assert!(line.is_whole());
//!
//! let line = CommandLine::read("rm -rf $FOLDER");
//! assert!(!line.commands()[0].is_known());
//!
//! ```
//!
//! The value of a variable is never worked out, even if it stands in the same
//! line: a word with a variable in it is not known, and that is a reason to ask.
//!
//! Reading never fails. What cannot be read is taken word by word, and the line
//! says that it is not whole. It is never a reason to trust a command.
//! [`CommandLine::is_certain`] says whether the line is so plain that every
//! shell is sure to run just these commands.

mod ansi_c;
mod assigned;
mod blunt;
mod plain;
mod substitution;
mod tolerant;
mod walk;
mod word;
mod wrapper;

use brush_parser::{ParserOptions, SourceInfo, Token, ast};

pub(crate) use assigned::Assigned;
pub(crate) use word::Piece;
pub use word::Word;
pub(crate) use wrapper::{behind, is_shell, is_standard_input};

/// How long a text may be, in bytes, to be read by the grammar.
const MAX_LENGTH: usize = 256 * 1024;
/// How deep groups, loops and conditions may stand in each other. The parser
/// needs stack for each, and where one has no end time that doubles with each.
const MAX_NESTING: usize = 10;
/// How deep texts that are run by other commands are looked at.
const MAX_DEPTH: u8 = 6;
/// In how many folders a command may run that are looked at.
const MAX_FOLDERS: usize = 8;
/// How many commands are looked at.
const MAX_COMMANDS: usize = 1000;

/// A text for the shell, taken apart.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says something else about the line"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    commands: Vec<ShellCommand>,
    is_whole: bool,
    is_certain: bool,
    is_evaluated: bool,
    is_fork_bomb: bool,
    has_functions: bool,
    assigned: Vec<Assigned>,
    /// What else may be a command, where the reading is not certain.
    suspected: Vec<ShellCommand>,
}

/// A program with its arguments, somewhere in a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellCommand {
    pub(crate) words: Vec<Word>,
    pub(crate) assignments: Vec<Assigned>,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) folder: Folder,
    pub(crate) role: Role,
    /// Programs whose output it gets, on its input or in its words.
    pub(crate) fed_by: Vec<String>,
    /// Whether there is a warning about it before it runs.
    pub(crate) is_dangerous: bool,
    /// The here-documents and here-strings that it reads.
    pub(crate) documents: Vec<String>,
    /// How many texts within texts could still follow where it was found.
    pub(crate) depth: u8,
}

/// Where a command runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Folder {
    /// The folder in which the line starts.
    #[default]
    Start,
    /// This folder, relative to another one.
    At(Word, Box<Folder>),
    /// A folder that is not known before the command runs. It may be one of
    /// these.
    Unsure(Vec<Folder>),
}

impl Folder {
    /// The folders in which a command may run, as far as they are known, if it
    /// is not sure.
    pub(crate) fn candidates(&self) -> Vec<Self> {
        match self {
            Self::Start => Vec::new(),
            Self::Unsure(folders) => folders.clone(),
            Self::At(word, before) => {
                let before = before.candidates().into_iter();
                let at = before.map(|before| Self::At(word.clone(), Box::new(before)));
                at.collect()
            }
        }
    }

    /// One of these folders, whichever it is.
    fn one_of(folders: &[Self]) -> Self {
        let mut all: Vec<Self> = Vec::new();
        for folder in folders {
            let known = match folder {
                Self::Unsure(folders) => folders.as_slice(),
                folder => std::slice::from_ref(folder),
            };
            for folder in known {
                if all.len() < MAX_FOLDERS && !all.contains(folder) {
                    all.push(folder.clone());
                }
            }
        }
        Self::Unsure(all)
    }
}

/// Whether and how a command runs others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// It runs no other command that is known.
    #[default]
    Plain,
    /// It runs a command that was found, and changes nothing about it.
    Wrapper,
    /// It runs a command as another user, elsewhere, or with words that come
    /// later.
    Changer,
    /// It runs the content of a file.
    File,
    /// It runs a text that was not found.
    Blind,
}

/// A redirection to or from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub(crate) mode: RedirectMode,
    pub(crate) target: Word,
}

/// What a redirection does to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectMode {
    /// It is read.
    Read,
    /// It is emptied and written.
    Write,
    /// It is written at its end.
    Append,
}

impl CommandLine {
    /// Reads a text for the shell.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut walk = walk::Walk::new();
        walk.text(text, MAX_DEPTH);
        let line = walk.end();
        if line.is_certain {
            return line;
        }
        line.distrusted(text)
    }

    /// Reads a text for a shell whose grammar may differ.
    #[must_use]
    pub fn read_for_another_shell(text: &str) -> Self {
        let line = Self::read(text);
        if line.is_certain {
            return line.distrusted(text);
        }
        line
    }

    /// The same line, where other parts of the text may be commands, too.
    fn distrusted(mut self, text: &str) -> Self {
        self.is_certain = false;
        self.suspected = blunt::commands(text);
        self.is_whole &= !blunt::has_traps(text);
        self
    }

    /// Every simple command, about in the order in which they stand. Behind a
    /// wrapper such as `timeout` comes what it runs.
    #[must_use]
    pub fn commands(&self) -> &[ShellCommand] {
        &self.commands
    }

    /// Whether all of it was read by the grammar, down to the last part.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether every shell is sure to run these commands and no others: the
    /// text, and every text within it that is run, has only constructs that
    /// all shells read alike. No rule lets any other line run.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.is_certain
    }

    /// What else may be a command, where the reading is not certain. For what
    /// is refused and denied only.
    pub(crate) fn suspected(&self) -> &[ShellCommand] {
        &self.suspected
    }

    /// Whether the shell evaluates in it what variables hold: numbers, indexes,
    /// `${x@P}`. That runs commands which stand nowhere in the line.
    pub(crate) fn is_evaluated(&self) -> bool {
        self.is_evaluated
    }

    /// Variables that the shell sets on its way, such as that of a loop.
    pub(crate) fn assigned(&self) -> &[Assigned] {
        &self.assigned
    }

    /// Whether the line defines functions, so that names may not mean programs.
    pub(crate) fn has_functions(&self) -> bool {
        self.has_functions
    }

    /// Remembers which of its commands are dangerous.
    pub fn mark(&mut self, is_dangerous: &[bool]) {
        for (command, is_dangerous) in self.commands.iter_mut().zip(is_dangerous) {
            command.is_dangerous = *is_dangerous;
        }
    }

    /// Whether it starts copies of itself without end.
    pub(crate) fn is_fork_bomb(&self) -> bool {
        self.is_fork_bomb
    }
}

impl ShellCommand {
    /// The program as it was written, if that is known.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.words.first()?.literal()
    }

    /// The program without its folders.
    pub(crate) fn name(&self) -> Option<&str> {
        let program = self.program()?;
        Some(program.rsplit('/').next().unwrap_or(program))
    }

    /// The program and its arguments.
    #[must_use]
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// What stands behind the program.
    pub(crate) fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The files that the command is redirected to or from.
    #[must_use]
    pub fn redirects(&self) -> &[Redirect] {
        &self.redirects
    }

    /// Whether all of its words are known before it runs, because they are
    /// written out.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let is_known = |word: &Word| word.literal().is_some();
        self.role != Role::Blind
            && self.words.iter().all(is_known)
            && self.redirects.iter().all(|it| is_known(&it.target))
    }

    /// The command in a line, as it was written.
    pub(crate) fn shown(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(Word::source).collect();
        words.join(" ")
    }
}

impl Redirect {
    /// What the redirection does to the file.
    #[must_use]
    pub fn mode(&self) -> RedirectMode {
        self.mode
    }

    /// The file of the redirection.
    #[must_use]
    pub fn target(&self) -> &Word {
        &self.target
    }
}

/// The words of a text that is one command, if it is nothing else.
pub(crate) fn words(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    for token in tolerant::tokens(text)? {
        let Token::Word(source, _) = token else {
            return None;
        };
        let mut reading = word::read(&source);
        if !reading.nested.is_empty() || !reading.is_whole || reading.is_evaluated {
            return None;
        }
        words.append(&mut reading.words);
    }
    (!words.is_empty()).then_some(words)
}

/// The options of the grammar: bash as it is called with `-c`.
fn options() -> ParserOptions {
    ParserOptions {
        enable_extended_globbing: false,
        ..ParserOptions::default()
    }
}

/// The parsed program of a text, if the grammar reads it.
fn program(text: &str) -> Option<ast::Program> {
    let options = options();
    let tokens = tolerant::tokens(text)?;
    if tolerant::nesting(&tokens) > MAX_NESTING {
        return None;
    }
    let source = SourceInfo::default();
    tolerant::without_panic(|| brush_parser::parse_tokens(&tokens, &options, &source).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_the_parser_panics_on_is_not_certain() {
        let line = CommandLine::read("if<<EOF$(${${if}\nif}");
        assert!(!line.is_certain());
        assert!(!line.is_whole());
    }

    /// The parser takes all memory for some of these.
    #[test]
    fn here_documents_that_end_at_an_empty_line_are_not_certain() {
        for text in [
            "cat <<\"\" > ",
            "a\ncat <<'' >f; ",
            "cat <<- \"\"'' | b ",
            "cat <<\\\n\"\" > ",
            "cat <\\\n<\"\" > ",
            "x=$(cat <<\"\" > )",
            "\"$(cat <<'' > )\"",
            "cat <<\"\"\nbody\n\nls",
        ] {
            assert!(!CommandLine::read(text).is_certain(), "{text:?}");
        }
        for text in ["cat <<'E'\nbody\nE\n", "grep '<<' ''", "grep \"<<\" \"\""] {
            assert!(CommandLine::read(text).is_certain(), "{text:?}");
        }
    }

    #[test]
    fn no_text_takes_too_much_stack() {
        let deep = [
            "(",
            "( ",
            "{ ",
            "$(",
            "echo $(",
            "${a:-",
            "$((",
            "`\"",
            "\"$(",
            "<<a ",
            "<<a\n",
            "<(",
            "if ",
            "while :; do ",
            "case a in b) ",
            "f() { ",
            "a=(",
            "! ",
            "sudo ",
            "'",
            "\"",
            "eval ",
            "bash -c ",
            "\\",
            "{a,",
            "{a..b}",
            "[[ ( ",
            "time ",
            "find -exec ",
            "((",
            "(){",
            "for a in b $a; do ",
            "a=$a$a; ",
        ];
        for part in deep {
            for count in [5, 10, 12, 13, 40, 3000, 100_000] {
                let text = part.repeat(count);
                let line = CommandLine::read(&text);
                assert!(line.commands().len() <= MAX_COMMANDS, "{part:?} × {count}");
            }
        }
        let long = format!(
            "cat > a <<'EOF'\n{}\nEOF\n",
            "some (text) $x `y`\n".repeat(10_000)
        );
        assert_eq!(CommandLine::read(&long).commands().len(), 1);
    }
}
