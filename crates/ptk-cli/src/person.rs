//! Shows the result of a call to the user who made it. Its text is written for
//! a model, which can make other calls; a user has the command line.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use ptk_protocol::ErrorType;
use ptk_tools::{CallOutcome, Failure, Outputs};
use serde_json::{Map, Value};

use crate::exit;
use crate::printer;

/// Fields with the main content; the first that exists is shown.
const CONTENT: [&str; 7] = [
    "content", "output", "matches", "files", "snippets", "diff", "results",
];
/// Fields with notes about the content.
const NOTES: [&str; 5] = ["note", "notice", "hint", "next", "undo"];
/// Words before a name that make it a tool's name.
const BEFORE_A_TOOL: [&str; 3] = ["use", "with", "through"];

/// Shows results on the command line.
pub(crate) struct ToolReport {
    /// The names of all tools.
    pub(crate) tools: Vec<String>,
    /// The full outputs that were cut in results. They are removed when the
    /// process ends, so they are shown now.
    pub(crate) outputs: Arc<Outputs>,
    /// The workspace, if the user named one.
    pub(crate) workspace: Option<PathBuf>,
}

impl ToolReport {
    /// Shows the result: its text or its lines, or else its fields.
    pub(crate) fn show(&self, outcome: &CallOutcome, out: &mut impl Write) -> Result<()> {
        let result = &outcome.result;
        let content = CONTENT.iter().find_map(|name| result.fields.get(*name));
        match content {
            Some(Value::String(text)) => self.text(text, out)?,
            Some(Value::Array(items)) if items.iter().all(|item| said(item).is_some()) => {
                let lines: Vec<&str> = items.iter().filter_map(said).collect();
                self.text(&lines.join("\n"), out)?;
            }
            _ if result.fields.contains_key("job") => {
                let told = "A job ends with the command that started it: run it without run_in_background, or in a shell.";
                writeln!(printer::stderr(), "{told}")?;
            }
            _ if !result.fields.is_empty() => {
                let fields = serde_json::to_string_pretty(&result.fields)?;
                writeln!(out, "{fields}")?;
            }
            _ => {}
        }
        out.flush()?;
        if content.is_some() {
            self.notes(&result.fields)?;
        }
        if let Some(stderr) = result.fields.get("stderr").and_then(Value::as_str) {
            self.text(stderr, &mut printer::stderr())?;
        }
        let code = result.fields.get("return_code").and_then(Value::as_i64);
        if let Some(code) = code.filter(|code| *code != 0 && result.success) {
            writeln!(printer::stderr(), "exit code {code}")?;
        }
        if let Some(failure) = &outcome.failure {
            self.failure(outcome, failure)?;
        }
        Ok(())
    }

    /// Writes a text, in full even if the result has only a part of it.
    fn text(&self, text: &str, out: &mut impl Write) -> Result<()> {
        let kept = kept_under(text).and_then(|handle| self.outputs.open(handle).ok());
        if let Some(mut file) = kept {
            io::copy(&mut file, out)?;
            return Ok(());
        }
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(out)?;
        }
        Ok(())
    }

    fn notes(&self, fields: &Map<String, Value>) -> Result<()> {
        let notes = NOTES.iter().filter_map(|name| fields.get(*name)?.as_str());
        let lines = notes.flat_map(str::lines);
        for line in lines.filter(|line| !line.contains("path=\"output:")) {
            writeln!(printer::stderr(), "{}", self.in_commands(line))?;
        }
        Ok(())
    }

    fn failure(&self, outcome: &CallOutcome, failure: &Failure) -> Result<()> {
        exit::say(&failure.message);
        let is_usage = outcome.result.error_type == Some(ErrorType::ValidationError);
        let advice = failure.advice.as_deref();
        match advice.filter(|advice| !advice.contains("the user")) {
            Some(advice) if !(is_usage && advice.starts_with("Example: ")) => {
                writeln!(printer::stderr(), "  {}", self.in_commands(advice))?;
            }
            _ if is_usage => writeln!(
                printer::stderr(),
                "  `ptk tools show {}` shows its parameters, and an example.",
                outcome.tool
            )?,
            _ => {}
        }
        Ok(())
    }

    /// Replaces tools and calls in a text by command lines.
    fn in_commands(&self, text: &str) -> String {
        let mut told = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(is_name_part) {
            let (before, behind) = rest.split_at(start);
            told.push_str(before);
            let end = behind.find(|c| !is_name_part(c)).unwrap_or(behind.len());
            let (name, after) = behind.split_at(end);
            let is_tool = self.tools.iter().any(|tool| tool == name);
            rest = match read_call(after).filter(|_| is_tool) {
                Some((arguments, after)) => {
                    told.push_str(&self.command(name, &arguments));
                    after
                }
                None if is_tool && (name.contains('_') || stands_for_a_tool(&told)) => {
                    told.push_str(&self.command(name, ""));
                    after
                }
                None => {
                    told.push_str(name);
                    after
                }
            };
        }
        told.push_str(rest);
        told
    }

    /// The command line that calls a tool.
    fn command(&self, tool: &str, arguments: &str) -> String {
        let mut command = format!("ptk tools call {tool}");
        if !arguments.is_empty() {
            command.push_str(&format!(" '{}'", arguments.replace('\'', r"'\''")));
        }
        if let Some(workspace) = &self.workspace {
            command.push_str(&format!(" --workspace {}", workspace.display()));
        }
        format!("`{command}`")
    }
}

