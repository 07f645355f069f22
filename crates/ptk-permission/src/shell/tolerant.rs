//! Texts that the grammar does not read. Bash runs a line before it looks at
//! the next, so that an error further down protects from nothing.

use std::panic::AssertUnwindSafe;

use brush_parser::Token;

use super::{MAX_LENGTH, options};

/// Words that open something which another word closes.
const OPENERS: [&str; 8] = ["{", "if", "while", "until", "for", "case", "select", "(("];
const CLOSERS: [&str; 4] = ["}", "fi", "done", "esac"];
/// Words of the shell before a command.
const RESERVED: [&str; 13] = [
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "fi", "done",
];
const REDIRECTIONS: [&str; 10] = [">", ">>", ">|", "&>", "&>>", "<", "<>", "<<<", ">&", "<&"];

/// How deep brackets may stand in each other, quoted or not.
const MAX_BRACKETS: usize = 10;
/// How many words of such a command are looked at.
const MAX_WORDS: usize = 1000;
/// How many lines of a text without an end are looked at.
const MAX_LINES: usize = 5000;
/// How many functions of such a text are looked at.
const MAX_FUNCTIONS: usize = 1000;
/// How long the body of a function that calls itself is, at most.
const MAX_BODY: usize = 256;

/// A command that is recognised by its position alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rough {
    pub(super) words: Vec<String>,
    pub(super) written: Vec<String>,
}

/// How deep brackets or blocks are nested, at most.
pub(super) fn nesting(tokens: &[Token]) -> usize {
    // Apart from each other: the bracket of `case a in b)` closes nothing.
    let (mut brackets, mut words, mut most) = (0_usize, 0_usize, 0);
    for token in tokens {
        match token {
            Token::Operator(text, _) if text == "(" => brackets += 1,
            Token::Operator(text, _) if text == ")" => brackets = brackets.saturating_sub(1),
            Token::Word(text, _) if OPENERS.contains(&text.as_str()) => words += 1,
            Token::Word(text, _) if CLOSERS.contains(&text.as_str()) => {
                words = words.saturating_sub(1);
            }
            _ => {}
        }
        most = most.max(brackets + words);
    }
    most
}

/// Whether brackets stand too deep in each other for a parser that needs stack
/// for each of them, whatever quotes them.
pub(super) fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_BRACKETS
    })
}

/// The commands of a text, or of each of its lines where it has no end.
pub(super) fn commands(text: &str) -> Vec<Rough> {
    match tokens(text) {
        Some(tokens) => of_tokens(&tokens),
        None => text.lines().take(MAX_LINES).flat_map(line).collect(),
    }
}

/// The tokens of a text that is neither too long nor too deep.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    if text.len() > MAX_LENGTH || is_too_deep(text) || has_empty_delimiter(text) {
        return None;
    }
    without_panic(|| brush_parser::uncached_tokenize_str(text, &options().tokenizer_options()).ok())
}

/// Whether a here-document may end at an empty line. The parser never comes to
/// the end of one that begins in the last line (`cat <<"" >`), and takes all
/// memory.
fn has_empty_delimiter(text: &str) -> bool {
    let text = text.replace("\\\n", "");
    text.match_indices("<<").any(|(at, operator)| {
        let word = text.get(at + operator.len()..).unwrap_or_default();
        let word = word.strip_prefix('-').unwrap_or(word);
        let word = word.trim_start_matches([' ', '\t']);
        let is_end = |c: char| c.is_whitespace() || ";&|<>()".contains(c);
        let word = word.split(is_end).next().unwrap_or_default();
        // An odd quote closes one that began before the operator: `'<<' ''`.
        let is_whole = |quote| word.matches(quote).count().is_multiple_of(2);
        !word.is_empty()
            && word.chars().all(|c| "\\'\"".contains(c))
            && is_whole('\'')
            && is_whole('"')
    })
}

/// The result of the parser, and `None` where it fails: it panics on a few
/// texts, such as `<<E$(${${x}`, and its callers must not.
pub(super) fn without_panic<T>(parse: impl FnOnce() -> Option<T>) -> Option<T> {
    std::panic::catch_unwind(AssertUnwindSafe(parse))
        .ok()
        .flatten()
}

fn line(line: &str) -> Vec<Rough> {
    tokens(line).map_or_else(
        || {
            let words = line.split(|c: char| c.is_whitespace() || ";&|()`".contains(c));
            let words = words.filter(|word| !word.is_empty());
            let words = words.map(|word| word.trim_matches(['\'', '"']).to_owned());
            let words = words.take(MAX_WORDS);
            let rough = Rough {
                words: words.collect(),
                written: Vec::new(),
            };
            vec![rough]
        },
        |tokens| of_tokens(&tokens),
    )
}

fn of_tokens(tokens: &[Token]) -> Vec<Rough> {
    let mut commands = vec![Rough::default()];
    let mut is_target = None;
    for token in tokens {
        let Some(last) = commands.last_mut() else {
            break;
        };
        match token {
            Token::Operator(text, _) if REDIRECTIONS.contains(&text.as_str()) => {
                is_target = Some(text.contains('>'));
            }
            Token::Operator(..) => {
                is_target = None;
                commands.push(Rough::default());
            }
            Token::Word(text, _) => match is_target.take() {
                Some(true) => last.written.push(text.clone()),
                Some(false) => {}
                None if last.words.is_empty() && RESERVED.contains(&text.as_str()) => {}
                None if last.words.len() >= MAX_WORDS => {}
                None => last.words.push(text.clone()),
            },
        }
    }
    commands.retain(|command| *command != Rough::default());
    commands
}

/// Whether a text is `f(){ f|f& };f` by any name, or close to it.
pub(super) fn is_fork_bomb(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut functions = text.match_indices("(){").take(MAX_FUNCTIONS);
    functions.any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let mut parts = before.rsplit([';', '&', '|', '{', '}', '(', ')', '\'', '"']);
        let name = parts.next().unwrap_or_default();
        let name = name.strip_prefix("function").unwrap_or(name);
        if name.is_empty() || name.len() > MAX_BODY {
            return false;
        }
        let behind = text.get(at..).unwrap_or_default();
        let body = behind.chars().take(MAX_BODY).take_while(|c| *c != '}');
        let body: String = body.collect();
        body.contains(&format!("{name}|{name}&"))
    })
}
