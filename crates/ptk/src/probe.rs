//! Finds out how a model is best asked: the same few questions, by its API for
//! tools and in text.

use std::fmt;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptk_llm::{LlmErrorKind, ModelProfile};
use ptk_protocol::dialects::Registry as Dialects;
use ptk_protocol::{Arguments, ToolSpec};
use ptk_store::Usage;
use ptk_tools::{CallContext, Effects, Fields, Registry, Tool, ToolError};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{BuildError, Execution, Mode, Model, Ptk, RunError, RunOptions};

/// A way to give a model its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// By its API for tools.
    Native,
    /// In text, in this dialect.
    Text(String),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.pad("native"),
            Self::Text(dialect) => f.pad(dialect),
        }
    }
}

/// How well a model did on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It called the right tool with the right arguments, or none where none
    /// was needed, and its answer is right.
    Right,
    /// Its call was right, and its answer was not.
    Called,
    /// Neither the call nor the answer was right.
    Wrong,
}

/// One question.
#[derive(Debug, Clone, Copy)]
struct Question {
    about: &'static str,
    prompt: &'static str,
    /// The tool that is to be called, and the value that one of its arguments
    /// must have.
    call: Option<(&'static str, &'static str, &'static str)>,
    /// The text that has to be in the answer.
    answer: &'static str,
}

/// The questions: a call, numbers, a text that has to be escaped, and one
/// that needs no tool.
const QUESTIONS: [Question; 4] = [
    Question {
        about: "a call",
        prompt: "What is the weather in Paris?",
        call: Some(("weather", "city", "\"Paris\"")),
        answer: "17",
    },
    Question {
        about: "numbers",
        prompt: "Use the tool to add 19 and 23, and tell me the sum.",
        call: Some(("add", "b", "23")),
        answer: "42",
    },
    Question {
        about: "a text with quotes",
        prompt: "Save this note, exactly as it stands: She said \"hi\" & left.",
        call: Some(("save_note", "text", r#""She said \"hi\" & left.""#)),
        answer: "",
    },
    Question {
        about: "no tool",
        prompt: "Say hello to me. No tool is needed for that.",
        call: None,
        answer: "ello",
    },
];

/// The topics of the questions.
pub fn questions() -> impl Iterator<Item = &'static str> {
    QUESTIONS.iter().map(|question| question.about)
}

/// The results of the questions, asked in one way.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The way in which they were asked.
    pub way: Way,
    /// The verdict on each question, as far as they were asked.
    pub verdicts: Vec<Verdict>,
    /// How many replies it took.
    pub replies: u32,
    /// The usage of the replies.
    pub usage: Usage,
    /// How long the replies took.
    pub duration: Duration,
    /// Why no further question was asked, if so.
    pub error: Option<RunError>,
}

impl Trial {
    /// How well it went: two points for each question.
    #[must_use]
    pub fn points(&self) -> usize {
        let points = self.verdicts.iter().map(|verdict| match verdict {
            Verdict::Right => 2,
            Verdict::Called => 1,
            Verdict::Wrong => 0,
        });
        points.sum()
    }

    /// The most points that a trial can have.
    #[must_use]
    pub const fn most() -> usize {
        2 * QUESTIONS.len()
    }

    /// The profile of the model, if this is the best way.
    #[must_use]
    pub fn profile(&self) -> ModelProfile {
        let (native_tools, dialect) = match &self.way {
            Way::Native => (Some(true), None),
            Way::Text(dialect) => (Some(false), Some(dialect.clone())),
        };
        ModelProfile {
            native_tools,
            dialect,
            context_window: None,
            why: format!("tried: {} of {} points", self.points(), Self::most()),
            is_tried: true,
        }
    }

