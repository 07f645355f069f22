//! Runs from a prompt to an answer, or to an error.

use serde_json::{Value, json};

use crate::scene::{Scene, call, calls, kinds};

#[test]
fn a_file_is_read_and_the_answer_says_what_is_in_it() {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "package.json"})),
        json!("Phiên bản là 1.4.2."),
    ]);
    let ended = scene.ptk(&["Đọc file package.json"]).good();
    assert_eq!(ended.out, "Phiên bản là 1.4.2.\n");
    assert!(
        ended.err.starts_with("✓ read_file package.json  "),
        "{ended:?}"
    );
    assert!(ended.err.contains("│ {\n  │   \"version\""), "{ended:?}");
    let log = scene.log();
    let result = log
        .iter()
        .find(|entry| entry["kind"] == "call_ended")
        .unwrap();
    assert!(result.to_string().contains("1.4.2"), "{result}");
}

#[test]
fn words_are_one_prompt_and_stdin_stands_behind_it() {
    let scene = Scene::new(&[json!("Yes.")]);
    let prompt = |scene: &Scene| {
        let log = scene.log();
        let message = log.iter().find(|entry| entry["kind"] == "message").unwrap();
        message["body"]["text"].as_str().unwrap().to_owned()
    };
    scene.ptk(&["what", "is this?"]).good();
    assert_eq!(prompt(&scene), "what is this?");
    scene.piped(&["run", "Sum it up:"], "one\ntwo\n").good();
    assert_eq!(prompt(&scene), "Sum it up:\n\none\ntwo");
    scene.ptk(&["- fix this", "--quiet", "and that"]).good();
    assert_eq!(prompt(&scene), "- fix this and that");
    scene
        .ptk(&["run", "-q", "--tools", "grep", "--see if it works"])
        .good();
    assert_eq!(prompt(&scene), "--see if it works");
    scene.ptk(&["run", "--", "--flag"]).good();
    assert_eq!(prompt(&scene), "--flag");
    scene.piped(&["run"], "all of it\n").good();
    assert_eq!(prompt(&scene), "all of it");
    scene.piped(&["run", "-"], "all of it\n").good();
    assert_eq!(prompt(&scene), "all of it");
}

#[test]
fn what_makes_no_sense_is_said_and_nothing_is_asked() {
    let scene = Scene::new(&[json!("Yes.")]);
    for (args, code, said) in [
        (&["run"][..], 2, "no prompt; write it"),
        (&["pars"], 2, "did you mean `parse`?"),
        (&["sessionz", "list"], 2, "did you mean `sessions`?"),
        (&["Hi", "--colour"], 2, "unexpected argument '--colour'"),
        (&["Hi", "--tools", "grepp"], 2, "did you mean `grep`?"),
        (&["Hi", "--dialect", "ptkk"], 2, "'ptkk'"),
        (
            &["Hi", "--provider", "opneai"],
            2,
            "Provider \"opneai\" not found. Did you mean \"openai\"?",
        ),
        (&["Hi", "--provider", "script:none.json"], 1, "none.json"),
        (&["Hi", "--max-iterations", "0"], 2, "0 is not in 1.."),
        (
            &["Hi", "--timeout", "soon"],
            2,
            "write it as 90s, 5m or 1h30m",
        ),
        (&["Hi", "--workspace", "none"], 1, "none"),
        (
            &["Hi", "--continue"],
            1,
            "this workspace has no session to continue",
        ),
        (
            &["resume"],
            1,
            "no session of this workspace was interrupted",
        ),
        (&["resume", "unknown"], 1, "session `unknown` not found"),
    ] {
        let ended = scene.ptk(args);
        assert_eq!(ended.code, code, "{args:?} {ended:?}");
        assert!(ended.err.contains(said), "{args:?} {ended:?}");
        assert_eq!(ended.out, "", "{args:?}");
    }
    assert!(scene.sessions().is_empty());
    let without = scene
        .command(&["Hi"])
        .env_remove("PTK_PROVIDER")
        .output()
        .unwrap();
    assert_eq!(without.status.code(), Some(1));
    let said = String::from_utf8(without.stderr).unwrap();
    assert!(
        said.contains("no model is chosen")
            && said.contains("--provider")
            && said.contains("ptk models pull"),
        "{said}"
    );
}

