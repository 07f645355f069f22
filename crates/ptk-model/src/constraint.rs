//! Constrained replies, in which no call can be malformed: by a grammar of the
//! dialect that the model was taught, as GBNF or as a structural tag, or by a JSON
//! schema, whose JSON is rewritten in that dialect before it is parsed.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use ptk_llm::{Constraint, Delta, Deltas, LlmError, MAX_REPLY, ResponseFormat};
use ptk_protocol::dialects::Registry;
use ptk_protocol::gbnf::{Gbnf, call_schema};
use ptk_protocol::{Arguments, Formatter, Grammar, ToolCall, Toolset};
use serde_json::value::RawValue;

/// The constraint of replies, and the grammar that parses them.
#[derive(Debug, Clone)]
pub struct ReplyConstraint {
    format: ResponseFormat,
    /// The grammar, where not everything that is usually read can stand in
    /// them.
    grammar: Option<Grammar>,
}

impl ReplyConstraint {
    /// The constraint for a model that is taught these tools.
    pub fn new(
        constraint: Constraint,
        formatter: &dyn Formatter,
        tools: &Toolset,
        dialects: &Registry,
    ) -> Option<Self> {
        if constraint == Constraint::None {
            return None;
        }
        let has_grammar = matches!(constraint, Constraint::Grammar | Constraint::StructuralTag);
        let gbnf = formatter.taught().filter(|_| has_grammar);
        let gbnf = gbnf.and_then(|dialect| Some((dialect, Gbnf::of_reply(tools, dialect)?)));
        let Some((dialect, gbnf)) = gbnf else {
            return Some(Self {
                format: ResponseFormat::Schema(call_schema(tools)),
                grammar: None,
            });
        };
        for outside in gbnf.outside() {
            tracing::debug!(%outside, "the grammar does not keep all of a schema");
        }
        let grammar = Grammar::builder()
            .registry(dialects.clone().register(Arc::clone(dialect)))
            .tools(tools.clone())
            .dialect(dialect.name())
            .alone();
        let tag = (constraint == Constraint::StructuralTag).then(|| gbnf.structural_tag());
        let format = match tag.flatten() {
            Some(tag) => ResponseFormat::StructuralTag(tag),
            None => ResponseFormat::Grammar(gbnf.to_string()),
        };
        Some(Self {
            format,
            grammar: Some(grammar.build().ok()?),
        })
    }

    /// The format to ask for in a request.
    #[must_use]
    pub fn format(&self) -> &ResponseFormat {
        &self.format
    }

    /// The grammar that parses such replies, where it is not the usual one.
    #[must_use]
    pub fn grammar(&self) -> Option<&Grammar> {
        self.grammar.as_ref()
    }

    /// Rewrites the reply in the dialect that the model was taught.
    pub fn worded<'a>(&self, deltas: Deltas<'a>, formatter: &'a dyn Formatter) -> Deltas<'a> {
        if !matches!(self.format, ResponseFormat::Schema(_)) {
            return deltas;
        }
        let ends = deltas.map(Some).chain(stream::iter([None]));
        let worded = ends.scan(String::new(), |json, delta| {
            std::future::ready(Some(stream::iter(passed(json, delta, formatter))))
        });
        worded.flatten().boxed()
    }
}

/// Holds text back until all of it has arrived; everything else is passed on.
/// `None` is the end.
fn passed(
    json: &mut String,
    delta: Option<Result<Delta, LlmError>>,
    formatter: &dyn Formatter,
) -> Vec<Result<Delta, LlmError>> {
    let is_last = matches!(delta, None | Some(Err(_) | Ok(Delta::Finish(_))));
    let mut passed = Vec::new();
    match delta {
        Some(Ok(Delta::Text(text))) => json.push_str(&text),
        other => passed.extend(other),
    }
    // A text that is too long is rejected by the receiver of the stream.
    if (is_last || json.len() > MAX_REPLY) && !json.is_empty() {
        let text = words(&std::mem::take(json), formatter);
        passed.insert(0, Ok(Delta::Text(text)));
    }
    passed
}

/// Rewrites a reply that follows the schema in a dialect. One that does not
/// follow it stays as it is.
fn words(json: &str, formatter: &dyn Formatter) -> String {
    let said: HashMap<String, Box<RawValue>> = serde_json::from_str(json).unwrap_or_default();
    let text = |name: &str| -> Option<String> { serde_json::from_str(said.get(name)?.get()).ok() };
    let args = said.get("args");
    let args = args.and_then(|args| Arguments::from_json(args.get()).ok());
    match (text("answer"), text("tool"), args) {
        (Some(answer), None, None) => answer,
        (None, Some(tool), Some(args)) => formatter.tool_calls(&[ToolCall::new(tool, args)]),
        _ => json.to_owned(),
    }
}
