//! Searching for tools: which ones fit a query, what the prompt says of them,
//! and when they are deferred.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it inside tests, but not in the functions that tests share"
)]

use std::collections::HashSet;
use std::time::{Duration, Instant};

use ptk_model::{DEFINITIONS, DeferPolicy, DeferTools, DeferredTools, Estimate, TokenCounter as _};
use ptk_protocol::{Arguments, Formatter as _, PtkFormatter, ToolSpec, Toolset};
use serde_json::{Map, Value, json};

/// The tools of nine servers, as they describe themselves.
fn samples() -> Toolset {
    let tools = include_str!("samples/tools.txt").lines().map(|line| {
        let mut parts = line.split('|').map(str::trim);
        let (name, about) = (parts.next().unwrap(), parts.next().unwrap());
        let parameters = parts.next().unwrap().split(',').map(str::trim);
        let parameters: Vec<&str> = parameters.filter(|it| !it.is_empty()).collect();
        ToolSpec::new(name, about, schema(&parameters))
    });
    Toolset::new(tools).unwrap()
}

fn schema(parameters: &[&str]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in parameters {
        let (name, kind) = parameter.split_once(':').unwrap_or((parameter, "s"));
        let kind = match kind {
            "i" => "integer",
            "b" => "boolean",
            _ => "string",
        };
        let name = name.strip_suffix('?').unwrap_or_else(|| {
            required.push(name);
            name
        });
        let about = format!("The {} of it", name.replace('_', " "));
        properties.insert(name.to_owned(), json!({"type": kind, "description": about}));
    }
    json!({"type": "object", "properties": properties, "required": required})
}

fn deferred(tools: Toolset) -> DeferredTools {
    DeferredTools::new(tools, "find_tools", 1500, &Estimate)
}

fn names(tools: &Toolset) -> Vec<&str> {
    tools.names().collect()
}

fn args(value: &Value) -> Arguments {
    Arguments::from_json(&value.to_string()).unwrap()
}

#[test]
fn the_tool_that_is_meant_is_among_the_first() {
    let deferred = deferred(samples());
    let best = [
        ("create an issue", "github__create_issue"),
        ("open a bug report in jira", "jira__create_issue"),
        ("send an email to Ann", "mail__send_message"),
        ("post to slack", "slack__post_message"),
        ("what is the weather tomorrow", "weather__forecast"),
        ("add lunch to my calendar", "calendar__create_event"),
        ("run SQL", "postgres__query"),
        ("screenshot of a web page", "browser__take_screenshot"),
        ("merge the PR pull request", "github__merge_pull_request"),
        ("when is everybody free?", "calendar__find_free_time"),
        ("rerun failed CI workflow", "github__rerun_workflow"),
        ("thread_ts", "slack__reply_to_thread"),
        ("how do I get to the station by train", "maps__directions"),
    ];
    for (query, wanted) in best {
        let found = deferred.find(query, 5);
        assert!(found.contains(wanted), "{query}: {:?}", names(&found));
    }
    let first = [
        ("send an e-mail", "mail__send_message"),
        ("post a message to a slack channel", "slack__post_message"),
        ("weather forecast", "weather__forecast"),
        ("describe table", "postgres__describe_table"),
        ("fork a repo", "github__fork_repository"),
        ("export as PDF", "drive__export_pdf"),
    ];
    for (query, wanted) in first {
        let found = deferred.find(query, 5);
        assert_eq!(names(&found)[0], wanted, "{query}: {:?}", names(&found));
    }
}

#[test]
fn names_come_before_all_else() {
    let deferred = deferred(samples());
    let first = |query: &str| names(&deferred.find(query, 5))[0].to_owned();
    assert_eq!(first("jira__get_issue"), "jira__get_issue");
    assert_eq!(first("JIRA__GET_ISSUE"), "jira__get_issue");
    assert_eq!(first("please call `mail__reply` now"), "mail__reply");
    // Behind the prefix of a server.
    assert_eq!(first("transition_issue"), "jira__transition_issue");
    let both = deferred.find("create_issue", 5);
    assert_eq!(
        names(&both)[..2],
        ["github__create_issue", "jira__create_issue"]
    );
    let several = deferred.find("mail__forward, slack__get_users", 5);
    assert_eq!(
        HashSet::from(["mail__forward", "slack__get_users"]),
        names(&several)[..2].iter().copied().collect()
    );
    // The beginning of a name.
    let all = deferred.find("postgres__", 20);
    assert_eq!(all.len(), 7);
    assert!(all.names().all(|name| name.starts_with("postgres__")));
    // A word of a sentence is not taken for a name.
    let found = deferred.find("search the web pages for type errors", 1);
    assert_ne!(names(&found), ["browser__type"]);
}

