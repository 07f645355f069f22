//! Answers that must be JSON.

use ptk_protocol::json::{self, End};
use ptk_protocol::{Arguments, ToolSpec, Toolset, schema};

use crate::chat_request::Format;

/// The name of the answer in error messages.
const ANSWER: &str = "the answer";

/// The answer in this format, repaired where that is certain.
///
/// # Errors
///
/// What is wrong with it, as a message for the model.
pub(super) fn kept(text: &str, format: &Format) -> Result<String, String> {
    let mended = json::repair(text).map_err(|error| format!("The answer is no JSON: {error}."))?;
    if mended.end != End::Closed {
        return Err("The JSON of the answer is not closed.".to_owned());
    }
    let args = Arguments::from_json(&mended.json)
        .map_err(|_| "The answer is no JSON object.".to_owned())?;
    let Format::Schema(by) = format else {
        return Ok(args.to_json());
    };
    let answer = ToolSpec::new(ANSWER, "", (**by).clone());
    let answer = Toolset::new([answer]).unwrap_or_default();
    let check = schema::check(&answer, ANSWER, args);
    if check.is_valid() {
        return Ok(check.args.to_json());
    }
    let faults: Vec<&str> = check
        .faults
        .iter()
        .map(|fault| fault.message.as_str())
        .collect();
    Err(format!(
        "The answer does not fit its schema: {}.",
        faults.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_mended_and_checked() {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let schema = Format::Schema(Arc::new(schema));
        let fenced = "Here it is:\n```json\n{'n': 1,}\n```";
        assert_eq!(kept(fenced, &schema).unwrap(), r#"{"n":1}"#);
        assert!(kept(r#"{"m": 1}"#, &schema).unwrap_err().contains("'n'"));
        assert!(kept("I cannot.", &Format::Json).is_err());
        assert!(
            kept(r#"{"n": "#, &Format::Json)
                .unwrap_err()
                .contains("not closed")
        );
    }
}
