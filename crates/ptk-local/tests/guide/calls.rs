//! Which calls are made of which requests.

use ptk_llm::Message;
use ptk_local::guide::{Guide, Move, Name, Surroundings};

use crate::tools::{ALL, asked, called, guide, offered};

fn check(tools: &[&str], cases: &[(&str, &str)]) {
    let guide = guide(tools);
    for (request, call) in cases {
        assert_eq!(called(&guide, request), *call, "{request}");
    }
}

#[test]
fn a_file_that_is_asked_about_is_read() {
    check(
        ALL,
        &[
            (
                "Read Cargo.toml and tell me the version",
                r#"read_file {"path":"Cargo.toml"}"#,
            ),
            (
                "what does the readme say?",
                r#"read_file {"path":"README.md"}"#,
            ),
            (
                "open the design notes please",
                r#"read_file {"path":"docs/design notes.md"}"#,
            ),
            (
                "show me uberblick.md",
                r#"read_file {"path":"docs/Überblick.md"}"#,
            ),
            ("cat Cargo.tmol", r#"read_file {"path":"Cargo.toml"}"#),
            (
                "first 5 lines of src/main.rs",
                r#"read_file {"path":"src/main.rs","limit":5}"#,
            ),
        ],
    );
}

#[test]
fn a_folder_is_listed() {
    check(
        ALL,
        &[
            (
                "what is in the docs folder?",
                r#"list_files {"directory":"docs"}"#,
            ),
            (
                "ls \"docs/old plans\"",
                r#"list_files {"directory":"docs/old plans"}"#,
            ),
            ("list the files here", "list_files {}"),
        ],
    );
}

#[test]
fn a_text_is_searched_for_as_it_is_written() {
    check(
        ALL,
        &[
            (
                "where is parse_line used?",
                r#"grep {"pattern":"parse_line"}"#,
            ),
            (
                "search src for \"a.b()\"",
                r#"grep {"pattern":"a.b()","path":"src","literal":true}"#,
            ),
            (
                "which files mention cinnamon?",
                r#"grep {"pattern":"cinnamon","case_sensitive":false}"#,
            ),
            (
                "are there any TODOs left in src?",
                r#"grep {"pattern":"TODO","path":"src"}"#,
            ),
        ],
    );
}

#[test]
fn names_are_found_by_kind_part_and_pattern() {
    check(
        ALL,
        &[
            ("find all Rust files", r#"glob {"pattern":"**/*.rs"}"#),
            (
                "which markdown files are in recipes?",
                r#"glob {"pattern":"**/*.md","path":"recipes"}"#,
            ),
            (
                "find files with apple in the name",
                r#"glob {"pattern":"**/*apple*"}"#,
            ),
            (
                "which files start with par?",
                r#"glob {"pattern":"**/par*"}"#,
            ),
            (
                "find files matching *.csv",
                r#"glob {"pattern":"**/*.csv"}"#,
            ),
            ("where is parser.rs?", r#"glob {"pattern":"**/parser.rs"}"#),
        ],
    );
}

#[test]
fn another_tool_does_the_job_of_one_that_is_not_offered() {
    check(
        &["read_file", "list_files"],
        &[
            ("find all Rust files", r#"list_files {"pattern":"**/*.rs"}"#),
            ("where is parse_line used?", ""),
        ],
    );
    check(&[], &[("read Cargo.toml", "")]);
}

#[test]
fn what_is_to_be_written_is_taken_word_for_word() {
    check(
        ALL,
        &[
            (
                "create notes/today.txt with the text hello world",
                r#"write_file {"path":"notes/today.txt","content":"hello world"}"#,
            ),
            (
                "save this as a.txt: See you, then.",
                r#"write_file {"path":"a.txt","content":"See you, then."}"#,
            ),
            (
                "write {\"a\": [1, 2]} to a.json",
                r#"write_file {"path":"a.json","content":"{\"a\": [1, 2]}"}"#,
            ),
            (
                "make a file b.txt, first line is one, second line is two",
                r#"write_file {"path":"b.txt","content":"one\ntwo"}"#,
            ),
        ],
    );
}

#[test]
fn a_replacement_and_a_command_are_filled_in() {
    check(
        ALL,
        &[
            (
                "in Cargo.toml replace \"0.1\" with \"0.2\"",
                r#"edit {"path":"Cargo.toml","edits":[{"old_string":"0.1","new_string":"0.2"}]}"#,
            ),
            ("run `cargo test`", r#"bash {"command":"cargo test"}"#),
        ],
    );
}

#[test]
fn a_tool_without_examples_is_known_by_its_description() {
    check(
        ALL,
        &[(
            "get the weather forecast for Lisbon",
            r#"get_weather {"city":"Lisbon"}"#,
        )],
    );
}

#[test]
fn talk_is_no_call() {
    let guide = guide(ALL);
    for request in [
        "",
        "   ",
        "hello!",
        "Thanks, that was all",
        "what is 12 * 7?",
        "Why is the sky blue?",
        "write a poem about the sea",
        "how do I write a loop in Python?",
    ] {
        assert_eq!(asked(&guide, request), Move::Talk, "{request}");
    }
}

#[test]
fn only_what_was_said_last_decides() {
    let guide = guide(ALL);
    let mut messages = vec![
        Message::user("read Cargo.toml"),
        Message::assistant("It says …"),
        Message::user("Thanks"),
    ];
    assert_eq!(guide.next(&messages), Move::Talk);
    messages.push(Message::user("and what is in docs?"));
    let next = guide.next(&messages);
    assert!(matches!(next, Move::Call { tool, .. } if tool == "list_files"));
    assert_eq!(guide.next(&[]), Move::Talk);
}

#[test]
fn a_workspace_may_have_no_names_or_very_many() {
    let empty = Guide::new(&offered(ALL), Surroundings::new(Vec::new(), ["write_file"]));
    assert_eq!(
        called(&empty, "read notes.txt"),
        r#"read_file {"path":"notes.txt"}"#
    );
    let many: Vec<Name> = (0..60_000)
        .map(|number| Name::file(format!("part{}/file_{number}.txt", number % 100)))
        .collect();
    let large = Guide::new(&offered(ALL), Surroundings::new(many, ["write_file"]));
    assert_eq!(
        called(&large, "show me file_77.txt"),
        r#"read_file {"path":"part77/file_77.txt"}"#
    );
}

#[test]
fn what_is_too_long_to_be_read_is_not_written_in_part() {
    let guide = guide(ALL);
    let fitting = "lorem ipsum ".repeat(1_000);
    let call = called(&guide, &format!("save this as long.txt: {fitting}"));
    assert!(call.contains(fitting.trim_end()), "{call}");
    let enormous = "lorem ipsum ".repeat(100_000);
    let next = asked(&guide, &format!("save this as long.txt: {enormous}"));
    assert_eq!(next, Move::Talk);
}
