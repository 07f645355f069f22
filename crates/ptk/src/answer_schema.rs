//! Answers that are JSON of a schema.

use std::sync::Arc;

use ptk_events::EventKind;
use ptk_protocol::json::{End, repair};
use ptk_protocol::{Arguments, ErrorCode, Message, ToolSpec, Toolset, schema};
use ptk_store::Note;
use serde_json::{Value, json};

use crate::engine::TurnConfig;
use crate::turn::{ANSWER_AGAIN, UNFIT};
use crate::{RunError, Session, Step};

/// What messages call the answer.
const NAME: &str = "the answer";

/// The JSON Schema of the answer of a run.
///
/// The model is told the schema, and an answer that does not fit is sent back
/// with what is wrong with it. What is nearly JSON is repaired, and values are
/// coerced, as those of calls are.
///
/// ```
/// use ptk::AnswerSchema;
/// use serde_json::json;
///
/// let schema = AnswerSchema::new(json!({
///     "type": "object",
///     "properties": {"version": {"type": "string"}, "major": {"type": "integer"}},
///     "required": ["version"],
/// }))?;
/// let answer = schema.read("```json\n{version: '2.1', major: \"2\"}\n```");
/// assert_eq!(answer.as_deref(), Ok(r#"{"version":"2.1","major":2}"#));
/// assert!(schema.read("It is 2.1.").is_err());
/// # Ok::<(), ptk::AnswerSchemaError>(())
/// ```
#[derive(Debug, Clone)]
pub struct AnswerSchema {
    /// The answer as the call of a tool.
    tools: Toolset,
    /// What the model is told.
    instructions: Arc<str>,
}

/// Why an answer cannot be read by a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not the JSON Schema of an object: {0}")]
pub struct AnswerSchemaError(String);

impl AnswerSchema {
    /// Creates it from the JSON Schema of an object.
    ///
    /// # Errors
    ///
    /// If the schema is not one, or not of an object.
    pub fn new(schema: Value) -> Result<Self, AnswerSchemaError> {
        if schema.get("type") != Some(&json!("object")) {
            let reason = "its `type` has to be \"object\"".to_owned();
            return Err(AnswerSchemaError(reason));
        }
        let instructions = format!(
            "Your answer has to be one JSON object, and nothing beside it: no words and no code block. It has to fit this JSON Schema:\n{schema}"
        );
        let spec = ToolSpec::new(NAME, "", schema);
        let tools = Toolset::new([spec]).map_err(|error| AnswerSchemaError(error.to_string()))?;
        if let Some(reason) = tools.schema_error(NAME) {
            return Err(AnswerSchemaError(reason.to_owned()));
        }
        Ok(Self {
            tools,
            instructions: instructions.into(),
        })
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> Option<&Value> {
        self.tools.get(NAME).map(|spec| &spec.parameters)
    }

    pub(crate) fn instructions(&self) -> &str {
        &self.instructions
    }

    /// The JSON of an answer, on one line.
    ///
    /// # Errors
    ///
    /// If it does not fit: what is wrong with it.
    pub fn read(&self, answer: &str) -> Result<String, String> {
        let not_json = |why: String| format!("The answer is not a JSON object: {why}.");
        let repaired = repair(answer).map_err(|error| not_json(error.to_string()))?;
        if repaired.end != End::Closed {
            return Err(not_json("its end is missing".to_owned()));
        }
        let args = Arguments::from_json(&repaired.json);
        let args = args.map_err(|error| not_json(error.to_string()))?;
        let checked = schema::check(&self.tools, NAME, args);
        if checked.is_valid() {
            return Ok(checked.args.to_json());
        }
        let faults: Vec<String> = checked.faults.into_iter().map(|it| it.message).collect();
        Err(format!("{}.", faults.join(". ")))
    }
}

impl Session {
    /// Sends an answer back that does not fit its schema, unless there were too
    /// many.
    pub(crate) async fn send_back_unfit(
        &mut self,
        config: &TurnConfig,
        reply: u64,
        reason: String,
    ) -> Result<Step, RunError> {
        let turn = &self.log.turn;
        let options = &config.options;
        if turn.unfit >= options.protocol_retries || turn.iterations >= options.max_iterations {
            let message = format!(
                "{reason} {} answers did not fit the schema; try another model or a simpler schema",
                turn.unfit + 1
            );
            return Err(RunError::failed(ErrorCode::InvalidAnswer, message));
        }
        let message = "The answer does not fit the schema, so the model is asked again.".to_owned();
        let note = Note {
            data: Some(json!({ ANSWER_AGAIN: reply, UNFIT: true })),
            ..Note::new(message.clone())
        };
        let advice = format!("{reason} Answer again, with JSON that fits the schema.");
        let entries = vec![
            self.log.entry(note),
            self.log.entry(Message::system(advice)),
        ];
        self.log.append(entries).await?;
        self.publish(EventKind::Note { message });
        Ok(Step::Continued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> AnswerSchema {
        AnswerSchema::new(json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "list": {"$ref": "#/$defs/list"}},
            "required": ["n"],
            "additionalProperties": false,
            "$defs": {"list": {"type": "array", "items": {"type": "string"}}},
        }))
        .unwrap()
    }

    #[test]
    fn what_fits_is_read() {
        for (answer, json) in [
            (r#"{"n": 1}"#, r#"{"n":1}"#),
            ("Here it is:\n```json\n{\"n\": 1,}\n```\n", r#"{"n":1}"#),
            (r#"{"n": "1", "list": ["ü"]}"#, r#"{"n":1,"list":["ü"]}"#),
        ] {
            assert_eq!(schema().read(answer).as_deref(), Ok(json), "{answer}");
        }
    }

    #[test]
    fn what_does_not_is_refused_with_the_reason() {
        for (answer, why) in [
            ("", "empty"),
            ("It is one.", "not a JSON object"),
            ("[1]", "not a JSON object"),
            (r#"{"n": 1, "list": ["a""#, "its end is missing"),
            (r#"{"n": "one"}"#, "Expected integer"),
            (r#"{"list": []}"#, "'n'"),
            (r#"{"n": 1, "m": 2}"#, "'m'"),
        ] {
            let refused = schema().read(answer).unwrap_err();
            assert!(refused.contains(why), "{answer}: {refused}");
        }
    }

    #[test]
    fn schemas_that_are_none_are_refused() {
        for schema in [
            json!({"type": "array"}),
            json!({}),
            json!([]),
            json!({"type": "object", "properties": {"a": {"type": "text"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a"}}}),
        ] {
            assert!(AnswerSchema::new(schema.clone()).is_err(), "{schema}");
        }
    }
}
