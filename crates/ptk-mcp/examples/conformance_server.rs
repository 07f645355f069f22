//! The server with the tools and resources that the conformance suite of the
//! Model Context Protocol asks for, as far as PTK's tools can do such things:
//! `scripts/test conformance` runs the suite against it.

#![allow(clippy::print_stderr, reason = "the script reads the address there")]

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptk_mcp::serve::{
    ClientApprover, HttpOptions, McpServer, ResourceError, ResourceItem, ResourcePage,
    ResourceSource, ResourceText,
};
use ptk_protocol::{Arguments, ToolSpec};
use ptk_sandbox::Workspace;
use ptk_tools::{CallContext, Effects, Fields, Registry, Tool, ToolError, ToolManager, tool_fn};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A tool whose parameters use more of JSON Schema than types can say.
struct Schema {
    spec: ToolSpec,
}

impl Schema {
    /// A tool with an argument that is also sent in a header.
    fn with_header() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        });
        let about = "Has an argument in a header";
        Self {
            spec: ToolSpec::new("test_custom_header", about, parameters),
        }
    }

    fn new() -> Self {
        let parameters = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                },
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {
                "properties": {"contactMethod": {"const": "phone"}},
                "required": ["contactMethod"],
            },
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        });
        let about = "Tool with JSON Schema 2020-12 features";
        Self {
            spec: ToolSpec::new("json_schema_2020_12_tool", about, parameters),
        }
    }
}

impl Tool for Schema {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effects(&self) -> Effects {
        Effects::NONE
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        _args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        std::future::ready(Ok(Fields::new())).boxed()
    }
}

struct Fixtures;

const TEXT: &str = "test://static-text";

impl ResourceSource for Fixtures {
    fn templates(&self) -> Vec<ResourceItem> {
        vec![item("test://template/{id}/data", "template")]
    }

    fn list<'a>(
        &'a self,
        _cursor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ResourcePage, ResourceError>> {
        let page = ResourcePage {
            items: vec![item(TEXT, "static-text")],
            next: None,
        };
        std::future::ready(Ok(page)).boxed()
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<ResourceText, ResourceError>> {
        let id = uri.strip_prefix("test://template/");
        let id = id.and_then(|rest| rest.strip_suffix("/data"));
        let text = match (uri, id) {
            (TEXT, _) => Ok("This is the content of the static text resource.".to_owned()),
            (_, Some(id)) => {
                Ok(json!({"id": id, "data": format!("Data for ID: {id}")}).to_string())
            }
            _ => Err(ResourceError::Unknown(uri.to_owned())),
        };
        let text = text.map(|text| ResourceText {
            text,
            mime_type: "text/plain".to_owned(),
        });
        std::future::ready(text).boxed()
    }
}

fn item(uri: &str, name: &str) -> ResourceItem {
    ResourceItem {
        uri: uri.to_owned(),
        name: name.to_owned(),
        title: None,
        description: Some("A fixture".to_owned()),
        mime_type: Some("text/plain".to_owned()),
    }
}

fn tools() -> Result<Registry, ptk_tools::RegistryError> {
    let mut registry = Registry::new();
    registry.register(tool_fn(
        "test_simple_text",
        "Gives a text",
        Effects::NONE,
        |_: CallContext, _: Nothing| async {
            Ok::<_, ToolError>("This is a simple text response for testing.")
        },
    ))?;
    registry.register(tool_fn(
        "test_error_handling",
        "Fails",
        Effects::NONE,
        |_: CallContext, _: Nothing| async {
            Err::<(), _>(ToolError::user(
                "This tool intentionally returns an error for testing",
            ))
        },
    ))?;
    registry.register(tool_fn(
        "test_tool_with_progress",
        "Reports progress",
        Effects::NONE,
        |context: CallContext, _: Nothing| async move {
            for step in ["0 of 100", "50 of 100", "100 of 100"] {
                context.progress(step);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok::<_, ToolError>("Done.")
        },
    ))?;
    // What PTK asks clients: whether a call may run.
    for name in [
        "test_elicitation",
        "test_streaming_elicitation",
        "test_input_required_result_elicitation",
        "test_input_required_result_request_state",
        "test_input_required_result_tampered_state",
    ] {
        registry.register(tool_fn(
            name,
            "Changes something, which needs consent",
            Effects::WRITE,
            |_: CallContext, _: Nothing| async { Ok::<_, ToolError>("It was allowed.") },
        ))?;
    }
    registry.register(Schema::new())?;
    registry.register(Schema::with_header())?;
    registry.register(tool_fn(
        "test_logging_tool",
        "Logs nothing, as no tool does",
        Effects::NONE,
        |_: CallContext, _: Nothing| async { Ok::<_, ToolError>("Done.") },
    ))?;
    Ok(registry)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let manager = ToolManager::builder(Workspace::open(folder.path())?)
        .tools(tools()?)
        .approver(ClientApprover)
        .build();
    let server = McpServer::builder(manager).resources(Fixtures).build()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let end = CancellationToken::new();
    server
        .serve_http(listener, HttpOptions::default(), &end)
        .await?;
    Ok(())
}
