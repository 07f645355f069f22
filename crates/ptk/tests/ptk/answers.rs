//! From a prompt to an answer, by one call or several.

use ptk::protocol::{Role, ToolCall};
use ptk::{ReplyKind, RunOptions};
use serde_json::json;

use crate::scene::{Model, Scene, arguments, call, text};

#[tokio::test]
async fn the_model_reads_a_file_and_answers() {
    use Role::{Assistant, System, Tool, User};
    let scene = Scene::new();
    let ptk = scene.ptk(&[
        &format!(
            "I'll read that file. {}",
            call("read_file", &json!({"path": "package.json"}))
        ),
        "The version in package.json is 1.0.0",
    ]);
    let run = ptk
        .execute("Đọc file package.json", RunOptions::default())
        .await;
    assert!(run.success, "{:?}", run.error);
    assert_eq!(run.content, "The version in package.json is 1.0.0");
    assert_eq!((run.iterations, run.total_tool_calls), (2, 1));
    assert_eq!(run.tool_calls[0].tool, "read_file");
    let roles: Vec<Role> = run.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [System, User, Assistant, Tool, Assistant]);
    assert_eq!(run.messages[1].content, "Đọc file package.json");
    assert!(run.messages[3].content.starts_with("PTK_RESULT: {"));
    assert!(run.messages[3].content.contains("1.0.0"));
}

#[tokio::test]
async fn what_a_tool_gave_reaches_the_model() {
    let scene = Scene::new();
    let model = Model::of_replies(vec![
        call("read_file", &json!({"path": "package.json"})),
        "It has a version.".to_owned(),
    ]);
    let ptk = scene.builder(model.clone()).build().unwrap();
    ptk.run("Read package.json").await.unwrap();
    let last = model.requests().pop().unwrap();
    assert!(last.messages.last().unwrap().text().contains("version"));
}

#[tokio::test]
async fn several_tools_in_several_replies() {
    let scene = Scene::new();
    let ptk = scene.ptk(&[
        &call("list_files", &json!({"directory": "."})),
        &call("read_file", &json!({"path": "notes.txt"})),
        &call(
            "write_file",
            &json!({"path": "copy.txt", "content": "Buy milk.\n"}),
        ),
        "Copied.",
    ]);
    let run = ptk.execute("Copy the notes", ptk.options()).await;
    assert_eq!(run.content, "Copied.");
    assert_eq!((run.iterations, run.total_tool_calls), (4, 3));
    assert!(run.tool_calls.iter().all(|call| call.result.success));
    let copy = std::fs::read_to_string(scene.folder.path().join("copy.txt"));
    assert_eq!(copy.unwrap(), "Buy milk.\n");
}

#[tokio::test]
async fn a_tool_that_fails_does_not_end_the_run() {
    let scene = Scene::new();
    let ptk = scene.ptk(&[
        &call("read_file", &json!({"path": "missing.txt"})),
        "There is no such file. Shall I create it?",
    ]);
    let run = ptk.execute("Read missing.txt", ptk.options()).await;
    assert!(run.success);
    assert!(!run.tool_calls[0].result.success);
    let told = &run.messages[3].content;
    assert!(told.starts_with("PTK_ERROR:"), "{told}");
    assert!(told.contains("File not found: missing.txt"), "{told}");
}

#[tokio::test]
async fn what_was_said_before_is_known() {
    let scene = Scene::new();
    let model = Model::of_replies(vec!["Hello, Ada.".to_owned(), "Ada.".to_owned()]);
    let ptk = scene.builder(model.clone()).build().unwrap();
    let mut session = ptk.new_session();
    session.run("I am Ada.").await.unwrap();
    assert_eq!(session.run("Who am I?").await.unwrap(), "Ada.");
    let asked = model.requests().pop().unwrap();
    let said: Vec<&str> = asked.messages.iter().map(ptk::llm::Message::text).collect();
    assert_eq!(said, ["I am Ada.", "Hello, Ada.", "Who am I?"]);

    let mut other = ptk.session("another".parse().unwrap());
    assert_eq!(other.run("Who am I?").await.unwrap(), "Hello, Ada.");
}

/// Runs without a session know nothing of each other, and none waits for
/// another: each model call here waits for the other one.
#[tokio::test]
async fn runs_are_one_shot_and_concurrent() {
    let scene = Scene::new();
    let meeting = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    let model = ptk::llm::provider_fn("meeting", move |prompt: String| {
        let meeting = std::sync::Arc::clone(&meeting);
        async move {
            meeting.wait().await;
            let known = ["zebra", "giraffe"]
                .into_iter()
                .filter(|word| prompt.contains(word));
            Ok::<_, std::io::Error>(known.collect::<Vec<_>>().join(" and "))
        }
    });
    let ptk = scene.builder(model).build().unwrap();
    let both = async { tokio::join!(ptk.run("Say zebra."), ptk.run("Say giraffe.")) };
    let patience = std::time::Duration::from_secs(30);
    let (one, two) = tokio::time::timeout(patience, both).await.unwrap();
    assert_eq!(
        (one.unwrap(), two.unwrap()),
        ("zebra".to_owned(), "giraffe".to_owned())
    );
}

