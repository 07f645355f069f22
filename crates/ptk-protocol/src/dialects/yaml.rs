//! `yaml`: `TOOL: f`, `ARGS:` and the arguments as a YAML mapping below it.

use super::engine::named_values::{NamedValues, Whole};
use super::engine::yaml_body::YamlBody;
use super::engine::yaml_text::{scalar_line, write_member};
use super::{Dialect, Trigger, Writer};
use crate::parse::{Findings, Input, Reader, Refusal, Step};
use crate::{ProblemCode, ToolCall};

/// The dialect with arguments as YAML. Such text can appear in prose by
/// accident, so it counts only on lines of its own and with a declared tool's
/// name. It has no closing mark, so a reply that was cut off looks like a whole
/// one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Yaml;

impl Dialect for Yaml {
    fn name(&self) -> &'static str {
        "yaml"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::at_line_start("TOOL:")]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(YamlReader::default())
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Yaml {
    fn rules(&self) -> Vec<String> {
        vec![
            "Indent the arguments below ARGS: by two spaces, as YAML.".to_owned(),
            "Write text of several lines behind |, on the lines below it, indented further."
                .to_owned(),
        ]
    }

    fn reasoning_rule(&self) -> String {
        "Say in REASONING why you need the tool.".to_owned()
    }

    fn shows_long_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall) -> String {
        let mut text = format!("TOOL: {}", call.name);
        if let Some(reasoning) = &call.reasoning {
            text.push_str(&format!("\nREASONING: {}", scalar_line(reasoning)));
        }
        text.push_str("\nARGS:");
        if call.args.is_empty() {
            text.push_str(" {}");
        }
        for (key, value, json) in call.args.members() {
            text.push_str("\n  ");
            text.push_str(&write_member(key, value, &json, "    "));
        }
        text
    }
}

#[derive(Debug, Default)]
struct YamlReader {
    at: usize,
    searched: usize,
    stage: YamlStage,
    values: Option<NamedValues>,
    body: YamlBody,
    end: usize,
    ends_reply: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum YamlStage {
    #[default]
    Tool,
    Args,
    Body,
}

impl Reader for YamlReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let (line, last) = match input.line_end(self.at, &mut self.searched) {
                Some(end) => (input.slice(self.at..end), false),
                None if input.end => (input.from(self.at), true),
                None => return Step::More,
            };
            let behind = (self.at + line.len() + 1).min(input.text.len());
            let text = line.trim_end();
            match self.stage {
                YamlStage::Tool => {
                    let Some(name) = header(text, "TOOL:").filter(|name| is_name(name)) else {
                        return Step::Reject;
                    };
                    if input.tools.is_some() && !input.declares(name) {
                        return out.refuse(Refusal::UndeclaredTool);
                    }
                    self.values = Some(NamedValues::new(name));
                    self.end = self.at + text.len();
                    self.stage = YamlStage::Args;
                }
                YamlStage::Args => {
                    if let Some(reasoning) = header(text, "REASONING:") {
                        let reasoning = serde_json::from_str(reasoning)
                            .unwrap_or_else(|_| reasoning.to_owned());
                        if let Some(values) = &mut self.values {
                            values.set_reasoning(reasoning);
                        }
                        self.end = self.at + text.len();
                    } else if let Some(inline) = header(text, "ARGS:") {
                        self.end = self.at + text.len();
                        self.stage = YamlStage::Body;
                        if !inline.is_empty() {
                            let start = self.end - inline.len();
                            self.take_line(input, out, start, inline);
                            return self.finish(input, out);
                        }
                    } else if !text.trim().is_empty() || last {
                        return self.without_args(input, out);
                    }
                }
                YamlStage::Body => {
                    let blank = text.trim().is_empty();
                    if !blank && !line.starts_with([' ', '\t']) && !self.is_parameter(text, input) {
                        return self.finish(input, out);
                    }
                    let line = line.trim_end_matches('\r');
                    if !blank {
                        self.end = self.at + line.len();
                    }
                    self.take_line(input, out, self.at, line);
                }
            }
            if last {
                self.ends_reply = true;
                return match self.stage {
                    YamlStage::Body => self.finish(input, out),
                    YamlStage::Tool | YamlStage::Args => self.without_args(input, out),
                };
            }
            self.at = behind;
        }
    }
}

impl YamlReader {
    fn take_line(&mut self, input: &Input<'_>, out: &mut Findings, start: usize, line: &str) {
        if let Some(values) = &mut self.values {
            self.body.line(start, line, values, input);
            if self.body.has_something() {
                values.send(out);
            }
        }
    }

    /// Whether a line starts with a parameter's name, so that it belongs to the
    /// arguments: models forget to indent.
    fn is_parameter(&self, line: &str, input: &Input<'_>) -> bool {
        line.split_once(':').is_some_and(|(key, _)| {
            let name = self.values.as_ref().map_or("", NamedValues::name);
            input.has_parameter(name, key.trim())
        })
    }

    /// Whether the call is whole: only a line behind the arguments shows that
    /// no more were to come.
    fn wholeness(&self) -> Whole {
        if self.ends_reply {
            Whole::Unsure
        } else {
            Whole::Yes
        }
    }

    fn without_args(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let Some(values) = self
            .values
            .take()
            // Without arguments, `Tool: time` is what any report may say.
            .filter(|values| input.declares(values.name()) && input.text.starts_with("TOOL:"))
        else {
            return Step::Reject;
        };
        values.finish(out, 0..self.end, self.wholeness());
        Step::Done(self.end)
    }

    fn finish(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let Some(mut values) = self.values.take() else {
            return Step::Reject;
        };
        if self.body.lacks_text(input) {
            values.finish(out, 0..self.end, Whole::No);
            return Step::Done(self.end);
        }
        if let Err(error) = self.body.finish(&mut values, input) {
            let message = format!("The arguments are not a YAML mapping: {error}");
            let range = 0..self.end;
            if values.is_sent() {
                values.problem(ProblemCode::Malformed, &message, range.clone());
                values.finish(out, range, Whole::No);
            } else {
                let raw = input.slice(range.clone());
                out.unreadable(ProblemCode::Malformed, message, range, raw);
            }
            return Step::Done(self.end);
        }
        values.finish(out, 0..self.end, self.wholeness());
        Step::Done(self.end)
    }
}

fn header<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let line = line.trim_start();
    line.get(..word.len())
        .filter(|start| start.eq_ignore_ascii_case(word))?;
    line.get(word.len()..).map(str::trim)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}
