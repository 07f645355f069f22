//! The reasons why each piece of a reply was taken for what it is.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fmt::Write as _;

use ptk_protocol::invariants::{check_every_cut, tools};
use ptk_protocol::{Drafts, Fences, Grammar, GrammarBuilder, Parser, parse_explained};

const CALL: &str = "<PTK_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": \"a\"}}</PTK_CALL>";

/// The notes on a reply, a line each, with the text that they are about. It is
/// also read in every cut, which must give the same notes.
fn explain(builder: GrammarBuilder, text: &str) -> String {
    let grammar = builder.build().unwrap();
    check_every_cut(&grammar, text);
    let (_, notes) = parse_explained(text, &grammar);
    let mut lines = String::new();
    for note in notes {
        let about = &text[note.span.start..note.span.end];
        writeln!(lines, "{} {about:?}: {}", note.span.start, note.decision).unwrap();
    }
    lines
}

fn ptk() -> GrammarBuilder {
    Grammar::builder().tools(tools()).dialect("ptk")
}

#[test]
fn a_reply_with_everything_is_explained() {
    let text = "<think>Call `<PTK_CALL>`?</think>Use `<PTK_CALL>{}</PTK_CALL>` so:\n\
        > <PTK_CALL>{}</PTK_CALL>\n\
        read_file(path=\"a\") reads.\n\
        <PTK_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": \"a\",}}</PTK_CALL>\n\
        </PTK_CALL>\n\
        ```\n<tool_call>{\"name\": \"read_file\"}</tool_call>\n```\nThe <PTK_CALL> mark.\n";
    insta::assert_snapshot!(explain(Grammar::builder().tools(tools()), text));
}

#[test]
fn what_quotes_a_call_is_named() {
    for (text, expected) in [
        (format!("`{CALL}`"), "inline code"),
        (format!("\"{CALL}\""), "quotation marks stand around it"),
        (
            format!("> {CALL}"),
            "a quotation, as its line starts with `>`",
        ),
        (
            format!("```\n{CALL}\n```\nSo it goes."),
            "a fence that does not end the reply",
        ),
        (
            format!("```\nthis: {CALL}\n```"),
            "a fence that holds something else than calls of declared tools",
        ),
        (
            format!("<think>\n```\n{CALL}\n```\n"),
            "a fence in the reasoning",
        ),
    ] {
        let expected = format!("quoted, so not called: {expected}\n");
        let notes = explain(ptk(), &text);
        assert!(notes.contains(&expected), "{text}: {notes}");
    }
    let text = format!("```\n{CALL}\n```");
    let quoting = ptk().fences(Fences::Quote);
    assert!(explain(quoting, &text).ends_with("quoted, so not called: a fence\n"));
    let notes = explain(ptk(), &text);
    assert!(notes.contains("it calls"), "{notes}");
}

#[test]
fn why_a_draft_is_not_called_is_named() {
    let draft = format!("<think>{CALL}</think>");
    let kept = |why: &str| format!("drafted in the reasoning, so not called: {why}");
    for (text, expected) in [
        (format!("{draft}Done."), "an answer or a call follows"),
        (format!("{CALL}{draft}"), "a call precedes it"),
        (
            format!("<think>{CALL} or so"),
            "the model thought on behind it",
        ),
    ] {
        let notes = explain(ptk(), &text);
        assert!(notes.contains(&kept(expected)), "{text}: {notes}");
    }
    let ignoring = ptk().drafts(Drafts::Ignore);
    assert!(explain(ignoring, &draft).contains(&kept("drafts are ignored")));
    assert!(explain(ptk(), &draft).contains("nothing follows: it is called"));
    let other = draft.replace("read_file", "unheard_of");
    assert!(explain(ptk(), &other).contains("no whole call of a declared tool"));
}

#[test]
fn a_refusal_says_why() {
    for (dialect, text, expected) in [
        (
            "ptk",
            "<PTK_CALL> opens it.",
            "no JSON stands behind the mark",
        ),
        (
            "ptk",
            "Between <PTK_CALL> and </PTK_CALL> it stands.",
            "what stands between the marks is part of a sentence",
        ),
        (
            "function",
            "read_file(path=\"a\") reads a file.",
            "words stand behind it on its line",
        ),
        (
            "function",
            "read_file(the path)",
            "an argument is not a literal",
        ),
        (
            "function",
            "read_file(pa",
            "the reply ends before it can be told",
        ),
        (
            "yaml",
            "TOOL: hammer\nARGS:\n  a: b\n",
            "it names no declared tool",
        ),
        (
            "qwen3-coder",
            "<function=> is odd",
            "no tool's name stands where it belongs",
        ),
    ] {
        let builder = Grammar::builder().tools(tools());
        let notes = explain(builder, text);
        let expected = format!("not {dialect}: {expected}");
        assert!(notes.contains(&expected), "{text}: {notes}");
    }
}

#[test]
fn notes_are_kept_only_where_asked_for_and_handed_over_once() {
    let grammar = ptk().build().unwrap();
    let mut plain = Parser::new(&grammar);
    plain.push(CALL);
    plain.finish();
    assert_eq!(plain.notes(), []);

    let mut explained = Parser::new(&grammar).explained();
    for _ in 0..2 {
        explained.push(CALL);
        explained.finish();
        assert_eq!(explained.notes().len(), 2);
        assert_eq!(explained.notes(), []);
    }
}
