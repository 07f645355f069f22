//! The telemetry that a receiver gets: spans, their parents and attributes,
//! metrics; and neither content nor secrets unless enabled.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message as _;
use ptk::llm::{
    Delta, Deltas, FinishReason, LlmError, LlmErrorKind, Message, Provider, Request, Usage,
};
use ptk::tools::{CallContext, Effects, ToolError, tool_fn};
use ptk::{Execution, Ptk, RunOptions};
use ptk_telemetry::{Content, Settings, Telemetry};
use tracing::instrument::WithSubscriber as _;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// A secret that a model writes into its arguments.
const SECRET: &str = "sk-swordfish0123456789abcdef";

/// A model that fails once, calls a tool twice, and answers.
#[derive(Debug)]
struct Model;

impl Provider for Model {
    fn name(&self) -> &'static str {
        "acme"
    }

    fn model(&self) -> Option<&str> {
        Some("small-1")
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let is_said = |message: &&Message| matches!(message, Message::Assistant { .. });
        let call = |word: &str| {
            format!(r#"<PTK_CALL>{{"tool": "look_up", "args": {{"word": "{word}"}}}}</PTK_CALL>"#)
        };
        let text = match request.messages.iter().filter(is_said).count() {
            0 => call(&format!("marker-argument {SECRET}")),
            1 => call("missing"),
            _ => "marker-answer".to_owned(),
        };
        let usage = Usage {
            input_tokens: 100,
            cached_tokens: 60,
            cache_write_tokens: 30,
            output_tokens: 7,
            ..Usage::default()
        };
        let deltas = [
            Delta::Text(text),
            Delta::Usage(usage),
            Delta::Finish(FinishReason::Stop),
        ];
        Box::pin(futures_util::stream::iter(deltas.map(Ok)))
    }
}

/// A provider that refuses every request.
#[derive(Debug)]
struct Nobody;

