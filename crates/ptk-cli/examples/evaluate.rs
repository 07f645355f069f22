//! Measures a model on the requests of `evals/`: runs `ptk` for each, in a
//! fresh copy of its workspace, and counts right calls and right answers.
//!
//! ```text
//! evaluate [--quiet] PTK REQUESTS.toml [FLAG…]
//! ```
//!
//! All flags behind the file go to `ptk run`. With `--quiet`, nothing is said
//! of single requests.
#![allow(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

const TOOLS: &str = "read_file,list_files,grep,glob,write_file";
/// How long a request may take.
const TIMEOUT: &str = "600s";

#[derive(Deserialize)]
struct Requests {
    request: Vec<Request>,
}

#[derive(Deserialize)]
struct Request {
    id: String,
    workspace: String,
    ask: String,
    tool: String,
    #[serde(default)]
    calls: Vec<Map<String, Value>>,
    #[serde(default)]
    also: Vec<Also>,
    #[serde(default)]
    answer: Vec<Vec<String>>,
    #[serde(default)]
    answer_not: Vec<String>,
    writes: Option<Writes>,
}

#[derive(Deserialize)]
struct Also {
    tool: String,
    calls: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Writes {
    path: String,
    content: String,
}

/// What a run came to.
#[derive(Default)]
struct Run {
    calls: Vec<(String, Map<String, Value>)>,
    answer: String,
}

#[derive(Default)]
struct Count {
    all: u32,
    tools: u32,
    calls: u32,
    answers: u32,
    done: u32,
}

fn main() -> Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let is_quiet = args.first().is_some_and(|arg| arg == "--quiet");
    if is_quiet {
        args.remove(0);
    }
    let [ptk, file, flags @ ..] = args.as_slice() else {
        bail!("usage: evaluate [--quiet] PTK REQUESTS.toml [FLAG…]");
    };
    let ptk = fs::canonicalize(ptk).context(ptk.clone())?;
    let text = fs::read_to_string(file).context(file.clone())?;
    let requests: Requests = toml::from_str(&text).context(file.clone())?;
    let above = Path::new(file).ancestors().nth(2).unwrap_or(Path::new(""));
    let workspaces = above.join("workspaces");
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for request in &requests.request {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("workspace");
        copy(&workspaces.join(&request.workspace), &root)?;
        let run = ask(&ptk, &root, &request.ask, flags)?;
        let is_tool = request.has_right_tool(&run);
        let is_call = request.has_right_call(&run, &root);
        let is_answer = request.has_right_answer(&run.answer);
        let is_written = request.has_right_file(&root);
        let is_done = is_call && is_answer && is_written;
        for kind in [request.tool.as_str(), "~ all"] {
            let count = counts.entry(kind).or_default();
            count.all += 1;
            count.tools += u32::from(is_tool);
            count.calls += u32::from(is_call && is_written);
            count.answers += u32::from(is_answer);
            count.done += u32::from(is_done);
        }
        if !is_quiet && !is_done {
            println!("{} {:?}", request.id, request.ask);
            println!("    call {is_call}, answer {is_answer}, file {is_written}");
            for (tool, arguments) in &run.calls {
                println!("    {tool} {}", Value::Object(arguments.clone()));
            }
            let said: String = run.answer.chars().take(300).collect();
            println!("    {said:?}");
        }
    }
    println!(
        "{:<12} {:>4} {:>12} {:>12} {:>14} {:>6}",
        "", "of", "right tool", "right call", "right answer", "done"
    );
    for (kind, count) in counts {
        let Count {
            all,
            tools,
            calls,
            answers,
            done,
        } = count;
        println!("{kind:<12} {all:>4} {tools:>12} {calls:>12} {answers:>14} {done:>6}");
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

fn ask(ptk: &Path, root: &Path, text: &str, flags: &[String]) -> Result<Run> {
    let state = root.with_file_name("state");
    let output = Command::new(ptk)
        .args([
            "run",
            "--json",
            "--tools",
            TOOLS,
            "--timeout",
            TIMEOUT,
            "--approve",
            "auto",
        ])
        .args(flags)
        .arg("--")
        .arg(text)
        .current_dir(root)
        .env("XDG_STATE_HOME", state)
        .output()?;
    // Wrong flags are nobody's wrong answer.
    if output.status.code() == Some(2) {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut run = Run::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "tool_call_start" => {
                let arguments = event.get("arguments").and_then(Value::as_object);
                let arguments = arguments.cloned().unwrap_or_default();
                run.calls.push((text("tool").to_owned(), arguments));
            }
            "receiveMessage" => text("message").clone_into(&mut run.answer),
            _ => {}
        }
    }
    Ok(run)
}

impl Request {
    fn has_right_tool(&self, run: &Run) -> bool {
        if self.tool == "none" {
            return run.calls.is_empty();
        }
        let tools: Vec<&str> = std::iter::once(self.tool.as_str())
            .chain(self.also.iter().map(|also| also.tool.as_str()))
            .collect();
        run.calls
            .iter()
            .any(|(tool, _)| tools.contains(&tool.as_str()))
    }

    fn has_right_call(&self, run: &Run, root: &Path) -> bool {
        if self.tool == "none" {
            return run.calls.is_empty() && !run.answer.is_empty();
        }
        run.calls.iter().any(|(tool, arguments)| {
            let own = (self.tool == *tool).then_some(&self.calls);
            let also = self.also.iter().filter(|also| also.tool == *tool);
            let mut tables = own
                .into_iter()
                .chain(also.map(|also| &also.calls))
                .flatten();
            tables.any(|table| fits(table, arguments, root))
        })
    }

    fn has_right_answer(&self, answer: &str) -> bool {
        let answer = plain(answer);
        let says = |text: &String| has_words(&answer, &plain(text));
        let is_said = self.answer.is_empty() && !answer.is_empty()
            || self.answer.iter().any(|all| all.iter().all(says));
        is_said && !self.answer_not.iter().any(says)
    }

    fn has_right_file(&self, root: &Path) -> bool {
        self.writes.as_ref().is_none_or(|writes| {
            let content = fs::read_to_string(root.join(&writes.path));
            content.is_ok_and(|content| content.trim() == writes.content.trim())
        })
    }
}

/// Whether arguments are those of a table.
fn fits(table: &Map<String, Value>, arguments: &Map<String, Value>, root: &Path) -> bool {
    table.iter().all(|(name, wanted)| {
        let is_path = ["path", "directory"].contains(&name.as_str());
        let other = if name == "directory" { "path" } else { "" };
        let left_out = if is_path { "." } else { "" };
        let given = arguments.get(name).or_else(|| arguments.get(other));
        let given = given.cloned().unwrap_or_else(|| Value::from(left_out));
        let same = |wanted: &Value| match (wanted.as_str(), given.as_str()) {
            (Some(wanted), Some(given)) if is_path => path(wanted, root) == path(given, root),
            _ => *wanted == given,
        };
        match wanted {
            Value::Array(choices) => choices.iter().any(same),
            wanted => same(wanted),
        }
    })
}

fn path(text: &str, root: &Path) -> PathBuf {
    let path = Path::new(text);
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components()
        .filter(|part| !matches!(part, std::path::Component::CurDir))
        .collect()
}

/// Small letters, and one space for any white space.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Whether words stand in a text as whole ones.
fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text
            .get(at + words.len()..)
            .and_then(|behind| behind.chars().next());
        let is_free = |letter: Option<char>| !letter.is_some_and(char::is_alphanumeric);
        is_free(before) && is_free(behind)
    })
}
