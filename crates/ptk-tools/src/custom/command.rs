//! A declared command.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ptk_protocol::{Arguments, ToolSpec};
use ptk_sandbox::Place;
use serde_json::{Value, json};

use super::template::Template;
use crate::process::{Exit, Program, Reason};
use crate::tools::bash::left_out;
use crate::{CallContext, Class, Effect, Effects, Fields, Plan, Tool, ToolError};

/// Runs a program. No shell is in between, so that no argument can become a
/// command. The arguments also stand as JSON on its standard input.
pub(super) struct CommandTool {
    pub(super) spec: ToolSpec,
    pub(super) command: Vec<Template>,
    pub(super) effects: Effects,
    /// The parameters that are paths of files which it reads, if declared.
    pub(super) reads: Option<Vec<String>>,
    /// The parameters that are paths of files which it writes, if declared.
    pub(super) writes: Option<Vec<String>>,
    pub(super) timeout: Duration,
    /// How it is declared, in short.
    pub(super) declared: String,
}

impl CommandTool {
    /// The program and its arguments.
    ///
    /// # Errors
    ///
    /// If a value would be taken for an option of the program: it begins with a
    /// dash, and neither `--` nor the name of an option stands before it.
    fn words(&self, args: &Arguments) -> Result<Vec<String>, ToolError> {
        let mut words = Vec::with_capacity(self.command.len());
        let mut options_ended = false;
        for word in &self.command {
            options_ended |= word.is_text("--");
            let Some(filled) = word.fill(args, str::to_owned) else {
                continue;
            };
            if !options_ended && word.begins_with_argument() && filled.starts_with('-') {
                let name = word.names().next().unwrap_or_default();
                return Err(ToolError::validation(format!(
                    "The value of `{name}` begins with a dash, and could be taken for an option"
                ))
                .suggest("Give a value that does not begin with a dash.")
                .advise(format!(
                    "To allow such values, write \"--\" before \"{{{name}}}\" in `command`, or attach it to an option: \"--{name}={{{name}}}\"."
                )));
            }
            words.push(filled);
        }
        Ok(words)
    }
}

/// The files that some arguments name, and whether these are all: not where the
/// declaration does not name them, or where one is not in the workspace.
fn files(context: &CallContext, args: &Arguments, names: Option<&[String]>) -> (Vec<Place>, bool) {
    let mut places = Vec::new();
    let mut are_all = names.is_some();
    for name in names.unwrap_or_default() {
        let values = match args.get(name) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(values)) => values.as_slice(),
            Some(value) => std::slice::from_ref(value),
        };
        for value in values {
            let place = value.as_str().and_then(|path| context.resolve(path).ok());
            are_all &= place.is_some();
            places.extend(place);
        }
    }
    (places, are_all)
}

impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effects(&self) -> Effects {
        self.effects
    }

    fn class(&self) -> Class {
        Class::Background
    }

    fn is_deferrable(&self) -> bool {
        true
    }

    fn timeout(&self, _args: &Arguments) -> Option<Duration> {
        Some(self.timeout)
    }

    fn plan(&self, context: &CallContext, args: &Arguments) -> Result<Plan, ToolError> {
        let command = self.words(args)?.join(" ");
        let (reads, are_all_read) = files(context, args, self.reads.as_deref());
        let (writes, are_all_written) = files(context, args, self.writes.as_deref());
        let may_write = self.writes.is_some() || self.effects.has(Effect::Write);
        let mut unknown = Effects::NONE;
        if !are_all_read {
            unknown = unknown | Effects::READ;
        }
        if !are_all_written && may_write {
            unknown = unknown | Effects::WRITE;
        }
        Ok(Plan {
            reads,
            writes,
            unknown,
            summary: format!("Run {command}"),
            command: Some((command, context.workspace().root().to_owned())),
            declared: Some(self.declared.clone()),
            ..Plan::default()
        })
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        Box::pin(async move {
            let words = self.words(&args)?;
            let Some((program, arguments)) = words.split_first() else {
                return Err(ToolError::validation("Nothing is left to run")
                    .suggest("Give the argument that names the program."));
            };
            let mut program_run = Program::new(program, arguments, context.workspace().root())
                .stdin(args.to_json())
                .timeout(self.timeout);
            if self.effects.is_read_only() {
                program_run = program_run.only_reading();
            }
            let ended = program_run.run(context).await?;
            let code = match ended.exit {
                Exit::Code(code) => code,
                Exit::Signal(signal) => 128 + signal,
            };
            let mut fields = Fields::from_iter([
                ("output".to_owned(), json!(ended.stdout.text())),
                ("stderr".to_owned(), json!(ended.stderr.text())),
                ("return_code".to_owned(), json!(code)),
            ]);
            fields.extend(left_out(&ended));
            let failed = |error: ToolError| ToolError {
                fields: Box::new(fields.clone()),
                ..error
            };
            match ended.reason {
                Reason::Finished if ended.exit == Exit::Code(0) => Ok(fields),
                Reason::Finished => Err(failed(
                    ToolError::user(format!("{program} ended with exit code {code}"))
                        .suggest("Read `stderr` and `output`, and call with other arguments."),
                )),
                Reason::TimedOut => Err(failed(
                    ToolError::system(format!(
                        "{program} was stopped after {} s",
                        self.timeout.as_secs()
                    ))
                    .suggest("Ask for less at once."),
                )),
                Reason::Cancelled | Reason::Stopped | Reason::Lost => {
                    Err(failed(ToolError::system(format!("{program} was stopped"))))
                }
            }
        })
    }
}
