//! Many tools: the prompt lists them, the model searches for their definitions,
//! and what it found stays.

pub(crate) mod remote;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptk::events::{EventKind, Filter};
use ptk::llm::{Capabilities, Constraint, Delta, FinishReason, Message, Request, ResponseFormat};
use ptk::store::{MemoryStore, SessionId, Store};
use ptk::{DeferTools, Hold, Ptk, PtkBuilder, RunOptions};
use serde_json::{Value, json};

use self::remote::Calls;
use crate::scene::{Model, Scene, call, text};

/// A scene with a hundred tools beside the built-in ones.
struct Many {
    scene: Scene,
    calls: Calls,
    store: Arc<dyn Store>,
}

impl Many {
    fn new() -> Self {
        Self {
            scene: Scene::new(),
            calls: Calls::default(),
            store: Arc::new(MemoryStore::new()),
        }
    }

    fn builder(&self, model: &Model) -> PtkBuilder {
        let mut registry = self.scene.registry();
        remote::add(&mut registry, &self.calls);
        let builder = self.scene.builder(model.clone()).tools(registry);
        builder.store(Arc::clone(&self.store))
    }

    fn ptk(&self, model: &Model) -> Ptk {
        self.builder(model).build().unwrap()
    }

    fn called(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// A model that is taught its tools in text, and gives these replies.
fn written(replies: &[String]) -> Model {
    Model::of_replies(replies.to_vec())
}

/// A native call.
fn calling(name: &str, args: &Value) -> Vec<Delta> {
    vec![
        Delta::CallStart {
            index: 0,
            id: Some(format!("call of {name}")),
            name: name.to_owned(),
        },
        Delta::Arguments {
            index: 0,
            json: args.to_string(),
        },
        Delta::CallEnd { index: 0 },
        Delta::Finish(FinishReason::ToolCalls),
    ]
}

/// The same for a model that calls natively: a reply is a name and arguments,
/// or a text.
fn native(replies: &[(&str, Value)]) -> Model {
    let replies = replies.iter().map(|(name, args)| match args {
        Value::Null => text(name),
        args => calling(name, args),
    });
    let replies: Vec<Vec<Delta>> = replies.collect();
    let mut model = Model::new(move |request| {
        let is_said = |message: &&Message| matches!(message, Message::Assistant { .. });
        let said = request.messages.iter().filter(is_said).count();
        let reply = replies.get(said).cloned();
        reply.unwrap_or_else(|| text("Nothing is left to say."))
    });
    model.capabilities.native_tools = Some(true);
    model
}

fn find(query: &str) -> String {
    call("find_tools", &json!({"query": query}))
}

fn weather() -> String {
    call("weather__forecast", &json!({"city": "Hue", "days": "2"}))
}

/// All that the model is shown.
fn shown(request: &Request) -> String {
    let system = request.system.clone().into_iter();
    let turns = request.turns().map(|message| message.text().to_owned());
    system.chain(turns).collect::<Vec<_>>().join("\n\n")
}

fn names(request: &Request) -> Vec<&str> {
    request.tools.names().collect()
}

#[tokio::test]
async fn a_tool_is_found_and_then_called() {
    let many = Many::new();
    let replies = [find("weather forecast"), weather(), "Rain.".to_owned()];
    let model = written(&replies);
    let ptk = many.ptk(&model);
    let mut events = ptk.tools().bus().subscribe(Filter::all());
    assert_eq!(ptk.run("Will it rain in Hue?").await.unwrap(), "Rain.");
    let city = json!({"city": "Hue", "days": 2});
    let made = many.calls.lock().unwrap().clone();
    assert_eq!(made, [("weather__forecast".to_owned(), city)]);

    let [first, second, third] = &model.requests()[..] else {
        panic!("three requests")
    };
    let (before, after) = (shown(first), shown(second));
    assert!(before.contains("read_file") && before.contains("find_tools"));
    assert!(before.contains("- weather__forecast: Get the weather forecast"));
    // Its definition comes with the result.
    let definition = "• weather__forecast: Get the weather forecast for a city, day by day";
    assert!(!before.contains(definition) && after.contains(definition));
    assert!(after.contains("city: string (required)"));
    assert_eq!(first.system, second.system);
    assert_eq!(first.system, third.system);
    assert!(third.messages.starts_with(&second.messages[..]));

    // Programs see the search as any other call.
    drop(ptk);
    let mut seen = Vec::new();
    while let Some(delivery) = events.recv().await {
        let event = delivery.event();
        if let Some(EventKind::ToolCallStart { tool, .. }) = event.map(|event| &event.kind) {
            seen.push(tool.clone());
        }
    }
    assert_eq!(seen, ["find_tools", "weather__forecast"]);
}

#[tokio::test]
async fn found_tools_are_appended_for_native_models_in_the_order_of_finding() {
    let many = Many::new();
    let model = native(&[
        (
            "find_tools",
            json!({"query": "weather forecast", "limit": 1}),
        ),
        ("weather__forecast", json!({"city": "Hue"})),
        ("find_tools", json!({"query": "create_issue", "limit": 2})),
        ("It rains.", Value::Null),
        ("find_tools", json!({"query": "weather", "limit": 2})),
        ("Done.", Value::Null),
    ]);
    let id = SessionId::new();
    let ptk = many.ptk(&model);
    ptk.session(id.clone())
        .run("Report the rain")
        .await
        .unwrap();
    // Another program goes on with the session.
    let ptk = many.ptk(&model);
    ptk.session(id).run("And now?").await.unwrap();

    let requests = model.requests();
    let base = names(&requests[0]);
    assert_eq!(base.last(), Some(&"find_tools"));
    assert!(base.contains(&"read_file") && !base.contains(&"weather__forecast"));
    let later = [
        vec![],
        vec!["weather__forecast"],
        vec!["weather__forecast"],
        vec![
            "weather__forecast",
            "github__create_issue",
            "jira__create_issue",
        ],
        vec![
            "weather__forecast",
            "github__create_issue",
            "jira__create_issue",
        ],
        vec![
            "weather__forecast",
            "github__create_issue",
            "jira__create_issue",
            "weather__current",
        ],
    ];
    assert_eq!(requests.len(), later.len());
    for (number, (request, later)) in requests.iter().zip(later).enumerate() {
        let all = [base.clone(), later].concat();
        assert_eq!(names(request), all, "request {number}");
        assert_eq!(request.system, requests[0].system);
    }
    // The definition is not repeated in the result.
    assert!(!shown(&requests[1]).contains("day by day"));
}

#[tokio::test]
async fn a_tool_can_be_called_without_a_search() {
    let many = Many::new();
    let wrong = call("weather__forecast", &json!({"town": "Hue"}));
    let replies = [wrong, weather(), "Rain.".to_owned()];
    let model = written(&replies);
    let ptk = many.ptk(&model);
    assert_eq!(ptk.run("Rain?").await.unwrap(), "Rain.");
    assert_eq!(many.called(), ["weather__forecast"]);
    // The error has the definition.
    let after = shown(&model.requests()[1]);
    assert!(
        after.contains("Missing required parameter: city"),
        "{after}"
    );
    assert!(after.contains("weather__forecast: Get the weather forecast for a city, day by day"));

    let model = native(&[
        ("weather__forecast", json!({"town": "Hue"})),
        ("weather__forecast", json!({"city": "Hue"})),
        ("Rain.", Value::Null),
    ]);
    let ptk = many.ptk(&model);
    assert_eq!(ptk.run("Rain?").await.unwrap(), "Rain.");
    let requests = model.requests();
    assert!(!names(&requests[0]).contains(&"weather__forecast"));
    assert!(shown(&requests[1]).contains(r#""definitions":[{"type":"object""#));
    // It counts as found.
    assert_eq!(names(&requests[1]).last(), Some(&"weather__forecast"));
    assert_eq!(names(&requests[1]), names(&requests[2]));
}

#[tokio::test]
async fn a_misspelt_name_gets_a_suggestion() {
    let many = Many::new();
    let wrong = call("githubCreateIssue", &json!({}));
    let model = written(&[wrong, "Sorry.".to_owned()]);
    many.ptk(&model).run("Report it").await.unwrap();
    let after = shown(&model.requests()[1]);
    assert!(
        after.contains("Did you mean `github__create_issue`?"),
        "{after}"
    );
}

#[tokio::test]
async fn a_search_without_a_match_says_what_there_is() {
    let many = Many::new();
    let model = written(&[find("quux"), find("  "), "I cannot.".to_owned()]);
    many.ptk(&model).run("Quux it").await.unwrap();
    let after = shown(&model.requests()[2]);
    for says in ["No tool fits", "The query is empty", "github__ (25 tools)"] {
        assert!(after.contains(says), "{says}: {after}");
    }
}

#[tokio::test]
async fn a_run_that_was_killed_knows_what_it_had_found() {
    let replies = [
        ("find_tools", json!({"query": "mail__reply", "limit": 1})),
        (
            "find_tools",
            json!({"query": "weather forecast", "limit": 1}),
        ),
        ("slack__get_users", json!({})),
        ("weather__forecast", json!({"city": "Hue"})),
        ("Done.", Value::Null),
    ];
    let mut wanted = None;
    // After each step, however far it came.
    for steps in 0..12 {
        let many = Many::new();
        let model = native(&replies);
        let id = SessionId::new();
        let ptk = many.ptk(&model);
        let mut session = ptk.session(id.clone());
        session.begin("Go", ptk.options()).await.unwrap();
        for _ in 0..steps {
            if let ptk::Step::Ended(_) = session.step().await.unwrap() {
                break;
            }
        }
        drop((session, ptk));
        if let Some(run) = many.ptk(&model).resume(id).await {
            assert!(run.success, "{:?}", run.error);
        }
        let requests = model.requests();
        let last = requests.last().unwrap();
        let tools: Vec<String> = last.tools.names().map(str::to_owned).collect();
        assert_eq!(
            tools[tools.len() - 3..],
            ["mail__reply", "weather__forecast", "slack__get_users"]
        );
        let wanted = wanted.get_or_insert((tools.clone(), requests.len()));
        assert_eq!(*wanted, (tools, requests.len()), "after {steps} steps");
    }
}

#[tokio::test]
async fn what_was_found_outlives_what_was_left_out() {
    for is_native in [false, true] {
        let many = Many::new();
        let asked = AtomicUsize::new(0);
        let mut model = Model::new(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            0 if is_native => calling("find_tools", &json!({"query": "weather forecast"})),
            0 => text(&find("weather forecast")),
            number => text(&format!("{number}: {}", "word ".repeat(600))),
        });
        model.capabilities.native_tools = Some(is_native);
        let id = SessionId::new();
        let mut ptk = many.ptk(&model);
        let remote = ptk.toolset();
        let remote = remote.names().filter(|name| name.contains("__"));
        let remote: Vec<String> = remote.map(str::to_owned).collect();
        for turn in 0..8 {
            if turn == 6 {
                ptk = many.ptk(&model);
            }
            let options = RunOptions {
                tools: Some(remote.clone()),
                context_window: Some(5000),
                max_tokens: Some(700),
                ..ptk.options()
            };
            let mut session = ptk.session(id.clone());
            let run = session.execute(format!("Question {turn}"), options).await;
            assert!(run.success, "{:?}", run.error);
        }
        let requests = model.requests();
        let last = requests.last().unwrap();
        let all = shown(last);
        assert!(!all.contains("Question 0"), "nothing was left out");
        if is_native {
            assert_eq!(names(last), names(&requests[1]));
            assert!(names(last).contains(&"weather__forecast"));
        } else {
            assert_eq!(all.matches("• weather__forecast: ").count(), 1, "{all}");
        }
        // Only what was left out breaks the prompt, also where the session goes
        // on in another program.
        let pairs = requests.windows(2);
        let broken = pairs.filter(|pair| !pair[1].messages.starts_with(&pair[0].messages));
        let notices = requests.iter().filter_map(|request| {
            let first = request.messages.first().map(Message::text)?;
            first
                .contains("was left out")
                .then_some(request.messages.get(1))
        });
        let mut notices: Vec<_> = notices.collect();
        notices.dedup();
        assert_eq!(broken.count(), notices.len());
    }
}

#[tokio::test]
async fn a_grammar_allows_the_tools_that_were_found() {
    let many = Many::new();
    let replies = [find("weather forecast"), weather(), "Rain.".to_owned()];
    let mut model = written(&replies);
    model.capabilities = Capabilities {
        constraint: Constraint::Grammar,
        ..Capabilities::default()
    };
    let held = ptk::Model::new(model.clone()).hold(Hold::Always);
    let ptk = many.builder(&model).model(held).build().unwrap();
    assert_eq!(ptk.run("Rain?").await.unwrap(), "Rain.");
    let grammars = model
        .requests()
        .into_iter()
        .map(|request| match request.format {
            ResponseFormat::Grammar(grammar) => grammar,
            other => panic!("{other:?}"),
        });
    let has = |grammar: &String| grammar.contains("weather__forecast");
    let grammars: Vec<String> = grammars.collect();
    assert!(
        grammars
            .iter()
            .all(|grammar| grammar.contains("find_tools"))
    );
    assert_eq!(
        grammars.iter().map(has).collect::<Vec<_>>(),
        [false, true, true]
    );
}

#[tokio::test]
async fn what_is_deferred_can_be_chosen() {
    let many = Many::new();
    let model = written(&["Hello.".to_owned()]);
    let ptk = many.ptk(&model);
    let ask = async |options: RunOptions| {
        ptk.execute("Hi", options).await.into_result().unwrap();
        shown(model.requests().last().unwrap())
    };
    let definition = "• weather__forecast: ";
    let all = ask(RunOptions {
        defer_tools: DeferTools::Never,
        ..ptk.options()
    })
    .await;
    assert!(all.contains(definition) && !all.contains("find_tools"));
    let pinned = ask(RunOptions {
        pinned_tools: vec!["weather__forecast".to_owned()],
        ..ptk.options()
    })
    .await;
    assert!(pinned.contains(definition) && pinned.contains("find_tools"));
    let few = Some(vec!["read_file".to_owned(), "weather__forecast".to_owned()]);
    let few = RunOptions {
        tools: few,
        ..ptk.options()
    };
    assert!(!ask(few.clone()).await.contains("find_tools"));
    let always = ask(RunOptions {
        defer_tools: DeferTools::Always,
        ..few
    })
    .await;
    assert!(always.contains("find_tools") && !always.contains(definition));
    assert!(
        always.contains("• read_file: "),
        "built-in tools are defined"
    );
}

#[tokio::test]
async fn a_hundred_tools_take_little_of_the_window() {
    let many = Many::new();
    for is_native in [false, true] {
        let mut model = written(&["Hello.".to_owned()]);
        model.capabilities.native_tools = Some(is_native);
        let ptk = many.ptk(&model);
        let cost = async |options: RunOptions| {
            let context = ptk.new_session().context(options).await.unwrap();
            context.tools
        };
        let few: Vec<String> = many
            .scene
            .registry()
            .toolset()
            .names()
            .map(str::to_owned)
            .collect();
        let without = cost(RunOptions {
            tools: Some(few),
            ..ptk.options()
        })
        .await;
        let with = cost(ptk.options()).await;
        let whole = cost(RunOptions {
            defer_tools: DeferTools::Never,
            ..ptk.options()
        })
        .await;
        eprintln!(
            "100 tools, native {is_native}: {} tokens, {} if defined",
            with - without,
            whole - without
        );
        assert!(with - without <= 2000, "{with} - {without}");
    }
}

#[tokio::test]
async fn what_a_definition_quotes_is_not_taken_for_a_copy() {
    let many = Many::new();
    let posted = call(
        "slack__post_message",
        &json!({"channel_id": "text", "text": "text"}),
    );
    let replies = [find("slack__post_message"), posted, "Done.".to_owned()];
    let ptk = many.ptk(&written(&replies));
    assert_eq!(ptk.run("Post it").await.unwrap(), "Done.");
    assert_eq!(many.called(), ["slack__post_message"]);
}

#[tokio::test]
async fn a_thousand_tools_are_registered_and_searched_fast() {
    let many = Many::new();
    let model = written(&[find("weather forecast"), "Done.".to_owned()]);
    let ptk = many.ptk(&model);
    let start = std::time::Instant::now();
    for number in 0..900 {
        let name = format!("server{}__tool_{number}", number % 30);
        let about = format!("Does the thing with the number {number}");
        let nothing = |_: ptk::tools::CallContext, _: crate::scene::Wait| async move {
            Ok::<_, ptk::tools::ToolError>("done")
        };
        let tool = ptk::tools::tool_fn(name, about, ptk::tools::Effects::NONE, nothing);
        ptk.register(tool.deferrable()).unwrap();
    }
    ptk.run("Go").await.unwrap();
    let took = start.elapsed();
    eprintln!("1,000 tools: {took:?}");
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    assert!(shown(&model.requests()[1]).contains("• weather__forecast: "));
}
