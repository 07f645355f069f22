//! `ptk chat`, in a real terminal and line by line.

use serde_json::{Value, json};

use crate::pane::Pane;
use crate::scene::{Scene, call, calls};

fn chat(scene: &Scene, args: &[&str], width: u16, height: u16) -> Pane {
    let mut all = vec!["chat"];
    all.extend(args);
    let mut command = scene.command(&all);
    command.env("LC_ALL", "C.UTF-8");
    let pane = Pane::new(&command, width, height);
    pane.shows("Ask something.");
    pane
}

/// Answers the open question, after switching to it with Tab.
fn answer(pane: &Pane, letter: &str) {
    pane.shows("[y] once");
    pane.press(&["Tab"]);
    pane.shows("[Tab] to answer");
    pane.press(&["Tab", letter]);
}

/// The screen without the durations of calls, which may be rounded differently.
fn timeless(screen: &str) -> String {
    let words = screen.split_inclusive(char::is_whitespace);
    let is_number = |word: &str| word.trim_end().bytes().all(|it| it.is_ascii_digit());
    words.filter(|word| !is_number(word)).collect()
}

/// A prompt in Vietnamese, its call and the answer are all on the screen.
#[test]
fn a_file_is_read_and_told_of() {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "package.json"})),
        json!("Phiên bản là **1.4.2**."),
    ]);
    let pane = chat(&scene, &[], 80, 24);
    pane.types("Đọc file package.json");
    pane.shows("› Đọc file package.json");
    pane.press(&["Enter"]);
    let screen = pane.shows("Phiên bản là 1.4.2.");
    assert!(screen.starts_with("› Đọc file package.json\n"), "{screen}");
    assert!(screen.contains("✓ read_file package.json"), "{screen}");
}

/// Texts of models, tools and files reach the terminal as text, never as
/// control codes.
#[test]
fn no_text_commands_the_terminal() {
    let hostile =
        "X\u{1b}]52;c;eA==\u{7}\u{1b}]8;;http://e\u{1b}\\\u{1b}[8m\u{9b}8m\u{8}\u{202e}\u{200b}Z";
    let name = format!("{}.txt", hostile.replace('/', ""));
    let scene = Scene::new(&[
        calls(&[
            ("read_file", json!({"path": name})),
            (
                "write_file",
                json!({"path": format!("new {name}"), "content": hostile}),
            ),
            ("bash", json!({"command": "ls; cat *.txt"})),
            ("read_file", json!({"path": format!("missing {name}")})),
        ]),
        json!(format!(
            "**Done** {hostile} `{hostile}`\n```\n{hostile}\n```\nFinished"
        )),
    ]);
    scene.write(&name, hostile);
    let pane = chat(&scene, &[], 100, 40);
    pane.keep_sent();
    pane.says("Go");
    answer(&pane, "y");
    pane.shows("bash wants to run");
    answer(&pane, "y");
    let screen = pane.shows("Finished");
    assert!(screen.contains("\\u{9b}"), "{screen}");
    let sent = pane.sent("Finished");
    for code in [
        "\u{1b}]52",
        "\u{1b}]8",
        "\u{1b}[8m",
        "\u{7}",
        "\u{8}",
        "\u{9b}",
        "\u{202e}",
        "\u{200b}",
    ] {
        assert!(!sent.contains(code), "{code:?} is in {sent:?}");
    }
}

/// Several tools, errors, limits and the history.
#[test]
fn several_tools_errors_limits_and_history() {
    let scene = Scene::new(&[]);
    // A model that sees the whole conversation, and repeats it.
    scene.write(
        "model.sh",
        r#"all=$(cat)
case $all in
*"Count to"*) echo '<PTK_CALL>{"tool": "list_files", "args": {"directory": "."}}</PTK_CALL>' ;;
*"What is my colour"*"blue"* | *"blue"*"What is my colour"*) echo "It is blue." ;;
*"Buy milk"*) echo "Milk, and there is no missing.txt." ;;
*) echo '<PTK_CALL>{"tool": "read_file", "args": {"path": "notes.txt"}}</PTK_CALL>'
   echo '<PTK_CALL>{"tool": "grep", "args": {"pattern": "version"}}</PTK_CALL>'
   echo '<PTK_CALL>{"tool": "read_file", "args": {"path": "missing.txt"}}</PTK_CALL>' ;;
