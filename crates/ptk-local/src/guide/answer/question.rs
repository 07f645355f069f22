//! What is asked beyond the call itself.

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::guide::words::{fold, is_plain, stem, words};

/// How many words of a question are looked at.
const MOST_WORDS: usize = 60;

/// What kind of thing would answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Somebody's name.
    Person,
    /// A day or a time of day.
    Time,
    /// A number.
    Number,
    /// An address on the net or for mail.
    Address,
    /// Anything.
    Anything,
}

/// What is asked beyond the call itself.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// The words that tell what is wanted, as stems, each with its likes.
    pub(super) terms: Vec<Term>,
    /// What kind of thing would answer.
    pub(super) expected: Expected,
    /// Whether a number of things is wanted.
    pub(super) is_count: bool,
}

/// A word of a question.
#[derive(Debug, Clone)]
pub(super) struct Term {
    /// Its stem.
    pub(super) stem: String,
    /// Stems of words that say about the same.
    pub(super) likes: Vec<String>,
}

/// Words that ask for a text to be shown, and for nothing in it.
const SHOWING: &[&str] = &[
    "according",
    "answer",
    "ask",
    "cat",
    "check",
    "code",
    "contain",
    "contents",
    "detail",
    "different",
    "display",
    "document",
    "docs",
    "entire",
    "everything",
    "exact",
    "explain",
    "fetch",
    "file",
    "find",
    "first",
    "folder",
    "full",
    "give",
    "have",
    "inside",
    "kind",
    "line",
    "list",
    "long",
    "look",
    "many",
    "mean",
    "mention",
    "much",
    "need",
    "next",
    "open",
    "out",
    "print",
    "pull",
    "quick",
    "read",
    "remind",
    "say",
    "show",
    "stand",
    "summarise",
    "summarize",
    "summary",
    "text",
    "thanks",
    "thing",
    "understand",
    "use",
    "view",
    "want",
    "whole",
    "wonder",
    "write",
];

/// Words that say about the same.
const LIKES: &[&[&str]] = &[
    &["author", "write", "writer", "maintainer"],
    &[
        "price", "cost", "amount", "pay", "euro", "fee", "charge", "expense", "spend", "total",
        "rent",
    ],
    &["phone", "telephone", "mobile", "call"],
    &["mail", "email"],
    &["address", "street", "live"],
    &["date", "day", "due", "deadline", "until", "when"],
    &["time", "minute", "hour", "duration", "long", "clock"],
    &["depend", "dependency", "require", "requirement", "need"],
    &["licence", "license"],
    &["colour", "color"],
    &["ingredient", "need"],
    &["delete", "remove", "drop"],
    &["buy", "purchase", "shop"],
    &["begin", "start"],
    &["end", "finish", "stop"],
    &["change", "new", "fix", "add"],
    &["install", "setup", "build"],
    &["person", "member", "name"],
    &["url", "link", "website", "http", "https"],
    &["database", "db", "postgres", "sqlite"],
    &["maximum", "max", "limit", "most"],
    &["minimum", "min", "least"],
    &["default", "standard"],
    &["command", "run", "execute"],
    &["temperature", "degree", "oven"],
];

impl Question {
    /// What is asked beyond a call with these arguments.
    pub(super) fn new(request: &str, arguments: &Map<String, Value>) -> Self {
        let given: String = arguments
            .values()
            .map(|value| fold(&value.to_string()))
            .collect::<Vec<_>>()
            .join(" ");
        let given: Vec<String> = parts(&given);
        let mut terms: Vec<Term> = Vec::new();
        let mut folded = Vec::new();
        for word in words(request, MOST_WORDS) {
            folded.push(word.folded.clone());
            for part in parts(&word.folded) {
                let is_said = given.contains(&part) || is_showing(&part);
                let is_known = terms.iter().any(|term| term.stem == part);
                if !is_said && !is_known && !is_plain(&word.folded) && !is_plain(&part) {
                    terms.push(Term {
                        likes: likes(&part),
                        stem: part,
                    });
                }
            }
        }
        let has = |wanted: &[&str]| folded.iter().any(|word| wanted.contains(&word.as_str()));
        let is_count = folded
            .windows(2)
            .any(|pair| matches!(pair, [how, many] if how == "how" && many == "many"));
        let measures = folded.windows(2).any(|pair| {
            matches!(pair, [how, what] if how == "how" && ["much", "many", "long", "old", "big", "far", "high"].contains(&what.as_str()))
        });
        let expected = if has(&["email", "mail", "url", "website", "link"]) {
            Expected::Address
        } else if measures
            || has(&[
                "number",
                "price",
                "cost",
                "version",
                "port",
                "amount",
                "total",
                "percentage",
            ])
        {
            Expected::Number
        } else if has(&["when", "date", "time", "day", "deadline"]) {
            Expected::Time
        } else if has(&["who", "whose", "who's", "whom"]) {
            Expected::Person
        } else {
            Expected::Anything
        };
        Self {
            terms,
            expected,
            is_count,
        }
    }
}

/// The stems of the words in a text.
pub(super) fn parts(folded: &str) -> Vec<String> {
    folded
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .map(stem)
        .collect()
}

fn is_showing(part: &str) -> bool {
    static STEMS: OnceLock<HashSet<String>> = OnceLock::new();
    let stems = STEMS.get_or_init(|| SHOWING.iter().map(|word| stem(word)).collect());
    stems.contains(part)
}

/// The stems of words that say about the same as one with this stem.
fn likes(part: &str) -> Vec<String> {
    let groups = LIKES.iter().map(|group| {
        let stems: Vec<String> = group.iter().map(|word| stem(word)).collect();
        stems
    });
    let groups = groups.filter(|group| group.iter().any(|word| word == part));
    groups.flatten().filter(|word| word != part).collect()
}
