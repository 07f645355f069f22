//! What a run begins with: its folder, its instructions, its files, and the
//! failures before the first request.

use std::fs;

use serde_json::{Value, json};

use crate::scene::{Ended, Scene, call, calls};

/// What the model was told first.
fn system(scene: &Scene) -> String {
    let shown = scene.ptk(&["prompt"]).good();
    shown.out
}

#[test]
fn the_project_is_found_from_a_folder_in_it() {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "notes.txt"})),
        json!("Milk."),
    ]);
    fs::create_dir_all(scene.path(".git")).unwrap();
    fs::create_dir_all(scene.path("src/deep")).unwrap();
    let mut command = scene.command(&["What is due?"]);
    let ended = Ended::of(
        command
            .current_dir(scene.path("src/deep"))
            .output()
            .unwrap(),
    )
    .good();
    assert_eq!(ended.out, "Milk.\n");
    let told = ended.err.lines().next().unwrap_or_default();
    assert!(
        told.starts_with("Working in ") && told.ends_with("the project of this folder."),
        "{ended:?}"
    );
    let mut prompt = scene.command(&["prompt"]);
    let prompt = Ended::of(prompt.current_dir(scene.path("src/deep")).output().unwrap()).good();
    assert!(
        prompt.out.contains("The user is in its folder src/deep."),
        "{prompt:?}"
    );
    // The session belongs to the project.
    assert_eq!(scene.sessions().len(), 1);
}

#[test]
fn instructions_come_from_the_user_the_workspace_and_the_flag() {
    let scene = Scene::new(&[json!("Hi.")]);
    let own = scene.home().join("config/ptk");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("AGENTS.md"), "Answer in Vietnamese.\n").unwrap();
    scene.write("AGENTS.md", "Use tabs.\n");
    let shown = system(&scene);
    let at = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {shown}"))
    };
    assert!(at("Answer in Vietnamese.") < at("Use tabs."));
    assert!(shown.contains("read_file"), "{shown}");
    let ended = scene
        .ptk(&["Hello", "--system", "Be brief.", "--json"])
        .good();
    assert!(!ended.out.is_empty());
}

#[test]
fn files_are_added_to_the_prompt() {
    let scene = Scene::new(&[json!("Two lists.")]);
    scene.write("other list.txt", "Buy tea.\n");
    let args = ["Compare", "-f", "notes.txt", "-f", "other list.txt"];
    scene.ptk(&args).good();
    let log = scene.log();
    let prompt = log.iter().find(|entry| entry["kind"] == "message").unwrap();
    let prompt = prompt["body"]["text"].as_str().unwrap();
    assert_eq!(
        prompt,
        "Compare\n\nnotes.txt:\n```\nBuy milk.\n```\n\nother list.txt:\n```\nBuy tea.\n```"
    );
    let missing = scene.ptk(&["Compare", "-f", "none.txt"]);
    assert_eq!(missing.code, 1, "{missing:?}");
    assert!(
        missing.err.contains("none.txt cannot be read"),
        "{missing:?}"
    );
}

/// Programs that read JSON are told of every failure there, with a code.
#[test]
fn with_json_every_failure_is_json() {
    let scene = Scene::new(&[json!({"text": "Late.", "delay_ms": 600_000})]);
    for (args, status, code) in [
        (
            &["Go", "--json", "--provider", "opneai"][..],
            2,
            "WRONG_USAGE",
        ),
        (&["Go", "--json", "--tools", "raed_file"], 2, "WRONG_USAGE"),
        (&["Go", "--json", "--max-iterations", "0"], 2, "WRONG_USAGE"),
        (&["tools", "call", "raed_file", "--json"], 2, "WRONG_USAGE"),
        (&["sessions", "show", "none", "--json"], 1, "FAILED"),
        (&["Go", "--json", "--timeout", "50ms"], 1, "TIMED_OUT"),
    ] {
        let ended = scene.ptk(args);
        let last = ended.lines().pop().unwrap_or_default();
        assert_eq!(
            (&last["type"], &last["code"]),
            (&json!("error"), &json!(code)),
            "{ended:?}"
        );
        assert!(
            last["message"].as_str().is_some_and(|it| it.len() > 5),
            "{ended:?}"
        );
        assert!(
            ended.code == status || status == 2 && ended.code == 1,
            "{ended:?}"
        );
    }
    let mut command = scene.command(&["Go", "--json"]);
    let ended = Ended::of(command.env_remove("PTK_PROVIDER").output().unwrap());
    let last = ended.lines().pop().unwrap();
    assert_eq!(last["code"], "NO_MODEL", "{ended:?}");
}