/// A call that cannot run is told apart from one that can.
#[tokio::test]
async fn an_invalid_call_does_not_look_runnable() {
    let scene = Scene::new();
    let right = call("read_file", &json!({"path": "notes.txt"}));
    let wrong = call("read_file", &json!({"nonsense": true}));
    let both = format!("{right}\n{wrong}");
    let ptk = scene.ptk(&[&both, &both]);
    let asked = [ptk::protocol::Message::user("Go")];
    let reply = ptk.iterate(&asked, ptk.options()).await.unwrap();
    let runnable = reply
        .tool_calls
        .iter()
        .map(ptk::store::LoggedCall::is_runnable);
    let runnable: Vec<bool> = runnable.collect();
    assert_eq!(runnable, [true, false], "{reply:?}");
    assert!(!reply.tool_calls[1].problems.is_empty());

    let mut session = ptk.new_session();
    session.begin("Go", ptk.options()).await.unwrap();
    let ptk::Step::Replied(stepped) = session.step().await.unwrap() else {
        panic!("the model was not asked")
    };
    let runnable = stepped
        .tool_calls
        .iter()
        .map(ptk::store::LoggedCall::is_runnable);
    assert_eq!(runnable.collect::<Vec<_>>(), [true, false]);
}

/// What programs store or send of a run.
#[tokio::test]
async fn a_run_can_be_serialised() {
    let scene = Scene::new();
    let ptk = scene.ptk(&[&call("read_file", &json!({"path": "notes.txt"})), "Milk."]);
    let run = ptk.execute("What do the notes say?", ptk.options()).await;
    let json = serde_json::to_value(&run).unwrap();
    assert_eq!(json["content"], "Milk.");
    assert_eq!(json["finish"], "stop");
    assert_eq!(json["tool_calls"][0]["tool"], "read_file");
    assert!(json["duration_ms"].is_u64() && json.get("error").is_none());
    let failed = ptk.execute("Again", ptk.options()).await;
    let json = serde_json::to_value(&failed).unwrap();
    assert!(json["error"].as_str().unwrap().contains("script"), "{json}");
}

/// Without tools, with tools, and a tool without a model.
#[tokio::test]
async fn the_three_ways_to_call() {
    let scene = Scene::new();
    let model = Model::of_replies(vec!["Hello."; 9].into_iter().map(str::to_owned).collect());
    let ptk = scene
        .builder(model.clone())
        .system("Be kind.")
        .build()
        .unwrap();
    let none = RunOptions {
        tools: Some(Vec::new()),
        ..RunOptions::default()
    };
    ptk.execute("Hi", none).await;
    ptk.execute("Hi", RunOptions::default()).await;
    let one = RunOptions {
        tools: Some(vec!["grep".to_owned()]),
        ..RunOptions::default()
    };
    ptk.execute("Hi", one).await;
    let systems: Vec<String> = model
        .requests()
        .into_iter()
        .map(|request| request.system.unwrap())
        .collect();
    assert_eq!(systems[0], "Be kind.");
    assert!(systems[1].contains("<PTK_CALL>") && systems[1].contains("read_file"));
    assert!(systems[2].contains("grep") && !systems[2].contains("read_file"));

    let outcome = ptk
        .call(ToolCall::new(
            "read_file",
            arguments(&json!({"path": "notes.txt"})),
        ))
        .await;
    assert!(outcome.result.success);
}

#[tokio::test]
async fn a_tool_that_is_not_there_cannot_be_offered() {
    let scene = Scene::new();
    let ptk = scene.ptk(&["Hi"]);
    let options = RunOptions {
        tools: Some(vec!["reed_file".to_owned()]),
        ..RunOptions::default()
    };
    ptk.run("Hi").await.unwrap();
    let run = ptk.execute("Hi", options).await;
    // The run before has no influence.
    assert_eq!((run.iterations, run.finish), (0, None));
    let error = run.error.unwrap();
    assert_eq!(error.code(), Some(ptk::protocol::ErrorCode::ToolNotFound));
    assert!(
        error
            .to_string()
            .starts_with("Unknown tool: reed_file; there are: read_file")
    );
    assert_eq!(run.content, "");
}

