//! Short scenes for the prompt's examples: a question and a call, made from the
//! tools at hand, and whole turns with results.

use serde_json::{Map, Value, json};

use crate::schema::example::{self, Variant};
use crate::{ToolCall, ToolSpec, Toolset};

/// One example turn.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) question: String,
    pub(super) call: ToolCall,
    /// Another call of the same tool, to show the form alone.
    pub(super) form: ToolCall,
}

/// A whole example turn: calls with their results, and the answer.
#[derive(Debug, Clone)]
pub(super) struct Story {
    pub(super) question: &'static str,
    pub(super) calls: Vec<(ToolCall, Map<String, Value>)>,
    pub(super) answer: &'static str,
}

/// The whole turns that these tools can show: a call whose result leads to
/// another one, then one whose result is enough. Only for known tools are the
/// results known.
pub(super) fn stories(tools: &Toolset) -> Vec<Story> {
    let call = |names: &[&str], parameters: &[&str], value: &str| {
        let spec = tools
            .iter()
            .find(|spec| names.contains(&plain_name(spec).as_str()))?;
        let args = parameters.iter().find_map(|parameter| {
            let args = Map::from_iter([((*parameter).to_owned(), json!(value))]);
            let is_declared = spec.properties()?.contains_key(*parameter);
            (is_declared && example::fits(spec, &args)).then_some(args)
        })?;
        let reasoning = plot(spec, &args).reasoning;
        Some(ToolCall::new(spec.name.clone(), args).with_reasoning(reasoning))
    };
    let result = |value: Value| match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let read = |path: &str, content: &str| {
        let call = call(&READS, &["path", "file_path"], path)?;
        let lines = content.lines().count();
        Some((call, result(json!({"content": content, "lines": lines}))))
    };
    let list = || {
        let call = call(&LISTS, &["directory", "path"], "logs")?;
        let files = ["logs/monday.txt", "logs/tuesday.txt"];
        Some((
            call,
            result(json!({"files": files, "count": 2, "total": 2})),
        ))
    };
    let chain = || {
        Some(Story {
            question: "Who was on duty on Tuesday? It is in logs.",
            calls: vec![
                list()?,
                read(
                    "logs/tuesday.txt",
                    "weather: rain\nduty: Lena\nvisitors: 12\n",
                )?,
            ],
            answer: "Lena was on duty on Tuesday.",
        })
    };
    let single = || {
        Some(Story {
            question: "Which port does config/server.yaml set?",
            calls: vec![read(
                "config/server.yaml",
                "host: localhost\nport: 8081\nworkers: 4\n",
            )?],
            answer: "It sets port 8081.",
        })
    };
    chain().into_iter().chain(single()).collect()
}

/// Names of tools that read a file, without separators.
const READS: [&str; 3] = ["readfile", "read", "openfile"];
/// Names of tools that list a folder, without separators.
const LISTS: [&str; 4] = ["listfiles", "listdir", "ls", "listdirectory"];

/// How many tools a prompt shows in use at most.
const TOOLS: usize = 6;

/// Picks the scenes for a prompt: one of each tool, then another use of the
/// first. Tools that only read come before those that change something. Where
/// the form has a way of its own for long text, the last scene shows it, if a
/// tool takes any.
pub(super) fn pick(tools: &Toolset, long_text: bool) -> Vec<Scene> {
    let mut ranked: Vec<&ToolSpec> = tools.iter().collect();
    ranked.sort_by_key(|spec| rank(spec));
    let writing = ranked.iter().filter(|_| long_text);
    let writing = writing.copied().find_map(writing_scene);
    if let Some(writing) = &writing {
        ranked.retain(|spec| spec.name != writing.call.name);
    }
    ranked.truncate(TOOLS);
    let firsts = ranked.iter().map(|spec| play(spec, Variant::First));
    let mut scenes: Vec<Scene> = firsts.collect();
    let has_one = ranked.len() == 1;
    // The last one that has another use: a search, rather than reading a file.
    let second = ranked
        .iter()
        .rfind(|spec| has_one || own_args(spec, Variant::Second).is_some())
        .map(|spec| play(spec, Variant::Second))
        .filter(|second| {
            let mut others = scenes.iter();
            others.all(|scene| scene.call.args != second.call.args)
        });
    scenes.extend(second);
    scenes.extend(writing);
    scenes
}

