//! The tables of the specification that say what an input becomes are correct.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it in tests, but not in what tests share"
)]

use ptk_protocol::{Grammar, Outcome, ProblemCode, Reply, Status, ToolSpec, Toolset, parse};

const SPECIFICATION: &str = include_str!("../../../docs/protocol.md");
const TOOLS: &str = include_str!("../../../examples/tools.json");

/// A row: an input, and what the table says of it.
struct Row {
    input: String,
    becomes: String,
}

/// The texts between single backticks.
fn code_spans(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The rows whose first cell starts with the input itself, spelt out.
fn rows() -> Vec<Row> {
    let (_, section) = SPECIFICATION
        .split_once("\n## 7. What each malformed input becomes\n")
        .unwrap();
    let (section, _) = section.split_once("\n## 8.").unwrap();
    let mut rows = Vec::new();
    let mut between_marks = false;
    for line in section.lines() {
        let Some((input, becomes)) = line
            .strip_prefix("| ")
            .and_then(|line| line.strip_suffix(" |"))
            .and_then(|line| line.split_once(" | "))
        else {
            continue;
        };
        if input.starts_with("Input") {
            between_marks = input.contains("between the marks");
        }
        if !input.starts_with('`') || input.contains("``") || input.contains('…') {
            continue;
        }
        for span in code_spans(input) {
            let mut input = span
                .replace("CALL⏎", "CALL\n")
                .replace('⏎', "\n")
                .replace("\nCALL", "\n{CALL}")
                .replace("[CALL,CALL]", "[{CALL},{CALL}]")
                .replace("[CALL,", "[{CALL},");
            if input.starts_with("CALL") {
                input = input.replacen("CALL", "{CALL}", 1);
            }
            let input = input
                .replace(",CALL", ",{CALL}")
                .replace("Sure: CALL", "Sure: {CALL}")
                .replace("<PTK-CALL>CALL", "<PTK-CALL>{CALL}")
                .replace("<ptk_call>CALL", "<ptk_call>{CALL}")
                .replace(
                    "{CALL}",
                    r#"{"tool": "read_file", "args": {"path": "a.txt"}}"#,
                );
            let input = if between_marks {
                format!("<PTK_CALL>\n{input}\n</PTK_CALL>")
            } else {
                input
            };
            rows.push(Row {
                input,
                becomes: becomes.to_owned(),
            });
        }
    }
    rows
}

/// The words of a reply that a table may name: statuses and problem codes.
fn labels(reply: &Reply) -> Vec<String> {
    let statuses = reply.calls.iter().map(|call| match call.status {
        Status::Complete => "complete",
        Status::Repaired => "repaired",
        Status::Truncated => "truncated",
    });
    let codes = reply
        .calls
        .iter()
        .flat_map(|call| &call.problems)
        .chain(&reply.problems)
        .map(|problem| problem.code.as_str());
    statuses.chain(codes).map(str::to_owned).collect()
}

#[test]
fn every_input_becomes_what_the_table_says() {
    let tools: Vec<ToolSpec> = serde_json::from_str(TOOLS).unwrap();
    let grammar = Grammar::auto(Toolset::new(tools).unwrap()).unwrap();
    let rows = rows();
    assert!(rows.len() > 40, "only {} rows were found", rows.len());
    let known: Vec<&str> = ProblemCode::ALL
        .iter()
        .map(|code| code.as_str())
        .chain(["complete", "repaired"])
        .collect();
    let mut wrong = Vec::new();
    for row in rows {
        let reply = parse(&row.input, &grammar);
        let outcome = match reply.outcome() {
            Outcome::Text(_) => "Text",
            Outcome::Calls(_) => "Calls",
            Outcome::Malformed(_) => "Malformed",
        };
        let labels = labels(&reply);
        let named = code_spans(&row.becomes)
            .into_iter()
            .filter(|span| known.contains(span))
            .all(|span| labels.iter().any(|label| label == span));
        if !row.becomes.starts_with(outcome) || !named {
            wrong.push(format!(
                "{:?}\n  the table says {}\n  it is {outcome} {labels:?}",
                row.input, row.becomes
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
