//! Much at once, and much of it.

use futures_util::future::join_all;
use serde_json::json;

use crate::scene::{Scene, code, field, no_zombies};

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_commands_at_once() {
    let scene = Scene::new();
    let calls = (0..200).map(|number| {
        let args = json!({"command": format!("echo {number}; echo -{number} >&2; exit $(({number} % 7))"), "timeout": 600});
        scene.call("bash", args)
    });
    for (number, result) in join_all(calls).await.into_iter().enumerate() {
        assert_eq!(field(&result, "output"), format!("{number}\n"));
        assert_eq!(field(&result, "stderr"), format!("-{number}\n"));
        assert_eq!(code(&result), i64::try_from(number % 7).unwrap());
    }
    no_zombies().await;
}

fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

/// The test runs itself again, alone: the peak is that of a whole process.
async fn flood(test: &str, gigabytes: u64) {
    const INNER: &str = "PTK_TEST_FLOOD";
    if std::env::var_os(INNER).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--include-ignored", "--nocapture", test])
            .env(INNER, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let scene = Scene::new();
    let args = json!({"command": format!("yes 0123456789 | head -c {gigabytes}G"), "timeout": 600});
    let request = crate::scene::request("bash", &args);
    let before = peak_kilobytes();
    let outcome = scene.tools.execute(request).await;
    let grown = peak_kilobytes() - before;
    println!(
        "{gigabytes} GB in {:?}, peak {} KB, grown by {grown} KB",
        outcome.duration,
        before + grown
    );
    let result = outcome.result;
    assert!(result.success, "{result:?}");
    let output = field(&result, "output");
    let notice = output.lines().find(|line| line.starts_with("[…")).unwrap();
    let total = gigabytes << 30;
    assert!(notice.contains("were thrown away"), "{notice}");
    assert!(
        notice.contains("read_file(path=\"output:1\", offset="),
        "{notice}"
    );
    let left_out: u64 = notice
        .split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        left_out < total && left_out > total - (32 << 10),
        "{notice}"
    );
    assert!(grown < 32 << 10, "grew by {grown} KB");
}

#[tokio::test]
async fn two_gigabytes_are_taken_within_bounds() {
    flood("scale::two_gigabytes_are_taken_within_bounds", 2).await;
}

#[tokio::test]
#[ignore = "takes long; run by scripts/long-checks"]
async fn ten_gigabytes_are_taken_within_bounds() {
    flood("scale::ten_gigabytes_are_taken_within_bounds", 10).await;
}

#[tokio::test]
async fn an_endless_flood_ends_with_its_time() {
    let scene = Scene::new();
    let result = scene.bash_within("yes", 1.0).await;
    assert_eq!(result.fields["timed_out"], true);
    assert!(field(&result, "output").starts_with("y\ny\n"));
}