/// A call without arguments is returned to the model, and the run continues.
#[test]
fn calls_that_cannot_be_used_are_sent_back() {
    let scene = Scene::new(&[
        call("read_file", json!({})),
        json!("<PTK_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": "),
        call("read_fil", json!({"path": "notes.txt"})),
        call("read_file", json!({"path": "notes.txt"})),
        json!("Milk."),
    ]);
    let ended = scene.ptk(&["What shall I buy?"]).good();
    assert_eq!(ended.out, "Milk.\n");
    assert!(ended.err.contains("Did you mean"), "{ended:?}");
    assert!(ended.err.contains("The reply cannot be used"), "{ended:?}");
}

#[test]
fn runs_that_come_to_no_answer_say_why() {
    let look = |number: usize| call("grep", json!({"pattern": format!("x{number}")}));
    let many: Vec<Value> = (0..30).map(look).collect();
    let broken = vec![json!("<PTK_CALL>{\"tool\": "); 9];
    let failing = [json!({"error": {"status": 401, "message": "bad key"}})];
    for (replies, args, said) in [
        (
            &many,
            &["--max-iterations", "3"][..],
            "MAX_ITERATIONS_REACHED",
        ),
        (&many, &["--max-tool-calls", "2"], "MAX_TOOL_CALLS_REACHED"),
        (&broken, &[], "PARSE_ERROR"),
        (&failing.to_vec(), &[], "LLM_CALL_FAILED"),
    ] {
        let scene = Scene::new(replies);
        let ended = scene.ptk(&[&["Go on"], args].concat());
        assert_eq!((ended.code, ended.out.as_str()), (1, ""), "{ended:?}");
        assert!(
            ended.err.contains("error: ") && ended.err.contains(said),
            "{ended:?}"
        );
        assert_eq!(scene.sessions()[0]["is_open"], false);
    }
}

/// Several calls in one reply, whether or not the others fail.
#[test]
fn several_calls_of_a_reply_run() {
    let scene = Scene::new(&[
        calls(&[
            ("list_files", json!({"path": "."})),
            ("read_file", json!({"path": "notes.txt"})),
            ("read_file", json!({"path": "none.txt"})),
            ("grep", json!({"pattern": "version"})),
        ]),
        json!("Done."),
    ]);
    let ended = scene.ptk(&["Look around"]).good();
    for line in [
        "✓ list_files",
        "✓ read_file notes.txt",
        "✗ read_file none.txt",
        "✓ grep version",
    ] {
        assert!(ended.err.contains(line), "{line}: {ended:?}");
    }
}

#[test]
fn what_changes_something_needs_a_yes() {
    let write = call("write_file", json!({"path": "a.txt", "content": "hi\n"}));
    let scene = Scene::new(&[write, json!("Done.")]);
    let refused = scene.ptk(&["Write it"]).good();
    assert!(
        refused.err.contains("there is no terminal to ask on"),
        "{refused:?}"
    );
    assert!(!scene.path("a.txt").exists());
    scene.ptk(&["Write it", "--approve", "auto"]).good();
    assert_eq!(scene.read("a.txt"), "hi\n");
    let session = scene.sessions()[0]["id"].as_str().unwrap().to_owned();
    scene.ptk(&["undo", "--session", &session]).good();
    assert!(!scene.path("a.txt").exists());
}

#[test]
fn a_model_is_offered_the_tools_that_were_chosen() {
    let scene = Scene::new(&[
        call("bash", json!({"command": "touch x"})),
        call("grep", json!({"pattern": "milk"})),
        json!("Done."),
    ]);
    let ended = scene
        .ptk(&["Go", "--tools", "grep, read_file", "--approve", "auto"])
        .good();
    assert!(ended.err.contains("✗ bash"), "{ended:?}");
    assert!(ended.err.contains("✓ grep milk"), "{ended:?}");
    assert!(!scene.path("x").exists());
    // Without tools, text that looks like a call stays text.
    let scene = Scene::new(&[json!("Hello.")]);
    assert_eq!(scene.ptk(&["Go", "--tools", ""]).good().out, "Hello.\n");
}

/// The previous messages are sent again.
#[test]
fn a_session_goes_on() {
    let scene = Scene::new(&[json!("First.")]);
    scene.ptk(&["run", "one"]).good();
    scene.ptk(&["two", "-c"]).good();
    scene.ptk(&["three", "--session", "other"]).good();
    scene.ptk(&["four", "--session", "other"]).good();
    let sessions = scene.sessions();
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        (&sessions[0]["id"], &sessions[0]["turns"]),
        (&json!("other"), &json!(2))
    );
    assert_eq!(sessions[1]["turns"], json!(2));
    let log = scene.log();
    let asked = log.iter().filter(|entry| entry["kind"] == "request_began");
    let shown: Vec<u64> = asked
        .map(|entry| entry["body"]["messages"].as_u64().unwrap())
        .collect();
    assert_eq!(shown, [1, 3]);
    // The short id of the list is enough.
    let short = scene.ptk(&["sessions", "list"]).good();
    let short = short.out.lines().nth(1).unwrap().split(' ').next().unwrap();
    scene.ptk(&["five", "--session", short]).good();
    assert_eq!(scene.sessions()[0]["turns"], json!(3));
}

