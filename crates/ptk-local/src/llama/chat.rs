//! Conversations in the model's own chat template.

use llama_cpp_2::model::LlamaModel;
use minijinja::{Environment, Error, ErrorKind, context};
use ptk_llm::{Message, Request};
use ptk_protocol::parse::opened_reasoning;
use serde::Serialize;

use super::engine::{Engine, Prompt};
use super::trouble::Trouble;

/// The marks around the number of a text in a rendered template. No template
/// uses these characters, and texts are not rendered by it.
const BEFORE: char = '\u{f8f0}';
const BEHIND: char = '\u{f8f1}';
/// The most steps that a template may run.
const MAX_STEPS: u64 = 1_000_000;
/// The template for models without one: each role and its text.
const PLAIN: &str = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";
/// The stop sequence of the plain template.
const PLAIN_STOP: &str = "\nuser:";

/// One message: its role and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Turn {
    role: &'static str,
    text: String,
}

impl Turn {
    fn new(role: &'static str, text: impl Into<String>) -> Self {
        Self {
            role,
            text: text.into(),
        }
    }
}

/// The messages of a request, up to where the model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conversation {
    turns: Vec<Turn>,
    /// How many of them are instructions and examples.
    shared: usize,
}

/// The chat template of a model.
#[derive(Debug)]
pub(super) struct Template {
    source: String,
    is_plain: bool,
    begin: String,
    end: String,
}

impl Template {
    pub(super) fn of(model: &LlamaModel) -> Self {
        let own = model.chat_template(None).ok();
        let own = own.and_then(|template| template.to_string().ok());
        let vocab = model.vocab();
        let piece = |token| {
            let bytes = vocab.token_to_piece(token, true, None);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Self {
            is_plain: own.is_none(),
            source: own.unwrap_or_else(|| PLAIN.to_owned()),
            begin: piece(vocab.bos()),
            end: piece(vocab.eos()),
        }
    }

    /// Stop sequences beside the model's own end tokens.
    pub(super) fn stops(&self) -> Vec<String> {
        if self.is_plain {
            vec![PLAIN_STOP.to_owned()]
        } else {
            Vec::new()
        }
    }

    /// Renders and tokenizes a conversation.
    pub(super) fn prompt(
        &self,
        engine: &Engine<'_>,
        conversation: Conversation,
    ) -> Result<Prompt, Trouble> {
        let Conversation {
            mut turns,
            mut shared,
        } = conversation;
        let mut rendered = self.render(&turns);
        if rendered.is_err() {
            // Some templates accept no system message, or only alternating
            // turns.
            turns = merged(&turns);
            shared = 0;
            rendered = self.render(&turns);
        }
        let rendered = rendered
            .map_err(|error| Trouble::File(format!("the chat template fails: {error:#}")))?;
        let mut tokens = Vec::new();
        let mut head = 0;
        let vocab = engine.model.vocab();
        if vocab.should_add_bos() && !rendered.starts_with(&self.begin) {
            tokens.push(vocab.bos());
        }
        for piece in pieces(&rendered) {
            match piece {
                Piece::Form(text) => tokens.extend(engine.tokens(text, true)),
                Piece::Text(index) => {
                    let text = turns.get(index).map_or("", |turn| turn.text.trim());
                    tokens.extend(engine.tokens(text, false));
                    if index < shared {
                        head = tokens.len();
                    }
                }
            }
        }
        Ok(Prompt {
            tokens,
            head,
            opened: opened_reasoning(&rendered),
        })
    }

    /// Renders the template with a mark in place of each text, so that texts of
    /// users, files and tools never become part of the format.
    fn render(&self, turns: &[Turn]) -> Result<String, Error> {
        #[derive(Serialize)]
        struct Told {
            role: &'static str,
            content: String,
        }
        let messages: Vec<Told> = turns
            .iter()
            .enumerate()
            .map(|(index, turn)| Told {
                role: turn.role,
                content: format!("{BEFORE}{index}{BEHIND}"),
            })
            .collect();
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_fuel(Some(MAX_STEPS));
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |text: String| -> Result<String, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, text))
        });
        environment
            .template_from_str(&self.source)?
            .render(context! {
                messages,
                add_generation_prompt => true,
                bos_token => self.begin,
                eos_token => self.end,
            })
    }
}

/// Turns system messages into user messages, and joins adjacent messages of the
/// same role.
fn merged(turns: &[Turn]) -> Vec<Turn> {
    let mut merged: Vec<Turn> = Vec::new();
    for turn in turns {
        let role = if turn.role == "system" {
            "user"
        } else {
            turn.role
        };
        match merged.last_mut() {
            Some(last) if last.role == role => {
                last.text.push_str("\n\n");
                last.text.push_str(&turn.text);
            }
            _ => merged.push(Turn::new(role, turn.text.clone())),
        }
    }
    merged
}

enum Piece<'a> {
    /// Text of the template.
    Form(&'a str),
    /// The text of the turn with this index.
    Text(usize),
}

fn pieces(rendered: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = rendered;
    while let Some((form, behind)) = rest.split_once(BEFORE) {
        pieces.push(Piece::Form(form));
        let (number, behind) = behind.split_once(BEHIND).unwrap_or((behind, ""));
        pieces.extend(number.parse().ok().map(Piece::Text));
        rest = behind;
    }
    pieces.push(Piece::Form(rest));
    pieces
}

impl Conversation {
    /// The conversation of a request, with calls and results as text.
    pub(super) fn of(request: &Request) -> Self {
        let system = request.system.as_ref();
        let system = system.map(|text| Turn::new("system", text));
        let shared = usize::from(system.is_some()) + request.examples.len();
        let turns = system.into_iter().chain(request.turns().map(turn));
        Self {
            turns: turns.collect(),
            shared,
        }
    }
}

fn turn(message: &Message) -> Turn {
    match message {
        Message::System(text) => Turn::new("system", text),
        Message::User { text, .. } => Turn::new("user", text),
        Message::Assistant { text, calls, .. } => {
            let calls = calls
                .iter()
                .map(|call| format!("{} {}", call.name, call.args.to_json()));
            let said: Vec<String> = std::iter::once(text.clone()).chain(calls).collect();
            Turn::new("assistant", said.join("\n").trim())
        }
        Message::Result { name, text, .. } => {
            Turn::new("user", format!("Result of {name}:\n{text}"))
        }
    }
}
