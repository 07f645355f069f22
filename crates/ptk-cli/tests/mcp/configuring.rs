//! How servers are configured, listed and trusted.

use std::fs;

use crate::scene::Scene;

#[test]
fn servers_are_added_listed_and_removed() {
    let scene = Scene::empty();
    scene.write_config("# mine\n[run]\nmax_iterations = 7\n");
    let (code, out, err) = scene.run(&[
        "mcp",
        "add",
        "files",
        "--write",
        ".",
        "--env",
        "A=b",
        "--",
        "npx",
        "-y",
        "a package",
    ]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("sandbox, no network, writes ., gets A"),
        "{out}"
    );
    let (code, _, err) = scene.run(&[
        "mcp",
        "add",
        "docs",
        "--url",
        "https://example.com/mcp",
        "--header",
        "Authorization: Bearer $TOKEN",
    ]);
    assert_eq!(code, 0, "{err}");
    let text = scene.config();
    assert!(
        text.starts_with("# mine\n[run]\nmax_iterations = 7\n"),
        "{text}"
    );
    assert!(text.contains("[mcp.servers.files]"), "{text}");
    let (_, out, _) = scene.run(&["mcp", "list"]);
    assert!(out.contains("runs npx -y a package"), "{out}");
    assert!(
        out.contains("asks https://example.com/mcp\n  remote, gets $TOKEN"),
        "{out}"
    );
    let (code, _, err) = scene.run(&["mcp", "add", "files", "--", "x"]);
    assert_eq!(code, 1);
    assert!(err.contains("--force"), "{err}");
    let (code, _, err) = scene.run(&["mcp", "remove", "file"]);
    assert_eq!(code, 1);
    assert!(err.contains("did you mean `files`?"), "{err}");
    let (code, _, err) = scene.run(&["mcp", "remove", "files"]);
    assert_eq!(code, 0, "{err}");
    assert!(!scene.config().contains("files"), "{}", scene.config());
}

#[test]
fn wrong_settings_are_told_with_their_place() {
    let scene = Scene::empty();
    for (args, expected) in [
        (
            &["mcp", "add", "a__b", "--", "x"][..],
            "cannot be the name of a server",
        ),
        (&["mcp", "add", "a"], "required"),
        (&["mcp", "add", "a", "--url", "x"], "begin with https://"),
        (
            &["mcp", "add", "a", "--env", "x", "--", "y"],
            "not a name with a value",
        ),
    ] {
        let (code, _, err) = scene.run(args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
    scene.write_config("[mcp.servers.a]\ncmd = [\"x\"]\n");
    let (code, _, err) = scene.run(&["mcp", "list"]);
    assert_eq!(code, 1);
    assert!(err.contains("ptk.toml:2:1") && err.contains("cmd"), "{err}");
    scene.write_config("[mcp.servers.a]\nnetwork = true\n");
    let (_, _, err) = scene.run(&["mcp", "list"]);
    assert!(err.contains("neither `command` nor `url`"), "{err}");
}

#[test]
fn a_projects_servers_count_only_once_they_are_trusted() {
    let scene = Scene::empty();
    let server = r#"{"mcpServers": {"theirs": {"command": "touch", "args": ["started"]}}}"#;
    fs::write(scene.path("space/.mcp.json"), server).unwrap();
    let (code, out, err) = scene.run(&["tools", "list"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!scene.path("space/started").exists());
    let (_, out, err) = scene.run(&["mcp", "list"]);
    assert!(
        out.contains("theirs (not trusted)\n  runs touch started"),
        "{out}"
    );
    assert!(err.contains("ptk permissions trust"), "{err}");
    let (code, _, err) = scene.run(&["mcp", "test", "theirs"]);
    assert_eq!(code, 1);
    assert!(err.contains("not trusted"), "{err}");
    let (code, out, err) = scene.run(&["permissions", "trust", "--yes"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("mcp.servers.theirs  runs touch started (sandbox, network, writes ., starts in the workspace)"),
        "{out}"
    );
    scene.run(&["mcp", "test", "theirs"]);
    assert!(scene.path("space/started").exists());
    // Another content is not what was trusted.
    fs::write(
        scene.path("space/.mcp.json"),
        server.replace("started", "again"),
    )
    .unwrap();
    let (_, out, _) = scene.run(&["mcp", "list"]);
    assert!(out.contains("not trusted"), "{out}");
}

#[test]
fn what_is_missing_is_told() {
    let scene = Scene::empty();
    scene.write_config("[mcp.servers.a]\ncommand = [\"no-such-program\"]\n[mcp.servers.b]\nurl = \"http://127.0.0.1:9/mcp\"\n[mcp.servers.c]\nurl = \"https://example.com\"\nheaders = { A = \"$NOT_SET\" }\n");
    let (code, out, _) = scene.run(&["mcp", "test"]);
    assert_eq!(code, 1);
    assert!(
        out.contains("✗ a: no-such-program cannot be started: it is not installed"),
        "{out}"
    );
    assert!(out.contains("✗ b: "), "{out}");
    assert!(
        out.contains("✗ c: the variable NOT_SET is not set"),
        "{out}"
    );
    let (code, out, _) = scene.run(&["mcp", "list"]);
    assert_eq!(code, 0, "{out}");
}