esac
"#,
    );
    let args = ["--provider", "cmd:sh model.sh", "--max-iterations", "3"];
    let pane = chat(&scene, &args, 100, 30);
    pane.says("My colour is blue. What is to do?");
    let screen = pane.shows("Milk, and there is no missing.txt.");
    assert!(screen.contains("✓ read_file notes.txt"), "{screen}");
    assert!(screen.contains("✓ grep version"), "{screen}");
    assert!(screen.contains("✗ read_file missing.txt"), "{screen}");
    pane.says("What is my colour?");
    pane.shows("It is blue.");
    pane.says("Count to a million.");
    let screen = pane.shows("Max iterations reached");
    assert!(screen.contains("✗ "), "{screen}");
}

#[test]
fn a_change_is_asked_about_made_and_taken_back() {
    let scene = Scene::new(&[
        call(
            "edit",
            json!({"path": "notes.txt", "edits": [{"old_string": "milk", "new_string": "tea"}]}),
        ),
        json!("Done."),
    ]);
    let pane = chat(&scene, &[], 80, 24);
    pane.says("Tea instead.");
    let screen = pane.shows("[y] once");
    assert!(screen.contains("-Buy milk."), "{screen}");
    assert!(screen.contains("+Buy tea."), "{screen}");
    assert!(
        screen.contains("s and a are for edit(notes.txt)"),
        "{screen}"
    );
    assert_eq!(scene.read("notes.txt"), "Buy milk.\n");
    answer(&pane, "y");
    pane.shows("Done.");
    assert_eq!(scene.read("notes.txt"), "Buy tea.\n");
    pane.rests();
    pane.says("/undo");
    let screen = pane.shows("/redo has it back");
    assert!(screen.contains("changed notes.txt"), "{screen}");
    assert_eq!(scene.read("notes.txt"), "Buy milk.\n");
    pane.rests();
    pane.says("/redo");
    pane.shows("done again:");
    assert_eq!(scene.read("notes.txt"), "Buy tea.\n");
}

#[test]
fn a_no_reaches_the_model_with_its_word() {
    let scene = Scene::new(&[
        call("write_file", json!({"path": "a.txt", "content": "a"})),
        json!("I see."),
    ]);
    let pane = chat(&scene, &[], 80, 24);
    pane.says("Write.");
    answer(&pane, "w");
    pane.shows("No, because:");
    pane.types("another name");
    pane.press(&["Enter"]);
    pane.shows("I see.");
    assert!(!scene.path("a.txt").exists());
    let log: Vec<Value> = scene.log();
    let told = log
        .iter()
        .any(|entry| entry.to_string().contains("the user said no: another name"));
    assert!(told, "{log:#?}");
}

#[test]
fn keys_work_while_a_call_runs_and_stop_it() {
    let scene = Scene::new(&[
        call("bash", json!({"command": "echo begun; exec sleep 600"})),
        json!("Never."),
    ]);
    let pane = chat(&scene, &["--approve", "auto"], 80, 24);
    pane.says("Wait.");
    pane.shows("│ begun");
    pane.types("typed meanwhile");
    pane.shows("› typed meanwhile");
    pane.press(&["Enter"]);
    pane.shows("next: typed meanwhile");
    pane.press(&["Escape"]);
    let screen =
        pane.until(|screen| !screen.contains("Esc stops") && !screen.contains("Stopping."));
    assert!(screen.contains("✗ bash"), "{screen}");
    // The queued prompt is back in the editor.
    assert!(screen.contains("› typed meanwhile"), "{screen}");
    assert_eq!(scene.sessions()[0]["is_open"], false);
}

