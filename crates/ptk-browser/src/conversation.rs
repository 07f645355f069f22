//! Tracks what the page has seen of a conversation, and what is new to it.

use ptk_llm::{Message, Request};
use ptk_protocol::{Formatter as _, Message as Said, PtkFormatter};

/// How to answer a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Send this prompt in the page's current conversation.
    GoOn(String),
    /// Start a new conversation on the page with this prompt.
    Begin(String),
    /// The prompt was sent already, and its answer was not read yet: read it.
    Listen,
    /// The answer was read, but not delivered: deliver it again.
    Repeat(String),
}

/// The conversation that the page shows.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    system: Option<String>,
    /// The messages of the last request that was sent to the page.
    seen: Vec<Message>,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// It is not known what the page shows.
    #[default]
    Unknown,
    /// A prompt was sent.
    Asked,
    /// The answer was read.
    Answered(String),
    /// The answer was read, and passed on.
    Told(String),
}

impl Conversation {
    /// Decides how to answer a request; `None` if the request is empty.
    pub(crate) fn plan(&self, request: &Request, instructions: &str) -> Option<Plan> {
        if let Some(rest) = self.unseen(request) {
            match (&self.state, rest) {
                (State::Asked, []) => return Some(Plan::Listen),
                (State::Answered(answer), []) => return Some(Plan::Repeat(answer.clone())),
                (State::Told(answer), [Message::Assistant { text, .. }, new @ ..])
                    if text.trim() == answer.trim() && is_addressed(new) =>
                {
                    let texts: Vec<&str> = new.iter().map(Message::text).collect();
                    return Some(Plan::GoOn(texts.join("\n\n")));
                }
                _ => {}
            }
        }
        let whole = whole(request, instructions);
        (!whole.trim().is_empty()).then_some(Plan::Begin(whole))
    }

    /// The messages that the page has not seen, if it has seen all before them.
    fn unseen<'r>(&self, request: &'r Request) -> Option<&'r [Message]> {
        if matches!(self.state, State::Unknown) || self.system != request.system {
            return None;
        }
        request.messages.strip_prefix(self.seen.as_slice())
    }

    /// Records that this request was sent.
    pub(crate) fn asked(&mut self, request: &Request) {
        self.system.clone_from(&request.system);
        self.seen.clone_from(&request.messages);
        self.state = State::Asked;
    }

    /// Records the answer that was read.
    pub(crate) fn answered(&mut self, answer: String) {
        self.state = State::Answered(answer);
    }

    /// Records that the answer was passed on.
    pub(crate) fn told(&mut self) {
        if let State::Answered(answer) = &mut self.state {
            self.state = State::Told(std::mem::take(answer));
        }
    }

    /// Resets the state: what the page shows is no longer known.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Whether there are messages, and none of them is the model's own.
fn is_addressed(messages: &[Message]) -> bool {
    let is_own = |message: &Message| matches!(message, Message::Assistant { .. });
    !messages.is_empty() && !messages.iter().any(is_own)
}

/// The whole conversation as one text.
fn whole(request: &Request, instructions: &str) -> String {
    let system = request.system.as_deref().unwrap_or_default();
    let has_tools = !system.is_empty();
    let instructions = if has_tools { instructions } else { "" };
    let before = [system, instructions]
        .into_iter()
        .filter(|it| !it.is_empty());
    let before = before.map(Said::system).chain(examples(request));
    if let [Message::User { text, .. }] = request.messages.as_slice() {
        let texts: Vec<String> = before.map(|it| it.content).chain([text.clone()]).collect();
        return texts.join("\n\n");
    }
    let messages = request.messages.iter().map(Said::from);
    let all: Vec<Said> = before.chain(messages).collect();
    PtkFormatter::default().conversation(&all)
}

/// The example turns as a part of the instructions, if there are any.
fn examples(request: &Request) -> Option<Said> {
    let turns: Vec<Said> = request.examples.iter().map(Said::from).collect();
    let text = || PtkFormatter::default().conversation(&turns);
    (!turns.is_empty()).then(|| Said::system(format!("EXAMPLES:\n\n{}", text())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_stand_between_the_instructions_and_the_question() {
        let mut request = Request::new([Message::user("And docs?")]).system("Call tools.");
        request.examples = [Message::user("Which files?"), Message::assistant("LIST")].into();
        assert_eq!(
            whole(&request, "Be brief."),
            "Call tools.\n\nBe brief.\n\nEXAMPLES:\n\nUSER: Which files?\n\nASSISTANT: LIST\n\nAnd docs?"
        );
    }
}
