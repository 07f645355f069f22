//! The examples in help and documents match what the binary does.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs a line of shell at the workspace's root, with `ptk` on the path.
fn shell(line: &str) -> io::Result<Output> {
    let folder = cargo_bin!("ptk").parent().unwrap_or(Path::new("."));
    let path = format!(
        "{}:{}",
        folder.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    Command::new("bash")
        .args(["-o", "pipefail", "-c", line])
        .env("PATH", path)
        // Without the user's own rules.
        .env("XDG_CONFIG_HOME", "/nonexistent")
        // Without the user's sessions.
        .env("PTK_STATE", concat!(env!("CARGO_TARGET_TMPDIR"), "/documents"))
        .stdin(Stdio::null())
        .current_dir(ROOT)
        .output()
}

/// The commands in a document's `console` blocks, each with the output shown.
fn console(document: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            commands.push((command.to_owned(), String::new()));
        } else if let Some((_, output)) = commands.last_mut().filter(|_| inside) {
            output.push_str(line);
            output.push('\n');
        }
    }
    commands
}

#[test]
fn commands_in_the_documents_print_what_is_shown() {
    for document in [
        "README.md",
        "docs/cli.md",
        "docs/declared-dialects.md",
        "docs/permissions.md",
        "docs/protocol.md",
        "docs/sessions.md",
        "docs/undo.md",
    ] {
        let text = std::fs::read_to_string(format!("{ROOT}/{document}")).unwrap();
        for (command, shown) in console(&text) {
            let output = shell(&command).unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(
                printed.trim_end(),
                shown.trim_end(),
                "{document}: {command}"
            );
        }
    }
}

#[test]
fn examples_in_the_help_run() {
    for command in ["", "parse", "prompt"] {
        let help = shell(&format!("ptk {command} --help")).unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        let lines: Vec<&str> = examples
            .lines()
            .map_while(|line| line.strip_prefix("  "))
            .collect();
        assert!(!lines.is_empty(), "{help}");
        for line in lines {
            let output = shell(line).unwrap();
            assert!(
                output.status.success() && !output.stdout.is_empty(),
                "{line}: {output:?}"
            );
        }
    }
}

/// Every example of a dialect is parsed with the declaration above it.
#[test]
fn declared_dialects_in_the_documents_read_what_is_shown() {
    let document = std::fs::read_to_string(format!("{ROOT}/docs/declared-dialects.md")).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (config, reply) = (folder.join("declared.toml"), folder.join("declared.txt"));
    let mut examples = 0;
    for block in document.split("```").skip(1).step_by(2) {
        if let Some(declaration) = block.strip_prefix("toml\n") {
            std::fs::write(&config, declaration).unwrap();
        } else if let Some(text) = block.strip_prefix("text\n") {
            std::fs::write(&reply, text).unwrap();
            let paths = format!("--config {} {}", config.display(), reply.display());
            let line = format!("ptk parse --tool-defs examples/tools.json {paths}");
            let printed = String::from_utf8(shell(&line).unwrap().stdout).unwrap();
            let is_read = printed.contains(r#""name":"read_file","args":{"path":"a.txt"}"#);
            assert!(is_read && !printed.contains("repaired"), "{text}{printed}");
            examples += 1;
        }
    }
    assert_eq!(examples, 4);
}