#[test]
fn settings_come_from_flags_variables_and_files() {
    let look = |number: usize| call("grep", json!({"pattern": format!("x{number}")}));
    let many: Vec<Value> = (0..30).map(look).collect();
    let scene = Scene::new(&many);
    let asked = |ended: &crate::scene::Ended| {
        let said = ended.err.rsplit_once("Max iterations reached (").unwrap().1;
        said.split(')').next().unwrap().to_owned()
    };
    let config = scene.home().join("config/ptk");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("ptk.toml"), "[run]\nmax_iterations = 5\n").unwrap();
    assert_eq!(asked(&scene.ptk(&["Go"])), "5");
    scene.write("ptk.toml", "[run]\nmax_iterations = 4\n");
    assert_eq!(asked(&scene.ptk(&["Go"])), "4");
    let variable = scene
        .command(&["Go"])
        .env("PTK_MAX_ITERATIONS", "3")
        .output()
        .unwrap();
    assert!(
        String::from_utf8(variable.stderr)
            .unwrap()
            .contains("reached (3)")
    );
    assert_eq!(asked(&scene.ptk(&["Go", "--max-iterations", "2"])), "2");
    // A workspace does not decide which model is used.
    let script = scene.script();
    let script = script.display();
    scene.write(
        "ptk.toml",
        format!("[run]\nprovider = \"script:{script}\"\n"),
    );
    let mut command = scene.command(&["Go"]);
    let untrusted = command.env_remove("PTK_PROVIDER").output().unwrap();
    let said = String::from_utf8(untrusted.stderr).unwrap();
    assert!(said.contains("no model is chosen"), "{said}");
    scene.write("ptk.toml", "[run]\nmax_turns = 4\n");
    let wrong = scene.ptk(&["Go"]);
    assert!(wrong.err.contains("unknown field `max_turns`"), "{wrong:?}");
}

#[test]
fn an_answer_that_is_not_whole_is_said_to_be_so() {
    let cut = |text: &str| json!({"text": text, "finish_reason": "length"});
    let scene = Scene::new(&[cut("One, "), cut("two, ")]);
    let ended = scene.ptk(&["Count"]).good();
    assert_eq!(ended.out, "One, two,\n");
    assert!(ended.err.contains("is not whole"), "{ended:?}");
}

