//! Plain completion APIs, which continue a text: OpenAI's, which many servers
//! have, and llama.cpp's own.

use serde_json::{Map, Value, json};

use super::{Grammar, Reading, Trouble, Wire, finish, json_bytes, text, usage};
use crate::request::prompt;
use crate::{Delta, FinishReason, Form, Request, ResponseFormat};

/// The default limit of tokens: without one, servers write 16, or without end.
const MAX_TOKENS: u32 = 4096;

/// The wire format of plain completion APIs.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) dialect: Dialect,
    pub(super) grammar: Grammar,
}

/// Which of the two APIs is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    LlamaCpp,
}

impl Wire for Completion {
    fn tails(&self) -> &'static [&'static str] {
        match self.dialect {
            Dialect::OpenAi => &["/completions"],
            Dialect::LlamaCpp => &["/completion", "/v1"],
        }
    }

    fn request(&self, request: &Request, model: &str) -> (String, Vec<u8>) {
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                body.insert(name.to_owned(), value);
            }
        };
        let (path, limit) = match self.dialect {
            Dialect::OpenAi => ("/completions", "max_tokens"),
            Dialect::LlamaCpp => ("/completion", "n_predict"),
        };
        put("model", json!(model));
        put("prompt", json!(prompt(request)));
        put("stream", json!(true));
        let most = request
            .context_window
            .map_or(MAX_TOKENS, |window| MAX_TOKENS.min(window / 4));
        put(limit, json!(request.max_tokens.unwrap_or(most)));
        put("temperature", json!(request.sampling.temperature));
        put("top_p", json!(request.sampling.top_p));
        put("top_k", json!(request.sampling.top_k));
        put("seed", json!(request.sampling.seed));
        if !request.stop.is_empty() {
            put("stop", json!(request.stop));
        }
        match (&request.format, self.grammar) {
            (ResponseFormat::Schema(schema), Grammar::LlamaCpp) => {
                put("json_schema", schema.clone());
            }
            (ResponseFormat::Json, Grammar::LlamaCpp) => put("json_schema", json!({})),
            (ResponseFormat::Grammar(grammar), Grammar::LlamaCpp) => {
                put("grammar", json!(grammar));
            }
            (format, Grammar::Vllm) => put("structured_outputs", super::openai::vllm(format)),
            _ => {}
        }
        (path.to_owned(), json_bytes(&Value::Object(body)))
    }

    fn form(&self) -> Form {
        Form::Prompt
    }

    fn reading(&self, _request: &Request) -> Box<dyn Reading> {
        Box::<TextReading>::default()
    }
}

/// Parses a completion, in either format.
#[derive(Debug, Default)]
struct TextReading {
    finish: Option<FinishReason>,
}

impl Reading for TextReading {
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        let choice = event.pointer("/choices/0");
        let words = match choice {
            Some(choice) => text(choice, "text"),
            None => text(event, "content"),
        };
        let words = words.filter(|words| !words.is_empty());
        deltas.extend(words.map(|words| Delta::Text(words.to_owned())));
        if let Some(reason) = choice.and_then(|choice| text(choice, "finish_reason")) {
            self.finish = finish(reason)?.or(self.finish.take());
        }
        deltas.extend(usage::of_completion(event).map(Delta::Usage));
        if event.get("stop") == Some(&Value::Bool(true)) {
            deltas.push(Delta::Usage(usage::of_llama_cpp(event)));
            let is_cut = text(event, "stop_type") == Some("limit")
                || event.get("stopped_limit") == Some(&Value::Bool(true));
            self.finish = Some(if is_cut {
                FinishReason::Length
            } else {
                FinishReason::Stop
            });
        }
        Ok(())
    }

    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        self.event(answer, deltas)?;
        self.end(deltas);
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        deltas.extend(self.finish.take().map(Delta::Finish));
    }
}
