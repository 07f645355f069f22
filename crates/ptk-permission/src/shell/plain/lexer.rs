//! The tokens of the common language.

use super::super::RedirectMode;

/// Characters that mean themselves anywhere outside quotes.
const PLAIN: &str = "_-./:=@%+,^";
/// What ends a word.
const ENDS: &str = " \t\n;&|()<>";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(PlainWord),
    And,
    Or,
    Pipe,
    Semicolon,
    Background,
    Newline,
    Open,
    Close,
    /// The next token is the file.
    Redirect(RedirectMode),
    /// `2>&1`: no file is involved.
    Duplicate,
    /// A here-document, with its text.
    Document(String),
}

/// A word, without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PlainWord {
    /// The text, without what variables stand for.
    pub(super) text: String,
    /// How much of the text stands before the first quote or variable.
    pub(super) bare: usize,
    pub(super) has_variables: bool,
    pub(super) is_quoted: bool,
}

impl PlainWord {
    /// The text that a program gets, if no variable is in it.
    pub(super) fn literal(&self) -> Option<String> {
        (!self.has_variables).then(|| self.text.clone())
    }

    /// The text of a word without quotes and variables, such as a reserved one.
    pub(super) fn unquoted(&self) -> Option<&str> {
        (!self.has_variables && !self.is_quoted).then_some(self.text.as_str())
    }
}

/// The tokens of a text, if it has no others than those of the common language.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer {
        rest: text,
        tokens: Vec::new(),
        pending: None,
    };
    while !lexer.rest.is_empty() {
        lexer.token()?;
    }
    // A here-document begins behind the end of its line.
    lexer.pending.is_none().then_some(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    tokens: Vec<Token>,
    /// The here-document that begins behind this line.
    pending: Option<Pending>,
}

