//! Parses the tool choice and the response format of OpenAI's APIs.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::chat_request::{Choice, Contract, Format};
use crate::failure::Failure;
use crate::offer::measure;

/// The field `tool_choice` of chat completions and responses.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum ToolChoice {
    Word(String),
    Tool(Named),
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    #[serde(rename = "type", default)]
    kind: String,
    name: Option<String>,
    function: Option<ToolName>,
    /// Chat completions nest them one level deeper.
    allowed_tools: Option<Allowed>,
    mode: Option<String>,
    tools: Option<Vec<Tool>>,
}

#[derive(Debug, Deserialize)]
struct Allowed {
    mode: Option<String>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: Option<String>,
    function: Option<ToolName>,
}

#[derive(Debug, Deserialize)]
struct ToolName {
    name: String,
}

impl Tool {
    fn name(self) -> Option<String> {
        self.name.or(self.function.map(|function| function.name))
    }
}

impl ToolChoice {
    /// Applies the choice to a contract. `called` gives the name under which the
    /// model calls a tool.
    pub(super) fn apply(
        self,
        contract: &mut Contract,
        called: impl Fn(String) -> String,
    ) -> Result<(), Failure> {
        const PARAM: &str = "tool_choice";
        match self {
            Self::Word(word) => contract.choice = mode(PARAM, &word)?,
            Self::Tool(chosen) if chosen.kind == "allowed_tools" => {
                let (word, tools) = match chosen.allowed_tools {
                    Some(allowed) => (allowed.mode, allowed.tools),
                    None => (chosen.mode, chosen.tools.unwrap_or_default()),
                };
                contract.choice = mode(PARAM, word.as_deref().unwrap_or("auto"))?;
                let names = tools.into_iter().filter_map(Tool::name);
                contract.allowed = Some(names.map(called).collect());
            }
            Self::Tool(chosen) => {
                let name = chosen
                    .name
                    .or(chosen.function.map(|function| function.name));
                let missing = || Failure::invalid(PARAM, "The tool to be called is not named");
                contract.choice = Choice::Tool(called(name.ok_or_else(missing)?));
            }
        }
        check(contract)
    }
}

/// Checks whether a contract can be fulfilled.
pub(super) fn check(contract: &Contract) -> Result<(), Failure> {
    let tools = &contract.offer.tools;
    let known = || tools.names().collect::<Vec<_>>().join(", ");
    let named = match &contract.choice {
        Choice::Tool(name) => Some(name),
        _ => None,
    };
    let allowed = contract.allowed.iter().flatten();
    if let Some(name) = named
        .into_iter()
        .chain(allowed)
        .find(|name| !tools.contains(name))
    {
        let message = format!(
            "`{name}` is to be called, and is not among the tools: {}",
            known()
        );
        return Err(Failure::invalid("tool_choice", message));
    }
    let is_empty = tools.is_empty() || contract.allowed.as_ref().is_some_and(Vec::is_empty);
    if contract.choice == Choice::Required && is_empty {
        return Err(Failure::invalid(
            "tool_choice",
            "A tool has to be called, and there is none",
        ));
    }
    Ok(())
}

fn mode(param: &str, word: &str) -> Result<Choice, Failure> {
    match word {
        "auto" => Ok(Choice::Auto),
        "none" => Ok(Choice::None),
        "required" | "any" => Ok(Choice::Required),
        other => Err(Failure::invalid(
            param,
            format!(
                "`{other}` is not a choice; expected one of: none, auto, required, and a tool by its name"
            ),
        )),
    }
}

/// The fields `response_format` of chat completions and `text.format` of
/// responses.
#[derive(Debug, Deserialize)]
pub(super) struct FormatField {
    #[serde(rename = "type")]
    kind: String,
    json_schema: Option<SchemaField>,
    schema: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct SchemaField {
    schema: Option<Value>,
}

impl FormatField {
    pub(super) fn format(self, param: &str) -> Result<Format, Failure> {
        match self.kind.as_str() {
            "text" => Ok(Format::Text),
            "json_object" => Ok(Format::Json),
            "json_schema" => {
                let schema = self.json_schema.and_then(|it| it.schema).or(self.schema);
                let schema = schema.filter(Value::is_object);
                let missing =
                    || Failure::invalid(param, "The format lacks its schema, a JSON object");
                format_schema(param, schema.ok_or_else(missing)?)
            }
            other => Err(Failure::invalid(
                param,
                format!(
                    "`{other}` is not a format; expected one of: text, json_object, json_schema"
                ),
            )),
        }
    }
}

/// The format of an answer by this schema.
pub(super) fn format_schema(param: &str, schema: Value) -> Result<Format, Failure> {
    measure(param, "The schema of the answer", &schema)?;
    Ok(Format::Schema(Arc::new(schema)))
}

/// The most stop sequences of a request.
const MAX_STOPS: usize = 16;

/// A text, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Texts {
    /// The stop sequences, as many as are allowed.
    pub(super) fn stops(self, param: &str) -> Result<Vec<String>, Failure> {
        let stops = match self {
            Self::One(text) => vec![text],
            Self::Several(texts) => texts,
        };
        if stops.len() > MAX_STOPS {
            let message = format!(
                "There are {} texts to stop at; {MAX_STOPS} at most",
                stops.len()
            );
            return Err(Failure::invalid(param, message));
        }
        Ok(stops)
    }
}
