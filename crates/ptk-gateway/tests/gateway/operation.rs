//! Keys, limits, captures, logs, and clients that go away.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use ptk_gateway::{Ended, Gateway, HostedTools, Keys, Limits, Log};
use ptk_llm::{Delta, Deltas, FinishReason, Provider, Request, Script};
use ptk_model::Model;
use ptk_sandbox::Workspace;
use ptk_tools::{AllowAll, ToolManager, tools};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};

use crate::scene::{Scene, call, failing, weather};

const PATH: &str = "/v1/chat/completions";

fn hello() -> Value {
    json!({"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]})
}

/// Sends a request with these headers. Returns the status and the answer.
async fn ask(scene: &Scene, headers: &[(&str, &str)]) -> (u16, String) {
    send(scene, headers, &hello()).await
}

async fn send(scene: &Scene, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let client = ptk_http::client().no_proxy().build().unwrap();
    let mut request = client.post(format!("{}{PATH}", scene.base)).json(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

fn script(replies: usize) -> Script {
    Script::new(std::iter::repeat_n("Hello.", replies))
}

#[tokio::test]
async fn whoever_has_no_key_may_not_ask() {
    let scene = Scene::with(script(2), |it| it.keys(Some(Keys::one("secret")))).await;
    for headers in [
        &[][..],
        &[("authorization", "Bearer wrong")],
        &[("authorization", "secret")],
    ] {
        let (status, text) = ask(&scene, headers).await;
        assert_eq!(status, 401, "{headers:?}");
        assert!(
            text.contains("invalid_api_key") && !text.contains("secret"),
            "{text}"
        );
    }
    assert_eq!(
        ask(&scene, &[("authorization", "Bearer secret")]).await.0,
        200
    );
    assert_eq!(ask(&scene, &[("x-api-key", "secret")]).await.0, 200);
    assert_eq!(
        scene.get("/healthz", "*/*").await.status,
        200,
        "that is for everybody"
    );
    assert_eq!(scene.get("/v1/models", "*/*").await.status, 401);
}

#[tokio::test]
async fn keys_are_limited_each_by_its_own_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    std::fs::write(
        &file,
        "# names and keys\nann a-key per-minute=2\nbob b-key\n",
    )
    .unwrap();
    let keys = Keys::open(&file).unwrap();
    let scene = Scene::with(script(9), |it| it.keys(Some(keys))).await;
    let ann = [("x-api-key", "a-key")];
    assert_eq!(ask(&scene, &ann).await.0, 200);
    assert_eq!(ask(&scene, &ann).await.0, 200);
    let (status, text) = ask(&scene, &ann).await;
    assert_eq!(status, 429);
    assert!(text.contains("2 requests a minute"), "{text}");
    for _ in 0..3 {
        assert_eq!(ask(&scene, &[("x-api-key", "b-key")]).await.0, 200);
    }
}

#[tokio::test]
async fn a_key_may_have_less_of_everything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    std::fs::write(&file, "ann a-key body=1 seconds=1\nbob b-key body=900\n").unwrap();
    let keys = Keys::open(&file).unwrap();
    let slow = Slow {
        said: WORDS,
        go_on: Arc::default(),
        left: Arc::default(),
    };
    let scene = Scene::with(script(9), |it| {
        it.model("slow", [Model::new(slow)]).keys(Some(keys))
    })
    .await;
    let long = "x".repeat(2 * 1024 * 1024);
    let long = json!({"model": "tiny", "messages": [{"role": "user", "content": long}]});
    let (status, text) = send(&scene, &[("x-api-key", "a-key")], &long).await;
    assert_eq!(status, 413, "{text}");
    assert_eq!(send(&scene, &[("x-api-key", "b-key")], &long).await.0, 200);
    let endless = json!({"model": "slow", "messages": [{"role": "user", "content": "Hi"}]});
    let (status, text) = send(&scene, &[("x-api-key", "a-key")], &endless).await;
    assert_eq!(status, 504, "{text}");
    assert!(text.contains("longer than 1 s"), "{text}");
}

#[tokio::test]
async fn what_was_said_is_told_only_where_it_is_wanted_and_without_secrets() {
    let told: Arc<Mutex<Vec<Ended>>> = Arc::default();
    let telling = Arc::clone(&told);
    let log = Log::new(move |ended| telling.lock().unwrap().push(ended.clone())).contents(true);
    let scene = Scene::with(script(2), |it| it.log(Some(log))).await;
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let said = format!("My token is {secret}, and my cat is Tom.");
    let body = json!({"model": "tiny", "messages": [{"role": "user", "content": said}]});
    let answer = scene.post(PATH, &body).await;
    let filler = "x".repeat(2 * 1024 * 1024);
    let body = json!({"model": "tiny", "messages": [{"role": "user", "content": filler}]});
    scene.post(PATH, &body).await;
    let told = told.lock().unwrap().clone();
    let asked = told[0].request.as_deref().unwrap();
    assert!(
        asked.contains("my cat is Tom") && !asked.contains(&secret),
        "{asked}"
    );
    assert_eq!(told[0].answer.as_deref(), Some(answer.text.as_str()));
    let asked = told[1].request.as_deref().unwrap();
    assert!(asked.len() < 1024 * 1024 + 100 && asked.ends_with("bytes more)"));
}

#[test]
fn a_file_of_keys_that_makes_no_sense_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    for (text, why) in [
        ("", "it contains no key"),
        ("ann\n", "line 1: a name or a key is missing"),
        ("ann k\nbob b often\n", "line 2: `often` is unknown"),
        ("ann k per-minute=0\n", "line 1: per-minute is 0"),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = Keys::open(&file).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(Keys::open(folder.path().join("none")).is_err());
}

#[tokio::test]
async fn pages_of_others_and_other_names_are_refused() {
    let scene = Scene::with(script(9), |it| {
        it.origins(["https://chat.example".to_owned()])
    })
    .await;
    assert_eq!(ask(&scene, &[]).await.0, 200);
    assert_eq!(ask(&scene, &[("host", "localhost:1")]).await.0, 200);
    assert_eq!(
        ask(&scene, &[("host", "evil.example")]).await.0,
        403,
        "DNS rebinding"
    );
    assert_eq!(
        ask(&scene, &[("origin", "https://evil.example")]).await.0,
        403
    );
    assert_eq!(
        ask(&scene, &[("origin", "https://chat.example")]).await.0,
        200
    );
    assert_eq!(ask(&scene, &[("origin", "null")]).await.0, 403);
}

#[tokio::test]
async fn what_is_too_large_or_too_much_is_refused() {
    let limits = Limits {
        body: 500,
        ..Limits::default()
    };
    let scene = Scene::with(script(1), |it| it.limits(limits)).await;
    let mut large = hello();
    large["messages"][0]["content"] = json!("x".repeat(600));
    let answer = scene.post(PATH, &large).await;
    assert_eq!((answer.status, scene.times()), (413, 0));
    assert_eq!(scene.post(PATH, &hello()).await.status, 200);
}

#[tokio::test]
async fn there_is_nothing_elsewhere_and_methods_are_named() {
    let scene = Scene::new(["x"]).await;
    assert_eq!(scene.get("/v2/nothing", "*/*").await.status, 404);
    let wrong = scene.get(PATH, "*/*").await;
    assert_eq!(wrong.status, 405);
    assert_eq!(wrong.headers["allow"], "POST");
    let short = scene.post("/chat/completions", &hello()).await;
    assert_eq!(short.status, 200, "some clients leave out the version");
}

#[tokio::test]
async fn another_model_is_asked_where_one_fails() {
    let first = Script::new([failing("", 500)]);
    let second = Script::new(["From the second.", "Again."]);
    let asked = second.clone();
    let scene = Scene::with(script(0), |it| {
        it.model("pair", [Model::new(first), Model::new(second)])
    })
    .await;
    let mut body = hello();
    body["model"] = json!("pair");
    for stream in [false, true] {
        body["stream"] = json!(stream);
        assert_eq!(scene.post(PATH, &body).await.status, 200);
    }
    assert_eq!(asked.given(), 2, "the first one is left alone for a while");
}

#[tokio::test]
async fn a_reply_that_began_is_not_asked_of_another() {
    let first = Script::new([failing("It is", 500)]);
    let second = Script::new(["From the second."]);
    let asked = second.clone();
    let scene = Scene::with(script(0), |it| {
        it.model("pair", [Model::new(first), Model::new(second)])
    })
    .await;
    let mut body = hello();
    body["model"] = json!("pair");
    body["stream"] = json!(true);
    let answer = scene.post(PATH, &body).await;
    assert!(
        answer.text.contains("It is") && answer.text.contains("error"),
        "{}",
        answer.text
    );
    assert_eq!(asked.given(), 0);
}

#[tokio::test]
async fn what_was_repaired_is_kept_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let broken = format!(
        "<tool_call>{{'name': 'get_weather', 'arguments': {{'city': '{secret}',}}}}</tool_call>"
    );
    let clean = call("get_weather", &json!({"city": "Oslo"}));
    let path = folder.path().to_owned();
    let scene = Scene::with(Script::new([broken, clean]), |it| it.capture(Some(path))).await;
    let tool =
        json!({"type": "function", "function": {"name": "get_weather", "parameters": weather()}});
    let mut body = hello();
    body["tools"] = json!([tool]);
    for _ in 0..2 {
        assert_eq!(scene.post(PATH, &body).await.status, 200);
    }
    let kept = std::fs::read_to_string(folder.path().join("cases.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 1, "the second one was right: {kept}");
    let case: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    assert!(!kept.contains(secret), "{kept}");
    assert!(case["input"].as_str().unwrap().contains("get_weather"));
    assert_eq!(case["tools"][0]["name"], "get_weather");
}

#[tokio::test]
async fn what_is_told_of_requests_has_nothing_of_what_was_said() {
    let told: Arc<Mutex<Vec<Ended>>> = Arc::default();
    let telling = Arc::clone(&told);
    let log = Log::new(move |ended| telling.lock().unwrap().push(ended.clone()));
    let scene = Scene::with(script(1), |it| it.log(Some(log))).await;
    let answer = scene.post(PATH, &hello()).await;
    let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
    scene.post_text(PATH, "{").await;
    let told = told.lock().unwrap().clone();
    let [good, bad] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(
        (good.status, good.model.as_str(), &good.id),
        (200, "tiny", &id)
    );
    assert_eq!(
        (bad.status, bad.error.as_deref()),
        (400, Some("invalid_value"))
    );
    let written = serde_json::to_string(&told).unwrap();
    assert!(!written.contains("Hello"), "{written}");
    let metrics = scene.get("/metrics", "*/*").await.text;
    assert!(
        metrics.contains("ptk_requests_total{path=\"/v1/chat/completions\",status=\"200\"} 1"),
        "{metrics}"
    );
}

/// A model that sends a text, and then waits until it is notified to go on. It
/// notifies when its stream is dropped.
#[derive(Debug)]
struct Slow {
    said: [&'static str; 2],
    go_on: Arc<Notify>,
    left: Arc<Notify>,
}

const WORDS: [&str; 2] = ["One ", "word"];

struct Leaving(Arc<Notify>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Provider for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn stream<'a>(&'a self, _: &'a Request) -> Deltas<'a> {
        let leaving = Leaving(Arc::clone(&self.left));
        let [first, behind] = self.said;
        let rest = async move {
            let _leaving = leaving;
            self.go_on.notified().await;
            futures_util::stream::iter([
                Ok(Delta::Text(behind.to_owned())),
                Ok(Delta::Finish(FinishReason::Stop)),
            ])
        };
        let first = futures_util::stream::iter([Ok(Delta::Text(first.to_owned()))]);
        first
            .chain(futures_util::stream::once(rest).flatten())
            .boxed()
    }
}

/// A gateway with a model that waits, and the handle that ends it.
async fn slow(
    said: [&'static str; 2],
) -> (
    String,
    Arc<Notify>,
    Arc<Notify>,
    oneshot::Sender<()>,
    tokio::task::JoinHandle<()>,
) {
    let (go_on, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let model = Slow {
        said,
        go_on: Arc::clone(&go_on),
        left: Arc::clone(&left),
    };
    let gateway = Gateway::builder().any([Model::new(model)]).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (end, ended) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        gateway.serve(listener, async { drop(ended.await) }).await;
    });
    (base, go_on, left, end, serving)
}

/// The stream of a response. Its connection is dropped with it.
async fn stream(base: &str, mut body: Value) -> BoxStream<'static, reqwest::Result<bytes::Bytes>> {
    body["stream"] = json!(true);
    let client = ptk_http::client().no_proxy().build().unwrap();
    let request = client.post(format!("{base}{PATH}")).json(&body);
    request.send().await.unwrap().bytes_stream().boxed()
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_request_to_the_model() {
    let (base, _go_on, left, _end, _serving) = slow(WORDS).await;
    let mut pieces = stream(&base, hello()).await;
    pieces.next().await.unwrap().unwrap();
    drop(pieces);
    left.notified().await;
}

#[tokio::test]
async fn a_stream_that_is_under_way_is_finished_before_it_ends() {
    let (base, go_on, _left, end, serving) = slow(WORDS).await;
    let mut pieces = stream(&base, hello()).await;
    let mut text = String::from_utf8(pieces.next().await.unwrap().unwrap().to_vec()).unwrap();
    drop(end);
    // New connections are refused, once it has noticed its end.
    while ptk_http::client()
        .no_proxy()
        .build()
        .unwrap()
        .get(&base)
        .send()
        .await
        .is_ok()
    {
        tokio::task::yield_now().await;
    }
    go_on.notify_one();
    while let Some(piece) = pieces.next().await {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    assert!(
        text.contains("One") && text.contains("word") && text.ends_with("data: [DONE]\n\n"),
        "{text}"
    );
    drop(pieces);
    serving.await.unwrap();
}

#[tokio::test]
async fn tools_are_run_for_clients_that_have_none() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "forty-two\n").unwrap();
    let workspace = Workspace::open(folder.path()).unwrap().with_temp().unwrap();
    let registry = tools::all(serde_json::from_value(json!({})).unwrap()).unwrap();
    let manager = ToolManager::builder(workspace).tools(registry).build();
    let hosted = HostedTools::of_manager(manager, &["read_file".to_owned()]).unwrap();
    let read = call("read_file", &json!({"path": "a.txt"}));
    let said = format!("Let me look.\n{read}");
    let replies = [
        said.as_str(),
        "It says forty-two.",
        said.as_str(),
        "It says forty-two.",
    ];
    let scene = Scene::with(Script::new(replies), |it| it.tools(Some(hosted))).await;
    let whole = scene.post(PATH, &hello()).await.json();
    assert_eq!(
        whole["choices"][0]["message"]["content"],
        "Let me look.\n\nIt says forty-two."
    );
    assert_eq!(whole["choices"][0]["finish_reason"], "stop");
    assert_eq!(whole["ptk"]["problems"][0]["code"], "tool_ran");
    assert!(
        scene.shown().contains("forty-two"),
        "the model saw the file"
    );
    let mut body = hello();
    body["stream"] = json!(true);
    let stream = scene.post(PATH, &body).await.text;
    assert!(
        stream.contains("forty-two.") && !stream.contains("tool_calls"),
        "{stream}"
    );
    // The client's own tools take precedence.
    let tool =
        json!({"type": "function", "function": {"name": "get_weather", "parameters": weather()}});
    body["tools"] = json!([tool]);
    let _ = scene.post(PATH, &body).await;
    assert!(!scene.shown().contains("read_file"), "{}", scene.shown());
}

/// What the model of one client has read, that of another has not.
#[tokio::test]
async fn clients_share_neither_repeats_nor_knowledge_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "forty-two\n").unwrap();
    let workspace = Workspace::open(folder.path()).unwrap().with_temp().unwrap();
    let registry = tools::all(serde_json::from_value(json!({})).unwrap()).unwrap();
    let manager = ToolManager::builder(workspace)
        .tools(registry)
        .approver(AllowAll)
        .build();
    let names = ["read_file".to_owned(), "write_file".to_owned()];
    let hosted = HostedTools::of_manager(manager, &names).unwrap();
    let read = call("read_file", &json!({"path": "a.txt"}));
    let write = call("write_file", &json!({"path": "a.txt", "content": "gone\n"}));
    let replies = [&*read, "Read.", &*read, "Read, too.", &*write, "Written."];
    let scene = Scene::with(Script::new(replies), |it| it.tools(Some(hosted))).await;
    for _ in 0..2 {
        let _ = scene.post(PATH, &hello()).await;
        assert!(scene.shown().contains("forty-two"), "{}", scene.shown());
    }
    let _ = scene.post(PATH, &hello()).await;
    assert!(scene.shown().contains("was not read"), "{}", scene.shown());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "forty-two\n");
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let (go_on, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let said = WORDS;
    let model = Slow { said, go_on, left };
    let limits = Limits {
        time: Duration::from_millis(1),
        ..Limits::default()
    };
    let scene = Scene::with(script(0), |it| it.any([Model::new(model)]).limits(limits)).await;
    let mut body = hello();
    body["model"] = json!("other");
    assert_eq!(scene.post(PATH, &body).await.status, 504);
}

#[tokio::test]
async fn arguments_go_out_while_the_model_writes_them() {
    let said = [
        "I look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Hà N",
        "ội\", \"days\": \"3\"}}\n</tool_call>",
    ];
    let tool =
        json!({"type": "function", "function": {"name": "get_weather", "parameters": weather()}});
    let mut body = hello();
    body["tools"] = json!([tool]);
    let (base, go_on, _left, _end, _serving) = slow(said).await;
    let mut pieces = stream(&base, body).await;
    let mut text = String::new();
    // The model waits: whatever comes now was sent before it went on.
    while !text.contains("Hà N") {
        let piece = pieces.next().await.expect("the arguments").unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    assert!(
        text.contains("\"name\":\"get_weather\"") && !text.contains("days"),
        "{text}"
    );
    go_on.notify_one();
    while let Some(piece) = pieces.next().await {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    assert!(
        text.contains("\"arguments\":\"3}\"") && text.ends_with("[DONE]\n\n"),
        "{text}"
    );
}
