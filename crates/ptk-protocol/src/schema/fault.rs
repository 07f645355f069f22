//! Describes the faults of a call: one finding, two phrasings, and what to do
//! about it.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::{Schema, example, suggest};
use crate::{Problem, ProblemCode, Span, ToolSpec, Toolset};

/// The most faults reported for one call; more would only bury the first.
pub(crate) const MAX_FAULTS: usize = 32;
/// The most values or names listed in one message.
const MAX_LISTED: usize = 30;
/// The most characters of a value quoted in a message.
const MAX_QUOTED: usize = 60;

/// A fault that keeps a call from running.
///
/// The same finding has two phrasings: [`message`](Self::message) is
/// what a tool's validator says, [`phrase`](Self::phrase) what the protocol
/// says to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub code: ProblemCode,
    /// The parameter concerned.
    pub parameter: Option<String>,
    /// The validator's message, such as
    /// `Missing required parameter 'path' for read_file`.
    pub message: String,
    /// The protocol's phrase, such as `Missing required parameter: path`.
    pub phrase: String,
    /// A hint at what was probably meant.
    pub hint: Option<String>,
    /// A correct call: `Example: read_file(path="src/main.rs")`.
    pub example: Option<String>,
}

impl Fault {
    pub(crate) fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            parameter: None,
            phrase: message.clone(),
            message,
            hint: None,
            example: None,
        }
    }

    /// A suggestion what to do next: what was probably meant, and an example.
    #[must_use]
    pub fn suggestion(&self) -> Option<String> {
        let parts: Vec<&str> = [&self.hint, &self.example]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    /// The fault as a problem of a reply. It has no example: the formatter adds
    /// one in the dialect that the model was taught.
    #[must_use]
    pub fn problem(&self, span: Span) -> Problem {
        let message = match &self.hint {
            Some(hint) => format!("{}. {hint}", self.phrase),
            None => self.phrase.clone(),
        };
        Problem::new(self.code, message, span)
    }

    /// The fault of a call of a tool that does not exist.
    pub(crate) fn unknown_tool(name: &str, tools: &Toolset) -> Self {
        let mut fault = Self::new(
            ProblemCode::UnknownTool,
            format!("Unknown tool: {}", excerpt(name)),
        );
        let mut hint = if tools.is_empty() {
            "No tools are available.".to_owned()
        } else {
            format!(
                "Available tools: {}.",
                listed(tools.names().map(str::to_owned))
            )
        };
        let meant = suggest::nearest(name, tools.names());
        if let Some(meant) = meant {
            hint = format!("{hint} Did you mean `{meant}`?");
        }
        fault.hint = Some(hint);
        fault.example = meant.and_then(|name| tools.get(name)).map(example_of);
        fault
    }

    fn missing(spec: &ToolSpec, name: &str, args: &Value) -> Self {
        let declared = |given: &str| spec.schema().property(given).is_some();
        let strangers = args.as_object().into_iter().flat_map(serde_json::Map::keys);
        let strangers = strangers
            .map(String::as_str)
            .filter(|given| !declared(given));
        Self {
            code: ProblemCode::MissingParameter,
            parameter: Some(name.to_owned()),
            message: format!("Missing required parameter '{name}' for {}", spec.name),
            phrase: format!("Missing required parameter: {name}"),
            hint: suggest::nearest(name, strangers)
                .map(|given| format!("You wrote '{}'; the name is '{name}'.", excerpt(given))),
            example: Some(example_of(spec)),
        }
    }

    fn unknown_parameter(spec: &ToolSpec, name: &str) -> Self {
        let known: Vec<&str> = spec
            .properties()
            .into_iter()
            .flat_map(serde_json::Map::keys)
            .map(String::as_str)
            .collect();
        let hint = match suggest::nearest(name, known.iter().copied()) {
            Some(meant) => format!("Did you mean '{meant}'?"),
            None if known.is_empty() => format!("{} takes no parameters.", spec.name),
            None => format!(
                "Parameters of {}: {}.",
                spec.name,
                listed(known.iter().map(|name| (*name).to_owned()))
            ),
        };
        let name = excerpt(name);
        Self {
            code: ProblemCode::UnknownParameter,
            message: format!("Unknown parameter '{name}' for {}", spec.name),
            phrase: format!("Unknown parameter: {name}"),
            parameter: Some(name),
            hint: Some(hint),
            example: Some(example_of(spec)),
        }
    }
}

/// The required parameters that are missing, for a tool whose schema cannot be
/// compiled.
pub(crate) fn missing_parameters(spec: &ToolSpec, args: &Value) -> Vec<Fault> {
    spec.required()
        .filter(|name| args.get(*name).is_none())
        .take(MAX_FAULTS)
        .map(|name| Fault::missing(spec, name, args))
        .collect()
}

/// Describes what the validator found.
pub(crate) fn describe<'a>(
    spec: &ToolSpec,
    args: &Value,
    errors: impl Iterator<Item = ValidationError<'a>>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for error in errors {
        describe_error(spec, args, &error, &mut faults);
        if faults.len() >= MAX_FAULTS {
            faults.truncate(MAX_FAULTS);
            break;
        }
    }
    faults
}