/// After a signal the terminal is restored.
#[test]
fn a_signal_gives_the_terminal_back() {
    let scene = Scene::new(&[call("bash", json!({"command": "exec sleep 600"}))]);
    let pane = chat(&scene, &["--approve", "auto"], 80, 24);
    assert_eq!(pane.tells("#{alternate_on}"), "1");
    pane.says("Wait.");
    pane.shows("1 call runs");
    let parent = pane.tells("#{pane_pid}");
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let child = children.unwrap();
    let pid: i32 = child.split_whitespace().next().unwrap().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let screen = pane.shows("exit code 130");
    assert!(screen.contains("goes on"), "{screen}");
    let screen = pane.shows("icanon");
    for bad in ["-icanon", "-echo ", "-isig", "-opost"] {
        assert!(!screen.contains(bad), "{bad}: {screen}");
    }
    assert_eq!(pane.tells("#{alternate_on}"), "0");
    assert_eq!(pane.tells("#{mouse_any_flag}"), "0");
    assert_eq!(scene.sessions()[0]["is_open"], true);
}

#[test]
fn a_session_that_goes_on_looks_as_it_did() {
    let scene = Scene::new(&[
        calls(&[
            ("read_file", json!({"path": "package.json"})),
            ("read_file", json!({"path": "missing.txt"})),
        ]),
        json!("# Result\n\n- *one*\n- `two`\n\n```json\n{\"a\": 1}\n```"),
    ]);
    let pane = chat(&scene, &[], 80, 30);
    pane.says("Read both.");
    pane.shows("\"a\": 1");
    let before = pane.rests();
    pane.press(&["C-d"]);
    let screen = pane.shows("exit code 0");
    assert!(screen.contains("goes on"), "{screen}");
    let again = chat(&scene, &["-c"], 80, 30);
    assert_eq!(timeless(&again.rests()), timeless(&before));
}

/// Commands and undos of the user belong to the conversation, too.
#[test]
fn commands_and_undos_are_there_again() {
    let scene = Scene::new(&[json!("Fine.")]);
    let pane = chat(&scene, &[], 100, 40);
    pane.says("Hello.");
    pane.shows("Fine.");
    pane.rests();
    pane.says("!echo tea > notes.txt && cat notes.txt");
    pane.shows("✓ bash");
    pane.rests();
    pane.says("/undo");
    pane.shows("/redo has it back");
    assert_eq!(scene.read("notes.txt"), "Buy milk.\n");
    let before = pane.rests().replace("/redo has it back.", "");
    pane.press(&["C-d"]);
    pane.shows("exit code 0");
    scene.says(&[json!("I know.")]);
    let again = chat(&scene, &["-c"], 100, 40);
    let shown = again.rests();
    let squeezed = |screen: &str| timeless(screen).split_whitespace().collect::<String>();
    assert_eq!(squeezed(&shown), squeezed(&before));
    // The model is told about them before the next prompt.
    again.says("What did I do?");
    again.shows("I know.");
    let log = scene.log();
    let by_hand = log.iter().find(|entry| entry["kind"] == "ran_by_hand");
    let told = by_hand.unwrap()["body"]["told"].as_str().unwrap();
    assert!(told.contains("`echo tea > notes.txt"), "{told}");
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let scene = Scene::new(&[json!(
        "A long answer that has to be broken into several lines."
    )]);
    let pane = chat(&scene, &[], 80, 24);
    pane.says("Go.");
    pane.shows("broken into several lines.");
    pane.resize(30, 12);
    let screen = pane.until(|screen| screen.contains("  A long answer that has to be\n"));
    assert!(
        screen.lines().all(|line| line.chars().count() <= 30),
        "{screen}"
    );
    pane.resize(100, 20);
    pane.shows("A long answer that has to be broken into several lines.");
}

