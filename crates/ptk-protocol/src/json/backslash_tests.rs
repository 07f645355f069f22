//! Backslashes that were not doubled, and those that are what JSON says.

use serde_json::{Value, json};

use super::{Repaired, repair};
use crate::ProblemCode::BadEscape;

fn read(text: &str) -> Repaired {
    repair(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// `text` between quotes, in a document with an extra comma, becomes `value`.
#[track_caller]
fn assert_string(text: &str, value: &str) {
    let document = format!("{{\"s\": \"{text}\",}}");
    let repaired = read(&document);
    let parsed: Value = serde_json::from_str(&repaired.json).unwrap();
    assert_eq!(parsed["s"], json!(value), "{text}");
    let mended = repaired.fixes.iter().any(|fix| fix.code == BadEscape);
    let standard = serde_json::from_str::<String>(&format!("\"{text}\""));
    assert_eq!(mended, standard.ok().as_deref() != Some(value), "{text}");
}

#[test]
fn backslashes_of_latex_are_kept_where_it_is_evident() {
    for text in [
        r"\frac{1}{2}",
        r"\frac{\alpha}{\beta} \cdot \nabla f \rho",
        r"\text{if } \theta \neq \tau",
        r"\sum_{i} x_i \times \tan x \to \nu, a \ne b",
        r"\left( \right) \rangle",
        r"\begin{align} x \end{align}",
        r"\usepackage{x} \newcommand{\foo}{\textbf{x}}",
    ] {
        assert_string(text, text);
    }
    // A line break is one, unless a command begins with it.
    assert_string(
        r"\section{One}\nThe \nabla and\n\tab",
        "\\section{One}\nThe \\nabla and\n\tab",
    );
    // What JSON says for sure.
    assert_string(r#"\u00e9 \alpha \\ \\beta \""#, "é \\alpha \\ \\beta \"");
}

#[test]
fn backslashes_of_regular_expressions_are_kept_where_it_is_evident() {
    for text in [
        r"\d+\.\w",
        r"\bword\b",
        r"\bfn main",
        r"^\s*(foo|bar)\b",
        r"\(\[\{\f\}",
    ] {
        assert_string(text, text);
    }
    assert_string(r"[\r\n]+\s\t", "[\r\n]+\\s\t");
    assert_string(r"\bword\b\n", "\\bword\\b\n");
}

#[test]
fn paths_of_windows_keep_their_backslashes() {
    for text in [
        r"C:\temp\new\Users",
        r"C:\temp\new",
        r"d:\new\_x\bin",
        r"C:\new\table.txt",
        r"C:\new\table",
        r"c:\notes.md",
        r"C:\news\names\notes.tsx",
    ] {
        assert_string(text, text);
    }
    assert_string(r"Q:\nWhat is \d?", "Q:\nWhat is \\d?");
    assert_string(r"C:\\temp\new", "C:\\temp\new");
}

#[test]
fn escapes_without_such_evidence_are_what_json_says() {
    for (text, value) in [
        (r"one\ntwo\tthree\r\n", "one\ntwo\tthree\r\n"),
        (r"a\nnot b\n\ttitle", "a\nnot b\n\ttitle"),
        (r"x\bx 12%\b\b\b13%", "x\u{8}x 12%\u{8}\u{8}\u{8}13%"),
        (r"page\fpage", "page\u{c}page"),
        (r"it\'s\nnot", "it's\nnot"),
    ] {
        let text = format!("{{\"s\": \"{text}\",}}");
        let parsed: Value = serde_json::from_str(&read(&text).json).unwrap();
        assert_eq!(parsed["s"], json!(value), "{text}");
    }
}

#[test]
fn valid_json_is_read_as_the_standard_says_whatever_its_strings_look_like() {
    for text in [
        r#"{"tex": "\frac{1}{2} \theta", "re": "\bword\b", "path": "C:\temp"}"#,
        r#"["\nabla \\alpha"]"#,
    ] {
        let repaired = read(text);
        assert_eq!(repaired.json, text);
        assert_eq!(repaired.fixes, []);
    }
}

#[test]
fn backslashes_far_before_the_fault_are_read_like_those_near_it() {
    let filler = r#"{"a": "b\n"}, "#.repeat(1000);
    let text = format!(r#"[{{"tex": "\frac12"}}, {filler}{{"tex": "\frac12"}},]"#);
    let value: Value = serde_json::from_str(&read(&text).json).unwrap();
    assert_eq!(value[0]["tex"], json!(r"\frac12"));
    assert_eq!(value[1]["a"], json!("b\n"));
    assert_eq!(value[1001]["tex"], json!(r"\frac12"));
}