/// The text of a list's item: itself, or its code snippet.
fn said(item: &Value) -> Option<&str> {
    let snippet = || item.get("snippet").and_then(Value::as_str);
    item.as_str().or_else(snippet)
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a word after this text is a tool: "use edit", not "this edit".
fn stands_for_a_tool(before: &str) -> bool {
    let word = before.split_whitespace().next_back().unwrap_or_default();
    BEFORE_A_TOOL.contains(&word.to_lowercase().as_str())
}

/// Parses `(path="a", offset=3)`: the arguments as JSON, and the rest.
fn read_call(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('(')?;
    let mut arguments = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix(')') {
            let all = match arguments.as_slice() {
                [] => String::new(),
                arguments => format!("{{{}}}", arguments.join(", ")),
            };
            return Some((all, after));
        }
        let (name, value) = rest.split_once('=')?;
        let name = name.trim_start_matches(", ");
        if !name.chars().all(is_name_part) {
            return None;
        }
        let (value, after) = read_value(value)?;
        arguments.push(format!("\"{name}\": {value}"));
        rest = after;
    }
}

/// Parses a JSON value, and returns the rest.
fn read_value(text: &str) -> Option<(Value, &str)> {
    if text.starts_with(['"', '[', '{']) {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let value = values.next()?.ok()?;
        return Some((value, text.get(values.byte_offset()..)?));
    }
    let (word, _) = text.split_once([',', ')'])?;
    let value = serde_json::from_str(word).ok()?;
    Some((value, text.get(word.len()..)?))
}

/// The handle of the full output, if a text says that a part was left out.
fn kept_under(text: &str) -> Option<&str> {
    let notice = text.lines().find(|line| line.starts_with("[… "))?;
    let (_, handle) = notice.split_once("path=\"")?;
    let (handle, _) = handle.split_once('"')?;
    handle.starts_with("output:").then_some(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let tools = ["read_file", "list_files", "edit", "grep", "bash"];
        let person = ToolReport {
            tools: tools.map(str::to_owned).to_vec(),
            outputs: Arc::default(),
            workspace: None,
        };
        person.in_commands(text)
    }

    #[test]
    fn tools_and_calls_become_commands() {
        for (text, expected) in [
            (
                "Use list_files to see which files there are.",
                "Use `ptk tools call list_files` to see which files there are.",
            ),
            (
                "Use list_files() to see the workspace.",
                "Use `ptk tools call list_files` to see the workspace.",
            ),
            (
                "The next: grep(pattern=\"it's\", offset=50)",
                r#"The next: `ptk tools call grep '{"pattern": "it'\''s", "offset": 50}'`"#,
            ),
            (
                "Leave this edit out, or use edit.",
                "Leave this edit out, or use `ptk tools call edit`.",
            ),
            ("Nothing of that.", "Nothing of that."),
            ("read_filed(x)", "read_filed(x)"),
        ] {
            assert_eq!(told(text), expected);
        }
    }
}
