//! Every failure, as the model sees it.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::tools::bash::Bash;
use ptk_tools::{ApprovalRequest, Approver, Decision, Registry, ToolManager};
use serde_json::json;

use crate::scene::{Scene, request};

#[tokio::test]
async fn folders_that_cannot_be() {
    let scene = Scene::new();
    std::fs::write(scene.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("/", scene.path().join("link")).unwrap();
    let told = async |folder: &str| {
        let result = scene
            .call("bash", json!({"command": "ls", "working_dir": folder}))
            .await;
        scene.told(&result)
    };
    insta::assert_snapshot!(told("missing").await, @r#"
    user_error: bash(command="ls", working_dir="missing"): The folder missing does not exist
    → Use list_files to see which folders there are.
    "#);
    insta::assert_snapshot!(told("file").await, @r#"
    user_error: bash(command="ls", working_dir="file"): Not a folder: file
    → working_dir is the folder in which the command runs.
    "#);
    insta::assert_snapshot!(told("..").await, @r#"
    security_error: bash(command="ls", working_dir=".."): Path traversal not allowed
    → Write the path without `..`, relative to the workspace or absolute.
    "#);
    insta::assert_snapshot!(told("/etc").await, @r#"
    security_error: bash(command="ls", working_dir="/etc"): Cannot use /etc: it leads outside the allowed folders (WORKSPACE)
    → Use a path in WORKSPACE.
    "#);
    insta::assert_snapshot!(told("link").await, @r#"
    security_error: bash(command="ls", working_dir="link"): Cannot inspect link: it leads outside the allowed folders (WORKSPACE)
    → Use a path in WORKSPACE.
    "#);
    insta::assert_snapshot!(told("~").await, @r#"
    user_error: bash(command="ls", working_dir="~"): Cannot use the path "~": `~` is not expanded
    → Write the path relative to the workspace, or absolute.
    "#);
}

#[tokio::test]
async fn commands_that_cannot_be() {
    let scene = Scene::new();
    let told = async |command: &str| {
        let result = scene.bash(command).await;
        scene.told(&result)
    };
    insta::assert_snapshot!(told("").await, @r#"
    validation_error: bash(command=""): The command is empty
    → Give a command, for example "ls -la".
    "#);
    insta::assert_snapshot!(told("echo a\0b").await, @r#"
    validation_error: bash(command="echo a\u0000b"): The command holds a NUL byte
    → Leave it out; in bash, printf '\0' writes one.
    "#);
    insta::assert_snapshot!(told(&format!("echo {}", "x".repeat(1 << 20))).await, @r#"
    user_error: bash(command="echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…): The command has 1048583 bytes, more than the system takes
    → Write what is long to a file with write_file, and run a short command on it.
    "#);
    insta::assert_snapshot!(told("sudo rm -rf /").await, @r#"
    security_error: bash(command="sudo rm -rf /"): The command is blocked: rm -r / removes the whole machine
    → Do not try it in another way. Name exactly what you want to change, inside the workspace.
    "#);
    insta::assert_snapshot!(told("mkfs.ext4 /dev/sda").await, @r#"
    security_error: bash(command="mkfs.ext4 /dev/sda"): The command is blocked: mkfs.ext4 wipes a whole file system
    → Do not try it in another way. Name exactly what you want to change, inside the workspace.
    "#);
    insta::assert_snapshot!(told("dd if=/dev/zero of=/dev/sda").await, @r#"
    security_error: bash(command="dd if=/dev/zero of=/dev/sda"): The command is blocked: dd would overwrite the device /dev/sda
    → Do not try it in another way. Name exactly what you want to change, inside the workspace.
    "#);
    insta::assert_snapshot!(told(":(){ :|:& };:").await, @r#"
    security_error: bash(command=":(){ :|:& };:"): The command is blocked: it starts copies of itself until the machine stands still
    → Do not try it in another way. Name exactly what you want to change, inside the workspace.
    "#);
    insta::assert_snapshot!(
        scene.told(&scene.call("bash", json!({})).await), @r#"
    validation_error: Missing required parameter 'command' for bash
    → Example: bash(command="cargo test 2>&1 | tail -n 20")
    "#);
    insta::assert_snapshot!(
        scene.told(&scene.call("bash", json!({"command": "ls", "timeout": "soon"})).await), @r#"
    validation_error: Invalid type for parameter 'timeout' in bash: Expected null or number, got string
    → Example: bash(command="cargo test 2>&1 | tail -n 20")
    "#);
}

#[tokio::test]
async fn a_long_command_within_the_limit_runs() {
    let scene = Scene::new();
    let result = scene
        .bash(&format!("x={}; echo ${{#x}}", "x".repeat(100_000)))
        .await;
    assert_eq!(result.fields["output"], "100000\n");
}

#[tokio::test]
async fn there_is_no_shell() {
    let scene = Scene::with(Bash::default().shell("/no/such/shell"));
    insta::assert_snapshot!(scene.told(&scene.bash("ls").await), @r#"
    system_error: bash(command="ls"): Program not found: /no/such/shell
    → Install it, or do the work with other tools.
    "#);
    let scene = Scene::with(Bash::default().shell("/etc/passwd"));
    insta::assert_snapshot!(scene.told(&scene.bash("ls").await), @r#"
    permission_error: bash(command="ls"): /etc/passwd may not be run: permission denied
    → Look at the rights of the program, and of the folder in which it runs.
    "#);
}

/// Removes the folder between the question and the run.
struct Remover(std::path::PathBuf);

impl Approver for Remover {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        assert_eq!(request.plan.command.as_ref().unwrap().0, "ls");
        assert_eq!(request.plan.summary, "ls\n\nIt says: List the files");
        std::fs::remove_dir_all(&self.0).unwrap();
        Box::pin(std::future::ready(Decision::Allow))
    }
}

#[tokio::test]
async fn the_folder_is_removed_in_between() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("sub")).unwrap();
    let mut registry = Registry::new();
    Bash::default().register(&mut registry).unwrap();
    let tools = ToolManager::builder(Workspace::open(scene.path()).unwrap())
        .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
        .tools(registry)
        .approver(Remover(scene.path().join("sub")))
        .build();
    let args = json!({"command": "ls", "working_dir": "sub", "description": "List the files"});
    let result = tools.execute(request("bash", &args)).await.result;
    insta::assert_snapshot!(scene.told(&result), @r#"
    user_error: bash(command="ls", working_dir="sub", description="List the files"): The folder sub does not exist
    → Use list_files to see which folders there are.
    "#);
}

#[tokio::test]
async fn jobs_that_are_not() {
    let scene = Scene::with(Bash::default().job_timeout(Duration::from_secs(60)));
    let told =
        async |tool: &str, job: &str| scene.told(&scene.call(tool, json!({"job": job})).await);
    insta::assert_snapshot!(told("bash_output", "job_1").await, @r#"
    user_error: bash_output(job="job_1"): Job job_1 not found
    → There are no jobs. Start one with bash(run_in_background=true).
    "#);
    for number in 1..=16 {
        scene.job(&format!("sleep 100{number:02}")).await;
    }
    insta::assert_snapshot!(told("bash_kill", "job_77").await, @r#"
    user_error: bash_kill(job="job_77"): Job job_77 not found
    → There are: job_1 (running): sleep 10001; job_2 (running): sleep 10002; job_3 (running): sleep 10003; job_4 (running): sleep 10004; job_5 (running): sleep 10005; job_6 (running): sleep 10006; job_7 (running): sleep 10007; job_8 (running): sleep 10008; job_9 (running): sleep 10009; job_10 (running): sleep 10010; job_11 (running): sleep 10011; job_12 (running): sleep 10012; job_13 (running): sleep 10013; job_14 (running): sleep 10014; job_15 (running): sleep 10015; job_16 (running): sleep 10016.
    "#);
    let one_more = json!({"command": "sleep 1", "run_in_background": true});
    let told = scene.told(&scene.call("bash", one_more).await);
    insta::assert_snapshot!(told.split("There are").next().unwrap(), @r#"
    user_error: bash(command="sleep 1", run_in_background=true): 16 jobs run already, more are not allowed
    → End one with bash_kill first.
    "#);
    let far = json!({"job": "job_1", "offset": 999});
    insta::assert_snapshot!(scene.told(&scene.call("bash_output", far).await), @r#"
    user_error: bash_output(job="job_1", offset=999): The output has only 0 bytes
    → Leave offset out to read what is new.
    "#);
}
