//! Runs `ptk` and reads its events.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::requests::Arguments;

/// The default flags of `ptk run`.
const DEFAULT_FLAGS: [(&str, &str); 3] = [
    ("--tools", "read_file,list_files,grep,glob,write_file"),
    // The timeout of a request.
    ("--timeout", "600s"),
    ("--approve", "auto"),
];
/// The exit code of `ptk` for wrong usage.
const WRONG_USAGE: i32 = 2;
/// The exit code of `ptk` for an interrupted run.
const INTERRUPTED: i32 = 130;

/// The result of a run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// The calls of the model, in the order in which it wrote them.
    pub(crate) calls: Vec<Call>,
    /// The final answer, if there is one.
    pub(crate) answer: Option<String>,
    /// Why there is no answer.
    pub(crate) failure: Option<Failure>,
    /// All text that was streamed.
    pub(crate) shown: String,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// Events that `ptk` could not print in time.
    pub(crate) missed_events: u64,
    pub(crate) duration: Duration,
    pub(crate) is_interrupted: bool,
}

/// A call of the model.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
    /// The result of the tool; null if the call did not end.
    pub(crate) result: Value,
}

/// Why a run has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The error code, such as `LLM_CALL_FAILED`.
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Copies a workspace.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
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

/// Runs `ptk run` with a request, in this workspace.
pub(crate) fn run(ptk: &Path, root: &Path, ask: &str, flags: &[String]) -> Result<Run> {
    let mut command = Command::new(ptk);
    command.args(["run", "--json"]);
    for (flag, value) in DEFAULT_FLAGS {
        if !flags.iter().any(|given| is_flag(given, flag)) {
            command.args([flag, value]);
        }
    }
    command
        .args(flags)
        .arg("--")
        .arg(ask)
        .current_dir(root)
        .env("XDG_STATE_HOME", root.with_file_name("state"));
    let started = Instant::now();
    let output = command
        .output()
        .with_context(|| ptk.display().to_string())?;
    let duration = started.elapsed();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // A wrong flag is an error, not a wrong answer.
    if output.status.code() == Some(WRONG_USAGE) {
        bail!("{stderr}");
    }
    let mut run = read(&String::from_utf8_lossy(&output.stdout));
    run.duration = duration;
    run.is_interrupted = output.status.code() == Some(INTERRUPTED);
    if run.answer.is_none() && run.failure.is_none() {
        run.failure = Some(Failure {
            code: output.status.to_string(),
            message: stderr.trim().to_owned(),
        });
    }
    Ok(run)
}

fn is_flag(given: &str, flag: &str) -> bool {
    given
        .strip_prefix(flag)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// Parses the events of a run, one for each line.
fn read(events: &str) -> Run {
    let mut run = Run::default();
    let mut calls_before_reply = 0;
    for line in events.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if text(&event, "type") == "iteration" {
            put_in_order(&mut run.calls, calls_before_reply);
            calls_before_reply = run.calls.len();
        }
        run.take(&event);
    }
    put_in_order(&mut run.calls, calls_before_reply);
    run
}

impl Run {
    fn take(&mut self, event: &Value) {
        match text(event, "type") {
            "tool_call_requested" | "tool_call_start" => self.take_call(event),
            "tool_call_end" => {
                let id = text(event, "call_id");
                let call = self.calls.iter_mut().find(|call| call.id == id);
                if let (Some(call), Some(result)) = (call, event.get("result")) {
                    call.result.clone_from(result);
                }
            }
            "message_chunk" if text(event, "part") == "text" => {
                self.shown.push_str(text(event, "chunk"));
            }
            // The next chunk begins another reply.
            "iteration" | "message_restarted" => self.shown.push('\n'),
            "missed" => self.missed_events += number(event, "/total"),
            "receive_message" => {
                self.answer = Some(text(event, "message").to_owned());
                self.take_usage(event);
            }
            // An error with a tool is only a failed call.
            "error" if event.get("tool").is_none() => {
                self.failure = Some(Failure {
                    code: text(event, "code").to_owned(),
                    message: text(event, "message").to_owned(),
                });
                self.take_usage(event);
            }
            _ => {}
        }
    }

    /// Records a call once, from its first event.
    fn take_call(&mut self, event: &Value) {
        let id = text(event, "call_id");
        if self.calls.iter().any(|call| call.id == id) {
            return;
        }
        let arguments = event.get("arguments");
        let arguments = arguments.and_then(Value::as_object);
        self.calls.push(Call {
            id: id.to_owned(),
            tool: text(event, "tool").to_owned(),
            arguments: arguments.cloned().unwrap_or_default(),
            result: Value::Null,
        });
    }

    fn take_usage(&mut self, event: &Value) {
        self.input_tokens = number(event, "/metadata/usage/input_tokens");
        self.output_tokens = number(event, "/metadata/usage/output_tokens");
    }
}

