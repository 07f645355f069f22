//! The calls for the requests that the guide was tuned with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ptk_local::guide::{Guide, Move, Name, Surroundings};
use serde_json::{Map, Value, json};

use crate::tools::{asked, offered};

/// How many of a hundred calls must be right.
const BAR: usize = 95;

fn evals() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals")
}

fn walk(root: &Path, folder: &Path, names: &mut Vec<Name>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let relative = path.strip_prefix(root).expect("below the root");
        let relative = relative.to_string_lossy().into_owned();
        if path.is_dir() {
            names.push(Name::folder(relative));
            walk(root, &path, names);
        } else {
            names.push(Name::file(relative));
        }
    }
}

/// Whether arguments are among those that a request allows.
fn fits(arguments: &Map<String, Value>, allowed: &Value) -> bool {
    let tables = allowed.as_array().into_iter().flatten();
    tables.filter_map(Value::as_object).any(|table| {
        table.iter().all(|(name, choices)| {
            let is_place = ["path", "directory"].contains(&name.as_str());
            let left_out = json!(if is_place { "." } else { "" });
            let given = arguments.get(name).unwrap_or(&left_out);
            match choices {
                Value::Array(choices) => choices.contains(given),
                choice => choice == given,
            }
        })
    })
}

fn is_right(request: &Value, next: &Move) -> bool {
    match next {
        Move::Call { tool, arguments } => {
            let also = request["also"].as_array().into_iter().flatten();
            let mut allowed = also.chain([request]);
            allowed.any(|one| one["tool"] == json!(tool) && fits(arguments, &one["calls"]))
        }
        _ => request["tool"] == json!("none"),
    }
}

#[test]
fn most_calls_are_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/seen.toml");
    let text = fs::read_to_string(path).expect("the requests");
    let file: Value = toml::from_str(&text).expect("TOML");
    let lists = file.as_object().into_iter().flat_map(Map::values);
    let requests: Vec<&Value> = lists.filter_map(Value::as_array).flatten().collect();
    let tools = offered(&["read_file", "list_files", "grep", "glob", "write_file"]);
    let mut right: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for request in &requests {
        let root = evals()
            .join("workspaces")
            .join(request["workspace"].as_str().expect("a name"));
        let mut names = Vec::new();
        walk(&root, &root, &mut names);
        let guide = Guide::new(&tools, Surroundings::new(names, ["write_file"]));
        let next = asked(&guide, request["ask"].as_str().expect("a request"));
        let counts = right
            .entry(request["tool"].as_str().expect("a tool"))
            .or_default();
        counts.0 += usize::from(is_right(request, &next));
        counts.1 += 1;
    }
    let sum: usize = right.values().map(|(right, _)| right).sum();
    assert!(
        !requests.is_empty() && sum * 100 >= BAR * requests.len(),
        "{right:?}"
    );
}
