//! Tools that are functions, by `#[ptk::tool]`.

use ptk::Ptk;
use ptk::llm::Script;
use ptk::protocol::{ErrorType, ToolCall};
use ptk::tools::{CallContext, Effect, Tool as _, ToolError};
use serde_json::{Value, json};

use crate::scene::arguments;

/// Tell the weather in a city.
///
/// Only for today.
#[ptk::tool(effects = "network", name = "weather_today")]
async fn weather(
    context: CallContext,
    /// The city, for example "Berlin"
    city: String,
    /// Whether to tell the wind, too
    #[serde(default)]
    wind: bool,
    unit: Option<String>,
) -> Result<Value, ToolError> {
    if city.is_empty() {
        return Err(ToolError::validation("city is empty").suggest("Name a city."));
    }
    let has_folder = context.workspace().root().is_dir();
    Ok(json!({"city": city, "wind": wind, "unit": unit, "folder": has_folder}))
}

/// Delete everything.
#[ptk::tool]
async fn delete() -> &'static str {
    "deleted"
}

/// Read a file that is not there.
#[ptk::tool(effects = "read")]
async fn missing(mut name: String) -> Result<String, std::io::Error> {
    name.push_str(".missing");
    std::fs::read_to_string(name)
}

/// Fail.
#[ptk::tool(effects = "none")]
async fn fail() -> Result<(), String> {
    Err("it does not work".to_owned())
}

fn ptk() -> Ptk {
    Ptk::builder()
        .provider(Script::new([""; 0]))
        .tool(weather())
        .tool(delete())
        .tool(missing())
        .tool(fail())
        .workspace(std::env::temp_dir())
        .build()
        .unwrap()
}

#[test]
fn the_model_reads_what_the_comments_say() {
    let tool = weather();
    let spec = tool.spec();
    assert_eq!(spec.name, "weather_today");
    assert_eq!(
        spec.description,
        "Tell the weather in a city.\n\nOnly for today."
    );
    let properties = spec.properties().unwrap();
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(
        properties["city"]["description"],
        "The city, for example \"Berlin\""
    );
    assert_eq!(spec.required().collect::<Vec<_>>(), ["city"]);
}

#[tokio::test]
async fn arguments_come_by_name_and_some_may_be_left_out() {
    let ptk = Ptk::builder()
        .provider(Script::new([""; 0]))
        .tool(weather())
        .approver(ptk::tools::AllowAll)
        .workspace(std::env::temp_dir())
        .build()
        .unwrap();
    let call = |args: Value| ToolCall::new("weather_today", arguments(&args));
    let outcome = ptk.call(call(json!({"city": "Berlin"}))).await;
    let fields = Value::Object(outcome.result.fields);
    assert_eq!(
        fields,
        json!({"city": "Berlin", "wind": false, "unit": null, "folder": true})
    );
    let outcome = ptk.call(call(json!({"city": ""}))).await;
    assert!(outcome.result.error.ends_with("city is empty"));
    assert_eq!(outcome.result.suggestion.as_deref(), Some("Name a city."));
    let outcome = ptk.call(call(json!({}))).await;
    let kind = outcome.result.error_type;
    assert_eq!(kind, Some(ErrorType::ValidationError));
}

/// A tool that does not say what it does may do anything.
#[tokio::test]
async fn without_effects_a_call_needs_approval() {
    let effects = delete().effects();
    for effect in [
        Effect::Read,
        Effect::Write,
        Effect::Execute,
        Effect::Network,
    ] {
        assert!(effects.has(effect));
    }
    let outcome = ptk()
        .call(ToolCall::new("delete", arguments(&json!({}))))
        .await;
    let kind = outcome.result.error_type;
    assert_eq!(kind, Some(ErrorType::PermissionError));
}

#[tokio::test]
async fn errors_of_other_kinds_are_told() {
    let ptk = ptk();
    let call = |tool: &str, args: Value| ToolCall::new(tool, arguments(&args));
    let outcome = ptk
        .call(call("missing", json!({"name": "no/such/file"})))
        .await;
    assert!(outcome.result.error.contains("No such file"));
    let outcome = ptk.call(call("fail", json!({}))).await;
    assert!(outcome.result.error.ends_with("it does not work"));
}

#[test]
fn a_model_by_name_says_what_is_wrong() {
    for (name, message) in [
        ("nonsense/x", "Provider \"nonsense\" not found."),
        ("script:/no/such/file.json", "/no/such/file.json: "),
        ("cmd:", "the command is empty"),
        ("cmd:sh 'a", "a quote is not closed"),
        ("ftp://example.org", "ftp://example.org"),
    ] {
        let error = Ptk::model(name).unwrap_err().to_string();
        assert!(error.contains(message), "{name}: {error}");
    }
}
