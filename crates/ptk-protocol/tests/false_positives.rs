//! Texts that only talk about calls, in `tests/false_positives`, and the
//! files of this repository: no call may be made from any of them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod random;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use ptk_protocol::dialects::Registry;
use ptk_protocol::invariants::check_pieces;
use ptk_protocol::{Arguments, Grammar, SpanKind, ToolCall, ToolSpec, Toolset, parse};
use random::Random;

/// How many random ways each text is cut into pieces.
const RANDOM_CUTS: usize = 4;
/// Fewer texts than this mean that a file was not found.
const LEAST_TEXTS: usize = 300;

/// A fence longer than any in a source file.
const FENCE: &str = "``````````";

struct Text {
    file: String,
    name: String,
    /// Whether it, or the frame it stands in, is still read wrongly.
    open: Option<Open>,
    body: String,
}

/// A fault that is known and not fixed yet.
#[derive(Clone)]
struct Open {
    /// The text or the frame that carries the note.
    noted_at: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/false_positives")
}

fn read_texts(path: &Path) -> Vec<Text> {
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let content = format!("\n{}", std::fs::read_to_string(path).unwrap());
    let texts = content.split("\n==== ").skip(1).map(|section| {
        let (head, body) = section.split_once('\n').unwrap_or((section, ""));
        let (name, open) = match head.split_once(" [open: ") {
            Some((name, _)) => (name, true),
            None => (head, false),
        };
        let noted_at = format!("{file}: {name}");
        Text {
            file: file.clone(),
            name: name.to_owned(),
            open: open.then_some(Open { noted_at }),
            body: body.trim_matches('\n').to_owned(),
        }
    });
    texts.collect()
}

fn texts_of_folder() -> Vec<Text> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files.iter().flat_map(|path| read_texts(path)).collect()
}

