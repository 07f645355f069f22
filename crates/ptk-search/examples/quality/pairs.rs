//! Questions with known answers, from the sources of crates: the first sentence
//! of a function's documentation is the question, the function is the answer.
//!
//! All comments and documentation are removed from the sources before they are
//! indexed. The rules, fixed before any result was seen:
//!
//! - a question is the first sentence of the first paragraph of the
//!   documentation above a `fn` with a body, in `src/` of the crate, without the
//!   marks of Markdown;
//! - one with fewer than four different words is dropped;
//! - two that share at least four fifths of their words are both dropped: each
//!   would have two answers;
//! - of each crate at most 400 are asked, those with the least hashes.

use std::collections::HashSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use tree_sitter::{Node, Parser};

/// The fewest words of a question.
const MIN_WORDS: usize = 4;
/// The share of common words at which two questions count as the same.
const ALIKE: f64 = 0.8;
/// The most questions about a crate.
const MAX_QUESTIONS: usize = 400;

/// A question and where its answer is.
pub(crate) struct Pair {
    pub(crate) question: String,
    pub(crate) krate: String,
    /// The file of the answer, in the folder of the stripped sources.
    pub(crate) path: String,
    /// The function's lines there, the first one 1.
    pub(crate) lines: (usize, usize),
}

/// The pairs from the sources, and how they were selected.
pub(crate) struct Pairs {
    pub(crate) asked: Vec<Pair>,
    /// Functions that have documentation.
    pub(crate) documented: usize,
    /// How many were left by the rules, before the limit for each crate.
    pub(crate) fitting: usize,
}

/// Writes the sources of these crates into `folder`, without comments, and
/// collects the questions.
pub(crate) fn make(names: &[&str], folder: &Path) -> Result<Pairs, Box<dyn Error>> {
    let registry = registry()?;
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_rust::LANGUAGE.into())?;
    let mut all = Vec::new();
    for name in names {
        let source = newest(&registry, name)?;
        let mut files = Vec::new();
        rust_files(&source.join("src"), &mut files)?;
        files.sort();
        for file in files {
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            let path = format!("{name}/{}", file.strip_prefix(&source)?.display());
            let (stripped, found) = take_apart(&mut parser, &text)?;
            let to = folder.join(&path);
            fs::create_dir_all(to.parent().unwrap_or(folder))?;
            fs::write(to, stripped)?;
            all.extend(found.into_iter().map(|(question, lines)| Pair {
                question,
                krate: (*name).to_owned(),
                path: path.clone(),
                lines,
            }));
        }
    }
    let documented = all.len();
    let mut fitting = distinct(all);
    let count = fitting.len();
    fitting.sort_by_cached_key(|pair| {
        let hash = blake3::hash(format!("{}\0{}", pair.path, pair.question).as_bytes());
        (pair.krate.clone(), *hash.as_bytes())
    });
    let mut asked: Vec<Pair> = Vec::new();
    let mut of_crate = 0;
    for pair in fitting {
        let same = asked.last().is_some_and(|last| last.krate == pair.krate);
        of_crate = if same { of_crate + 1 } else { 1 };
        if of_crate <= MAX_QUESTIONS {
            asked.push(pair);
        }
    }
    Ok(Pairs {
        asked,
        documented,
        fitting: count,
    })
}

/// The folder in which cargo keeps sources.
pub(crate) fn registry() -> Result<PathBuf, Box<dyn Error>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let folder = home.ok_or("there is no home")?.join("registry/src");
    let mut found: Vec<PathBuf> = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    found.sort();
    found
        .into_iter()
        .next()
        .ok_or_else(|| format!("{} is empty; `cargo fetch`", folder.display()).into())
}

/// The sources of the newest available version of a crate.
fn newest(registry: &Path, name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let mut best: Option<(Vec<u64>, PathBuf)> = None;
    for entry in fs::read_dir(registry)? {
        let entry = entry?;
        let folder = entry.file_name().to_string_lossy().into_owned();
        let Some(version) = folder
            .strip_prefix(name)
            .and_then(|it| it.strip_prefix('-'))
        else {
            continue;
        };
        let numbers: Result<Vec<u64>, _> = version
            .split(['+', '-'])
            .next()
            .unwrap_or_default()
            .split('.')
            .map(str::parse)
            .collect();
        let Ok(numbers) = numbers else { continue };
        if best.as_ref().is_none_or(|(than, _)| numbers > *than) {
            best = Some((numbers, entry.path()));
        }
    }
    let found = best.map(|(_, path)| path);
    found.ok_or_else(|| format!("the crate {name} is not there; `cargo fetch`").into())
}

fn rust_files(folder: &Path, to: &mut Vec<PathBuf>) -> Result<(), std::io::Error> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, to)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            to.push(path);
        }
    }
    Ok(())
}

type Question = (String, (usize, usize));