#[test]
fn long_pastes_and_several_lines_are_sent_as_they_are() {
    let scene = Scene::new(&[json!("Thanks."), json!("Thanks again.")]);
    let pane = chat(&scene, &[], 80, 24);
    let rows: Vec<String> = (1..=40).map(|number| format!("row {number}\n")).collect();
    let rows = rows.concat();
    pane.types("See: ");
    pane.pastes(&rows);
    pane.shows("See: [paste 1: 40 lines]");
    pane.press(&["Enter"]);
    pane.shows("Thanks.");
    pane.rests();
    pane.types("first");
    pane.press(&["M-Enter"]);
    pane.types("second");
    pane.press(&["Enter"]);
    pane.shows("Thanks again.");
    let log = scene.log();
    let said: Vec<&str> = log
        .iter()
        .filter(|entry| entry["kind"] == "message")
        .filter_map(|entry| entry["body"]["text"].as_str())
        .collect();
    assert_eq!(
        said,
        [
            format!("See: {}", rows.trim_end()).as_str(),
            "first\nsecond"
        ]
    );
}

/// The model learns all that a command has printed, and how it ended; the screen
/// shows it once.
#[test]
fn a_command_line_is_run_and_told_to_the_model() {
    let scene = Scene::new(&[]);
    scene.write(
        "model.sh",
        r#"case $(cat) in
*"exit code was 3"*"Buy milk."*"no tea left"*"Did you see?"*) echo "I saw it all." ;;
*) echo "I saw too little." ;;
esac
"#,
    );
    let pane = chat(&scene, &["--provider", "cmd:sh model.sh"], 80, 24);
    pane.says("!cat notes.txt; echo no tea left >&2; exit 3");
    pane.shows("exit code: 3");
    pane.rests();
    pane.says("Did you see?");
    let screen = pane.shows("I saw");
    assert!(screen.contains("I saw it all."), "{screen}");
    for text in ["Buy milk.", "stderr: no tea left"] {
        assert_eq!(screen.matches(text).count(), 1, "{text}: {screen}");
    }
    assert!(screen.contains("\n› Did you see?\n\n  I saw"), "{screen}");
}

/// In line mode, the output of a command is there once as well, in full.
#[test]
fn line_by_line_the_output_of_a_command_is_shown_once() {
    let scene = Scene::new(&[json!("Fine.")]);
    let input = "!echo to stdout; echo to stderr >&2; exit 3\n";
    let ended = scene.piped(&["chat", "--approve", "auto"], input);
    assert_eq!(ended.out, "to stdout\n");
    assert_eq!(ended.err.matches("to stderr\n").count(), 1, "{ended:?}");
    assert!(ended.err.contains("Exit code: 3"), "{ended:?}");
    assert!(!ended.err.contains("│ to std"), "{ended:?}");
}

/// Tools are given the names that models are told.
#[test]
fn a_file_is_mentioned_by_its_plain_name() {
    let scene = Scene::new(&[json!("Fine.")]);
    let pane = chat(&scene, &[], 80, 24);
    pane.says("Compare @notes.txt, @package.json and @nothing.rs .");
    pane.shows("Fine.");
    let log = scene.log();
    let said = log.iter().find(|entry| entry["kind"] == "message").unwrap();
    assert_eq!(
        said["body"]["text"],
        "Compare notes.txt, package.json and @nothing.rs ."
    );
}

/// Also those that came after the chat was opened.
#[test]
fn files_are_listed_on_the_at_sign_itself() {
    let scene = Scene::new(&[json!("Fine.")]);
    let pane = chat(&scene, &[], 80, 24);
    scene.write("later.txt", "");
    pane.types("@");
    pane.shows("  @later.txt");
}

#[test]
fn all_edits_are_allowed_with_one_key_and_none_is_asked_about_that_changes_nothing() {
    let write =
        |path: &str, content: &str| call("write_file", json!({"path": path, "content": content}));
    let scene = Scene::new(&[
        write("notes.txt", "Buy milk.\n"),
        write("a.txt", "a"),
        write("b/c.txt", "c"),
        call(
            "edit",
            json!({"path": "package.json", "edits": [{"old_string": "1.4.2", "new_string": "2"}]}),
        ),
        call("bash", json!({"command": "touch d.txt"})),
        json!("Done."),
    ]);
    let pane = chat(&scene, &[], 100, 30);
    pane.says("Write.");
    let screen = pane.shows("[e] all edits");
    assert!(
        screen.contains("write_file wants to write a.txt"),
        "{screen}"
    );
    answer(&pane, "e");
    let screen = pane.shows("bash wants to run");
    assert!(scene.path("b/c.txt").exists(), "{screen}");
    assert!(scene.read("package.json").contains("\"2\""), "{screen}");
    assert!(!screen.contains("all edits"), "{screen}");
    answer(&pane, "n");
    pane.shows("Done.");
}

