//! Coding agents, each with a model without an API for tools: it is asked for a
//! file, and runs a command that creates it. They take more than a gigabyte:
//! `scripts/long-checks clients` installs and runs them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::client::{ended, installed};
use crate::gateway::{Gateway, furnish};

const REQUEST: &str = "Make a file";
const ANSWER: &str = "The file is made.";

/// A gateway whose model runs a command with a tool of this name, and then
/// answers.
fn gateway(tool: &str, arguments: &Value) -> Gateway {
    let call = json!({"name": tool, "arguments": arguments});
    let calling = format!("I'll make it.\n<tool_call>\n{call}\n</tool_call>");
    Gateway::scripted(&[calling, ANSWER.to_owned()].map(|text| json!({"text": text, "chunk": 4})))
}

fn arguments() -> Value {
    json!({"command": "printf crab > made.txt", "description": "Makes a file"})
}

/// Runs an agent in a folder of its own, and checks the result.
fn works(gateway: Gateway, name: &str, furnished: impl Fn(&mut Command, &Path, &str)) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = Command::new(installed("agents").join("node_modules/.bin").join(name));
    furnish(&mut command, folder.path());
    // Only the gateway is contacted.
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY"] {
        command.env(proxy, "http://127.0.0.1:9");
    }
    command.env("NO_PROXY", "127.0.0.1").stdin(Stdio::null());
    furnished(&mut command, folder.path(), gateway.address());
    let out = ended(&mut command);
    let made = fs::read_to_string(folder.path().join("made.txt"));
    assert_eq!(made.ok().as_deref(), Some("crab"), "{out}");
    assert!(out.contains(ANSWER), "{out}");
    gateway.end();
}

#[test]
#[ignore = "large; scripts/long-checks clients"]
fn opencode() {
    works(
        gateway("bash", &arguments()),
        "opencode",
        |command, folder, address| {
            let settings = json!({
                "model": "ptk/scripted",
                "provider": {"ptk": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": format!("{address}/v1"), "apiKey": "any"},
                    "models": {"scripted": {}},
                }},
                "permission": "allow",
                // Otherwise the model would be asked for a title, too, at any
                // time.
                "agent": {"title": {"disable": true}},
                "autoupdate": false,
            });
            fs::write(folder.join("opencode.json"), settings.to_string()).unwrap();
            command.args(["run", REQUEST]);
        },
    );
}

#[test]
#[ignore = "large; scripts/long-checks clients"]
fn codex() {
    let arguments = json!({"cmd": "printf crab > made.txt"});
    works(
        gateway("exec_command", &arguments),
        "codex",
        |command, folder, address| {
            let settings = format!(
                "model = \"scripted\"\nmodel_provider = \"ptk\"\n\n[model_providers.ptk]\n\
             name = \"PTK\"\nbase_url = \"{address}/v1\"\nwire_api = \"responses\"\n"
            );
            fs::create_dir(folder.join(".codex")).unwrap();
            fs::write(folder.join(".codex/config.toml"), settings).unwrap();
            command.args(["exec", "--skip-git-repo-check"]);
            // Its sandbox does not work everywhere, and is not tested here.
            command.args(["--dangerously-bypass-approvals-and-sandbox", REQUEST]);
        },
    );
}

/// A server of one tool, as agents start it.
const MCP_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/mcp_server.mjs");

/// Runs codex with a server of tools. It has the tools of models that it knows
/// searched for, and gives others all of them.
fn codex_calls_a_tool_of_a_server(model: &str, replies: &[Value]) {
    let forecast = json!({"name": "mcp__weather__forecast", "arguments": {"city": "Hue"}});
    let calls = replies.iter().chain([&forecast]);
    let calls = calls.map(|call| format!("<tool_call>\n{call}\n</tool_call>"));
    let replies = calls.chain([ANSWER.to_owned()]);
    let replies: Vec<Value> = replies
        .map(|text| json!({"text": text, "chunk": 4}))
        .collect();
    let gateway = Gateway::scripted(&replies);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = Command::new(installed("agents").join("node_modules/.bin/codex"));
    furnish(&mut command, folder.path());
    command.env("NO_PROXY", "127.0.0.1").stdin(Stdio::null());
    let address = gateway.address();
    let made = folder.path().join("called.json").display().to_string();
    let settings = format!(
        "model = \"{model}\"\nmodel_provider = \"ptk\"\n\n[model_providers.ptk]\n\
         name = \"PTK\"\nbase_url = \"{address}/v1\"\nwire_api = \"responses\"\n\n\
         [mcp_servers.weather]\ncommand = \"node\"\nargs = [{MCP_SERVER:?}, {made:?}]\n"
    );
    fs::create_dir(folder.path().join(".codex")).unwrap();
    fs::write(folder.path().join(".codex/config.toml"), settings).unwrap();
    command.args(["exec", "--skip-git-repo-check"]);
    command.args(["--dangerously-bypass-approvals-and-sandbox", "Rain?"]);
    let out = ended(&mut command);
    let called = fs::read_to_string(&made);
    assert_eq!(called.ok().as_deref(), Some(r#"{"city":"Hue"}"#), "{out}");
    assert!(out.contains(ANSWER), "{out}");
    gateway.end();
}

#[test]
#[ignore = "large; scripts/long-checks clients"]
fn codex_with_tools_of_a_server() {
    codex_calls_a_tool_of_a_server("scripted", &[]);
}

#[test]
#[ignore = "large; scripts/long-checks clients"]
fn codex_with_a_search_for_tools() {
    let search = json!({"name": "tool_search", "arguments": {"query": "weather", "limit": 2}});
    codex_calls_a_tool_of_a_server("gpt-5.5", &[search]);
}

#[test]
#[ignore = "large; scripts/long-checks clients"]
fn claude_code() {
    works(
        gateway("Bash", &arguments()),
        "claude",
        |command, _, address| {
            command
                .env("ANTHROPIC_BASE_URL", address)
                .env("ANTHROPIC_API_KEY", "any")
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .args(["--print", "--model", "scripted", "--allowedTools", "Bash"])
                .args(["--", REQUEST]);
        },
    );
}
