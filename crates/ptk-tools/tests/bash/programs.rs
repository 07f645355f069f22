//! Other tools that run programs in the same way.

use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::process::{Exit, Program, Reason};
use ptk_tools::{AllowAll, CallContext, Effects, Registry, ToolError, ToolManager, tool_fn};
use serde_json::{Map, Value, json};

use crate::scene::{field, request};

async fn made(context: CallContext) -> Result<Value, ToolError> {
    let folder = context.workspace().root().to_owned();
    let input = "line\n".repeat(100_000);
    let program = Program::new("cat", ["-"], &folder).stdin(input.clone());
    let ended = program.run(&context).await?;
    assert_eq!(
        (ended.exit, ended.reason),
        (Exit::Code(0), Reason::Finished)
    );
    assert_eq!(ended.stdout.total(), 500_000);
    assert_eq!(ended.stdout.bytes(context.outputs())?, input.as_bytes());
    assert_eq!(ended.stdout.dropped(), 0);

    // One that does not read what it is given.
    let program = Program::new("true", [""; 0], &folder).stdin(input);
    assert_eq!(program.run(&context).await?.exit, Exit::Code(0));

    let program = Program::shell("echo $GREETING; echo no >&2", &folder)
        .variable("GREETING", "hello")
        .together();
    let ended = program.run(&context).await?;
    assert_eq!(ended.stdout.bytes(context.outputs())?, b"hello\nno\n");
    assert_eq!(ended.stderr.total(), 0);

    let error = Program::new("no-such-program", [""; 0], &folder)
        .run(&context)
        .await;
    Ok(json!({ "error": error.unwrap_err().message }))
}

#[tokio::test]
async fn a_program_has_arguments_input_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    let mut registry = Registry::new();
    let run = |context: CallContext, _: Map<String, Value>| made(context);
    registry
        .register(tool_fn("made", "Run programs", Effects::ALL, run))
        .unwrap();
    let tools = ToolManager::builder(Workspace::open(folder.path()).unwrap())
        .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
        .tools(registry)
        .approver(AllowAll)
        .build();
    let result = tools.execute(request("made", &json!({}))).await.result;
    assert!(result.success, "{result:?}");
    assert_eq!(
        field(&result, "error"),
        "Program not found: no-such-program"
    );
}