impl Provider for Nobody {
    fn name(&self) -> &'static str {
        "nobody"
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let error = LlmError::of(self, request, LlmErrorKind::Unauthorized);
        let error = error.message("marker-refusal");
        Box::pin(futures_util::stream::iter([Err(LlmError {
            status: Some(401),
            ..error
        })]))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Word {
    /// The word
    word: String,
}

fn ptk(provider: impl Provider + 'static) -> Ptk {
    let look_up = |_: CallContext, args: Word| async move {
        if args.word == "missing" {
            return Err(ToolError::user("marker-error: there is no such word"));
        }
        Ok(format!("marker-result {}", args.word))
    };
    Ptk::builder()
        .provider(provider)
        .workspace(std::env::temp_dir())
        .tool(tool_fn("look_up", "Look a word up", Effects::NONE, look_up))
        .build()
        .unwrap()
}

/// The telemetry that a receiver got.
struct Received {
    run: Execution,
    spans: Vec<Span>,
    metrics: BTreeMap<String, Data>,
    raw: String,
}

async fn received(provider: impl Provider + 'static, content: Content) -> Received {
    let server = MockServer::start().await;
    for signal in ["/v1/traces", "/v1/metrics"] {
        Mock::given(method("POST"))
            .and(path(signal))
            .respond_with(ResponseTemplate::new(200))
            .mount(&server)
            .await;
    }
    let settings = Settings {
        content,
        ..Settings::new(server.uri())
    };
    let telemetry = tokio::task::spawn_blocking(|| Telemetry::new(settings).unwrap());
    let telemetry = telemetry.await.unwrap();
    let options = RunOptions {
        parent: Some("call_of_a_parent".to_owned()),
        ..RunOptions::default()
    };
    let listening = Registry::default().with(telemetry.layer());
    let ptk = ptk(provider);
    let run = ptk.execute("marker-prompt", options);
    let run = run.with_subscriber(listening).await;
    let sent = tokio::task::spawn_blocking(|| telemetry.shut_down(Duration::from_secs(20)));
    sent.await.unwrap().unwrap();
    let mut spans = Vec::new();
    let mut metrics = BTreeMap::new();
    let mut raw = String::new();
    for request in server.received_requests().await.unwrap() {
        raw.push_str(&String::from_utf8_lossy(&request.body));
        let kind = request.headers.get("content-type").unwrap();
        assert_eq!(kind, "application/x-protobuf");
        if request.url.path() == "/v1/traces" {
            let traces = ExportTraceServiceRequest::decode(&*request.body).unwrap();
            for resource in traces.resource_spans {
                let attributes = resource.resource.unwrap().attributes;
                assert_eq!(text(&attributes, "service.name").as_deref(), Some("ptk"));
                spans.extend(
                    resource
                        .scope_spans
                        .into_iter()
                        .flat_map(|scope| scope.spans),
                );
            }
        } else {
            let all = ExportMetricsServiceRequest::decode(&*request.body).unwrap();
            let scopes = all.resource_metrics.into_iter();
            let scopes = scopes.flat_map(|resource| resource.scope_metrics);
            for metric in scopes.flat_map(|scope| scope.metrics) {
                metrics.insert(metric.name, metric.data.unwrap());
            }
        }
    }
    Received {
        run,
        spans,
        metrics,
        raw,
    }
}

fn value(attributes: &[KeyValue], key: &str) -> Option<Value> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    found.value.clone()?.value
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    match value(attributes, key)? {
        Value::StringValue(text) => Some(text),
        Value::ArrayValue(list) => match list.values.into_iter().next()? {
            AnyValue {
                value: Some(Value::StringValue(text)),
                ..
            } => Some(format!("[{text}]")),
            _ => None,
        },
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Received {
    fn named(&self, name: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }

    /// The points of a histogram: how many values, and their attributes.
    fn points(&self, name: &str) -> Vec<(u64, Vec<KeyValue>)> {
        let Some(Data::Histogram(histogram)) = self.metrics.get(name) else {
            panic!("{name} is missing: {:?}", self.metrics.keys());
        };
        let points = histogram.data_points.iter();
        points
            .map(|point| (point.count, point.attributes.clone()))
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_a_tree_of_spans() {
    let received = received(Model, Content::LeftOut).await;
    assert_eq!(received.run.content, "marker-answer");
    let run = received.named("invoke_agent ptk")[0];
    assert!(run.parent_span_id.is_empty());
    let iterations = received.named("iteration");
    let chats = received.named("chat small-1");
    let calls = received.named("execute_tool look_up");
    assert_eq!((iterations.len(), chats.len(), calls.len()), (3, 3, 2));
    assert!(
        received
            .spans
            .iter()
            .all(|span| span.trace_id == run.trace_id)
    );
    for iteration in &iterations {
        assert_eq!(iteration.parent_span_id, run.span_id);
    }
    let is_iteration = |id: &[u8]| iterations.iter().any(|span| span.span_id == id);
    for span in chats.iter().chain(&calls) {
        assert!(is_iteration(&span.parent_span_id), "{}", span.name);
    }
    // The three ids.
    let request = text(&run.attributes, "request_id").unwrap();
    for span in &received.spans {
        let attributes = &span.attributes;
        assert_eq!(text(attributes, "request_id").as_ref(), Some(&request));
        let parent = text(attributes, "parent_id");
        assert_eq!(parent.as_deref(), Some("call_of_a_parent"), "{}", span.name);
    }
    let made = received
        .run
        .tool_calls
        .iter()
        .map(|call| call.id.to_string());
    for (span, id) in calls.iter().zip(made) {
        assert_eq!(text(&span.attributes, "call_id").as_ref(), Some(&id));
        assert_eq!(text(&span.attributes, "gen_ai.tool.call.id"), Some(id));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_are_those_of_the_conventions() {
    let received = received(Model, Content::LeftOut).await;
    let chat = received.named("chat small-1")[0];
    assert_eq!(chat.kind, SpanKind::Client as i32);
    for (key, expected) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "acme"),
        ("gen_ai.request.model", "small-1"),
        ("gen_ai.response.finish_reasons", "[stop]"),
        ("gen_ai.usage.input_tokens", "100"),
        ("gen_ai.usage.cache_read.input_tokens", "60"),
        ("gen_ai.usage.cache_creation.input_tokens", "30"),
        ("gen_ai.usage.output_tokens", "7"),
    ] {
        assert_eq!(
            text(&chat.attributes, key).as_deref(),
            Some(expected),
            "{key}"
        );
    }
    let run = received.named("invoke_agent ptk")[0];
    let session = received.run.session.to_string();
    for (key, expected) in [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.agent.name", "ptk"),
        ("gen_ai.conversation.id", session.as_str()),
        ("gen_ai.usage.input_tokens", "300"),
        ("gen_ai.usage.cache_read.input_tokens", "180"),
        ("gen_ai.usage.cache_creation.input_tokens", "90"),
    ] {
        assert_eq!(
            text(&run.attributes, key).as_deref(),
            Some(expected),
            "{key}"
        );
    }
    let calls = received.named("execute_tool look_up");
    let failed: Vec<Option<String>> = calls
        .iter()
        .map(|call| text(&call.attributes, "error.type"))
        .collect();
    assert_eq!(failed, [None, Some("user_error".to_owned())]);
    assert_eq!(calls[1].status.as_ref().unwrap().code, 2);
    for (key, expected) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "look_up"),
        ("gen_ai.tool.type", "function"),
    ] {
        assert_eq!(text(&calls[0].attributes, key).as_deref(), Some(expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tool_and_model_is_measured() {
    let received = received(Model, Content::LeftOut).await;
    let requests = received.points("gen_ai.client.operation.duration");
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].0, 3);
    assert_eq!(
        text(&requests[0].1, "gen_ai.request.model").as_deref(),
        Some("small-1")
    );
    let mut tools: Vec<(u64, Option<String>)> = received
        .points("gen_ai.execute_tool.duration")
        .into_iter()
        .map(|(count, of)| {
            assert_eq!(text(&of, "gen_ai.tool.name").as_deref(), Some("look_up"));
            (count, text(&of, "error.type"))
        })
        .collect();
    tools.sort();
    assert_eq!(tools, [(1, None), (1, Some("user_error".to_owned()))]);
    let mut tokens: Vec<Option<String>> = received
        .points("gen_ai.client.token.usage")
        .into_iter()
        .map(|(count, of)| {
            assert_eq!(count, 3);
            text(&of, "gen_ai.token.type")
        })
        .collect();
    tokens.sort();
    assert_eq!(
        tokens,
        [Some("input".to_owned()), Some("output".to_owned())]
    );
    assert_eq!(received.points("gen_ai.invoke_agent.duration")[0].0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_said_is_sent() {
    for received in [
        received(Model, Content::LeftOut).await,
        received(Nobody, Content::LeftOut).await,
    ] {
        assert!(!received.raw.contains("marker"), "{}", received.raw);
        assert!(!received.raw.contains("swordfish"));
        assert!(received.spans.iter().all(|span| span.events.is_empty()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_is_sent_if_it_is_asked_for_but_no_secret() {
    let received = received(Model, Content::Captured).await;
    for word in [
        "marker-prompt",
        "marker-argument",
        "marker-result",
        "marker-error",
        "marker-answer",
    ] {
        assert!(received.raw.contains(word), "{word}");
    }
    assert!(!received.raw.contains("swordfish"), "{}", received.raw);
    assert!(received.raw.contains("[redacted]"));
    let call = received.named("execute_tool look_up")[0];
    let arguments = text(&call.attributes, "gen_ai.tool.call.arguments").unwrap();
    assert_eq!(arguments, r#"{"word":"marker-argument [redacted]"}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_is_told_by_its_kind() {
    let received = received(Nobody, Content::LeftOut).await;
    assert!(!received.run.success);
    let chat = received.named("chat nobody")[0];
    assert_eq!(text(&chat.attributes, "error.type").as_deref(), Some("401"));
    let run = received.named("invoke_agent ptk")[0];
    assert_eq!(run.status.as_ref().unwrap().code, 2);
    let points = received.points("gen_ai.client.operation.duration");
    assert_eq!(text(&points[0].1, "error.type").as_deref(), Some("401"));
}

/// A receiver that does not answer does not block the program.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_is_not_waited_for_for_ever() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = Settings::new(format!("http://{}", silent.local_addr().unwrap()));
    let telemetry = tokio::task::spawn_blocking(|| Telemetry::new(settings).unwrap());
    let telemetry = telemetry.await.unwrap();
    let listening = Registry::default().with(telemetry.layer());
    let ptk = ptk(Model);
    let run = ptk.run("Go").with_subscriber(listening).await;
    assert_eq!(run.unwrap(), "marker-answer");
    let sent = tokio::task::spawn_blocking(|| telemetry.shut_down(Duration::from_millis(50)));
    assert!(sent.await.unwrap().is_err());
}