/// Splits a source into its text without comments, and its questions.
fn take_apart(parser: &mut Parser, text: &str) -> Result<(String, Vec<Question>), Box<dyn Error>> {
    let tree = parser.parse(text, None).ok_or("no tree")?;
    let mut cuts = Vec::new();
    let mut questions = Vec::new();
    walk(tree.root_node(), &mut |node| {
        if is_comment(node, text) {
            cuts.push(node.byte_range());
        }
        if node.kind() == "function_item" {
            questions.push(question(&documentation(node, text)));
        }
    });
    let stripped = without(text, &cuts);
    let tree = parser.parse(&stripped, None).ok_or("no tree")?;
    let mut lines = Vec::new();
    walk(tree.root_node(), &mut |node| {
        if node.kind() == "function_item" {
            lines.push((node.start_position().row + 1, node.end_position().row + 1));
        }
    });
    if lines.len() != questions.len() {
        return Ok((stripped, Vec::new()));
    }
    let found = questions.into_iter().zip(lines);
    let found = found.filter_map(|(question, lines)| Some((question?, lines)));
    Ok((stripped, found.collect()))
}

/// Visits every node, in the order of the text.
fn walk<'tree>(root: Node<'tree>, see: &mut impl FnMut(Node<'tree>)) {
    let mut cursor = root.walk();
    loop {
        see(cursor.node());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn is_comment(node: Node<'_>, text: &str) -> bool {
    let is_documentation = || {
        let text = text.get(node.byte_range()).unwrap_or_default();
        let inner = text.trim_start_matches(['#', '!', '[', ' ']);
        inner.starts_with("doc")
    };
    match node.kind() {
        "line_comment" | "block_comment" => true,
        "attribute_item" | "inner_attribute_item" => is_documentation(),
        _ => false,
    }
}

/// The text without these ranges, and without lines that have nothing else.
fn without(text: &str, cuts: &[std::ops::Range<usize>]) -> String {
    let mut kept = String::new();
    let mut at = 0;
    for cut in cuts.iter().filter(|cut| !cut.is_empty()) {
        kept.push_str(text.get(at..cut.start).unwrap_or_default());
        // Doc comments include the end of their line.
        let ends_line = text.get(cut.clone()).is_some_and(|it| it.ends_with('\n'));
        kept.push(if ends_line { '\n' } else { ' ' });
        at = at.max(cut.end);
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    let lines = kept.lines().map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n") + "\n"
}

/// The documentation above a function.
fn documentation(function: Node<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    let mut above = function.prev_sibling();
    while let Some(node) = above {
        let text = text.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            "line_comment" if text.starts_with("///") && !text.starts_with("////") => {
                parts.push(text.trim_start_matches('/').trim_end().to_owned());
            }
            "block_comment" if text.starts_with("/**") && !text.starts_with("/***") => {
                let inner = text.trim_start_matches("/**").trim_end_matches("*/");
                let lines = inner
                    .lines()
                    .map(|line| line.trim().trim_start_matches('*'));
                parts.push(lines.collect::<Vec<_>>().join("\n"));
            }
            "line_comment" | "block_comment" | "attribute_item" => {}
            _ => break,
        }
        above = node.prev_sibling();
    }
    parts.reverse();
    parts.join("\n")
}

/// The first sentence of a documentation, without Markdown.
fn question(documentation: &str) -> Option<String> {
    let lines = documentation.trim().lines().map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    if paragraph.starts_with('#') || paragraph.starts_with("```") {
        return None;
    }
    let plain = plain(&paragraph);
    let mut end = plain.len();
    for (at, _) in plain.match_indices(['.', '!', '?']) {
        let (before, after) = plain.split_at(at);
        let ends = after.chars().nth(1).is_none_or(char::is_whitespace);
        let short = ["e.g", "i.e", "etc", "vs"]
            .iter()
            .any(|it| before.ends_with(it));
        if ends && !short {
            end = at;
            break;
        }
    }
    let sentence = plain.split_at(end).0.trim();
    (!sentence.is_empty()).then(|| sentence.to_owned())
}

/// The text without the marks of code and links.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.split_at(c.len_utf8()).1;
        match c {
            '`' | '[' => {}
            ']' => {
                // The target of a link is not a word of the sentence.
                let closing = match rest.chars().next() {
                    Some('(') => Some(')'),
                    Some('[') => Some(']'),
                    _ => None,
                };
                let end = closing.and_then(|closing| rest.find(closing));
                rest = end.map_or(rest, |end| rest.split_at(end + 1).1);
            }
            c => plain.push(c),
        }
    }
    plain
}

/// The pairs whose questions are long enough and unlike all others.
fn distinct(pairs: Vec<Pair>) -> Vec<Pair> {
    let words: Vec<HashSet<String>> = pairs.iter().map(|pair| words(&pair.question)).collect();
    let fits = |at: usize, mine: &HashSet<String>| {
        let is_like = |other: &HashSet<String>| {
            let (fewer, more) = (mine.len().min(other.len()), mine.len().max(other.len()));
            if (fewer as f64) < ALIKE * more as f64 {
                return false;
            }
            let shared = mine.intersection(other).count();
            shared as f64 >= ALIKE * (mine.len() + other.len() - shared) as f64
        };
        let mut others = words.iter().enumerate().filter(|(place, _)| *place != at);
        mine.len() >= MIN_WORDS && !others.any(|(_, other)| is_like(other))
    };
    let fitting: Vec<bool> = words
        .iter()
        .enumerate()
        .map(|(at, mine)| fits(at, mine))
        .collect();
    let pairs = pairs.into_iter().zip(fitting);
    pairs
        .filter_map(|(pair, fits)| fits.then_some(pair))
        .collect()
}

fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}
