//! Requests with tools, for models that are too small to call them alone.

use ptk_llm::{Delta, FinishReason, Message, Request, ToolChoice, Usage};
use serde_json::Value;

use super::chat::{Template, Turn};
use super::engine::Engine;
use super::generate::{self, Listener};
use super::trouble::Trouble;
use crate::guide::{Guide, Move, Scorer, Stopped, Surroundings};

/// How a small model is to talk: it takes up the tone of what it is shown, and
/// makes less up where that is short.
const MANNER: [(&str, &str); 7] = [
    ("hello", "Hello! How can I help you?"),
    ("What is 3+5?", "3+5 is 8."),
    ("capital of spain?", "The capital of Spain is Madrid."),
    ("thanks", "You are welcome!"),
    (
        "How many hours are there in a day?",
        "There are 24 hours in a day.",
    ),
    (
        "What does HTML stand for?",
        "HTML stands for HyperText Markup Language.",
    ),
    (
        "what are you?",
        "I am a small language model that runs on this machine. I can read, find, list and write files here.",
    ),
];
/// Messages of the conversation that such a model is shown when it talks.
const REMEMBERED: usize = 4;
/// The most tokens of what it says when it talks.
const MOST_TALK: u32 = 200;

/// Does what the guide says comes next.
pub(super) fn reply(
    engine: &mut Engine<'_>,
    template: &Template,
    surroundings: Surroundings,
    request: &Request,
    listener: &dyn Listener,
) -> Result<(), Trouble> {
    let may_call = request.tool_choice != ToolChoice::None;
    let tools = if may_call {
        request.tools.clone()
    } else {
        ptk_protocol::Toolset::default()
    };
    let mut asking = Asking {
        engine,
        listener,
        usage: Usage::default(),
        trouble: None,
    };
    let next = Guide::new(&tools, surroundings).next(&request.messages, &mut asking);
    let (usage, trouble) = (asking.usage, asking.trouble.take());
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    let finish = match next.map_err(|_| Trouble::Stopped)? {
        Move::Call { tool, arguments } => {
            listener.tell(Delta::CallStart {
                index: 0,
                id: None,
                name: tool,
            });
            listener.tell(Delta::Arguments {
                index: 0,
                json: Value::Object(arguments).to_string(),
            });
            listener.tell(Delta::CallEnd { index: 0 });
            FinishReason::ToolCalls
        }
        Move::Answer(text) => {
            listener.tell(Delta::Text(text));
            FinishReason::Stop
        }
        Move::Talk => {
            let request = Request {
                max_tokens: Some(request.max_tokens.unwrap_or(MOST_TALK).min(MOST_TALK)),
                ..request.clone()
            };
            return generate::reply(engine, template, &talk(&request), &request, listener);
        }
    };
    listener.tell(Delta::Usage(usage));
    listener.tell(Delta::Finish(finish));
    Ok(())
}

/// What a small model is shown when it talks: how to do that, and the last
/// words of the conversation.
fn talk(request: &Request) -> Vec<Turn> {
    let manner = MANNER
        .iter()
        .flat_map(|(asked, said)| [Turn::new("user", *asked), Turn::new("assistant", *said)]);
    let said = request.messages.iter().filter_map(|message| match message {
        Message::User(text) => Some(Turn::new("user", text)),
        Message::Assistant { text, .. } if !text.is_empty() => Some(Turn::new("assistant", text)),
        _ => None,
    });
    let said: Vec<Turn> = said.collect();
    let last = said.len().saturating_sub(REMEMBERED);
    // The manner ends with an answer, so a question follows.
    let last = said
        .into_iter()
        .skip(last)
        .skip_while(|turn| turn.role != "user");
    manner.chain(last).collect()
}

/// The model as the guide asks it.
struct Asking<'a, 'm> {
    engine: &'a mut Engine<'m>,
    listener: &'a dyn Listener,
    usage: Usage,
    /// Why it could not be asked.
    trouble: Option<Trouble>,
}

impl Asking<'_, '_> {
    fn likelihoods(&mut self, prompt: &str, candidates: &[String]) -> Result<Vec<f32>, Trouble> {
        let goes_on = || self.listener.listens();
        let mut tokens = Vec::new();
        if self.engine.model.vocab().should_add_bos() {
            tokens.push(self.engine.model.vocab().bos());
        }
        tokens.extend(self.engine.tokens(prompt, false));
        let candidates: Vec<_> = candidates
            .iter()
            .map(|text| self.engine.tokens(text, false))
            .collect();
        let known = self.engine.show(&tokens, &goes_on)?;
        let further: usize = candidates
            .iter()
            .map(|tokens| tokens.len().saturating_sub(1))
            .sum();
        self.usage.input_tokens += (tokens.len() + further) as u64;
        self.usage.cached_tokens += known as u64;
        self.engine.likelihoods(&candidates, &goes_on)
    }
}

impl Scorer for Asking<'_, '_> {
    fn score(&mut self, prompt: &str, candidates: &[String]) -> Result<Vec<f32>, Stopped> {
        self.likelihoods(prompt, candidates).map_err(|trouble| {
            self.trouble = Some(trouble);
            Stopped
        })
    }
}
