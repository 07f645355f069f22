//! The grammar of the common language: from tokens to commands.

use super::super::substitution;
use super::lexer::{PlainWord, Token};
use super::{MAX_DEPTH, PlainCommand};

/// Words that end the commands of a block.
const CLOSERS: [&str; 7] = ["then", "elif", "else", "fi", "do", "done", "}"];
/// Words that begin or end a block, which are not quoted where a program is
/// meant.
const RESERVED: [&str; 20] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];
/// Commands of a shell that are programs in another, that change what later
/// words mean, or that read their arguments in a different way.
const UNCERTAIN: [&str; 25] = [
    ".",
    "alias",
    "bind",
    "builtin",
    "complete",
    "declare",
    "disown",
    "enable",
    "exec",
    "fc",
    "hash",
    "history",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "shopt",
    "source",
    "suspend",
    "trap",
    "type",
    "typeset",
    "unalias",
];
/// Settings of a shell that only decide when it stops, or what it shows.
const SETTINGS: [&str; 4] = ["errexit", "nounset", "pipefail", "xtrace"];
/// Files that some shells open as network connections.
const CONNECTIONS: [&str; 2] = ["/dev/tcp", "/dev/udp"];

/// The simple commands of a text.
pub(super) fn commands(tokens: &[Token]) -> Option<Vec<PlainCommand>> {
    let mut parser = Parser {
        tokens,
        found: Vec::new(),
        depth: 0,
    };
    parser.newlines();
    if !parser.tokens.is_empty() {
        parser.list()?;
    }
    parser.tokens.is_empty().then_some(parser.found)
}

struct Parser<'a> {
    tokens: &'a [Token],
    found: Vec<PlainCommand>,
    depth: u8,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.first()
    }

    fn next(&mut self) -> Option<&'a Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn take(&mut self, token: &Token) -> bool {
        let is_next = self.peek() == Some(token);
        if is_next {
            self.next();
        }
        is_next
    }

    fn newlines(&mut self) {
        while self.take(&Token::Newline) {}
    }

    /// The next word, if it is one without quotes.
    fn bare(&self) -> Option<&'a str> {
        match self.peek()? {
            Token::Word(word) => word.unquoted(),
            _ => None,
        }
    }

    fn keyword(&mut self, keyword: &str) -> Option<()> {
        if self.bare()? != keyword {
            return None;
        }
        self.next().map(|_| ())
    }

    /// Commands up to the end, a closing bracket or a closing word; at least
    /// one.
    fn list(&mut self) -> Option<()> {
        self.newlines();
        loop {
            self.chain()?;
            match self.peek() {
                Some(Token::Semicolon | Token::Background | Token::Newline) => {
                    self.next();
                }
                None | Some(Token::Close) => return Some(()),
                Some(_) => return None,
            }
            self.newlines();
            let is_closed = self.bare().is_some_and(|it| CLOSERS.contains(&it));
            if is_closed || matches!(self.peek(), None | Some(Token::Close)) {
                return Some(());
            }
        }
    }

    fn chain(&mut self) -> Option<()> {
        self.pipeline()?;
        while matches!(self.peek(), Some(Token::And | Token::Or)) {
            self.next();
            self.newlines();
            self.pipeline()?;
        }
        Some(())
    }

    fn pipeline(&mut self) -> Option<()> {
        if self.bare() == Some("!") {
            self.next();
        }
        self.command()?;
        while self.take(&Token::Pipe) {
            self.newlines();
            self.command()?;
        }
        Some(())
    }

    fn command(&mut self) -> Option<()> {
        self.depth = self.depth.checked_add(1).filter(|it| *it <= MAX_DEPTH)?;
        let is_block = self.block()?;
        if is_block {
            self.redirects()?;
        } else {
            self.simple()?;
        }
        self.depth -= 1;
        Some(())
    }

    /// A compound command, if one is next.
    fn block(&mut self) -> Option<bool> {
        if self.take(&Token::Open) {
            self.list()?;
            return self.take(&Token::Close).then_some(true);
        }
        match self.bare() {
            Some("{") => {
                self.next();
                self.list()?;
                self.keyword("}")?;
            }
            Some("if") => {
                self.next();
                self.list()?;
                self.keyword("then")?;
                self.list()?;
                while self.keyword("elif").is_some() {
                    self.list()?;
                    self.keyword("then")?;
                    self.list()?;
                }
                if self.keyword("else").is_some() {
                    self.list()?;
                }
                self.keyword("fi")?;
            }
            Some("while" | "until") => {
                self.next();
                self.list()?;
                self.body()?;
            }
            Some("for") => {
                self.next();
                self.values()?;
                self.body()?;
            }
            _ => return Some(false),
        }
        Some(true)
    }

    fn body(&mut self) -> Option<()> {
        self.keyword("do")?;
        self.list()?;
        self.keyword("done")
    }

    /// `NAME in WORDS;`
    fn values(&mut self) -> Option<()> {
        let name = self.bare().filter(|name| is_name(name))?;
        if RESERVED.contains(&name) {
            return None;
        }
        self.next();
        self.keyword("in")?;
        while let Some(Token::Word(_)) = self.peek() {
            self.next();
        }
        if !self.take(&Token::Semicolon) && !self.take(&Token::Newline) {
            return None;
        }
        self.newlines();
        Some(())
    }

    /// The redirections of a block.
    fn redirects(&mut self) -> Option<()> {
        let mut command = PlainCommand::default();
        let mut is_any = false;
        while self.redirect(&mut command)? {
            is_any = true;
        }
        if is_any {
            self.found.push(command);
        }
        let is_end = !matches!(self.peek(), Some(Token::Word(_) | Token::Open));
        is_end.then_some(())
    }

    /// Takes a redirection if one is next.
    fn redirect(&mut self, command: &mut PlainCommand) -> Option<bool> {
        match self.peek() {
            Some(Token::Duplicate) => {
                self.next();
            }
            Some(Token::Document(text)) => {
                self.next();
                command.documents.push(text.clone());
            }
            Some(Token::Redirect(mode)) => {
                self.next();
                let Some(Token::Word(target)) = self.next() else {
                    return None;
                };
                if !is_plain_target(target) {
                    return None;
                }
                command.redirects.push((*mode, target.literal()));
            }
            _ => return Some(false),
        }
        Some(true)
    }

    fn simple(&mut self) -> Option<()> {
        let mut command = PlainCommand::default();
        let mut is_any = false;
        loop {
            if self.redirect(&mut command)? {
                is_any = true;
                continue;
            }
            let Some(Token::Word(word)) = self.peek() else {
                break;
            };
            is_any = true;
            self.next();
            if command.words.is_empty() {
                match leading(word)? {
                    Leading::Variable(name) => command.assignments.push(name),
                    Leading::Program(name) => command.words.push(Some(name)),
                }
            } else {
                command.words.push(word.literal());
            }
        }
        // The name of a function would be followed by a bracket.
        let is_end = is_any && !matches!(self.peek(), Some(Token::Open));
        let is_certain = is_end && (command.words.is_empty() || has_plain_arguments(&command));
        self.found.push(command);
        is_certain.then_some(())
    }
}

