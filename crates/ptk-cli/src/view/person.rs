//! Shows a run to a user: the answer on stdout, and on stderr what the model
//! does meanwhile. On a terminal the answer is shown while it is written.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use ptk::events::{CallId, Delivery, Event, EventKind, MessagePart};
use ptk::protocol::ToolResult;
use ptk::tools::{ToolManager, preview};
use ptk::view::{CallView, Conversation, ItemKind, Standing, left_out};
use ptk::{Execution, RunError};

use super::call::{about, in_a_line};
use super::clean::{in_line, visible};
use super::words::{limit_reached, money, tokens, took};
use super::{MarkdownStream, Screen, View};
use crate::printer::{self, AnsiColor, Style};
use crate::sessions;

const DONE: Style = AnsiColor::Green.on_default();
const FAILED: Style = AnsiColor::Red.on_default();
const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
/// How many lines of a result are shown.
const PREVIEW: usize = 4;
/// The columns of a line that are used by other parts.
const BESIDE: usize = 5;
/// The columns beside a thought in the status line: the spinner, a bar and the
/// time.
const BESIDE_THOUGHT: usize = 14;
/// The status while the model writes no answer.
const THINKING: &str = "thinking";

/// Shows a run to a user.
pub(crate) struct HumanView {
    screen: Screen,
    tools: ToolManager,
    /// Whether the answer is shown while it is written.
    is_live: bool,
    markdown: MarkdownStream,
    /// The text of the current reply so far.
    said: String,
    /// Whether the cursor is not at the beginning of a line.
    is_in_line: bool,
    /// Whether the text so far may be part of an answer that continues.
    may_go_on: bool,
    /// The state of the conversation.
    conversation: Conversation,
    /// What is shown of calls that have ended while one before them has not.
    ended: HashMap<CallId, String>,
    thinking_since: Instant,
}

impl HumanView {
    pub(crate) fn new(screen: Screen, tools: ToolManager) -> Self {
        let person = Self {
            is_live: printer::is_stdout_terminal() && !screen.is_quiet(),
            screen,
            tools,
            markdown: MarkdownStream::default(),
            said: String::new(),
            is_in_line: false,
            may_go_on: false,
            conversation: Conversation::new(),
            ended: HashMap::new(),
            thinking_since: Instant::now(),
        };
        person.status();
        person
    }

    /// Shows a piece of the reply.
    fn chunk(&mut self, part: MessagePart, chunk: &str, out: &mut dyn Write) -> Result<()> {
        if part != MessagePart::Text {
            self.status();
            return Ok(());
        }
        self.may_go_on = false;
        // White space before the first word does not begin an answer.
        let is_first = self.said.trim().is_empty();
        self.said.push_str(chunk);
        let text = if is_first {
            self.said.trim_start().to_owned()
        } else {
            chunk.to_owned()
        };
        if !self.is_live || text.is_empty() {
            return Ok(());
        }
        self.screen.doing(None);
        let shown = self.markdown.push(&text);
        self.show(&shown, out)
    }

