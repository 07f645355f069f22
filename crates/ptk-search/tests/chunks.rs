//! Files in chunks.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use ptk_search::Language;
use ptk_search::chunk::{Chunk, Chunker};

fn samples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut samples: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    samples.sort();
    samples
}

fn chunks(text: &str, language: Language) -> Vec<Chunk> {
    Chunker::default().chunks(text, language)
}

/// Checks that every line with a character on it is in exactly one chunk, whose
/// text is that of its lines.
fn check(text: &str, language: Language) {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut owners = vec![0; lines.len()];
    let mut last = 0;
    for chunk in chunks(text, language) {
        assert!(last < chunk.lines.first, "{language}: in order, apart");
        assert!(chunk.lines.first <= chunk.lines.last, "{language}");
        last = chunk.lines.last;
        let of_chunk = &lines[chunk.lines.first - 1..chunk.lines.last];
        let joined = of_chunk.join("\n");
        assert_eq!(chunk.text, joined.strip_suffix('\r').unwrap_or(&joined));
        for owner in &mut owners[chunk.lines.first - 1..chunk.lines.last] {
            *owner += 1;
        }
    }
    for (number, (line, owners)) in lines.iter().zip(owners).enumerate() {
        let expected = usize::from(!line.trim().is_empty());
        assert!(
            owners >= expected,
            "{language}: line {} {line:?}",
            number + 1
        );
    }
}

#[test]
fn each_language_is_cut_along_its_definitions() {
    for (name, text) in samples() {
        let language = Language::of(&name, &text);
        assert_eq!(language == Language::Text, name == "sample.txt", "{name}");
        let mut shown = String::new();
        for chunk in chunks(&text, language) {
            let symbol = chunk.symbol.as_deref().unwrap_or("-");
            shown += &format!("{} {} {symbol}", chunk.lines, chunk.kind);
            if !chunk.scope.is_empty() {
                shown += &format!(" in {}", chunk.scope);
            }
            shown += "\n";
            for line in chunk.text.lines() {
                shown += format!("    | {line}").trim_end();
                shown += "\n";
            }
        }
        insta::assert_snapshot!(name, shown);
        check(&text, language);
    }
}

#[test]
fn the_language_is_known_by_name_or_first_line() {
    let table = [
        ("a/b.RS", "", Language::Rust),
        ("x.pyi", "", Language::Python),
        ("x.h", "", Language::C),
        ("x.hpp", "", Language::Cpp),
        ("Gemfile", "", Language::Ruby),
        ("run", "#!/bin/sh\n", Language::Bash),
        (
            "run",
            "#!/usr/bin/env -S A=1 node --x\n",
            Language::JavaScript,
        ),
        ("run", "#!/opt/strange\n", Language::Text),
        ("run", "", Language::Text),
        (".rs", "", Language::Rust),
        ("Makefile", "all:\n", Language::Text),
    ];
    for (path, text, expected) in table {
        assert_eq!(Language::of(path, text), expected, "{path} {text}");
    }
    for language in Language::all() {
        assert_eq!(language.name().parse(), Ok(language));
    }
    assert!("cobol".parse::<Language>().is_err());
}

#[test]
fn a_long_definition_is_split_where_it_is_indented_least() {
    let mut text = "fn long() {\n".to_owned();
    for number in 0..50 {
        text += &format!("    if x == {number} {{\n        call({number});\n    }}\n");
    }
    text += "}\n";
    let chunks = chunks(&text, Language::Rust);
    assert!(chunks.len() > 2);
    for chunk in &chunks {
        assert_eq!(chunk.symbol.as_deref(), Some("long"));
        assert!(chunk.text.len() <= 2_000 && chunk.lines.last - chunk.lines.first < 80);
    }
    for chunk in &chunks[1..] {
        assert!(chunk.text.starts_with("    if"), "{}", chunk.text);
    }
}