/// Whether a redirection to this word goes to a file in every shell.
fn is_plain_target(word: &PlainWord) -> bool {
    let is_connection = CONNECTIONS.iter().any(|it| word.text.starts_with(it));
    let is_sign = matches!(word.unquoted(), Some("!" | "{" | "}" | "{}" | "[" | "]"));
    !is_connection && !is_sign
}

/// A word before the arguments.
enum Leading {
    /// It sets this variable.
    Variable(String),
    /// It is the program.
    Program(String),
}

/// What a word before the arguments is. `None` where shells may differ on that.
fn leading(word: &PlainWord) -> Option<Leading> {
    let bare = word.text.get(..word.bare)?;
    let Some((name, _)) = bare.split_once('=') else {
        let is_program = !word.text.contains('=');
        return program(word).filter(|_| is_program).map(Leading::Program);
    };
    let (_, value) = word.text.split_once('=')?;
    let is_harmless = !word.has_variables && value.chars().all(substitution::is_harmless);
    (is_name(name) && is_harmless).then(|| Leading::Variable(name.to_owned()))
}

/// The program, if every shell takes it for one by that name.
fn program(word: &PlainWord) -> Option<String> {
    let name = word.literal()?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./+:@".contains(c);
    let is_sign = word.unquoted() == Some("[");
    let is_known = is_sign || !name.is_empty() && name.chars().all(is_part);
    let is_uncertain = [&RESERVED[..], &UNCERTAIN[..]]
        .iter()
        .any(|it| it.contains(&name.as_str()));
    (is_known && !is_uncertain).then_some(name)
}

/// Whether the arguments of a shell's command mean the same everywhere.
fn has_plain_arguments(command: &PlainCommand) -> bool {
    let mut words = command.words.iter();
    if words.next() != Some(&Some("set".to_owned())) {
        return true;
    }
    let is_setting = |word: &Option<String>| {
        let text = word.as_deref().unwrap_or_default();
        let letters = text.strip_prefix(['-', '+']);
        let letters = letters.map(|it| it.strip_suffix('o').unwrap_or(it));
        SETTINGS.contains(&text)
            || letters.is_some_and(|it| text.len() > 1 && it.chars().all(|c| "eux".contains(c)))
    };
    words.all(is_setting)
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_part)
}
