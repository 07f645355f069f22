use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use ptk_protocol::{Arguments, ErrorType, ToolResult};
use ptk_tools::{AllowAll, Around, Cache, Middleware, Next, Passing};
use serde_json::json;

use super::Fixture;

/// Writes down what passes it.
struct Diary(&'static str, &'static Mutex<Vec<String>>);

impl Middleware for Diary {
    fn handle<'a>(&'a self, call: Passing<'a>, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let name = call.tool.spec().name.clone();
            self.1.lock().unwrap().push(format!("{} > {name}", self.0));
            let result = next.run(call).await;
            let success = result.success;
            self.1
                .lock()
                .unwrap()
                .push(format!("{} < {success}", self.0));
            result
        })
    }
}

#[tokio::test]
async fn layers_observe_in_the_order_in_which_they_were_given() {
    static DIARY: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let fixture = Fixture::with(|builder| {
        builder
            .layer(Diary("outer", &DIARY))
            .layer(Diary("inner", &DIARY))
    });
    fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(
        *DIARY.lock().unwrap(),
        [
            "outer > look",
            "inner > look",
            "inner < true",
            "outer < true"
        ]
    );
}

/// Gives the call other arguments.
struct Change(serde_json::Value);

impl Middleware for Change {
    fn handle<'a>(&'a self, mut call: Passing<'a>, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        call.args = Arguments::from_json(&self.0.to_string()).unwrap();
        next.run(call)
    }
}

#[tokio::test]
async fn a_layer_can_change_the_arguments_and_they_are_checked() {
    let fixture = Fixture::with(|builder| builder.layer(Change(json!({"text": "b"}))));
    let result = fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(result.fields["content"], "b");

    let fixture = Fixture::with(|builder| builder.layer(Change(json!({"text": [1]}))));
    let result = fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(result.error_type, Some(ErrorType::ValidationError));
    assert_eq!(fixture.runs(), 0);
}

/// Answers by itself, or panics.
struct Answer(Option<ToolResult>);

impl Middleware for Answer {
    fn handle<'a>(&'a self, _: Passing<'a>, _: Next<'a>) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { self.0.clone().unwrap() })
    }
}

#[tokio::test]
async fn a_layer_can_answer_or_refuse() {
    let answer = ToolResult::success([("content", json!("from the layer"))]);
    let fixture = Fixture::with(|builder| builder.layer(Answer(Some(answer))));
    let result = fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(result.fields["content"], "from the layer");
    assert_eq!(fixture.runs(), 0);

    let refusal = ToolResult::failure(ErrorType::PermissionError, "not here");
    let fixture = Fixture::with(|builder| builder.layer(Answer(Some(refusal))));
    let result = fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(result.error, "not here");
}

#[tokio::test]
async fn a_layer_that_breaks_down_harms_only_its_call() {
    let mut fixture = Fixture::with(|builder| builder.layer(Answer(None)));
    let result = fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(result.error_type, Some(ErrorType::SystemError));
    assert_eq!(fixture.types().last().unwrap(), "tool_call_end");
}

/// Counts what reaches the tool.
struct Count(&'static AtomicUsize);

impl Middleware for Count {
    fn handle<'a>(&'a self, call: Passing<'a>, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        self.0.fetch_add(1, Ordering::SeqCst);
        next.run(call)
    }

    fn around(&self) -> Around {
        Around::Run
    }
}

#[tokio::test]
async fn a_layer_around_the_run_sees_only_calls_that_may_run() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let fixture = Fixture::with(|builder| builder.layer(Count(&SEEN)));
    fixture.call("look", json!({})).await;
    fixture.call("change", json!({"text": "a"})).await;
    assert_eq!(SEEN.load(Ordering::SeqCst), 0);
    fixture.call("look", json!({"text": "a"})).await;
    assert_eq!(SEEN.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_cache_answers_until_something_changes() {
    let fixture = Fixture::with(|builder| builder.approver(AllowAll).layer(Cache::new(2)));
    let look = |text: &'static str| fixture.call("look", json!({"text": text}));
    look("a").await;
    fixture.tools.begin_turn();
    assert_eq!(look("a").await.fields["content"], "a");
    assert_eq!(fixture.runs(), 1);

    fixture.call("change", json!({"text": "x"})).await;
    fixture.tools.begin_turn();
    look("a").await;
    assert_eq!(fixture.runs(), 3);

    // Two more push it out.
    look("b").await;
    look("c").await;
    fixture.tools.begin_turn();
    look("a").await;
    assert_eq!(fixture.runs(), 6);
}

/// What is known is given again, also in the same turn.
#[tokio::test]
async fn a_cache_answers_a_repeat_in_the_same_turn() {
    let fixture = Fixture::with(|builder| builder.approver(AllowAll).layer(Cache::new(2)));
    for _ in 0..5 {
        let result = fixture.call("look", json!({"text": "a"})).await;
        assert_eq!(result.fields["content"], "a", "{result:?}");
    }
    assert_eq!(fixture.runs(), 1);
}
