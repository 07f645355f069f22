//! A rule: a tool, and which of its calls it is about.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher, escape};

use crate::danger::plain_args;
use crate::shell::{self, Piece, ShellCommand, Word};
use crate::{hidden, open};

/// The tool whose calls are commands.
pub(crate) const SHELL_TOOL: &str = "bash";

/// Which calls of a tool a rule is about: all, those on some paths, or those
/// that run some command.
///
/// ```
/// use ptk_permission::Rule;
///
/// let all: Rule = "get_diagnostics".parse()?;
/// let on_paths: Rule = "edit(src/**)".parse()?;
/// let commands: Rule = "bash(cargo test *)".parse()?;
/// assert_eq!(commands.to_string(), "bash(cargo test *)");
/// assert!("bash(cargo test; rm -rf x)".parse::<Rule>().is_err());
/// # Ok::<(), ptk_permission::RuleError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rule {
    text: String,
    tool: String,
    pattern: Pattern,
}

#[derive(Debug, Clone)]
enum Pattern {
    All,
    Command {
        words: Vec<GlobMatcher>,
        /// Whether any further words may follow.
        is_open: bool,
    },
    Path(GlobMatcher),
    /// What a tool does by configuration, in short.
    Declared(String),
}

/// Why a text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is not a rule: {reason}")]
pub struct RuleError {
    rule: String,
    reason: &'static str,
}

impl RuleError {
    /// The text that is not a rule.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }
}

/// Whether a rule fits something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// It may fit, depending on what is only known when it runs.
    Maybe,
    Yes,
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }
}

impl Rule {
    /// A rule for all calls of a tool.
    pub(super) fn of_tool(tool: &str) -> Result<Self, RuleError> {
        tool.parse()
    }

    /// A rule for all calls of a tool, as long as it is declared so.
    pub(super) fn of_declared(tool: &str, declared: &str) -> Option<Self> {
        format!("{tool}(#{declared})").parse().ok()
    }

    /// Whether the rule is for all calls of a tool that is declared so.
    pub(super) fn fits_declared(&self, declared: Option<&str>) -> bool {
        match &self.pattern {
            Pattern::Declared(known) => declared == Some(known),
            _ => self.is_for_all(),
        }
    }

    /// A rule for the calls of a tool on this path.
    pub(super) fn of_path(tool: &str, path: &Path) -> Option<Self> {
        format!("{tool}({})", escape(path.to_str()?)).parse().ok()
    }

    /// A rule for these words, and whatever may follow them.
    pub(super) fn of_words(words: &[&str], is_open: bool) -> Option<Self> {
        let words: Vec<String> = words.iter().map(|word| Word::quoted(word)).collect();
        let more = if is_open { " *" } else { "" };
        format!("{SHELL_TOOL}({}{more})", words.join(" "))
            .parse()
            .ok()
    }

    /// The tool that the rule is about.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether the rule is for all calls of the tool.
    pub(super) fn is_for_all(&self) -> bool {
        matches!(self.pattern, Pattern::All)
    }

    /// Whether the rule is about paths.
    pub(super) fn is_about_paths(&self) -> bool {
        matches!(self.pattern, Pattern::Path(_))
    }

    /// Whether the rule spells out a command to the last word.
    pub(super) fn is_spelled_out(&self) -> bool {
        matches!(&self.pattern, Pattern::Command { is_open: false, .. })
    }

    /// Whether the rule is about a path.
    #[must_use]
    pub fn fits_path(&self, path: &Path) -> bool {
        match &self.pattern {
            Pattern::All => true,
            Pattern::Path(glob) => glob.is_match(path),
            Pattern::Command { .. } | Pattern::Declared(_) => false,
        }
    }

    /// Whether the rule names this very path, and not a pattern that it fits.
    pub(super) fn names(&self, path: &Path) -> bool {
        match &self.pattern {
            Pattern::Path(glob) => {
                let text = path.to_str().map(escape);
                text.is_some_and(|text| glob.glob().glob() == text)
            }
            _ => false,
        }
    }

    /// Whether the rule is about a path, or about what is in that folder.
    pub(super) fn fits_in(&self, path: &Path) -> bool {
        self.fits_path(path) || self.fits_path(&path.join("_"))
    }

    /// Whether the rule is about a command, to let it run: the program is
    /// spelled just so, and every word is known.
    pub(super) fn allows(&self, command: &ShellCommand) -> bool {
        match &self.pattern {
            Pattern::All => true,
            Pattern::Path(_) | Pattern::Declared(_) => false,
            Pattern::Command { .. } => self.fits_words(command.words()) == Fit::Yes,
        }
    }

    /// Whether the rule's `*` covers the options of a command that it is about.
    pub(super) fn covers_options(&self, command: &ShellCommand) -> bool {
        let Pattern::Command {
            words,
            is_open: true,
        } = &self.pattern
        else {
            return true;
        };
        let words: Vec<&str> = words.iter().map(|word| word.glob().glob()).collect();
        open::covers(&words, command)
    }

    /// Whether the rule is about a command, to stop it: wherever the program
    /// lies, whatever options stand before its subcommand, and also where
    /// another program that is not known may run it.
    pub(super) fn stops(&self, command: &ShellCommand) -> Fit {
        if self.is_for_all() {
            return Fit::Yes;
        }
        let mut fit = self.fits_words(command.words());
        if let Some(name) = command.name() {
            let mut words = vec![Word::plain(name)];
            words.extend_from_slice(command.args());
            fit = fit.max(self.fits_words(&words));
            words.truncate(1);
            words.extend_from_slice(plain_args(name, command.args()));
            fit = fit.max(self.fits_words(&words));
            fit = fit.max(self.fits_past_options(name, command.args()));
        }
        let mut hidden = hidden::in_arguments(command).into_iter();
        if fit == Fit::No && hidden.any(|words| self.fits_words(&words) > Fit::No) {
            return Fit::Maybe;
        }
        fit
    }