#[test]
fn only_the_answer_where_nothing_else_is_wanted() {
    let scene = Scene::new(&[
        json!(
            "Let me see. <PTK_CALL>{\"tool\": \"grep\", \"args\": {\"pattern\": \"milk\"}}</PTK_CALL>"
        ),
        json!("Milk."),
    ]);
    let ended = scene.ptk(&["What?", "--quiet"]).good();
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("Milk.\n", ""));
    let ended = scene.ptk(&["What?"]).good();
    assert_eq!(ended.out, "Milk.\n");
    assert!(
        ended.err.starts_with("Let me see.\n✓ grep milk"),
        "{ended:?}"
    );
}

/// A tool must not be able to overwrite what the user sees.
#[test]
fn codes_for_the_terminal_are_written_out() {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "evil\u{1b}[2J.txt"})),
        json!("It says \u{1b}]0;title\u{7}nothing."),
    ]);
    scene.write("evil\u{1b}[2J.txt", "\u{1b}[31mred\n");
    let ended = scene.ptk(&["Read it"]).good();
    assert!(!ended.err.contains('\u{1b}'), "{ended:?}");
    assert!(ended.err.contains(r"\u{1b}[31mred"), "{ended:?}");
    // To a file or a pipe the answer is written unchanged.
    assert_eq!(ended.out, "It says \u{1b}]0;title\u{7}nothing.\n");
    assert!(kinds(&scene.log()).contains(&"turn_ended"));
}

/// A session belongs to its own folder.
#[test]
fn a_session_does_not_go_on_in_another_folder() {
    let write = call("write_file", json!({"path": "a.txt", "content": "hi"}));
    let scene = Scene::new(&[json!("Hi.")]);
    scene.ptk(&["Hi", "--session", "here"]).good();
    let other = scene.home().join("other");
    std::fs::create_dir(&other).unwrap();
    scene.says(&[write, json!("Done.")]);
    for args in [
        &["Go on", "--session", "here", "--approve", "auto"][..],
        &["resume", "here"],
    ] {
        let output = scene.command(args).current_dir(&other).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("session here works in ") && said.contains("--workspace"),
            "{said}"
        );
    }
    assert!(!other.join("a.txt").exists());
}

#[test]
fn names_of_sessions_are_whole() {
    let scene = Scene::new(&[json!("Hi.")]);
    scene.ptk(&["one", "--session", "fix-12"]).good();
    scene.ptk(&["two", "--session", "fix-1"]).good();
    assert_eq!(scene.sessions().len(), 2);
    let nobody = scene.ptk(&["sessions", "delete", "", "--yes"]);
    assert_eq!((nobody.code, scene.sessions().len()), (1, 2));
    // An empty variable counts as unset.
    let mut command = scene.command(&["run", "three"]);
    assert!(
        command
            .env("PTK_SESSION", "")
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(scene.sessions().len(), 3);
}

#[test]
fn no_half_of_an_answer_is_lost() {
    let half = json!({"text": "The first half, ", "finish_reason": "length"});
    for between in [json!(""), call("read_file", json!({"path": "notes.txt"}))] {
        let scene = Scene::new(&[half.clone(), between, json!("and the rest.")]);
        assert_eq!(
            scene.ptk(&["Tell me"]).good().out,
            "The first half, and the rest.\n"
        );
    }
}

/// A server's message is as untrusted as a tool's output.
#[test]
fn errors_are_written_out_too() {
    let evil = json!({"error": {"status": 400, "message": "bad \u{1b}[2J\u{7}"}});
    let ended = Scene::new(&[evil]).ptk(&["Hi"]);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains(r"bad \u{1b}[2J\u{7}"), "{ended:?}");
}