#[test]
fn a_conversation_that_is_shortened_on_request_is_told_so() {
    let long = "All of it is important. ".repeat(40);
    let scene = Scene::new(&[json!(long), json!("Short.")]);
    let pane = chat(&scene, &[], 100, 40);
    pane.says("First?");
    pane.shows("important");
    pane.until(|screen| screen.contains("% left") && !screen.contains("Esc stops"));
    pane.says("Second?");
    pane.shows("Short.");
    pane.rests();
    pane.says("/compact");
    let screen = pane.shows("A request takes about");
    assert!(!screen.contains("no longer fits"), "{screen}");
    assert!(
        screen.contains("To make room, the first 2 messages of the conversation are left out"),
        "{screen}"
    );
}

#[test]
fn tools_are_told_in_whole_sentences() {
    let scene = Scene::new(&[json!("Fine.")]);
    let tool = "[[tools]]\nname = \"deploy\"\ndescription = \"Deploys what ptk.toml names, e.g. a site. Slow.\"\ncommand = [\"true\"]\n";
    scene.write("ptk.toml", tool);
    scene.ptk(&["permissions", "trust", "--yes"]).good();
    let pane = chat(&scene, &[], 120, 60);
    pane.says("/tools");
    let screen = pane.shows("deploy");
    assert!(
        screen.contains("Deploys what ptk.toml names, e.g. a site"),
        "{screen}"
    );
    assert!(!screen.contains("Slow"), "{screen}");
}

#[test]
fn prompts_of_an_earlier_chat_come_back() {
    let scene = Scene::new(&[
        json!("One."),
        call("write_file", json!({"path": "a.txt", "content": "a"})),
        json!("Two."),
    ]);
    let pane = chat(&scene, &[], 80, 24);
    pane.says("the first prompt");
    pane.shows("One.");
    pane.rests();
    pane.says(" kept out by a space");
    answer(&pane, "w");
    pane.shows("No, because:");
    pane.says("a reason");
    pane.shows("Two.");
    pane.press(&["C-d"]);
    pane.shows("exit code 0");
    let kept = std::fs::read_to_string(scene.state().join("prompts.jsonl")).unwrap();
    assert_eq!(kept, "\"the first prompt\"\n");
    let pane = chat(&scene, &[], 80, 24);
    pane.press(&["Up"]);
    pane.shows("› the first prompt");
}

/// The editor has the terminal as the shell has it, and the chat has it back
/// afterwards.
#[test]
fn a_prompt_is_written_in_the_users_own_editor() {
    let scene = Scene::new(&[json!("Fine.")]);
    let editor = r#"#!/bin/sh
stty -a > stty.txt
echo "option $1"
read answer
echo "of $answer" >> "$2"
"#;
    scene.write("editor.sh", editor);
    let mut command = scene.command(&["chat"]);
    command
        .env("LC_ALL", "C.UTF-8")
        .env_remove("VISUAL")
        .env("EDITOR", "sh editor.sh --wait");
    let pane = Pane::new(&command, 80, 24);
    pane.shows("Ask something.");
    pane.types("a prompt ");
    pane.press(&["C-g"]);
    pane.shows("option --wait");
    assert_eq!(pane.tells("#{alternate_on}"), "0");
    pane.says("two lines");
    let screen = pane.shows("of two lines");
    assert!(screen.contains("› a prompt of two lines"), "{screen}");
    assert_eq!(pane.tells("#{alternate_on}"), "1");
    let stty = scene.read("stty.txt");
    for bad in ["-icanon", "-echo ", "-isig", "-opost"] {
        assert!(!stty.contains(bad), "{bad}: {stty}");
    }
    pane.press(&["Enter"]);
    pane.shows("Fine.");
    pane.press(&["C-d"]);
    let screen = pane.shows("icanon");
    assert!(!screen.contains("-icanon"), "{screen}");
}

