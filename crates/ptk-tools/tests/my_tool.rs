//! A tool of one's own, from its definition to its result.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use ptk_events::{Delivery, EventKind, Filter};
use ptk_protocol::{Arguments, ErrorType, ToolCall, ToolResult};
use ptk_sandbox::Workspace;
use ptk_tools::{
    CallContext, CallRequest, Effects, Registry, RegistryError, Tool, ToolError, ToolManager,
    Typed, TypedTool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

struct MyTool;

#[derive(Deserialize, JsonSchema)]
struct MyArgs {
    /// Description of param1, for example "value"
    param1: String,
    /// How often
    #[serde(default)]
    times: Option<u32>,
}

#[derive(Serialize)]
struct MyOutput {
    result: String,
}

impl TypedTool for MyTool {
    type Args = MyArgs;
    type Output = MyOutput;

    const NAME: &'static str = "my_tool";
    const DESCRIPTION: &'static str = "Repeat a text as often as wanted";
    const EFFECTS: Effects = Effects::NONE;

    async fn run(&self, _context: &CallContext, args: MyArgs) -> Result<MyOutput, ToolError> {
        if args.param1.is_empty() {
            return Err(ToolError::validation("param1 is required")
                .suggest("Example: my_tool(param1=\"value\")"));
        }
        let times = args.times.unwrap_or(1) as usize;
        Ok(MyOutput {
            result: args.param1.repeat(times),
        })
    }

    fn preview(&self, result: &ToolResult, _max_lines: usize) -> Vec<String> {
        vec![format!("my preview, success: {}", result.success)]
    }
}

fn manager() -> ToolManager {
    let mut registry = Registry::new();
    registry.register(Typed::new(MyTool)).unwrap();
    ToolManager::builder(Workspace::open(std::env::temp_dir()).unwrap())
        .tools(registry)
        .build()
}

fn request(args: &Value) -> CallRequest {
    let args = Arguments::from_json(&args.to_string()).unwrap();
    CallRequest::new(ToolCall::new("my_tool", args))
}

#[test]
fn its_definition_comes_from_its_type() {
    let tool = Typed::new(MyTool);
    assert_eq!(
        tool.spec().function_definition(),
        json!({
            "type": "function",
            "function": {
                "name": "my_tool",
                "description": "Repeat a text as often as wanted",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "param1": {
                            "type": "string",
                            "description": "Description of param1, for example \"value\"",
                        },
                        "times": {
                            "type": ["integer", "null"],
                            "description": "How often",
                            "format": "uint32",
                            "minimum": 0,
                            "default": null,
                        },
                    },
                    "required": ["param1"],
                },
            },
        })
    );
    assert!(!tool.effects().needs_approval());
}

#[tokio::test]
async fn it_runs_with_valid_arguments_and_its_fields_are_the_result() {
    let outcome = manager()
        .execute(request(&json!({"param1": "ab", "times": 2})))
        .await;
    assert_eq!(
        serde_json::to_value(&outcome.result).unwrap(),
        json!({"success": true, "error": "", "result": "abab"})
    );
    assert_eq!(outcome.preview, ["my preview, success: true"]);
}

#[tokio::test]
async fn it_requires_param1() {
    let outcome = manager().execute(request(&json!({}))).await;
    let result = outcome.result;
    assert_eq!(result.error_type, Some(ErrorType::ValidationError));
    assert_eq!(
        result.error,
        "Missing required parameter 'param1' for my_tool"
    );
    assert_eq!(
        result.suggestion.unwrap(),
        r#"Example: my_tool(param1="value")"#
    );

    let result = manager()
        .execute(request(&json!({"param1": ""})))
        .await
        .result;
    assert_eq!(result.error, r#"my_tool(param1=""): param1 is required"#);
}

#[tokio::test]
async fn its_call_is_told_from_start_to_end() {
    let tools = manager();
    let mut events = tools.bus().subscribe(Filter::all());
    tools.execute(request(&json!({"param1": "x"}))).await;
    let mut told = Vec::new();
    while let Ok(Delivery::Event(event)) = events.try_recv() {
        told.push(event);
    }
    let EventKind::ToolCallStart { tool, arguments } = &told[0].kind else {
        panic!("no start");
    };
    assert_eq!(
        (tool.as_str(), arguments),
        ("my_tool", &json!({"param1": "x"}))
    );
    let EventKind::ToolCallEnd {
        success, result, ..
    } = &told[told.len() - 1].kind
    else {
        panic!("no end");
    };
    assert!(*success);
    assert_eq!(result.fields["result"], "x");
}

#[test]
fn tools_can_be_added_and_taken_out_while_others_run() {
    let tools = manager();
    let error = tools.register(Typed::new(MyTool)).unwrap_err();
    assert!(matches!(error, RegistryError::Set(_)), "{error}");
    assert!(tools.unregister("my_tool").is_some());
    assert!(tools.toolset().is_empty());
    assert!(tools.unregister("my_tool").is_none());
    tools.register(Typed::new(MyTool)).unwrap();
    assert!(tools.toolset().contains("my_tool"));
}

#[test]
fn a_tool_that_no_model_could_use_is_refused() {
    let refused = |name: &str, description: &str| {
        let run = |_: CallContext, _: MyArgs| async { Ok::<_, ToolError>(()) };
        let tool = ptk_tools::tool_fn(name, description, Effects::NONE, run);
        let mut registry = Registry::new();
        registry.register(tool).map(|_| ()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        [refused("my tool", "Does something"), refused("", "Does something"), refused("mine", " ")].join("\n"),
        @r"
    `my tool` cannot be a tool's name; use up to 64 of the letters a to z, digits, `_` and `-`
    `` cannot be a tool's name; use up to 64 of the letters a to z, digits, `_` and `-`
    the tool `mine` has no description; say what it does and when to use it
    "
    );
}
