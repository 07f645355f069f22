//! What holds of every edit of every file.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use std::ops::Range;

use proptest::prelude::*;
use scene::Scene;
use serde_json::{Value, json};

/// An accent that belongs to the letter before it.
const ACCENT: char = '\u{301}';

/// A text of few different characters: repetitions are likely.
fn file() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "ab", " ", "  ", "\t", "\n", "\n\n", "\r\n", "(", "\"", "\u{201c}", "é",
        "e\u{301}", "-", "\u{2014}", "x = 1", "}", "\u{200b}",
    ]);
    prop::collection::vec(piece, 1..60).prop_map(|pieces| pieces.concat())
}

/// Parts of a text that do not overlap, in order.
fn parts(text: &str, cuts: &[usize]) -> Vec<Range<usize>> {
    let boundaries: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let mut cuts: Vec<usize> = cuts
        .iter()
        .map(|cut| boundaries[cut % boundaries.len()])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
}

/// How a text is misquoted.
const SLIPS: [(&str, &str); 14] = [
    ("\r\n", "\n"),
    ("\n", "\r\n"),
    ("\n", " \n"),
    (" \n", "\n"),
    ("\n ", "\n"),
    ("\n", "\n  "),
    ("\t", "    "),
    ("  ", "\t"),
    ("\u{201c}", "\""),
    ("\"", "\u{201d}"),
    ("\u{2014}", "-"),
    ("é", "e\u{301}"),
    ("\n\n", "\n"),
    ("\n", "\n\n"),
];

/// A text as a plain keyboard writes it.
fn plain(text: &str) -> String {
    text.replace(['\u{201c}', '\u{201d}'], "\"")
        .replace('\u{2014}', "-")
        .replace('\u{200b}', "")
        .replace("e\u{301}", "é")
}

/// The lines of a text, without what does not matter at the ends of lines.
fn said(text: &str) -> Vec<String> {
    let lines = plain(text);
    lines
        .split('\n')
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn letters(text: &str) -> String {
    text.replace('é', "e")
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect()
}

fn run(scene: &Scene, args: Value) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(scene.call("edit", args)).result.success
}

#[test]
fn what_is_added_to_a_line_stands_before_the_blanks_at_its_end() {
    let text = "(abe\u{301}(a\t\"a \n\nab\n";
    let old = plain(text);
    let new = old.replacen("\"a", "\"aa", 1);
    let scene = Scene::new();
    scene.write("a.txt", text);
    let args = json!({"path": "a.txt", "old_string": old, "new_string": new});
    assert!(run(&scene, args));
    assert_eq!(said(&scene.text("a.txt")), said(&new));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Text that is in the file exactly once is replaced, and nothing else.
    #[test]
    fn unique_text_is_replaced_as_a_plain_replacement_would(
        text in file(),
        cuts in prop::collection::vec(any::<usize>(), 2..8),
        new in "[a-z ]{0,6}",
    ) {
        let unique = |part: &Range<usize>| {
            let old = &text[part.clone()];
            let is_there = |at: &usize| text[*at..].starts_with(old);
            text.char_indices().filter(|(at, _)| is_there(at)).count() == 1
                && !text[part.end..].starts_with(ACCENT)
        };
        let parts: Vec<Range<usize>> = parts(&text, &cuts).into_iter().filter(unique).collect();
        prop_assume!(!parts.is_empty());
        prop_assume!(parts.iter().all(|part| text[part.clone()] != new));
        let mut wanted = text.clone();
        for part in parts.iter().rev() {
            wanted.replace_range(part.clone(), &new);
        }
        prop_assume!(wanted != text);
        let edits: Vec<Value> = parts
            .iter()
            .map(|part| json!({"old_string": &text[part.clone()], "new_string": new}))
            .collect();
        let scene = Scene::new();
        scene.write("a.txt", &text);
        let args = json!({"path": "a.txt", "edits": edits});
        prop_assert!(run(&scene, args));
        prop_assert_eq!(scene.text("a.txt"), wanted);
    }

    /// All places are replaced as the standard library does it.
    #[test]
    fn all_places_are_replaced_as_a_plain_replacement_would(
        text in file(),
        cuts in prop::collection::vec(any::<usize>(), 2..3),
        new in "[a-z ]{0,6}",
    ) {
        let part = parts(&text, &cuts).pop();
        prop_assume!(part.is_some());
        let old = &text[part.unwrap()];
        prop_assume!(!text.contains(&format!("{old}{ACCENT}")));
        let wanted = text.replace(old, &new);
        prop_assume!(wanted != text && old != new);
        let scene = Scene::new();
        scene.write("a.txt", &text);
        let args = json!({"path": "a.txt", "old_string": old, "new_string": new, "replace_all": true});
        prop_assert!(run(&scene, args));
        prop_assert_eq!(scene.text("a.txt"), wanted);
    }

    /// Text with a letter that the file does not have changes nothing.
    #[test]
    fn text_that_is_not_there_changes_nothing(
        text in file(),
        before in file(),
        after in file(),
        all in any::<bool>(),
    ) {
        let old = format!("{before}q{after}");
        let scene = Scene::new();
        scene.write("a.txt", &text);
        let args = json!({"path": "a.txt", "old_string": old, "new_string": "new", "replace_all": all});
        prop_assert!(!run(&scene, args));
        prop_assert_eq!(scene.text("a.txt"), text);
    }

    /// Whatever characters the file has, after an edit it holds what was
    /// wanted.
    #[test]
    fn an_edit_with_lookalikes_says_what_was_asked(
        text in file(),
        cuts in prop::collection::vec(any::<usize>(), 2..3),
        put in "[a\"' .-]{0,4}",
    ) {
        let old = plain(&text);
        let part = parts(&old, &cuts).pop();
        prop_assume!(part.is_some() && !old.trim().is_empty());
        let mut new = old.clone();
        new.replace_range(part.unwrap(), &put);
        prop_assume!(new != old);
        let scene = Scene::new();
        scene.write("a.txt", &text);
        let args = json!({"path": "a.txt", "old_string": old, "new_string": new});
        let is_made = run(&scene, args);
        let after = scene.text("a.txt");
        prop_assert_eq!(said(&after), said(if is_made { &new } else { &text }));
    }

    /// However a part of the file is misquoted, an edit that is made changes
    /// one part only, and that part holds the same letters as the quote.
    #[test]
    fn a_tolerant_edit_changes_only_what_was_quoted(
        text in file(),
        cuts in prop::collection::vec(any::<usize>(), 2..3),
        slips in prop::collection::vec(0..SLIPS.len(), 1..4),
    ) {
        let part = parts(&text, &cuts).pop();
        prop_assume!(part.is_some());
        let misquoted = slips.iter().fold(text[part.unwrap()].to_owned(), |old, slip| {
            let (from, to) = SLIPS[*slip];
            old.replace(from, to)
        });
        prop_assume!(!misquoted.is_empty());
        let scene = Scene::new();
        scene.write("a.txt", &text);
        let args = json!({"path": "a.txt", "old_string": misquoted, "new_string": "NEW"});
        if run(&scene, args) {
            let after = scene.text("a.txt");
            let (start, end) = after.split_once("NEW").unwrap();
            // The new text may have got the indentation of the old one.
            let rest = text.strip_prefix(start.trim_end_matches([' ', '\t'])).unwrap();
            let part = rest.strip_suffix(end).unwrap();
            prop_assert_eq!(letters(part), letters(&misquoted));
        } else {
            prop_assert_eq!(scene.text("a.txt"), text);
        }
    }
}
