//! When the tools run in a terminal, a command must not take it.

use std::process::Command;

use crate::scene::{Scene, field};

/// The test runs itself again, in a terminal that `script` makes.
#[tokio::test]
async fn a_command_that_asks_at_the_terminal_is_ended() {
    const INNER: &str = "PTK_TEST_TERMINAL";
    if std::env::var_os(INNER).is_some() {
        let scene = Scene::new();
        let result = scene
            .bash("echo before; read -r x </dev/tty; echo \"got $x\"")
            .await;
        assert_eq!(field(&result, "output"), "before\n", "{result:?}");
        assert!(
            result.error.contains("wanted to use the terminal"),
            "{result:?}"
        );
        return;
    }
    let executable = std::env::current_exe().unwrap();
    let name = "terminal::a_command_that_asks_at_the_terminal_is_ended";
    let inner = format!("'{}' --exact {name}", executable.display());
    let run = Command::new("script")
        .args(["-qec", &inner, "/dev/null"])
        .env(INNER, "1")
        .stdin(std::process::Stdio::piped())
        .output();
    // Not every system has `script`.
    if let Ok(output) = run {
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn without_a_terminal_there_is_none_to_ask_at() {
    let scene = Scene::new();
    let result = scene
        .bash("(exec </dev/tty) 2>/dev/null && echo there is one")
        .await;
    if result.success {
        assert_eq!(field(&result, "output"), "");
    }
}