#[tokio::test]
async fn one_reply_can_be_asked_for_alone() {
    let scene = Scene::new();
    let read = call("read_file", &json!({"path": "notes.txt"}));
    let ptk = scene.ptk(&[&format!("Sure. {read}"), "Milk."]);
    let asked = [ptk::protocol::Message::user("What do the notes say?")];
    let reply = ptk.iterate(&asked, ptk.options()).await.unwrap();
    assert_eq!(reply.kind, ReplyKind::ToolCall);
    assert_eq!(reply.content, "Sure.");
    assert_eq!(reply.tool_calls[0].name, "read_file");
    assert_eq!(reply.raw, format!("Sure. {read}"));
    assert!(scene.diary().is_empty());
}

#[tokio::test]
async fn a_session_can_be_run_step_by_step() {
    use ptk::Step::{Called, Ended, Replied};
    let scene = Scene::new();
    let ptk = scene.ptk(&[&call("read_file", &json!({"path": "notes.txt"})), "Milk."]);
    let mut session = ptk.session("steps".parse().unwrap());
    assert!(session.step().await.is_err(), "there is no turn yet");
    session
        .begin("What do the notes say?", ptk.options())
        .await
        .unwrap();
    let mut names = Vec::new();
    loop {
        match session.step().await.unwrap() {
            Replied(_) => names.push("replied"),
            Called(calls) => {
                assert_eq!(calls.len(), 1);
                names.push("called");
            }
            Ended(answer) => {
                assert_eq!(answer, "Milk.");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(names, ["replied", "called", "replied"]);
}

/// Runs can be tasks, as in a server.
#[tokio::test]
async fn runs_can_be_spawned() {
    let scene = Scene::new();
    let ptk = scene.ptk(&["One.", "Two."]);
    let runs = ["a", "b"].map(|id| {
        let mut session = ptk.session(id.parse().unwrap());
        tokio::spawn(async move { session.run("Go").await })
    });
    for run in runs {
        assert!(run.await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn an_answer_that_runs_into_its_limit_goes_on_once() {
    let scene = Scene::new();
    let script =
        ptk::llm::Script::parse(r#"[{"text": "One, two, ", "finish_reason": "length"}, "three."]"#)
            .unwrap();
    let ptk = scene.builder(script).build().unwrap();
    let run = ptk.execute("Count", ptk.options()).await;
    assert_eq!(run.content, "One, two, three.");
    assert_eq!(run.iterations, 2);
}

#[tokio::test]
async fn a_model_that_only_goes_on_with_a_text_gets_one() {
    let scene = Scene::new();
    let mut model = Model::new(|_| crate::scene::text("Hello."));
    model.capabilities.form = ptk::llm::Form::Prompt;
    let ptk = scene.builder(model.clone()).build().unwrap();
    ptk.run("Hi").await.unwrap();
    let asked = model.requests().pop().unwrap();
    assert_eq!(asked.messages.len(), 1);
    assert!(asked.system.is_none());
    let prompt = asked.messages[0].text();
    assert!(prompt.contains("<PTK_CALL>") && prompt.ends_with("USER: Hi\n\nASSISTANT:"));
    // It does not go on as the user.
    assert!(asked.stop.contains(&"\nUSER:".to_owned()));
}

/// The reasoning of a model is logged, but not sent to it again.
#[tokio::test]
async fn thoughts_are_in_the_log_and_not_in_the_history() {
    let scene = Scene::new();
    let replies = [
        format!(
            "<think>The notes will say.</think>I'll look.\n{}",
            call("read_file", &json!({"path": "notes.txt"}))
        ),
        "<think>Only thinking.</think>".to_owned(),
        "<think>Now I know.</think>Milk.".to_owned(),
        "You are welcome.".to_owned(),
    ];
    let model = Model::new({
        let asked = std::sync::atomic::AtomicUsize::new(0);
        move |_| {
            let at = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            text(&replies[at])
        }
    });
    let ptk = scene.builder(model.clone()).build().unwrap();
    let mut session = ptk.session(ptk::store::SessionId::new());
    let first = session.execute("What shall I buy?", ptk.options()).await;
    assert_eq!(first.content, "Milk.");
    let told: Vec<&str> = first.messages.iter().map(|m| m.content.as_str()).collect();
    assert!(!told.concat().contains("think"), "{told:?}");
    session.run("Thank you").await.unwrap();
    let last = model.requests().pop().unwrap();
    let told: Vec<&str> = last.messages.iter().map(ptk::llm::Message::text).collect();
    assert!(told[1].starts_with("I'll look.\n<PTK_CALL>"), "{told:?}");
    assert!(!told.concat().contains("think"), "{told:?}");
    assert!(told.contains(&"Milk."), "{told:?}");
    let items = session.transcript().await.unwrap().items();
    let said = items.iter().filter_map(|item| match &item.content {
        ptk::store::Content::Reply(reply) => Some(reply.reply.text.as_str()),
        _ => None,
    });
    let said: Vec<&str> = said.collect();
    assert!(said[0].contains("The notes will say."), "{said:?}");
    assert!(said[2].contains("Now I know."), "{said:?}");
}
