//! When the tools run in a terminal, a command must not take it.

use std::process::Command;

use crate::scene::{Scene, field};

/// The test runs itself again, in a terminal that `script` makes.
#[tokio::test]
async fn a_command_cannot_ask_at_the_terminal() {
    const INNER: &str = "PTK_TEST_TERMINAL";
    if std::env::var_os(INNER).is_some() {
        let scene = Scene::new();
        let result = scene
            .bash("echo before; read -r x </dev/tty; echo \"got $x\"")
            .await;
        assert_eq!(field(&result, "output"), "before\ngot \n", "{result:?}");
        assert!(field(&result, "stderr").contains("/dev/tty"), "{result:?}");
        return;
    }
    let executable = std::env::current_exe().unwrap();
    let name = "terminal::a_command_cannot_ask_at_the_terminal";
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