fn describe_error(
    spec: &ToolSpec,
    args: &Value,
    error: &ValidationError<'_>,
    out: &mut Vec<Fault>,
) {
    let path: Vec<LocationSegment<'_>> = error.instance_path().segments().collect();
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
        error.kind()
        && describe_alternatives(spec, args, error, context, out)
    {
        return;
    }
    let Some((LocationSegment::Property(parameter), inner)) = path.split_first() else {
        return describe_call(spec, args, error, out);
    };
    let (code, detail) = detail(error);
    let what = if code == ProblemCode::InvalidType {
        "type"
    } else {
        "value"
    };
    let place: String = inner
        .iter()
        .map(|segment| match segment {
            LocationSegment::Index(index) => format!("Array item {index}: "),
            LocationSegment::Property(name) => format!("Property '{}': ", excerpt(name)),
        })
        .collect();
    let parameter = excerpt(parameter);
    let message = format!(
        "Invalid {what} for parameter '{parameter}' in {}: {place}{detail}",
        spec.name
    );
    let mut fault = Fault::new(code, message);
    fault.hint = nearest_allowed(error);
    fault.example = Some(example_of(spec));
    fault.parameter = Some(parameter);
    out.push(fault);
}

/// Describes a fault of the arguments as a whole.
fn describe_call(spec: &ToolSpec, args: &Value, error: &ValidationError<'_>, out: &mut Vec<Fault>) {
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            out.push(Fault::missing(spec, name, args));
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            out.extend(
                unexpected
                    .iter()
                    .map(|name| Fault::unknown_parameter(spec, name)),
            );
        }
        _ => {
            let (code, detail) = detail(error);
            let message = format!("Invalid arguments for {}: {detail}", spec.name);
            let mut fault = Fault::new(code, message);
            fault.example = Some(example_of(spec));
            out.push(fault);
        }
    }
}

/// Describes the alternative that the value was most likely meant for. `false`
/// if none stands out.
fn describe_alternatives(
    spec: &ToolSpec,
    args: &Value,
    error: &ValidationError<'_>,
    alternatives: &[Vec<ValidationError<'static>>],
    out: &mut Vec<Fault>,
) -> bool {
    let place = error.instance_path();
    let is_of_other_type = |errors: &&Vec<ValidationError<'static>>| {
        errors.iter().any(|inner| {
            matches!(inner.kind(), ValidationErrorKind::Type { .. })
                && inner.instance_path() == place
        })
    };
    let nearest = alternatives
        .iter()
        .filter(|errors| !errors.is_empty() && !is_of_other_type(errors))
        .min_by_key(|errors| errors.len());
    let Some(nearest) = nearest else {
        return false;
    };
    for inner in nearest {
        describe_error(spec, args, inner, out);
    }
    true
}

/// Describes what is wrong with a value, without saying where it stands.
fn detail(error: &ValidationError<'_>) -> (ProblemCode, String) {
    let got = || type_name(error.instance());
    match error.kind() {
        ValidationErrorKind::Type { kind } => (
            ProblemCode::InvalidType,
            format!("Expected {}, got {}", expected(kind).join(" or "), got()),
        ),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let mut names: Vec<String> = Vec::new();
            for inner in context.iter().flatten() {
                if let ValidationErrorKind::Type { kind } = inner.kind() {
                    for name in expected(kind) {
                        if !names.contains(&name) {
                            names.push(name);
                        }
                    }
                }
            }
            (
                ProblemCode::InvalidType,
                format!("Expected {}, got {}", names.join(" or "), got()),
            )
        }
        ValidationErrorKind::Required { property } => (
            ProblemCode::MissingParameter,
            format!(
                "Missing required property '{}'",
                property.as_str().unwrap_or_default()
            ),
        ),
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => (
            ProblemCode::UnknownParameter,
            format!(
                "Unknown property {}",
                listed(unexpected.iter().map(|name| format!("'{}'", excerpt(name))))
            ),
        ),
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let allowed = listed(options.iter().map(|value| excerpt(&value.to_string())));
            let got = excerpt(&error.instance().to_string());
            (
                ProblemCode::InvalidValue,
                format!("Expected one of {allowed}; got {got}"),
            )
        }
        ValidationErrorKind::Constant { expected_value } => (
            ProblemCode::InvalidValue,
            format!(
                "Expected {}; got {}",
                excerpt(&expected_value.to_string()),
                excerpt(&error.instance().to_string())
            ),
        ),
        _ => (
            ProblemCode::InvalidValue,
            error.masked_with("the value").to_string(),
        ),
    }
}

/// The allowed value that a wrong one was probably meant to be.
fn nearest_allowed(error: &ValidationError<'_>) -> Option<String> {
    let ValidationErrorKind::Enum { options } = error.kind() else {
        return None;
    };
    let options = options.as_array()?.iter().filter_map(Value::as_str);
    suggest::nearest(error.instance().as_str()?, options)
        .map(|near| format!("Did you mean {near:?}?"))
}

fn expected(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(kind) => vec![kind.to_string()],
        TypeKind::Multiple(kinds) => kinds
            .iter()
            .map(|kind: JsonType| kind.to_string())
            .collect(),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn example_of(spec: &ToolSpec) -> String {
    format!("Example: {}", example::call_text(spec))
}

/// A list for a message, cut where it would get long.
fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let mut shown: Vec<String> = names.take(MAX_LISTED).collect();
    if count > MAX_LISTED {
        shown.push(format!("… ({count} in all)"));
    }
    shown.join(", ")
}

/// The beginning of a text, for a message.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl ToolSpec {
    /// The schema of the arguments.
    #[must_use]
    pub const fn schema(&self) -> Schema<'_> {
        Schema::new(&self.parameters)
    }
}