    fn show(&mut self, text: &str, out: &mut dyn Write) -> Result<()> {
        if let Some(last) = text.chars().last() {
            self.is_in_line = last != '\n';
        }
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Ends the reply: further output begins on a new line.
    fn end_reply(&mut self, out: &mut dyn Write) -> Result<()> {
        let rest = self.markdown.finish();
        self.show(&rest, out)?;
        if self.is_in_line {
            self.show("\n", out)?;
        }
        Ok(())
    }

    /// Ends the answer, if there was one.
    fn end_answer(&mut self, out: &mut dyn Write) -> Result<()> {
        if std::mem::take(&mut self.may_go_on) {
            self.end_reply(out)?;
        }
        Ok(())
    }

    fn ended(&mut self, event: &Event, tool: &str, time: Duration, result: &ToolResult) {
        let id = event.correlation.call_id.as_ref();
        let call = self.conversation.calls().find(|it| Some(&it.id) == id);
        let what = call.map_or_else(|| visible(tool), told);
        if self.conversation.running().next().is_none() {
            self.thinking_since = Instant::now();
        }
        let (name, about) = what.split_once(' ').unwrap_or((&what, ""));
        let (style, mark) = if preview::is_failure(result) {
            (FAILED, '✗')
        } else {
            (DONE, '✓')
        };
        let mut text = format!("{style}{mark}{style:#} {STRONG}{name}{STRONG:#}");
        let time = took(time);
        let beside = name.len() + time.len() + BESIDE;
        let about = self.screen.fitting(about, beside);
        if !about.is_empty() {
            let _ = write!(text, " {about}");
        }
        let _ = writeln!(text, "  {FAINT}{time}{FAINT:#}");
        // What the user has run is printed in full.
        let is_shown = result.success && call.is_some_and(|call| call.by_hand);
        let preview = if is_shown {
            exit_code(result).into_iter().collect()
        } else {
            self.preview(tool, result)
        };
        for line in preview {
            let line = self.screen.fitting(&in_a_line(&line), BESIDE);
            let _ = writeln!(text, "  {FAINT}│ {line}{FAINT:#}");
        }
        match id {
            Some(id) => drop(self.ended.insert(id.clone(), text)),
            None => self.screen.print(&text),
        }
        self.show_ended(false);
        self.status();
    }

    /// Shows the calls that have ended, in the order in which the model made
    /// them: none before one that still runs, unless the run is over.
    fn show_ended(&mut self, is_over: bool) {
        for call in self.conversation.calls() {
            if let Some(text) = self.ended.remove(&call.id) {
                self.screen.print(&text);
            } else if call.state.is_open() && !is_over {
                return;
            }
        }
    }

    fn preview(&self, tool: &str, result: &ToolResult) -> Vec<String> {
        if !result.success {
            // The call is shown in the line above already.
            let call = format!("{tool}(");
            let error = result.error.as_str();
            let told = error.starts_with(&call).then(|| error.split_once("): "));
            let message = told.flatten().map_or(error, |(_, message)| message);
            return vec![message.to_owned()];
        }
        let registry = self.tools.registry();
        match registry.get(tool) {
            Some(tool) => tool.preview(result, PREVIEW),
            None => preview::of(result, PREVIEW),
        }
    }

    /// Updates the status line.
    fn status(&self) {
        let running = self.conversation.running();
        let running: Vec<&CallView> = running.filter(|call| !self.shows_itself(call)).collect();
        let Some(call) = running.last() else {
            let mut doing = THINKING.to_owned();
            if let Some(thought) = self.thought() {
                let beside = THINKING.len() + BESIDE_THOUGHT;
                let thought = self.screen.ending(&in_line(thought), beside);
                let _ = write!(doing, " │ {thought}");
            }
            self.screen.doing(Some((doing, self.thinking_since)));
            return;
        };
        let mut doing = told(call);
        if running.len() > 1 {
            let _ = write!(doing, " and {} more", running.len() - 1);
        }
        if let Some(line) = call.output.last_line() {
            doing = self.screen.half(&doing);
            let _ = write!(doing, " │ {}", in_a_line(line));
        }
        let since = call.since.and_then(|since| since.elapsed().ok());
        let since = since.and_then(|time| Instant::now().checked_sub(time));
        self.screen
            .doing(Some((doing, since.unwrap_or_else(Instant::now))));
    }

    /// Whether a call shows its own progress, so that no status is drawn.
    fn shows_itself(&self, call: &CallView) -> bool {
        let registry = self.tools.registry();
        let tool = registry.get(&call.tool);
        tool.is_some_and(|tool| tool.shows_itself())
    }

    /// The last line of the current thought.
    fn thought(&self) -> Option<&str> {
        let item = self.conversation.items().last()?;
        let ItemKind::Thought(said) = &item.kind else {
            return None;
        };
        let is_on = said.standing == Standing::Streaming;
        is_on.then(|| said.text.trim().lines().last()).flatten()
    }

    /// Shows the text before tool calls, if it was not shown live.
    fn aside(&mut self) {
        let said = std::mem::take(&mut self.said);
        let said = visible(said.trim());
        if !self.is_live && !said.is_empty() {
            self.screen.print(&format!("{FAINT}{said}{FAINT:#}\n"));
        }
    }
}

/// A line about the exit code of a command that has failed.
fn exit_code(result: &ToolResult) -> Option<String> {
    let code = result.fields.get("return_code")?.as_i64()?;
    (code != 0).then(|| format!("Exit code: {code}"))
}

impl View for HumanView {
    fn event(&mut self, delivery: &Delivery, out: &mut dyn Write) -> Result<()> {
        self.conversation.deliver(delivery);
        let event = match delivery {
            Delivery::Event(event) => event,
            Delivery::Missed(_) => {
                // Makes it differ from the answer, which is then shown as a
                // whole.
                self.said.push('\u{fffd}');
                return Ok(());
            }
        };
        if !matches!(event.kind, EventKind::MessageChunk { .. }) {
            self.end_answer(out)?;
        }
        match &event.kind {
            EventKind::MessageChunk { part, chunk } => self.chunk(*part, chunk, out)?,
            EventKind::MessageRestarted { reason } => {
                self.end_reply(out)?;
                self.said.clear();
                self.screen
                    .print(&format!("{FAINT}{}{FAINT:#}\n", visible(reason)));
                self.status();
            }
            EventKind::Note { message } => {
                let text = visible(message);
                self.screen.print(&format!("{FAINT}{text}{FAINT:#}\n"));
                self.status();
            }
            EventKind::Compacted { way, messages } => {
                let text = left_out(*way, *messages);
                self.screen.print(&format!("{FAINT}{text}{FAINT:#}\n"));
                self.status();
            }
            // It may continue: then the next text follows it directly.
            EventKind::Iteration { call_type, .. } if call_type == "text" => {
                self.may_go_on = true;
            }
            EventKind::Iteration { call_type, .. } => {
                self.end_reply(out)?;
                match call_type.as_str() {
                    "malformed" => {
                        self.aside();
                        self.screen.print(&format!(
                            "{FAINT}The reply cannot be used; the model is told why.{FAINT:#}\n"
                        ));
                        self.status();
                    }
                    _ => self.aside(),
                }
            }
            EventKind::ToolCallStart { .. } | EventKind::ToolOutputChunk { .. } => self.status(),
            EventKind::ToolCallEnd {
                tool,
                duration_ms,
                result,
                ..
            } => self.ended(event, tool, Duration::from_millis(*duration_ms), result),
            _ => {}
        }
        Ok(())
    }