/// A call in each dialect that can be written.
fn written_forms() -> impl Iterator<Item = Text> {
    let args = Arguments::from_json(r#"{"path": "notes.txt"}"#).unwrap();
    let call = ToolCall::new("read_file", args);
    let registry = Registry::builtin();
    let forms = registry.all().iter().filter_map(|dialect| {
        Some(Text {
            file: "registry".to_owned(),
            name: format!("written as {}", dialect.name()),
            open: None,
            body: dialect.writer()?.calls(std::slice::from_ref(&call)),
        })
    });
    forms.collect::<Vec<_>>().into_iter()
}

/// Every form of a call in every quotation.
fn quoted_forms() -> Vec<Text> {
    let mut forms = read_texts(&folder().join("quoted/forms.txt"));
    forms.extend(written_forms());
    let frames = read_texts(&folder().join("quoted/frames.txt"));
    let mut texts = Vec::new();
    for frame in &frames {
        for form in &forms {
            if frame.name.starts_with("In a line:") && form.body.contains('\n') {
                continue;
            }
            let open = frame.open.as_ref().or(form.open.as_ref());
            texts.push(Text {
                file: "quoted".to_owned(),
                name: format!("{} / {}", frame.name, form.name),
                open: open.cloned(),
                body: put_into(&frame.body, &form.body),
            });
        }
    }
    texts
}

fn put_into(frame: &str, form: &str) -> String {
    let mut text = String::new();
    for line in frame.lines() {
        match line.split_once("FORM") {
            Some((signs, "")) if !signs.contains(char::is_alphanumeric) => {
                for line in form.lines() {
                    let _ = writeln!(text, "{signs}{line}");
                }
            }
            Some((before, behind)) => {
                let _ = writeln!(text, "{before}{form}{behind}");
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}

/// A grammar with declared tools, and one without.
fn grammars() -> [(&'static str, Grammar); 2] {
    let tools = std::fs::read_to_string(folder().join("tools.json")).unwrap();
    let tools: Vec<ToolSpec> = serde_json::from_str(&tools).unwrap();
    let declared = Grammar::auto(Toolset::new(tools).unwrap()).unwrap();
    let undeclared = Grammar::builder().build().unwrap();
    [("tools declared", declared), ("no tools given", undeclared)]
}

/// What is wrong with how a text is read, if anything.
fn fault(grammar: &Grammar, text: &str) -> Option<String> {
    let reply = parse(text, grammar);
    if let Some(call) = reply.calls.first() {
        return Some(format!(
            "a call of `{}` in the dialect {}: {:?}",
            call.call.name,
            call.dialect,
            text.get(call.span.start..call.span.end)
        ));
    }
    if let Some(problem) = reply.problems.first() {
        return Some(format!("a problem: {} {}", problem.code, problem.message));
    }
    let mut end = 0;
    for piece in &reply.pieces {
        let slice = text.get(end..piece.end).unwrap_or_default();
        let around_reasoning = piece.kind == SpanKind::Mark && slice.trim().ends_with("think>");
        if piece.start != end || slice.is_empty() {
            return Some(format!("bytes from {end} on are not accounted for"));
        }
        if !matches!(piece.kind, SpanKind::Text | SpanKind::Reasoning) && !around_reasoning {
            return Some(format!("text is lost: {slice:?}"));
        }
        end = piece.end;
    }
    if end != text.len() {
        return Some(format!("bytes from {end} on are not accounted for"));
    }
    let mut random = Random(text.len() as u64);
    let cuts = AssertUnwindSafe(|| {
        for _ in 0..RANDOM_CUTS {
            check_pieces(grammar, text, random.pieces(text));
        }
    });
    catch_unwind(cuts)
        .is_err()
        .then(|| "it is read differently in pieces".to_owned())
}

fn check(texts: &[Text]) {
    let grammars = grammars();
    let mut names = BTreeSet::new();
    let mut told = Vec::new();
    let mut open = BTreeSet::new();
    let mut wrong = BTreeSet::new();
    for text in texts {
        let place = format!("{}: {}", text.file, text.name);
        if !names.insert(place.clone()) {
            told.push(format!("{place}\n  stands twice"));
        }
        let found = grammars
            .iter()
            .find_map(|(with, grammar)| Some(format!("  {with}: {}", fault(grammar, &text.body)?)));
        if let Some(Open { noted_at }) = &text.open {
            open.insert(noted_at);
            if found.is_some() {
                wrong.insert(noted_at);
            }
        } else if let Some(found) = found {
            told.push(format!("{place}\n{found}"));
        }
    }
    for mended in open.difference(&wrong) {
        told.push(format!(
            "{mended}\n  is read rightly now: remove its [open]"
        ));
    }
    assert!(
        told.is_empty(),
        "{} of {} texts\n\n{}\n",
        told.len(),
        texts.len(),
        told.join("\n\n")
    );
}

#[test]
fn no_call_is_made_from_a_text_that_only_talks_about_calls() {
    let texts = texts_of_folder();
    assert!(texts.len() >= LEAST_TEXTS, "only {} texts", texts.len());
    check(&texts);
}

#[test]
fn no_call_is_made_from_any_form_in_any_quotation() {
    let texts = quoted_forms();
    assert!(texts.len() >= LEAST_TEXTS, "only {} texts", texts.len());
    check(&texts);
}

/// A model that repeats a document of this repository, or shows a source file
/// of it in a fence, calls nothing.
#[test]
fn no_call_is_made_from_the_files_of_this_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 50, "only {} files", files.len());
    let texts: Vec<Text> = files
        .iter()
        .map(|path| {
            let content = std::fs::read_to_string(path).unwrap();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            let file = "repository".to_owned();
            Text {
                open: None,
                file,
                name,
                body: if is_source {
                    format!("{FENCE}rust\n{content}\n{FENCE}\n\nThat is the file.\n")
                } else {
                    content
                },
            }
        })
        .collect();
    check(&texts);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                collect(&path, files);
            }
        } else if matches!(path.extension(), Some(e) if e == "rs" || e == "md") {
            files.push(path);
        }
    }
}
