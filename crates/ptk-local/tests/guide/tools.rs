//! Tools as they are offered, and a workspace.

use ptk_llm::Message;
use ptk_local::guide::{Guide, Move, Name, Surroundings};
use ptk_protocol::{ToolSpec, Toolset};
use serde_json::{Value, json};

/// The tools that are known, in the order in which they are offered.
pub(crate) const ALL: &[&str] = &[
    "read_file",
    "list_files",
    "grep",
    "glob",
    "write_file",
    "edit",
    "bash",
    "get_weather",
];

fn parameters(name: &str) -> (&'static str, Value, Value) {
    match name {
        "read_file" => (
            "Read the content of a file",
            json!({
                "path": {"type": "string", "description": "The file, for example \"src/main.rs\""},
                "limit": {"type": ["integer", "null"], "minimum": 1, "description": "How many lines"},
            }),
            json!(["path"]),
        ),
        "list_files" => (
            "List the entries of a folder, or with a pattern all files beneath it that match",
            json!({
                "directory": {"type": "string", "description": "The folder", "default": "."},
                "pattern": {"type": ["string", "null"], "description": "A glob relative to the directory"},
                "hidden": {"type": "boolean", "default": false},
            }),
            json!([]),
        ),
        "grep" => (
            "Search the lines of files for a regular expression",
            json!({
                "pattern": {"type": "string", "description": "The regular expression"},
                "path": {"type": "string", "description": "The folder or file to search"},
                "glob": {"type": ["string", "null"], "description": "Search only files that match"},
                "case_sensitive": {"type": "boolean", "default": true},
                "literal": {"type": "boolean", "default": false},
                "output": {"type": "string", "enum": ["content", "files", "count"]},
            }),
            json!(["pattern"]),
        ),
        "glob" => (
            "Find files by a pattern of their paths",
            json!({
                "pattern": {"type": "string", "description": "The glob, relative to `path`"},
                "path": {"type": "string", "description": "The folder to look in"},
            }),
            json!(["pattern"]),
        ),
        "write_file" => (
            "Create a file, or replace the whole content of one",
            json!({
                "path": {"type": "string", "description": "The file"},
                "content": {"type": "string", "description": "The whole new content"},
            }),
            json!(["path", "content"]),
        ),
        "edit" => (
            "Replace parts of a file",
            json!({
                "path": {"type": "string", "description": "The file"},
                "edits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"old_string": {"type": "string"}, "new_string": {"type": "string"}},
                    "required": ["old_string", "new_string"],
                }},
            }),
            json!(["path", "edits"]),
        ),
        "bash" => (
            "Run a command in bash",
            json!({"command": {"type": "string", "description": "The command"}}),
            json!(["command"]),
        ),
        _ => (
            "Get the weather forecast for a city",
            json!({
                "city": {"type": "string", "description": "Where"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            }),
            json!(["city"]),
        ),
    }
}

/// The tools of these names.
pub(crate) fn offered(names: &[&str]) -> Toolset {
    let specs = names.iter().map(|name| {
        let (description, properties, required) = parameters(name);
        let schema = json!({"type": "object", "properties": properties, "required": required});
        ToolSpec::new(*name, description, schema)
    });
    Toolset::new(specs).expect("no name stands twice")
}

/// Some files and folders.
pub(crate) fn names() -> Vec<Name> {
    let folders = ["src", "docs", "docs/old plans", "recipes"];
    let files = [
        "README.md",
        "Cargo.toml",
        "src/main.rs",
        "src/parser.rs",
        "docs/design notes.md",
        "docs/Überblick.md",
        "recipes/apple-pie.md",
        "recipes/soup.md",
        "prices.csv",
    ];
    let folders = folders.into_iter().map(Name::folder);
    folders.chain(files.into_iter().map(Name::file)).collect()
}

/// A guide to these tools in that workspace.
pub(crate) fn guide(tools: &[&str]) -> Guide {
    let surroundings = Surroundings::new(names(), ["write_file", "edit", "bash"]);
    Guide::new(&offered(tools), surroundings)
}

/// What a guide does about a request.
pub(crate) fn asked(guide: &Guide, request: &str) -> Move {
    let messages = [Message::user(request)];
    guide.next(&messages)
}

/// The call that a guide makes of a request, as text; empty if it makes none.
pub(crate) fn called(guide: &Guide, request: &str) -> String {
    match asked(guide, request) {
        Move::Call { tool, arguments } => format!("{tool} {}", Value::Object(arguments)),
        _ => String::new(),
    }
}