#[test]
fn a_limit_says_how_to_raise_it() {
    let look = |number: usize| call("grep", json!({"pattern": format!("x{number}")}));
    let replies: Vec<Value> = (0..2).map(look).chain([json!("None.")]).collect();
    let scene = Scene::new(&replies);
    let ended = scene.ptk(&["Go", "--max-iterations", "3"]).good();
    assert!(
        ended
            .err
            .contains("The limit of 3 requests was reached; --max-iterations raises it."),
        "{ended:?}"
    );
    assert!(ended.err.contains("\"Go on\"` goes on."), "{ended:?}");
}

/// One mark for each call, the true one, in the order in which they were made.
#[test]
fn calls_are_shown_in_the_order_in_which_they_were_made() {
    let scene = Scene::new(&[
        calls(&[
            ("grep", json!({"pattern": "milk"})),
            ("raed_file", json!({"path": "notes.txt"})),
            ("bash", json!({"command": "exit 3"})),
            ("read_file", json!({"path": "notes.txt"})),
        ]),
        json!("Done."),
    ]);
    let ended = scene.ptk(&["Go", "--approve", "auto"]).good();
    let marks: Vec<&str> = ended
        .err
        .lines()
        .filter(|line| line.starts_with(['✓', '✗']))
        .map(|line| line.split("  ").next().unwrap_or_default())
        .collect();
    assert_eq!(marks.len(), 4, "{ended:?}");
    for (mark, shown) in marks
        .iter()
        .zip(["✓ grep", "✗ raed_file", "✗ bash", "✓ read_file"])
    {
        assert!(mark.starts_with(shown), "{mark} is not {shown}: {ended:?}");
    }
    assert!(ended.err.contains("│ Exit code: 3"), "{ended:?}");
    assert!(!ended.err.contains("✗ Exit code"), "{ended:?}");
}

#[test]
fn strict_runs_fail_at_the_first_reply_that_cannot_be_used() {
    let scene = Scene::new(&[json!("<PTK_CALL>{\"tool\": "), json!("Never.")]);
    let ended = scene.ptk(&["Go", "--strict", "--temperature", "0"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("(PARSE_ERROR)"), "{ended:?}");
    let hot = scene.ptk(&["Go", "--temperature", "3"]);
    assert_eq!(hot.code, 2, "{hot:?}");
}

#[test]
fn limits_of_calls_are_configured() {
    let scene = Scene::new(&[call("bash", json!({"command": "seq 2000"})), json!("Done.")]);
    scene.write(
        "ptk.toml",
        "[limits]\nresult_bytes = 1000\n[run]\ncalls = \"first\"\n",
    );
    let ended = scene.ptk(&["Go", "--approve", "auto", "--json"]).good();
    let ended = ended.lines();
    let end = ended
        .iter()
        .find(|line| line["type"] == "tool_call_end")
        .unwrap();
    assert!(end["result"].to_string().len() < 2000, "{end}");
    // More than without the file counts only once it is trusted.
    scene.write("ptk.toml", "[limits]\nresult_bytes = 1000000\n");
    let listed = scene.ptk(&["permissions", "list"]).good();
    assert!(listed.out.contains("limits.result_bytes"), "{listed:?}");
}

#[test]
fn what_happens_inside_is_logged_where_that_is_wanted() {
    let scene = Scene::new(&[json!("Hi.")]);
    let quiet = scene.ptk(&["Hello"]).good();
    assert!(!quiet.err.contains("INFO"), "{quiet:?}");
    scene.says(&[json!("(said)"), json!("Hi.")]);
    let logged = scene.ptk(&["Hello", "--log", "ptk=info"]).good();
    assert!(
        logged.err.contains("INFO") && logged.err.contains("turn completed"),
        "{logged:?}"
    );
    assert_eq!(logged.out.lines().count(), 1, "{logged:?}");
    let wrong = scene.ptk(&["Hello", "--log", "loud=very"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn answers_are_json_of_a_schema() {
    let scene = Scene::new(&[json!("Milk."), json!("{items: ['milk']}")]);
    let schema = json!({
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "string"}}},
        "required": ["items"],
    });
    scene.write("my schema.json", schema.to_string());
    let ended = scene
        .ptk(&["What is due?", "--schema", "my schema.json"])
        .good();
    assert_eq!(ended.out, "{\"items\":[\"milk\"]}\n");
    assert!(
        ended.err.contains("The answer does not fit the schema"),
        "{ended:?}"
    );
    for (text, why) in [
        ("{\"type\": \"array\"}", "not the JSON Schema of an object"),
        ("type: object", "is not JSON"),
    ] {
        scene.write("my schema.json", text);
        let ended = scene.ptk(&["What is due?", "--schema", "my schema.json"]);
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.err.contains(why), "{ended:?}");
    }
}