#[test]
fn a_name_counts_more_than_a_description() {
    let tool = |name: &str, about: &str| ToolSpec::new(name, about, json!({"type": "object"}));
    let tools = Toolset::new([
        tool("a", "Resize, crop, rotate and convert an image"),
        tool("rotate_image", "Turn a picture"),
        tool("b", "Rotate keys"),
    ]);
    let deferred = deferred(tools.unwrap());
    assert_eq!(names(&deferred.find("rotate", 5))[0], "rotate_image");
    assert_eq!(deferred.find("rotate", 5).len(), 3);
}

#[test]
fn queries_and_tools_may_be_in_any_script() {
    let tool = |name: &str, about: &str| ToolSpec::new(name, about, json!({"type": "object"}));
    let tools = Toolset::new([
        tool(
            "wetter",
            "Wettervorhersage für eine Stadt: Höchstwerte, Niederschläge",
        ),
        tool("tenki", "都市の天気予報を取得する"),
        tool("pogoda", "Прогноз погоды на завтра"),
    ]);
    let deferred = deferred(tools.unwrap());
    for (query, wanted) in [
        ("Hochstwerte", "wetter"),
        ("NIEDERSCHLÄGE", "wetter"),
        ("天気", "tenki"),
        ("прогноз ПОГОДЫ", "pogoda"),
    ] {
        assert_eq!(names(&deferred.find(query, 1)), [wanted], "{query}");
    }
    for query in ["", "   ", "?!", "🦀", "\u{0}", "zzz"] {
        assert!(deferred.find(query, 5).is_empty(), "{query:?}");
    }
    assert!(
        deferred
            .find(&"wetter ".repeat(50_000), 5)
            .contains("wetter")
    );
}

#[test]
fn the_order_of_tools_of_the_same_rank_is_theirs() {
    let tool = |name: &str| ToolSpec::new(name, "Frobnicate", json!({"type": "object"}));
    let tools = Toolset::new(["z", "m", "a", "k"].map(tool)).unwrap();
    let deferred = deferred(tools);
    for _ in 0..5 {
        assert_eq!(names(&deferred.find("frobnicate", 9)), ["z", "m", "a", "k"]);
    }
}

#[test]
fn a_result_has_definitions_or_says_what_there_is() {
    let deferred = deferred(samples());
    let formatter = PtkFormatter::default();
    let asked = args(&json!({"query": "weather", "limit": 1}));
    let found = deferred.find_for(&asked);
    assert_eq!(found.len(), 1);
    let result = deferred.result(&asked, &found, Some(&formatter));
    assert_eq!(DeferredTools::names_in(&result), names(&found));
    assert_eq!(
        result.fields[DEFINITIONS],
        formatter.tool_definitions(&found).as_str()
    );
    let native = deferred.result(&asked, &found, None);
    assert!(!native.fields.contains_key(DEFINITIONS));
    // The number is what is wanted, within reason.
    let count =
        |limit: Value| deferred.find_for(&args(&json!({"query": "github", "limit": limit})));
    assert_eq!(count(json!(3)).len(), 3);
    assert_eq!(count(Value::Null).len(), 5);
    assert_eq!(count(json!(1000)).len(), 20);

    for (query, says) in [
        ("quux", "No tool fits \"quux\""),
        ("", "The query is empty"),
    ] {
        let asked = args(&json!({"query": query}));
        let found = deferred.find_for(&asked);
        let result = deferred.result(&asked, &found, Some(&formatter));
        assert!(result.success);
        assert!(result.fields["notice"].as_str().unwrap().starts_with(says));
        let groups = result.fields["groups"].as_array().unwrap();
        assert_eq!(groups.len(), 11);
        assert_eq!(groups[0], "github__ (25 tools)");
    }
}

#[test]
fn the_list_is_cut_until_it_fits() {
    let tools = samples();
    let shown = |budget: u64| {
        let deferred = DeferredTools::new(tools.clone(), "find_tools", budget, &Estimate);
        deferred.listing().to_owned()
    };
    let (lines, few, names, groups) = (shown(5000), shown(1500), shown(700), shown(150));
    assert!(lines.contains("- github__create_issue: Create a new issue in a GitHub repository\n"));
    assert!(few.contains("- mail__read_message: Read an e-mail message"));
    assert!(names.contains("- slack__: list_channels, post_message, "));
    assert!(groups.contains("- github__ (25 tools)\n") && groups.contains("maps__ (1 tool)"));
    for (text, budget) in [(lines, 5000), (few, 1500), (names, 700), (groups, 150)] {
        // The sentence above the list is not counted.
        let tokens = Estimate.count(&text);
        assert!(tokens <= budget + 60, "{tokens} of {budget}");
    }
    let least = shown(10);
    assert!(
        least.contains("- github__ (25 tools)\n") && least.contains(" others"),
        "{least}"
    );
}