struct Pending {
    /// The index of its token.
    at: usize,
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Takes a text if it is next.
    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = self.rest.get(c.len_utf8()..)?;
        Some(c)
    }

    /// Whether a word ends here.
    fn is_at_end(&self) -> bool {
        self.peek().is_none_or(|c| ENDS.contains(c))
    }

    fn token(&mut self) -> Option<()> {
        let token = match self.peek()? {
            ' ' | '\t' => return self.blanks(),
            '\n' => {
                self.next();
                self.tokens.push(Token::Newline);
                return self.document();
            }
            '#' => return self.comment(),
            ';' => {
                self.next();
                if self.rest.starts_with([';', '&']) {
                    return None;
                }
                Token::Semicolon
            }
            '&' => {
                self.next();
                match self.peek() {
                    Some('&') => {
                        self.next();
                        Token::And
                    }
                    Some('>') => return None,
                    _ => Token::Background,
                }
            }
            '|' => {
                self.next();
                match self.peek() {
                    Some('|') => {
                        self.next();
                        Token::Or
                    }
                    Some('&') => return None,
                    _ => Token::Pipe,
                }
            }
            '(' => {
                self.next();
                if self.rest.starts_with('(') {
                    return None;
                }
                Token::Open
            }
            ')' => {
                self.next();
                Token::Close
            }
            '<' | '>' => return self.redirect(),
            _ => return self.word(),
        };
        self.tokens.push(token);
        Some(())
    }

    /// Blanks, and line ends behind a backslash that stand between words.
    fn blanks(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let mut is_continued = false;
        while self.take("\\\n") {
            is_continued = true;
            self.rest = self.rest.trim_start_matches([' ', '\t']);
        }
        let is_fine = !is_continued || self.peek().is_some_and(|c| !"#\n".contains(c));
        is_fine.then_some(())
    }

    fn comment(&mut self) -> Option<()> {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let (comment, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let is_fine = |c: char| is_text(c) && c != '\\';
        comment.chars().all(is_fine).then_some(())
    }

    fn redirect(&mut self) -> Option<()> {
        if self.take("<<") {
            return self.delimiter();
        }
        let token = if self.take(">>") {
            Token::Redirect(RedirectMode::Append)
        } else if self.take(">&") {
            let is_number = self.next()?.is_ascii_digit();
            if !is_number || !self.is_at_end() {
                return None;
            }
            // `2>&1>x` is read by one shell only as two redirections.
            if self.rest.starts_with(['<', '>']) {
                return None;
            }
            Token::Duplicate
        } else if self.take(">") {
            Token::Redirect(RedirectMode::Write)
        } else {
            self.next();
            Token::Redirect(RedirectMode::Read)
        };
        if self.rest.starts_with(['<', '>', '&', '|', '(']) {
            return None;
        }
        self.tokens.push(token);
        Some(())
    }

    /// What stands behind `<<`: one name, all of it in quotes or none.
    fn delimiter(&mut self) -> Option<()> {
        if self.pending.is_some() {
            return None;
        }
        let strips_tabs = self.take("-");
        self.rest = self.rest.trim_start_matches(' ');
        let quote = self.peek().filter(|c| matches!(c, '\'' | '"'));
        if quote.is_some() {
            self.next();
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (delimiter, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        if delimiter.is_empty() || quote.is_some() && self.next() != quote || !self.is_at_end() {
            return None;
        }
        self.pending = Some(Pending {
            at: self.tokens.len(),
            delimiter: delimiter.to_owned(),
            is_quoted: quote.is_some(),
            strips_tabs,
        });
        self.tokens.push(Token::Document(String::new()));
        Some(())
    }

    /// The here-document that begins here, if one does.
    fn document(&mut self) -> Option<()> {
        let Some(pending) = self.pending.take() else {
            return Some(());
        };
        let mut document = String::new();
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
            let (line, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest;
            let line = if pending.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line.strip_suffix('\n').unwrap_or(line) == pending.delimiter {
                break;
            }
            document.push_str(line);
        }
        let is_fine =
            |c: char| (is_text(c) || c == '\n') && (pending.is_quoted || !"$`\\".contains(c));
        if !document.chars().all(is_fine) {
            return None;
        }
        *self.tokens.get_mut(pending.at)? = Token::Document(document);
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let mut word = PlainWord::default();
        if self.single(&mut word) {
            self.tokens.push(Token::Word(word));
            return Some(());
        }
        while !self.is_at_end() {
            match self.next()? {
                c if c.is_ascii_alphanumeric() || PLAIN.contains(c) => word.text.push(c),
                '~' if !word.is_quoted
                    && word.text.ends_with(|c: char| c.is_ascii_alphanumeric()) =>
                {
                    word.text.push('~');
                }
                '#' if !word.text.is_empty() => word.text.push('#'),
                '\'' => self.single_quotes(&mut word)?,
                '"' => self.double_quotes(&mut word)?,
                '\\' => {
                    let c = self.next().filter(|c| is_printable(*c))?;
                    word.text.push(c);
                    word.is_quoted = true;
                }
                '$' => {
                    self.variable()?;
                    word.has_variables = true;
                }
                _ => return None,
            }
            if !word.is_quoted && !word.has_variables {
                word.bare = word.text.len();
            }
        }
        let is_number = !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit());
        let is_number = is_number && word.unquoted().is_some();
        if self.rest.starts_with(['<', '>']) && is_number {
            // The descriptor of a redirection. Of two digits, only some shells
            // take both.
            return (word.text.len() == 1).then_some(());
        }
        self.tokens.push(Token::Word(word));
        Some(())
    }

    /// Reads words of one or two characters that are read elsewhere as more.
    fn single(&mut self, word: &mut PlainWord) -> bool {
        let signs = ["[", "]", "!", "{}", "{", "}"];
        let sign = signs.into_iter().find(|sign| {
            let behind = self.rest.strip_prefix(sign);
            behind.is_some_and(|it| it.is_empty() || it.starts_with([' ', '\t', '\n', ';', ')']))
        });
        let Some(sign) = sign else {
            return false;
        };
        // A word that ends there opens a block only before a blank.
        if matches!(sign, "{" | "!")
            && self
                .rest
                .get(1..)
                .is_some_and(|it| it.starts_with([';', ')']))
        {
            return false;
        }
        self.take(sign);
        word.text.push_str(sign);
        word.bare = sign.len();
        true
    }

    fn single_quotes(&mut self, word: &mut PlainWord) -> Option<()> {
        word.is_quoted = true;
        let (text, rest) = self.rest.split_once('\'')?;
        self.rest = rest;
        word.text.push_str(text);
        text.chars().all(|c| is_text(c) || c == '\n').then_some(())
    }

    fn double_quotes(&mut self, word: &mut PlainWord) -> Option<()> {
        word.is_quoted = true;
        let mut before = '"';
        loop {
            let c = self.next()?;
            match c {
                '"' => return Some(()),
                // In some encodings the last byte of a letter may be taken
                // together with a backslash.
                '\\' if before.is_ascii() => {
                    let escaped = self.next().filter(|c| is_printable(*c))?;
                    if !"\"\\$`".contains(escaped) {
                        word.text.push('\\');
                    }
                    word.text.push(escaped);
                }
                '$' => {
                    self.variable()?;
                    word.has_variables = true;
                }
                '`' | '\\' => return None,
                c if is_text(c) || c == '\n' => word.text.push(c),
                _ => return None,
            }
            before = c;
        }
    }

    /// `$name` or `${name}`.
    fn variable(&mut self) -> Option<()> {
        let is_braced = self.take("{");
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_closed = !is_braced || self.take("}");
        // Some shells have arrays: `$name[1]`.
        (is_name && is_closed && !self.rest.starts_with('[')).then_some(())
    }
}

/// A character of ASCII that is seen, or a space.
fn is_printable(c: char) -> bool {
    (' '..='~').contains(&c)
}

/// A character that may stand in quotes.
fn is_text(c: char) -> bool {
    c == '\t' || is_printable(c) || !c.is_ascii() && !c.is_control()
}