    /// Whether the rule fits past any options, which may have a value each.
    fn fits_past_options(&self, name: &str, args: &[Word]) -> Fit {
        let Pattern::Command { words, is_open } = &self.pattern else {
            return Fit::No;
        };
        let Some((program, patterns)) = words.split_first() else {
            return Fit::No;
        };
        if !program.is_match(name) {
            return Fit::No;
        }
        // How surely the patterns so far end at each of the words.
        let mut ends = vec![Fit::No; args.len() + 3];
        let at_least = |ends: &mut Vec<Fit>, at: usize, fit: Fit| {
            if let Some(end) = ends.get_mut(at) {
                *end = fit.max(*end);
            }
        };
        at_least(&mut ends, 0, Fit::Yes);
        let mut best = Fit::No;
        for pattern in patterns {
            let mut next = vec![Fit::No; args.len() + 3];
            for (at, arg) in args.iter().enumerate() {
                let fit = ends.get(at).copied().unwrap_or(Fit::No);
                if fit == Fit::No {
                    continue;
                }
                if is_open_word(arg) {
                    best = best.max(Fit::Maybe);
                }
                if arg.literal().is_some_and(|text| pattern.is_match(text)) {
                    at_least(&mut next, at + 1, fit);
                }
                if arg.start().starts_with(['-', '+']) {
                    at_least(&mut ends, at + 1, fit);
                    at_least(&mut ends, at + 2, fit.min(Fit::Maybe));
                }
            }
            ends = next;
        }
        let ends = ends.iter().enumerate().take(args.len() + 1);
        let fits = ends.map(|(at, fit)| {
            let more = args.get(at..).unwrap_or_default();
            fits_more(more, *is_open).min(*fit)
        });
        fits.max().unwrap_or(Fit::No).max(best)
    }

    fn fits_words(&self, words: &[Word]) -> Fit {
        let Pattern::Command {
            words: patterns,
            is_open,
            ..
        } = &self.pattern
        else {
            return Fit::No;
        };
        let mut least = Fit::No;
        for (at, pattern) in patterns.iter().enumerate() {
            let Some(word) = words.get(at) else {
                return least;
            };
            // It may be any number of words, or a value may be another.
            if is_open_word(word) {
                least = Fit::Maybe;
            }
            if !word.literal().is_some_and(|text| pattern.is_match(text)) {
                return least;
            }
        }
        let more = words.get(patterns.len()..).unwrap_or_default();
        fits_more(more, *is_open).max(least)
    }
}

/// Whether these words may follow those of a rule.
fn fits_more(more: &[Word], is_open: bool) -> Fit {
    match more {
        [] => Fit::Yes,
        _ if is_open => Fit::Yes,
        more if more.iter().all(is_open_word) => Fit::Maybe,
        _ => Fit::No,
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let wrong = |reason| RuleError {
            rule: text.to_owned(),
            reason,
        };
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let inner = rest
                    .strip_suffix(')')
                    .ok_or_else(|| wrong("its bracket is not closed"))?;
                (tool, Some(inner.trim()))
            }
        };
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if tool.is_empty() || !tool.chars().all(is_name) {
            return Err(wrong(
                "it begins with the name of a tool, such as `edit` or `bash(ls *)`",
            ));
        }
        let pattern = match pattern {
            None => Pattern::All,
            Some("") => return Err(wrong("there is nothing between its brackets")),
            Some(command) if tool == SHELL_TOOL => command_pattern(command).map_err(wrong)?,
            Some(text) if text.starts_with('#') => {
                Pattern::Declared(text.trim_start_matches('#').to_owned())
            }
            Some(path) => Pattern::Path(path_pattern(path).map_err(wrong)?),
        };
        Ok(Self {
            text: text.to_owned(),
            tool: tool.to_owned(),
            pattern,
        })
    }
}

/// Whether a word may become no word or several.
fn is_open_word(word: &Word) -> bool {
    word.literal().is_none()
}

fn path_pattern(text: &str) -> Result<GlobMatcher, &'static str> {
    let text = text.strip_prefix("./").unwrap_or(text);
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        // A new file is the one that a rule names, in whatever letters.
        .case_insensitive(cfg!(windows))
        .build();
    let glob = glob.map_err(|_| "the text in the parentheses is not a path pattern")?;
    Ok(glob.compile_matcher())
}

fn command_pattern(text: &str) -> Result<Pattern, &'static str> {
    let mut words = shell::words(text).ok_or("between its brackets has to be one command")?;
    let is_star = |word: &Word| matches!(word.pieces(), [Piece::Glob(glob)] if glob == "*");
    let is_open = words.pop_if(|word| is_star(word)).is_some();
    let words: Result<Vec<GlobMatcher>, &'static str> = words.iter().map(word_pattern).collect();
    Ok(Pattern::Command {
        words: words?,
        is_open,
    })
}

fn word_pattern(word: &Word) -> Result<GlobMatcher, &'static str> {
    let mut text = String::new();
    for piece in word.pieces() {
        match piece {
            Piece::Text(part) => text.push_str(&escape(part)),
            Piece::Glob(part) => text.push_str(part),
            _ => return Err("its words have to be known: no variables, no `~`"),
        }
    }
    let glob = GlobBuilder::new(&text).build();
    let glob = glob.map_err(|_| "the text in the parentheses is not a command pattern")?;
    Ok(glob.compile_matcher())
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Rule {}