fn all_of(tools: &Toolset) -> HashSet<&str> {
    tools.names().collect()
}

#[test]
fn a_hundred_tools_take_two_thousand_tokens_at_most() {
    let tools = samples();
    assert!(tools.len() >= 100);
    let formatter = PtkFormatter::default();
    let native = |tools: &Toolset| -> String {
        let all = tools.iter();
        all.map(|tool| tool.function_definition().to_string())
            .collect()
    };
    let text = |tools: &Toolset| formatter.tool_definitions(tools);
    let defined: [&dyn Fn(&Toolset) -> String; 2] = [&native, &text];
    for window in [None, Some(4096), Some(32_768), Some(1_000_000)] {
        for defined in defined {
            let policy = DeferPolicy {
                when: DeferTools::Auto,
                window,
                tokens: &Estimate,
            };
            let (kept, deferred) = policy.split(&tools, &all_of(&tools), defined).unwrap();
            assert!(kept.is_empty());
            let search = Toolset::new(deferred.search().cloned()).unwrap();
            let spent = Estimate.count(deferred.listing()) + Estimate.count(&defined(&search));
            let whole = Estimate.count(&defined(&tools));
            eprintln!("window {window:?}: {spent} tokens instead of {whole}");
            assert!(spent <= 2000, "{spent} tokens");
        }
    }
}

#[test]
fn tools_are_deferred_where_they_are_many_or_large() {
    let tools = samples();
    let defined = |tools: &Toolset| PtkFormatter::default().tool_definitions(tools);
    let split = |tools: &Toolset, when: DeferTools, window: u32| {
        let policy = DeferPolicy {
            when,
            window: Some(window),
            tokens: &Estimate,
        };
        policy.split(tools, &all_of(tools), defined).is_some()
    };
    let some = tools.named(tools.names().take(20));
    assert!(!split(&some, DeferTools::Auto, 200_000));
    let one_more = tools.named(tools.names().take(21));
    assert!(split(&one_more, DeferTools::Auto, 200_000));
    assert!(
        split(&some, DeferTools::Auto, 8192),
        "a tenth of the window"
    );
    assert!(split(&some, DeferTools::Always, 200_000));
    assert!(!split(&tools, DeferTools::Never, 4096));
    // The search would take more than they do.
    let two = tools.named(["mail__list_labels", "postgres__list_schemas"]);
    assert!(!split(&two, DeferTools::Auto, 500));

    let policy = DeferPolicy {
        when: DeferTools::Auto,
        window: None,
        tokens: &Estimate,
    };
    let mine = HashSet::from(["mail__reply", "jira__get_issue"]);
    assert!(policy.split(&tools, &HashSet::new(), defined).is_none());
    let (kept, _) = DeferPolicy {
        when: DeferTools::Always,
        ..policy
    }
    .split(&tools, &mine, defined)
    .unwrap();
    assert_eq!(kept.len(), tools.len() - 2);
    // Another tool may have the name of the search.
    let other = tools.with(ToolSpec::new(
        "find_tools",
        "Find tools",
        json!({"type": "object"}),
    ));
    let other = other.unwrap();
    let (_, deferred) = policy.split(&other, &all_of(&tools), defined).unwrap();
    assert!(deferred.is_search("find_more_tools"));
}

#[test]
fn a_thousand_tools_are_searched_at_once() {
    let tools = samples();
    let many = (0..1000).map(|number| {
        let tool = tools.iter().nth(number % tools.len()).unwrap();
        let name = format!(
            "s{}__{}",
            number / tools.len(),
            tool.name.replace("__", "_")
        );
        ToolSpec::new(name, tool.description.clone(), tool.parameters.clone())
    });
    let many = Toolset::new(many).unwrap();
    let start = Instant::now();
    let deferred = deferred(many.clone());
    for _ in 0..100 {
        assert_eq!(deferred.find("create an issue in a repository", 5).len(), 5);
    }
    let took = start.elapsed();
    eprintln!("an index of 1,000 tools and 100 searches: {took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let mut added = Toolset::default();
    let start = Instant::now();
    for tool in many.iter() {
        added = added.with(tool.clone()).unwrap();
    }
    assert_eq!(names(&added), names(&many));
    assert!(start.elapsed() < Duration::from_secs(5));
}
