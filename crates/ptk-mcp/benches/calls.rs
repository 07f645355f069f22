//! What a call of a server's tool costs through PTK's pipeline, beside the bare
//! client of `rmcp`: the same server, on its standard streams, in turns in the
//! same run.
//!
//! ```sh
//! cargo bench -p ptk-mcp --bench calls
//! ```

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "it is a report"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptk_mcp::serve::{ClientApprover, McpServer};
use ptk_mcp::{McpServers, Options, ServerDeclaration, ServerSandbox};
use ptk_protocol::{Arguments, ToolCall};
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::{
    AllowAll, CallContext, CallRequest, Effects, Registry, Sandbox, Tool as _, ToolError,
    ToolManager, tool_fn,
};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::async_rw::AsyncRwTransport;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// How many calls are measured of each kind.
const CALLS: usize = 2_000;
/// How much longer a call may take through the pipeline.
const BAR: Duration = Duration::from_micros(200);

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

/// The server that both clients call.
async fn serve() -> Result<(), Box<dyn Error>> {
    let mut registry = Registry::new();
    registry.register(tool_fn(
        "echo",
        "Give a text back",
        Effects::NONE,
        |_: CallContext, args: Echo| async move { Ok::<_, ToolError>(args.text) },
    ))?;
    let manager = ToolManager::builder(Workspace::open(std::env::temp_dir())?)
        .tools(registry)
        .approver(ClientApprover)
        .build();
    let server = McpServer::builder(manager).build()?;
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    Ok(server
        .serve_streams(stdin, stdout, &CancellationToken::new())
        .await?)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

async fn compare() -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let mut child = tokio::process::Command::new(&program)
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let streams = child.stdout.take().zip(child.stdin.take());
    let (output, input) = streams.ok_or("no streams")?;
    let bare = ().serve(AsyncRwTransport::new_client(output, input)).await?;

    let declared = ServerDeclaration {
        command: vec![program.display().to_string(), "serve".to_owned()],
        ..ServerDeclaration::default()
    };
    let options = Options {
        sandbox: ServerSandbox {
            workspace: std::env::temp_dir(),
            homes: None,
            sandbox: Sandbox::default(),
            guarded: Vec::new(),
            helper: Helper::find(),
        },
        asker: None,
        tokens: None,
    };
    let declared = BTreeMap::from([("bench".to_owned(), declared)]);
    let (servers, statuses) = McpServers::connect(declared, &options).await;
    if let Some(error) = statuses.iter().find_map(|status| status.error.as_ref()) {
        return Err(error.to_string().into());
    }
    let mut registry = Registry::new();
    for tool in servers.tools() {
        registry.register_shared(Arc::clone(&tool) as Arc<dyn ptk_tools::Tool>)?;
        println!("The tool is {}.", tool.spec().name);
    }
    let manager = ToolManager::builder(Workspace::open(std::env::temp_dir())?)
        .tools(registry)
        .approver(AllowAll)
        .build();

    let (mut plain, mut through) = (Vec::new(), Vec::new());
    for number in 0..CALLS {
        let text = format!("call {number}");
        let args = json!({"text": text});
        let start = Instant::now();
        let params = CallToolRequestParams::new("echo");
        let params = params.with_arguments(args.as_object().cloned().unwrap_or_default());
        let answer = bare.call_tool(params).await?;
        plain.push(start.elapsed());
        assert_ne!(answer.is_error, Some(true));

        let start = Instant::now();
        let call = ToolCall::new("bench__echo", Arguments::from_json(&args.to_string())?);
        let outcome = manager.execute(CallRequest::new(call)).await;
        through.push(start.elapsed());
        assert!(outcome.result.success, "{:?}", outcome.result);
    }
    let (plain, through) = (median(plain), median(through));
    let more = through.saturating_sub(plain);
    let verdict = if more <= BAR { "met" } else { "MISSED" };
    println!(
        "rmcp's own client: {plain:.0?}; through PTK: {through:.0?}; more: {more:.0?} (bar {BAR:?}: {verdict})"
    );
    servers.close().await;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    ptk_sandbox::command::enter();
    let is_server = std::env::args().any(|argument| argument == "serve");
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        if is_server {
            serve().await
        } else {
            compare().await
        }
    })
}