fn text<'a>(event: &'a Value, name: &str) -> &'a str {
    event.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(event: &Value, pointer: &str) -> u64 {
    let number = event.pointer(pointer).and_then(Value::as_u64);
    number.unwrap_or_default()
}

/// Sorts the calls of a reply, which begin here, in the order in which they
/// were written. Events of rejected calls come before those of calls that run.
fn put_in_order(calls: &mut [Call], begin: usize) {
    let Some(calls) = calls.get_mut(begin..) else {
        return;
    };
    // Ids that the model chose say nothing about the order.
    if calls.iter().all(|call| is_sortable(&call.id)) {
        calls.sort_by_cached_key(|call| call.id.clone());
    }
}

/// Whether PTK made the id, as a UUID of version 7: those sort by time.
fn is_sortable(id: &str) -> bool {
    id.strip_prefix("call_").is_some_and(|uuid| {
        uuid.len() == 32
            && uuid.bytes().all(|byte| byte.is_ascii_hexdigit())
            && uuid.as_bytes().get(12) == Some(&b'7')
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_events(events: &[Value]) -> Run {
        let lines: Vec<String> = events.iter().map(Value::to_string).collect();
        read(&lines.join("\n"))
    }

    fn asked(id: &str, tool: &str) -> Value {
        json!({"type": "tool_call_requested", "call_id": id, "tool": tool, "arguments": {"path": "a"}})
    }

    #[test]
    fn calls_results_and_tokens_are_read_from_the_events() {
        let usage = json!({"usage": {"input_tokens": 40, "output_tokens": 9}});
        let run = read_events(&[
            json!({"type": "message_chunk", "part": "reasoning", "chunk": "Hm."}),
            json!({"type": "message_chunk", "part": "text", "chunk": "Let me "}),
            json!({"type": "message_chunk", "part": "text", "chunk": "look."}),
            json!({"type": "iteration", "iteration": 1, "call_type": "tool_call"}),
            asked("a", "read_file"),
            json!({"type": "tool_call_start", "call_id": "a", "tool": "read_file", "arguments": {"path": "a"}}),
            json!({"type": "error", "call_id": "a", "tool": "read_file", "message": "no"}),
            json!({"type": "tool_call_end", "call_id": "a", "tool": "read_file", "result": {"success": false}}),
            json!({"type": "message_chunk", "part": "text", "chunk": "Done."}),
            json!({"type": "iteration", "iteration": 2, "call_type": "text"}),
            json!({"type": "receive_message", "message": "Done.", "metadata": usage}),
        ]);
        let [call] = run.calls.as_slice() else {
            panic!("{run:?}");
        };
        assert_eq!(call.tool, "read_file");
        assert_eq!(Value::Object(call.arguments.clone()), json!({"path": "a"}));
        assert_eq!(call.result, json!({"success": false}));
        assert_eq!(run.shown, "Let me look.\nDone.\n");
        assert_eq!(run.answer.as_deref(), Some("Done."));
        assert_eq!((run.input_tokens, run.output_tokens), (40, 9));
        assert!(run.failure.is_none());
    }

    #[test]
    fn a_run_without_an_answer_has_a_failure_and_what_it_took() {
        let run = read_events(&[json!({
            "type": "error",
            "message": "bad key",
            "code": "LLM_CALL_FAILED",
            "metadata": {"usage": {"input_tokens": 3, "output_tokens": 1}},
        })]);
        let failure = run.failure.unwrap();
        assert_eq!(failure.code, "LLM_CALL_FAILED");
        assert_eq!(failure.message, "bad key");
        assert_eq!(run.answer, None);
        assert_eq!((run.input_tokens, run.output_tokens), (3, 1));
    }

    #[test]
    fn calls_of_a_reply_are_in_the_order_in_which_they_were_written() {
        let first = "call_01a1e83eac0d70e7bde6797d918f2f5b";
        let second = "call_01a1e83eac0d70e7bde6797e5490bf9c";
        let iteration = json!({"type": "iteration"});
        let tools = |run: &Run| -> Vec<String> {
            let tools = run.calls.iter().map(|call| call.tool.clone());
            tools.collect()
        };
        let refused_first = [asked(second, "nope"), asked(first, "glob")];
        assert_eq!(tools(&read_events(&refused_first)), ["glob", "nope"]);
        let named_by_the_model = [asked("call_b", "grep"), asked("call_a", "glob")];
        assert_eq!(tools(&read_events(&named_by_the_model)), ["grep", "glob"]);
        let in_two_replies = [asked(second, "grep"), iteration, asked(first, "glob")];
        assert_eq!(tools(&read_events(&in_two_replies)), ["grep", "glob"]);
    }

    #[test]
    fn a_flag_is_given_with_its_value_behind_it_or_in_it() {
        assert!(is_flag("--timeout", "--timeout"));
        assert!(is_flag("--timeout=5s", "--timeout"));
        assert!(!is_flag("--tools-more", "--tools"));
    }
}