    fn tick(&mut self) {
        if !self.is_in_line {
            self.screen.tick();
        }
    }

    fn say(&mut self, text: &str, _out: &mut dyn Write) -> Result<()> {
        let before = if self.is_in_line { "\n" } else { "" };
        self.screen.print(&format!("{before}{text}\n"));
        Ok(())
    }

    fn left(&mut self, text: &str, out: &mut dyn Write) -> Result<()> {
        self.screen.doing(None);
        self.say(text, out)
    }

    fn end(&mut self, execution: &Execution, out: &mut dyn Write) -> Result<()> {
        self.end_reply(out)?;
        self.screen.doing(None);
        self.show_ended(true);
        self.screen.make_room();
        if let Some(error) = &execution.error {
            if !matches!(error, RunError::Cancelled) {
                crate::exit::say(&format!("{error} ({})", error.name()));
            }
        } else if !self.is_live || self.said.trim() != execution.content {
            // Not shown yet, or differently: an answer may come in parts.
            let text = if self.is_live {
                let mut text = self.markdown.push(&execution.content);
                text.push_str(&self.markdown.finish());
                text
            } else {
                execution.content.clone()
            };
            self.show(&text, out)?;
            if !text.ends_with('\n') {
                self.show("\n", out)?;
            }
        }
        let is_cut = execution.finish == Some(ptk::llm::FinishReason::Length);
        if is_cut && execution.error.is_none() {
            self.screen
                .print("The answer ran into the model's limit, and is not whole.\n");
        }
        if let Some(limit) = execution.limit {
            let id = sessions::short(&execution.session);
            self.screen.print(&format!(
                "{} `ptk --session {id} \"Go on\"` goes on.\n",
                limit_reached(limit)
            ));
        }
        if printer::is_stderr_terminal() {
            let text = format!("{FAINT}{}{FAINT:#}\n", summary(execution));
            self.screen.print(&text);
        }
        Ok(())
    }
}

/// A call in a line.
fn told(call: &CallView) -> String {
    let told = format!("{} {}", visible(&call.tool), about(&call.arguments));
    told.trim_end().to_owned()
}

/// The cost of a run, and how to continue.
fn summary(execution: &Execution) -> String {
    let count = |number: u64, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    let mut parts = vec![took(execution.duration)];
    parts.push(count(u64::from(execution.iterations), "reply", "replies"));
    parts.push(count(
        u64::from(execution.total_tool_calls),
        "call",
        "calls",
    ));
    let usage = execution.usage;
    parts.extend(tokens(usage));
    if usage.cost_micros > 0 {
        parts.push(money(usage.cost_micros));
    }
    let id = sessions::short(&execution.session);
    let go_on = if execution.is_open {
        format!("`ptk resume {id}` goes on")
    } else {
        format!("`ptk --session {id} \"…\"` goes on")
    };
    format!("{} · {go_on}", parts.join(", "))
}
