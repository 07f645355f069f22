//! With the client of the crate `rmcp`.

use std::process::Stdio;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorData, Implementation,
    ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, RoleClient, serve_client_with_lifecycle};
use serde_json::{Value, json};

use crate::http_client::Server;
use crate::space::Space;

/// A client whose user allows every call.
#[derive(Clone)]
struct Allowing;

impl ClientHandler for Allowing {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = ElicitResult::new(ElicitationAction::Accept);
        Ok(answer.with_content(json!({"decision": "allow once"})))
    }
}

fn params(tool: &'static str, args: Value) -> CallToolRequestParams {
    let args = args.as_object().cloned().unwrap();
    CallToolRequestParams::new(tool).with_arguments(args)
}

fn field<'r>(result: &'r CallToolResult, name: &str) -> &'r Value {
    &result.structured_content.as_ref().unwrap()[name]
}

/// What every client should be able to do.
async fn works(client: RunningService<RoleClient, Allowing>, space: &Space) {
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "bash"));
    let read = client.call_tool(params("read_file", json!({"path": "a.txt"})));
    let read = read.await.unwrap();
    assert_eq!(field(&read, "content"), "one\ntwo\nthree\n");
    let written = params("write_file", json!({"path": "new.txt", "content": "hi\n"}));
    let written = client.call_tool(written).await.unwrap();
    assert_eq!(field(&written, "success"), true, "{written:?}");
    assert_eq!(space.read("new.txt"), "hi\n");
    std::fs::remove_file(space.path("new.txt")).unwrap();
    let unknown = client.call_tool(params("sql", json!({}))).await;
    assert!(unknown.is_err());
    assert!(client.list_all_resources().await.unwrap().is_empty());
    let missing = ReadResourceRequestParams::new("ptk-session://nothing");
    assert!(client.read_resource(missing).await.is_err());
    client.cancel().await.unwrap();
}

/// Both ways in which a connection can begin.
fn lifecycles() -> [ClientLifecycleMode; 2] {
    [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    ]
}

#[tokio::test]
async fn the_client_of_rmcp_works_over_stdio() {
    for lifecycle in lifecycles() {
        let space = Space::new();
        let command = space.command(&["mcp", "serve"]);
        let mut child = tokio::process::Command::from(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let streams = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = serve_client_with_lifecycle(Allowing, streams, lifecycle).await;
        works(client.unwrap(), &space).await;
        assert!(child.wait().await.unwrap().success());
    }
}

#[tokio::test]
async fn the_client_of_rmcp_works_over_http() {
    for lifecycle in lifecycles() {
        let space = Space::new();
        let server = Server::start(&space, &[]);
        ptk_http::choose_cryptography();
        let transport = StreamableHttpClientTransport::from_uri(server.url());
        let client = serve_client_with_lifecycle(Allowing, transport, lifecycle).await;
        works(client.unwrap(), &space).await;
    }
}
