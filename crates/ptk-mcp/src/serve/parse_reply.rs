//! The tool `parse`: the calls in a model's reply.

use ptk_protocol::dialects::Registry;
use ptk_protocol::schema::suggest;
use ptk_protocol::{Grammar, Reply, ToolSpec, Toolset, parse};
use ptk_tools::{CallContext, Effects, Plan, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Parses a model's reply, as `ptk parse` does.
#[derive(Debug, Clone, Default)]
pub struct ParseReply {
    dialects: Registry,
}

impl ParseReply {
    /// Parses replies in any of these dialects.
    #[must_use]
    pub fn new(dialects: Registry) -> Self {
        Self { dialects }
    }
}

/// Arguments of [`ParseReply`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ParseReplyArgs {
    /// The reply, exactly as the model wrote it
    text: String,
    /// The tools that the model was given. Calls of other tools are then marked as unknown
    #[serde(default)]
    tools: Option<Vec<GivenTool>>,
    /// The dialect of the calls, for example "hermes". Default: "auto", which detects it
    #[serde(default = "auto")]
    dialect: String,
    /// Whether the prompt ended inside the model's reasoning. Default: false
    #[serde(default)]
    starts_in_reasoning: bool,
}

/// A tool that the model was given.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct GivenTool {
    /// Its name
    name: String,
    /// What it does
    #[serde(default)]
    description: String,
    /// The JSON Schema of its arguments
    #[serde(default, alias = "inputSchema", alias = "input_schema")]
    parameters: Option<Map<String, Value>>,
}

fn auto() -> String {
    "auto".to_owned()
}

impl TypedTool for ParseReply {
    type Args = ParseReplyArgs;
    type Output = Reply;

    const NAME: &'static str = "parse";
    const DESCRIPTION: &'static str = "Parse a language model's reply: its text, its reasoning, and \
        the tool calls in it, whatever dialect they are written in. Broken calls are repaired, and \
        every repair is reported. Nothing is run.";
    const EFFECTS: Effects = Effects::NONE;
    const MAIN_PARAMETERS: Option<usize> = Some(2);

    fn plan(&self, _context: &CallContext, _args: &ParseReplyArgs) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, context: &CallContext, args: ParseReplyArgs) -> Result<Reply, ToolError> {
        let dialects = self.dialects.clone();
        context
            .blocking(move || Ok(parse(&args.text, &grammar(&args, dialects)?)))
            .await
    }
}

/// The grammar to parse a reply with.
fn grammar(args: &ParseReplyArgs, dialects: Registry) -> Result<Grammar, ToolError> {
    let name = args.dialect.as_str();
    if name != "auto" && dialects.get(name).is_err() {
        let known = dialects.all().iter().map(|dialect| dialect.name());
        let near = suggest::nearest(name, known);
        let near = near.map_or_else(
            || "Leave it out to detect the dialect.".to_owned(),
            |near| format!("Did you mean \"{near}\"?"),
        );
        let error = ToolError::validation(format!("There is no dialect \"{name}\""));
        return Err(error.suggest(near));
    }
    let mut builder = Grammar::builder().registry(dialects).dialect(name);
    if let Some(tools) = &args.tools {
        let tools = tools.iter().map(|tool| {
            let parameters = tool.parameters.clone().map_or_else(
                || json!({"type": "object", "properties": {}}),
                Value::Object,
            );
            ToolSpec::new(&tool.name, &tool.description, parameters)
        });
        let tools = Toolset::new(tools.collect::<Vec<_>>());
        let tools = tools.map_err(|error| ToolError::validation(format!("`tools`: {error}")))?;
        builder = builder.tools(tools);
    }
    if args.starts_in_reasoning {
        builder = builder.starts_in_reasoning();
    }
    let grammar = builder.build();
    grammar.map_err(|error| ToolError::validation(error.to_string()))
}

/// The fields of a result. A long result is cut, which puts a note at the end of
/// a list, so the schema does not say what is in a list.
pub(super) fn output_schema() -> Value {
    json!({"properties": {
        "text": {"type": "string", "description": "All the prose, and no markup"},
        "reasoning": {"type": "string", "description": "The model's reasoning"},
        "calls": {
            "type": "array",
            "description": "Every call: name, args, status (complete, repaired or truncated), problems, span, dialect"
        },
        "problems": {
            "type": "array",
            "description": "Problems that belong to no call: code, message, raw, span"
        },
        "spans": {
            "type": "array",
            "description": "What each byte of the reply belongs to: kind, start, end"
        }
    }})
}