    /// Whether the model cannot be asked at all, in either way.
    #[must_use]
    pub fn is_hopeless(&self) -> bool {
        match &self.error {
            Some(RunError::Cancelled) => true,
            Some(RunError::Llm(error)) => matches!(
                error.kind,
                LlmErrorKind::Unreachable
                    | LlmErrorKind::Untrusted
                    | LlmErrorKind::NotEncrypted
                    | LlmErrorKind::NoKey
                    | LlmErrorKind::Unauthorized
                    | LlmErrorKind::Unpaid
                    | LlmErrorKind::NotFound
                    | LlmErrorKind::NotStarted
            ),
            _ => false,
        }
    }
}

/// The trial that went best: by points, then by how few replies and tokens it
/// took. `None` if no call was right.
#[must_use]
pub fn best(trials: &[Trial]) -> Option<&Trial> {
    // That no tool was called where none was needed proves nothing.
    let called = |trial: &&Trial| {
        let calls = trial.verdicts.iter().zip(&QUESTIONS);
        let mut calls = calls.filter(|(_, question)| question.call.is_some());
        calls.any(|(verdict, _)| *verdict != Verdict::Wrong)
    };
    let cost = |trial: &Trial| trial.usage.input_tokens + trial.usage.output_tokens;
    trials.iter().filter(called).min_by_key(|trial| {
        let points = std::cmp::Reverse(trial.points());
        (points, trial.replies, cost(trial))
    })
}

/// Asks a model the questions, in one way; the dialect is one of these. Each
/// question may take this long. `tell` is called with each verdict.
///
/// ```
/// use std::time::Duration;
///
/// use ptk::llm::Script;
/// use ptk::protocol::dialects::Registry;
/// use ptk::{CancellationToken, Model, Verdict, Way, try_model};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// // One that never calls a tool.
/// let model = Model::new(Script::new(["Hello"; 4]));
/// let way = Way::Text("ptk".to_owned());
/// let (dialects, timeout) = (Registry::builtin(), Duration::from_secs(60));
/// let cancel = CancellationToken::new();
/// let trial = try_model(&model, way, &dialects, timeout, cancel, |_| ()).await?;
/// assert_eq!(trial.verdicts.last(), Some(&Verdict::Right));
/// assert_eq!(trial.points(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is no such dialect.
pub async fn try_model(
    model: &Model,
    way: Way,
    dialects: &Dialects,
    patience: Duration,
    cancel: CancellationToken,
    mut tell: impl FnMut(Verdict),
) -> Result<Trial, BuildError> {
    // Its configured dialect is ignored, because that is what is to be found
    // out.
    let model = model.clone().dialect("auto");
    let model = match &way {
        Way::Native => model.mode(Mode::Native),
        Way::Text(dialect) => model.mode(Mode::Text).taught(dialect),
    };
    let start = Instant::now();
    let mut trial = Trial {
        way,
        verdicts: Vec::new(),
        replies: 0,
        usage: Usage::default(),
        duration: Duration::ZERO,
        error: None,
    };
    for question in &QUESTIONS {
        let ptk = Ptk::builder()
            .model(model.clone())
            .dialects(dialects.clone())
            .tools(props()?)
            .build()?;
        let options = RunOptions {
            max_iterations: 4,
            timeout: Some(patience),
            cancel: cancel.clone(),
            ..RunOptions::default()
        };
        let run = ptk.execute(question.prompt, options).await;
        trial.replies += run.iterations;
        trial.usage.add(run.usage);
        if let Some(error @ (RunError::Llm(_) | RunError::Cancelled)) = run.error {
            trial.error = Some(error);
            break;
        }
        let verdict = question.verdict(&run);
        trial.verdicts.push(verdict);
        tell(verdict);
    }
    trial.duration = start.elapsed();
    Ok(trial)
}

impl Question {
    fn verdict(&self, run: &Execution) -> Verdict {
        let is_right = match self.call {
            None => run.tool_calls.is_empty(),
            Some((tool, argument, value)) => {
                let value: Value = serde_json::from_str(value).unwrap_or_default();
                let mut calls = run.tool_calls.iter().filter(|call| call.tool == tool);
                calls.any(|call| call.arguments.get(argument) == Some(&value))
            }
        };
        match (is_right, run.success && run.content.contains(self.answer)) {
            (true, true) => Verdict::Right,
            (true, false) if self.call.is_some() => Verdict::Called,
            _ => Verdict::Wrong,
        }
    }
}

/// A tool that only pretends to do something.
struct Prop {
    spec: ToolSpec,
    gives: fn(&Arguments) -> Value,
}

impl Tool for Prop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effects(&self) -> Effects {
        Effects::NONE
    }

    fn has_plan(&self) -> bool {
        false
    }

    fn run<'a>(
        &'a self,
        _: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        let fields = Fields::from_iter([("result".to_owned(), (self.gives)(&args))]);
        std::future::ready(Ok(fields)).boxed()
    }
}

/// The tools that are offered with each question.
fn props() -> Result<Registry, BuildError> {
    let text = |about: &str| json!({"type": "string", "description": about});
    let number = json!({"type": "integer"});
    let schema = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let mut registry = Registry::new();
    registry.register(Prop {
        spec: ToolSpec::new(
            "weather",
            "Tell the weather in a city",
            schema(json!({"city": text("The city, such as Berlin")}), &["city"]),
        ),
        gives: |_| json!("17 degrees, light rain"),
    })?;
    registry.register(Prop {
        spec: ToolSpec::new(
            "add",
            "Add two whole numbers",
            schema(json!({"a": number, "b": number}), &["a", "b"]),
        ),
        gives: |args| {
            let number = |name: &str| args.get(name).and_then(Value::as_i64).unwrap_or_default();
            json!(number("a").saturating_add(number("b")))
        },
    })?;
    registry.register(Prop {
        spec: ToolSpec::new(
            "save_note",
            "Save a note",
            schema(json!({"text": text("The note, word for word")}), &["text"]),
        ),
        gives: |_| json!("saved"),
    })?;
    Ok(registry)
}