#[test]
fn broken_source_still_gives_definitions() {
    let text = "fn one() {}\n\n}} let ] = ;\n\nfn two() {\n    1\n}\n";
    let symbols: Vec<_> = chunks(text, Language::Rust)
        .into_iter()
        .filter_map(|chunk| chunk.symbol)
        .collect();
    assert_eq!(symbols, ["one", "two"]);
    check(text, Language::Rust);
}

#[test]
fn deep_nesting_and_endless_lines_are_survived() {
    let deep = 10_000;
    for language in Language::all() {
        check(&"(".repeat(deep), language);
        check(&"{".repeat(deep), language);
        check(&"[\n".repeat(deep), language);
        check(&"mod a {\n".repeat(deep / 10), language);
        check(&"class A {\n".repeat(deep / 10), language);
        check(&"> ".repeat(5_000), language);
        check(&"x = '".repeat(deep), language);
    }
}

/// Functions around everything that looks like a bracket and is not one.
#[test]
fn what_functions_do_hides_nothing_behind_them() {
    let bodies = [
        "let a = \"}\"; let b = \"\\\"{\";",
        "let a = '{'; let b = '\\''; let c = b'}'; let d = 'é';",
        "let a = r\"{\\\"; let b = r#\"}\"{\"#; let c = br##\"}\"#{\"##; let r#type = 1;",
        "// }\n/* { /* } */ { */",
        "fn inner<'a>(x: &'a str) -> &'a str { if x == \"{\" { x } else { x } }",
        "let f: fn() = || { loop { break } };",
        "",
    ];
    for body in bodies {
        for other in bodies {
            let filler = "    let filler = 1 + 2;\n".repeat(5);
            let text = format!(
                "impl X for fn() -> u8 {{\n    fn one<'a>(&'a self) where Y: 'a {{\n        {body}\n{filler}    }}\n\n    const F: fn() = || {{\n        {other}\n{filler}    }};\n\n    pub(crate) async fn two() -> [u8; {{ 1 }}] {{\n        {other}\n{filler}    }}\n}}\n\nfn three() {{\n        {body}\n{filler}}}\n\nstruct Four;\n"
            );
            let symbols: Vec<_> = chunks(&text, Language::Rust)
                .into_iter()
                .filter_map(|chunk| chunk.symbol)
                .filter(|symbol| symbol != "fn() -> u8")
                .collect();
            assert_eq!(symbols, ["one", "F", "two", "three", "Four"], "{text}");
        }
    }
}

#[test]
fn real_sources_are_covered() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = 0;
    for entry in ignore::WalkBuilder::new(source).build() {
        let path = entry.unwrap().into_path();
        if let Ok(text) = fs::read_to_string(&path)
            && text.len() < 100_000
        {
            check(&text, Language::of(path.to_str().unwrap(), &text));
            files += 1;
        }
    }
    assert!(files > 300, "{files}");
}

fn language() -> impl Strategy<Value = Language> {
    let all: Vec<Language> = Language::all().collect();
    proptest::sample::select(all)
}

/// Parts of the samples in any order, with noise between them.
fn source() -> impl Strategy<Value = String> {
    let lines: Vec<String> = samples()
        .into_iter()
        .flat_map(|(_, text)| {
            text.split_inclusive('\n')
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let piece = prop_oneof![
        8 => proptest::sample::select(lines),
        1 => "\\PC{0,20}",
        1 => "[ \t\r\n]{0,5}",
        1 => "[{}()\\[\\]\"'/*#;=>-]{0,10}\n?",
    ];
    proptest::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_line_is_in_one_chunk(text in source(), language in language()) {
        check(&text, language);
    }

    #[test]
    fn every_line_of_noise_is_in_one_chunk(text in any::<String>(), language in language()) {
        check(&text, language);
    }

    #[test]
    fn a_chunker_remembers_nothing(texts in proptest::collection::vec((source(), language()), 1..4)) {
        let mut used = Chunker::default();
        for (text, language) in texts {
            prop_assert_eq!(used.chunks(&text, language), chunks(&text, language));
        }
    }
}
