//! `function`: `read_file(path="a.txt", limit=3)`, on lines of its own.

use std::ops::Range;

use serde_json::Value;

use super::engine::botched::{botched_end, cut_end};
use super::engine::named_values::Whole;
use super::engine::python::{Leniency, Progress, PythonCall, write_call};
use super::{Dialect, Trigger, Writer};
use crate::parse::{Findings, Input, Reader, Refusal, Step};
use crate::{ProblemCode, ToolCall};

/// The dialect that writes a call like a function's. Such text can appear in
/// prose by accident, so it counts only on lines of its own and with a declared
/// tool's name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Function;

impl Dialect for Function {
    fn name(&self) -> &'static str {
        "function"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::tool_name("", "(")]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(FunctionReader::default())
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Function {
    fn rules(&self) -> Vec<String> {
        vec!["Write the call on a line of its own, every argument by name, strings in double quotes.".to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        "Say behind # why you need the tool.".to_owned()
    }

    fn call(&self, call: &ToolCall) -> String {
        let call_text = write_call(call, str::to_owned);
        match &call.reasoning {
            None => call_text,
            Some(reasoning) if is_plain_comment(reasoning) => format!("{call_text}  # {reasoning}"),
            Some(reasoning) => format!("{call_text}  # {}", Value::String(reasoning.clone())),
        }
    }
}

fn is_plain_comment(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with('"')
        && !text.contains(|c: char| c.is_control())
}

#[derive(Debug, Default)]
struct FunctionReader {
    call: Option<PythonCall>,
    /// Where the closing parenthesis stands, once it has come.
    end: Option<usize>,
    botched: Option<usize>,
    searched: usize,
}

impl Reader for FunctionReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if self.call.is_none() {
            let Some(open) = input.text.find('(') else {
                return Step::Reject;
            };
            let name = input.slice(0..open);
            if !input.declares(name) {
                return out.refuse(Refusal::UndeclaredTool);
            }
            self.call = Some(PythonCall::new(name, open + 1, Leniency::Strict));
        }
        if let Some(fault) = self.botched {
            return self.botched(input, out, fault);
        }
        match self.end {
            Some(end) => self.tail(input, out, end),
            None => self.arguments(input, out),
        }
    }
}

impl FunctionReader {
    fn arguments(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let Some(call) = &mut self.call else {
            return Step::Reject;
        };
        let progress = call.read(input);
        // What follows on the line may still show it to be prose, unless the
        // dialect was chosen.
        if input.sure && call.beginning().is_certain() {
            call.values().send(out);
        }
        match progress {
            Progress::More if !input.end => Step::More,
            Progress::More => self.cut(input, out),
            Progress::Done(end) => {
                self.end = Some(end);
                self.tail(input, out, end)
            }
            Progress::Fault(at) if call.values().is_sent() => {
                self.botched = Some(at);
                self.botched(input, out, at)
            }
            Progress::Fault(at) => {
                out.examined(at);
                out.refuse(Refusal::NoLiteral)
            }
        }
    }

    /// Checks that a call stands alone on its lines, but for the reason behind
    /// it.
    fn tail(&mut self, input: &Input<'_>, out: &mut Findings, end: usize) -> Step {
        let line = match input.line_end(end, &mut self.searched) {
            Some(newline) => input.slice(end..newline),
            None if input.end => input.from(end),
            None => return Step::More,
        };
        let Some(call) = &mut self.call else {
            return Step::Reject;
        };
        let tail = line.trim();
        let comment = tail.strip_prefix('#').map(str::trim);
        out.examined(end + line.len());
        let stands_alone = input.is_blank(tail) || comment.is_some() || tail.starts_with("</");
        if !stands_alone && !call.values().is_sent() {
            return out.refuse(Refusal::WordsBehind);
        }
        let mut behind = end;
        if let Some(comment) = comment.filter(|comment| !comment.is_empty()) {
            let reasoning = serde_json::from_str(comment).unwrap_or_else(|_| comment.to_owned());
            call.values().set_reasoning(reasoning);
            behind = end + line.trim_end().len();
        }
        self.finish(out, 0..end, Whole::Yes);
        Step::Done(behind)
    }

    /// Reports a call that the end of the reply cut off, if it looks like one.
    fn cut(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let Some(call) = &mut self.call else {
            return Step::Reject;
        };
        let end = cut_end(input, call.argument_start());
        let meant = call.beginning().looks_meant() && end == input.text.len();
        if !meant && !call.values().is_sent() {
            out.examined(input.text.len());
            return out.refuse(Refusal::CutOff);
        }
        self.finish(out, 0..end, Whole::No);
        Step::Done(end)
    }

    fn botched(&mut self, input: &Input<'_>, out: &mut Findings, fault: usize) -> Step {
        let Some(end) = botched_end::<&str>(input, fault, &[]) else {
            return Step::More;
        };
        if let Some(call) = &mut self.call {
            call.values().problem(
                ProblemCode::Malformed,
                "An argument is not a literal; write each as name=value, strings in quotes",
                fault..end,
            );
        }
        self.finish(out, 0..end, Whole::No);
        Step::Done(end)
    }

    fn finish(&mut self, out: &mut Findings, range: Range<usize>, whole: Whole) {
        if let Some(call) = self.call.take() {
            call.into_values().finish(out, range, whole);
        }
    }
}
