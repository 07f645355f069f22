//! The page about the dialects is correct: it names every dialect and alias,
//! and its examples are read as it says.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints allow these in tests, but not in what tests share"
)]

use ptk_protocol::dialects::Registry;
use ptk_protocol::{Grammar, Status, ToolSpec, Toolset, parse};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/dialects.md");
const TOOLS: &str = include_str!("../../../examples/tools.json");

/// A row of the tables: a dialect, its other names, and a call.
struct Row {
    name: String,
    aliases: Vec<String>,
    example: String,
}

/// The text between the backticks of a cell, one or two of them.
fn code(cell: &str) -> String {
    let ticks = if cell.starts_with("``") { "`` " } else { "`" };
    let end: String = ticks.chars().rev().collect();
    let inner = cell.strip_prefix(ticks).unwrap();
    let inner = inner.strip_suffix(end.as_str()).unwrap();
    inner.replace("\\|", "|").replace('⏎', "\n")
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut lists_dialects = false;
    for line in PAGE.lines() {
        let Some(line) = line.strip_prefix("| ") else {
            continue;
        };
        if !line.starts_with('`') {
            lists_dialects = line.starts_with("Name |");
        } else if lists_dialects {
            let cells: Vec<&str> = line.trim_end_matches(" |").splitn(4, " | ").collect();
            let [name, aliases, _, example] = cells[..] else {
                panic!("{line}");
            };
            rows.push(Row {
                name: code(name),
                aliases: aliases
                    .split(", ")
                    .filter(|alias| alias.starts_with('`'))
                    .map(code)
                    .collect(),
                example: code(example),
            });
        }
    }
    rows
}

fn tools() -> Toolset {
    let tools: Vec<ToolSpec> = serde_json::from_str(TOOLS).unwrap();
    Toolset::new(tools).unwrap()
}

#[test]
fn every_dialect_and_alias_has_its_place_in_a_table() {
    let rows = rows();
    let registry = Registry::builtin();
    for dialect in registry.all() {
        let mut found = rows.iter().filter(|row| row.name == dialect.name());
        let row = found.next();
        let row = row.unwrap_or_else(|| panic!("{} is not in docs/dialects.md", dialect.name()));
        assert_eq!(row.aliases, dialect.aliases(), "{}", dialect.name());
        assert!(found.next().is_none(), "{} stands twice", dialect.name());
    }
    assert_eq!(rows.len(), registry.all().len());
}

#[test]
fn every_example_is_the_call_that_the_page_says() {
    let said = r#"read_file {"path": "a.txt", "limit": 5}"#;
    assert!(PAGE.contains(said));
    let args = json!({"path": "a.txt", "limit": 5});
    for row in rows() {
        let names = std::iter::once("auto")
            .chain([row.name.as_str()])
            .chain(row.aliases.iter().map(String::as_str));
        for name in names {
            let grammar = Grammar::builder().tools(tools()).dialect(name);
            let reply = parse(&row.example, &grammar.build().unwrap());
            let [call] = &reply.calls[..] else {
                panic!("{name}: {} calls in\n{}", reply.calls.len(), row.example);
            };
            assert_eq!(call.status, Status::Complete, "{name}: {}", row.example);
            assert!(call.is_runnable(), "{name}: {:?}", call.problems);
            assert_eq!(call.call.name, "read_file");
            let read = Value::Object(call.call.args.as_map().clone());
            assert_eq!(read, args, "{name}: {}", row.example);
            assert_eq!(reply.text.trim(), "", "{name}: {}", row.example);
            if name != "auto" {
                assert_eq!(call.dialect, row.name, "{}", row.example);
            }
        }
    }
}

/// The page says under which name `auto` reads the families that share a form.
#[test]
fn auto_names_the_families_as_the_page_says() {
    let grammar = Grammar::auto(tools()).unwrap();
    let (_, told) = PAGE.split_once("`auto` names the first of them: ").unwrap();
    let told = told.lines().next().unwrap();
    for row in rows() {
        let read = parse(&row.example, &grammar).calls.remove(0).dialect;
        let mentions = |clause: &str| clause.contains(&format!("`{}`", row.name));
        let clause = told.split(", ").find(|clause| mentions(clause));
        let shown_as = clause.and_then(|clause| clause.split_once(" as `"));
        let shown_as = shown_as.and_then(|(before, name)| {
            let name = name.split('`').next()?;
            mentions(before).then_some(name)
        });
        let row_name = row.name.as_str();
        assert_eq!(read, shown_as.unwrap_or(row_name), "{row_name}");
    }
}