#[test]
fn sessions_are_named_copied_listed_and_written_down() {
    let scene = Scene::new(&[json!("Hello.")]);
    let pane = chat(&scene, &[], 90, 24);
    pane.says("Hi.");
    pane.shows("Hello.");
    pane.rests();
    pane.says("/rename Một tiêu đề");
    pane.shows("It is called");
    pane.says("/fork");
    pane.shows("In a copy of the conversation");
    pane.says("Again, in the copy.");
    pane.until(|screen| screen.matches("  Hello.").count() == 2);
    pane.rests();
    pane.says("/sessions");
    let screen = pane.shows("Conversations");
    assert_eq!(screen.matches("Một tiêu đề").count(), 2, "{screen}");
    pane.press(&["Escape"]);
    // The list has an input, too.
    pane.until(|screen| !screen.contains("Conversations"));
    pane.says("/export out.md");
    pane.shows("Written to out.md");
    assert!(scene.read("out.md").contains("Again, in the copy."));
    pane.says("/export out.md");
    pane.shows("is there already");
    pane.says("/new");
    pane.until(|screen| !screen.contains("Hello"));
    assert_eq!(scene.sessions().len(), 2);
}

#[test]
fn what_is_not_there_is_said_with_what_helps() {
    let scene = Scene::new(&[json!("Hello.")]);
    let pane = chat(&scene, &[], 100, 24);
    for (command, told) in [
        ("/modelx", "did you mean /model?"),
        ("/model nope", "There is no model `nope`"),
        ("/model groqq/llama", "There is no model `groqq/llama`"),
        ("/tools read_fil", "did you mean `read_file`?"),
        ("/dialect nonsense", "There is no dialect `nonsense`"),
        ("/resume 0000", "session `0000` not found"),
        ("/undo", "no tool has changed anything"),
        ("/redo", "nothing was taken back"),
        ("/inspect", "there is no such call"),
    ] {
        pane.press(&["C-u"]);
        pane.says(command);
        let screen = pane.until(|screen| screen.contains(told));
        for flag in ["--model", "--provider", "--dialect", "--help"] {
            assert!(!screen.contains(flag), "{screen}");
        }
        pane.rests();
    }
    // None of this was sent to the model.
    assert_eq!(scene.sessions(), Vec::<Value>::new());
}

#[test]
fn line_by_line_it_is_the_same_conversation() {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "package.json"})),
        json!("1.4.2"),
        json!("Bye."),
    ]);
    let input = "Which version?\n/cost\nTwo \\\nlines\n/nonsense\n!echo from the shell\n";
    let ended = scene.piped(&["chat", "--approve", "auto"], input);
    assert!(ended.out.starts_with("1.4.2\n"), "{ended:?}");
    assert!(ended.out.contains("tokens in"), "{ended:?}");
    assert!(ended.out.contains("\nBye.\n"), "{ended:?}");
    assert!(ended.out.ends_with("from the shell\n"), "{ended:?}");
    assert!(ended.err.contains("Unknown command /nonsense"), "{ended:?}");
    assert!(ended.err.contains("✓ read_file package.json"), "{ended:?}");
    let sessions = scene.sessions();
    assert_eq!((sessions.len(), &sessions[0]["turns"]), (1, &json!(2)));
    scene.says(&[json!("Again.")]);
    let ended = scene.piped(&["chat", "-c", "--json"], "Go on.\n").good();
    let last = ended.lines().pop().unwrap();
    assert_eq!(
        (&last["type"], &last["message"]),
        (&json!("receive_message"), &json!("Again."))
    );
    assert_eq!(scene.sessions().len(), 1);
}