/// A scene in which a file of several lines is written.
fn writing_scene(spec: &ToolSpec) -> Option<Scene> {
    const CODE: &str = "def larger(a, b):\n    return b if a < b else a";

    let mut args = example::args(spec);
    let path = ["path", "file_path"]
        .into_iter()
        .find(|name| args.contains_key(*name))?;
    args.insert(path.to_owned(), json!("larger.py"));
    args.get("content")?.as_str()?;
    args.insert("content".to_owned(), json!(CODE));
    if !example::fits(spec, &args) {
        return None;
    }
    let call = ToolCall::new(spec.name.clone(), args).with_reasoning("a new file with this text");
    Some(Scene {
        form: call.clone(),
        call,
        question: "Write larger.py: a function that gives the larger of two numbers.".to_owned(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Looks,
    Unknown,
    Changes,
}

fn rank(spec: &ToolSpec) -> Rank {
    let name = spec.name.to_lowercase();
    let named = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let changes = [
        "write", "edit", "delete", "remove", "bash", "shell", "exec", "run", "send", "move",
        "kill", "create", "update", "set", "add", "book", "post", "save", "start", "stop", "close",
        "play",
    ];
    let looks = [
        "read", "list", "get", "search", "find", "grep", "glob", "fetch", "look", "show", "query",
    ];
    if named(&changes) {
        Rank::Changes
    } else if named(&looks) {
        Rank::Looks
    } else {
        Rank::Unknown
    }
}

fn play(spec: &ToolSpec, variant: Variant) -> Scene {
    let mut args = example::args_variant(spec, variant);
    let other = match variant {
        Variant::First => Variant::Second,
        Variant::Second => Variant::First,
    };
    let mut form = example::args_variant(spec, other);
    for args in [&mut args, &mut form] {
        plain_file(spec, args);
    }
    args = own_args(spec, variant).unwrap_or(args);
    let plot = plot(spec, &args);
    let call = |args| ToolCall::new(spec.name.clone(), args).with_reasoning(plot.reasoning);
    Scene {
        call: call(args),
        form: call(form),
        question: plot.question,
    }
}

/// Arguments that show what a tool is for, better than the first that fit its
/// schema. Models copy what examples hold, so there is nothing in them that
/// could be left out.
fn own_args(spec: &ToolSpec, variant: Variant) -> Option<Map<String, Value>> {
    let args = match (plain_name(spec).as_str(), variant) {
        ("readfile" | "read" | "openfile", Variant::First) => &[("path", "README.md")],
        ("readfile" | "read" | "openfile", Variant::Second) => &[("path", "data/people.csv")],
        ("listfiles" | "listdir" | "ls" | "listdirectory", Variant::First) => {
            [("directory", ".")].as_slice()
        }
        ("getdiagnostics", Variant::First) => &[("file", "src/main.rs")],
        ("grep", Variant::First) => &[("pattern", "connect_timeout")],
        ("grep", Variant::Second) => &[("pattern", "Ann")],
        ("glob", Variant::First) => &[("pattern", "**/*.py")],
        ("findtools", Variant::First) => &[("query", "add a calendar event")],
        ("writefile" | "createfile", Variant::First) => {
            &[("path", "notes.txt"), ("content", "Hello")]
        }
        _ => return None,
    };
    let args = args.iter();
    let args = args.map(|(name, value)| ((*name).to_owned(), json!(value)));
    let args: Map<String, Value> = args.collect();
    // Another tool of that name may have other parameters.
    let declared = spec.properties()?;
    let is_known = args.keys().all(|name| declared.contains_key(name));
    (is_known && example::fits(spec, &args)).then_some(args)
}

/// A tool's name in lower case, without separators.
fn plain_name(spec: &ToolSpec) -> String {
    spec.name.to_lowercase().replace(['_', '-'], "")
}

/// Makes an example write prose into a text file, not into source code.
fn plain_file(spec: &ToolSpec, args: &mut Map<String, Value>) {
    if !args.contains_key("content") {
        return;
    }
    let name = ["path", "file_path"]
        .into_iter()
        .find(|name| args.contains_key(*name));
    if let Some(name) = name {
        let before = args.insert(name.to_owned(), json!("notes.txt"));
        if let Some(before) = before.filter(|_| !example::fits(spec, args)) {
            args.insert(name.to_owned(), before);
        }
    }
}

struct Plot {
    question: String,
    reasoning: &'static str,
}

impl Plot {
    fn new(question: impl Into<String>, reasoning: &'static str) -> Self {
        Self {
            question: question.into(),
            reasoning,
        }
    }
}

fn plot(spec: &ToolSpec, args: &Map<String, Value>) -> Plot {
    let name = plain_name(spec);
    let text = |names: &[&str]| {
        let value = names.iter().find_map(|name| args.get(*name))?;
        value.as_str().map(str::to_owned)
    };
    let path = text(&["path", "file_path", "filepath", "file", "filename"]);
    let directory = text(&["directory", "dir", "folder", "path"]);
    let known = match name.as_str() {
        "readfile" | "read" | "openfile" => path.map(|path| reading(&path)),
        "listfiles" | "listdir" | "ls" | "listdirectory" => directory.map(|dir| {
            let question = match dir.trim_end_matches('/') {
                "." | "" => "Which files are here?".to_owned(),
                dir => format!("Which files are in {dir}?"),
            };
            Plot::new(question, "the names of the files")
        }),
        "writefile" | "createfile" => path.map(|path| {
            let content = text(&["content"]).filter(|content| content == "Hello");
            let question = match content {
                Some(content) => format!("Write \"{content}\" to {path}."),
                None => format!("Put a short greeting into {path}."),
            };
            Plot::new(question, "a new file with this text")
        }),
        "glob" => text(&["pattern"]).map(|pattern| {
            let question = match pattern.as_str() {
                "**/*.py" => "Find all Python files.".to_owned(),
                pattern => format!("Find all files that match {pattern}."),
            };
            Plot::new(question, "the names of the files")
        }),
        "grep" | "searchcode" | "search" => text(&["pattern", "query", "regex"]).map(|what| {
            let question = match what.as_str() {
                "connect_timeout" => "Where is connect_timeout used?".to_owned(),
                "Ann" => "How old is Ann?".to_owned(),
                what => format!("Where is {what:?} in this project?"),
            };
            Plot::new(question, "lines with that word")
        }),
        "findtools" => text(&["query"]).map(|query| {
            let question = match query.as_str() {
                "add a calendar event" => "Put lunch with Ann into my calendar.".to_owned(),
                query => format!("Which tool is there for this: {query}?"),
            };
            Plot::new(question, "a tool for it")
        }),
        "getdiagnostics" => path.map(|path| {
            let question = format!("Are there errors in {path}?");
            Plot::new(question, "the errors that checkers find")
        }),
        "edit" | "editfile" => path.zip(replaced(args)).map(|(path, (old, new))| {
            let question = format!("Change {old:?} to {new:?} in {path}.");
            Plot::new(question, "one part changed")
        }),
        "bash" | "shell" | "runcommand" => text(&["command", "cmd"]).map(|command| {
            let question = format!("Run `{command}`.");
            Plot::new(question, "the output of the command")
        }),
        name if name.contains("weather") => text(&["city", "location", "place"]).map(|place| {
            let question = format!("What is the weather in {place}?");
            Plot::new(question, "the current weather")
        }),
        _ => None,
    };
    known.unwrap_or_else(|| plain(spec, args))
}

/// The text that an edit replaces, and the new one.
fn replaced(args: &Map<String, Value>) -> Option<(&str, &str)> {
    let first = args
        .get("edits")
        .and_then(|edits| edits.get(0)?.as_object());
    let edit = first.unwrap_or(args);
    let text = |name: &str| edit.get(name)?.as_str();
    Some((text("old_string")?, text("new_string")?))
}

fn reading(path: &str) -> Plot {
    let question = match path.rsplit('.').next() {
        Some("rs") => format!("What does {path} do?"),
        Some("csv") => format!("How old is Ann? It is in {path}."),
        Some("json") => format!("Show me {path}."),
        Some("md") if path == "README.md" => "What does this project do?".to_owned(),
        Some("md") => format!("What is {path} about?"),
        _ => format!("What is in {path}?"),
    };
    Plot::new(question, "the content of the file")
}

/// A scene for an unknown tool: its own description is the request.
fn plain(spec: &ToolSpec, args: &Map<String, Value>) -> Plot {
    /// The most characters of a description that make a question.
    const MAX_REQUEST: usize = 120;

    let description = spec
        .description
        .split(['.', '\n'])
        .next()
        .unwrap_or_default()
        .trim();
    let request = if description.is_empty() {
        format!("Use {}", spec.name)
    } else {
        crate::problem::excerpt(description, MAX_REQUEST)
    };
    let details: Vec<String> = args
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}: {}", text.trim()),
            value => format!("{name}: {value}"),
        })
        .collect();
    let question = if details.is_empty() {
        format!("{request}.")
    } else {
        format!("{request} ({}).", details.join(", "))
    };
    Plot::new(question, "what the tool returns")
}
