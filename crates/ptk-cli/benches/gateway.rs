//! The cost of the gateway: CPU time for a request and for a piece of a stream,
//! compared in the same run with a bare proxy of axum and reqwest that parses
//! JSON both ways and, if `PTK_BENCH_LITELLM` names the program, with
//! `LiteLLM`'s proxy; and many slow streams at once.
//!
//! ```sh
//! cargo bench -p ptk-cli --bench gateway
//! cargo bench -p ptk-cli --bench gateway -- slow 1000 60
//! cargo bench -p ptk-cli --bench gateway -- restart
//! ```
//!
//! The model's server, the proxies and the gateway run in separate processes.

#![allow(clippy::print_stdout, reason = "it is a report")]
#![allow(
    clippy::indexing_slicing,
    reason = "JSON gives null for what is not there"
)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::ffi::OsStr;
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;

type Anything = Box<dyn Error + Send + Sync>;

/// The requests of a round, and the pieces of a stream.
const REQUESTS: usize = 4_000;
const STREAMS: usize = 60;
const PIECES: usize = 400;
const ROUNDS: usize = 5;
/// The divisor for `LiteLLM`'s proxy, which would take minutes otherwise.
const FEWER: usize = 20;
/// How long `LiteLLM`'s proxy may take to start.
const START: Duration = Duration::from_secs(180);
/// The most CPU time, as a multiple of the bare proxy's.
const REQUEST_BAR: f64 = 1.3;
const PIECE_BAR: f64 = 1.2;
const MEMORY_BAR: u64 = 24 * 1024;

/// The model's reply: text and a call.
const REPLY: &str = "I'll look that up.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";

fn main() -> Result<(), Anything> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| it != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let workers = if matches!(words.first(), Some(&"bare")) {
        2
    } else {
        1
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()?;
    match words.as_slice() {
        ["model", pause] => runtime.block_on(model(Duration::from_millis(pause.parse()?), 0)),
        ["model", pause, port] => {
            let pause = Duration::from_millis(pause.parse()?);
            runtime.block_on(model(pause, port.parse()?))
        }
        ["restart"] => runtime.block_on(restart()),
        ["bare", upstream] => runtime.block_on(bare(upstream)),
        ["slow", streams, seconds] => runtime.block_on(slow(streams.parse()?, seconds.parse()?)),
        _ => runtime.block_on(compare()),
    }
}

/// Serves on a port, a free one if it is 0, and prints its address.
async fn serve(router: Router, port: u16) -> Result<(), Anything> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    // Otherwise the kernel would delay small pieces.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

/// A model's server with a fixed reply.
async fn model(pause: Duration, port: u16) -> Result<(), Anything> {
    let answer = move |Json(body): Json<Value>| async move {
        if body["stream"] == true {
            let ticks = stream::iter(0..PIECES).then(move |at| async move {
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": [{"index": 0, "delta": {"content": format!("word{at} ")}, "finish_reason": null}]});
                Ok::<_, Infallible>(Bytes::from(format!("data: {chunk}\n\n")))
            });
            let last = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": PIECES, "total_tokens": 10}});
            let last = Bytes::from(format!("data: {last}\n\ndata: [DONE]\n\n"));
            let body = Body::from_stream(ticks.chain(stream::iter([Ok(last)])));
            return ([("content-type", "text/event-stream")], body).into_response();
        }
        let message = json!({"role": "assistant", "content": REPLY});
        Json(
            json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}}),
        )
        .into_response()
    };
    let models = || async { Json(json!({"object": "list", "data": [{"id": "m"}]})) };
    let router = Router::new()
        .route("/v1/chat/completions", post(answer))
        .route("/v1/models", get(models));
    serve(router, port).await
}

#[derive(Clone)]
struct Bare {
    client: reqwest::Client,
    url: String,
}

/// A proxy that parses JSON both ways, and does nothing else with it.
async fn bare(upstream: &str) -> Result<(), Anything> {
    let client = ptk_http::client().no_proxy().tcp_nodelay(true).build()?;
    let url = format!("{upstream}/v1/chat/completions");
    let router = Router::new()
        .route("/v1/chat/completions", post(pass))
        .with_state(Bare { client, url });
    serve(router, 0).await
}

async fn pass(State(bare): State<Bare>, Json(body): Json<Value>) -> Response {
    let Ok(response) = bare.client.post(&bare.url).json(&body).send().await else {
        return "unreachable".into_response();
    };
    if body["stream"] != true {
        let value: Value = response.json().await.unwrap_or_default();
        return Json(value).into_response();
    }
    let pieces = response.bytes_stream().map(|piece| {
        let piece = piece.unwrap_or_default();
        let mut out = Vec::with_capacity(piece.len());
        for line in piece.split(|byte| *byte == b'\n') {
            match line.strip_prefix(b"data: ") {
                Some(data) if data != b"[DONE]" => {
                    let value: Value = serde_json::from_slice(data).unwrap_or_default();
                    out.extend_from_slice(b"data: ");
                    let _ = serde_json::to_writer(&mut out, &value);
                    out.push(b'\n');
                }
                _ => {
                    out.extend_from_slice(line);
                    out.push(b'\n');
                }
            }
        }
        out.pop();
        Ok::<_, Infallible>(Bytes::from(out))
    });
    (
        [("content-type", "text/event-stream")],
        Body::from_stream(pieces),
    )
        .into_response()
}

/// A server process.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn own(arguments: &[&str]) -> Result<Self, Anything> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or("no stdout")?;
        Self::of(child, BufReader::new(out))
    }

    fn gateway(upstream: &str, folder: &Path) -> Result<Self, Anything> {
        // Another gateway may be measured instead: a program that takes the
        // address.
        if let Some(other) = std::env::var_os("PTK_BENCH_GATEWAY") {
            let mut command = Command::new(other);
            command.arg(format!("{upstream}/v1")).stderr(Stdio::piped());
            let mut child = command.spawn()?;
            let err = child.stderr.take().ok_or("no stderr")?;
            return Self::of(child, BufReader::new(err));
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptk"));
        command
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--mode",
                "text",
                "--access-log",
                "off",
                "--upstream",
            ])
            .arg(format!("{upstream}/v1"))
            .env("PTK_STATE", folder)
            .env("XDG_CONFIG_HOME", folder)
            // Backtraces take memory.
            .env_remove("RUST_BACKTRACE")
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let err = child.stderr.take().ok_or("no stderr")?;
        Self::of(child, BufReader::new(err))
    }

    /// `LiteLLM`'s proxy, as its own documents set it up.
    async fn litellm(
        program: &OsStr,
        upstream: &str,
        folder: &Path,
        client: &reqwest::Client,
    ) -> Result<Self, Anything> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let config = folder.join("litellm.yaml");
        std::fs::write(
            &config,
            format!(
                "model_list:\n  - model_name: m\n    litellm_params: {{model: openai/m, api_base: \"{upstream}/v1\", api_key: none}}\n"
            ),
        )?;
        let mut command = Command::new(program);
        command
            .arg("--config")
            .arg(config)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "true")
            .env(
                "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY",
                "true",
            )
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let server = Self {
            child: command.spawn()?,
            url: format!("http://127.0.0.1:{port}"),
        };
        let start = Instant::now();
        let models = format!("{}/v1/models", server.url);
        while client.get(&models).send().await.is_err() {
            if start.elapsed() > START {
                return Err("LiteLLM's proxy does not answer".into());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(server)
    }

    fn of(
        child: Child,
        mut told: impl std::io::BufRead + Send + 'static,
    ) -> Result<Self, Anything> {
        let mut line = String::new();
        told.read_line(&mut line)?;
        let url = line
            .trim()
            .rsplit(' ')
            .next()
            .unwrap_or_default()
            .to_owned();
        // The rest of its output is read, so that it never blocks.
        std::thread::spawn(move || told.lines().for_each(drop));
        Ok(Self { child, url })
    }

    /// The CPU time so far.
    fn cpu(&self) -> Result<Duration, Anything> {
        let mut time = Duration::ZERO;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let stat = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let nanos = stat.split(' ').next().unwrap_or_default().parse()?;
            time += Duration::from_nanos(nanos);
        }
        Ok(time)
    }

    /// The memory in kilobytes: now, and at most.
    fn memory(&self) -> Result<(u64, u64), Anything> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let number = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let number = line.and_then(|line| line.split_whitespace().nth(1));
            number.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        Ok((number("VmRSS:"), number("VmHWM:")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(stream: bool) -> Value {
    let tool = |name: &str| {
        json!({"type": "function", "function": {"name": name, "description": "Looks something up",
            "parameters": {"type": "object", "properties": {
                "city": {"type": "string", "description": "The city"},
                "days": {"type": "integer", "description": "How many days"},
            }, "required": ["city"]}}})
    };
    json!({"model": "m", "stream": stream, "temperature": 0.2,
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "What is the weather in Rome?"},
        ],
        "tools": [tool("get_weather"), tool("get_news"), tool("get_time")]})
}

/// Sends requests, eight at a time, and returns how many bytes came back.
async fn load(
    client: &reqwest::Client,
    url: &str,
    body: &Value,
    count: usize,
) -> Result<usize, Anything> {
    let url = format!("{url}/v1/chat/completions");
    let body = Bytes::from(body.to_string());
    let requests = (0..count).map(|_| {
        let request = client
            .post(&url)
            .header("content-type", "application/json")
            .body(body.clone());
        async move {
            let response = request.send().await?.error_for_status()?;
            Ok::<_, reqwest::Error>(response.bytes().await?.len())
        }
    });
    let mut answers = stream::iter(requests).buffer_unordered(8);
    let mut bytes = 0;
    while let Some(answer) = answers.next().await {
        bytes += answer?;
    }
    Ok(bytes)
}

/// The CPU time of a server for each request or piece of a round.
async fn cost(
    server: &Server,
    client: &reqwest::Client,
    stream: bool,
    part: usize,
) -> Result<Duration, Anything> {
    let count = if stream { STREAMS } else { REQUESTS } / part;
    let before = server.cpu()?;
    load(client, &server.url, &request(stream), count).await?;
    let each = if stream { count * PIECES } else { count };
    Ok(server.cpu()?.saturating_sub(before) / u32::try_from(each)?)
}

/// The median time until the first piece.
async fn first(server: &Server, client: &reqwest::Client) -> Result<Duration, Anything> {
    let mut times = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        let request = client
            .post(format!("{}/v1/chat/completions", server.url))
            .json(&request(true));
        let mut pieces = request.send().await?.bytes_stream();
        pieces.next().await.ok_or("nothing came")??;
        times.push(start.elapsed());
        while pieces.next().await.is_some() {}
    }
    times.sort_unstable();
    Ok(times.get(25).copied().unwrap_or_default())
}

async fn compare() -> Result<(), Anything> {
    let folder = std::env::temp_dir().join(format!("ptk-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let model = Server::own(&["model", "0"])?;
    let bare = Server::own(&["bare", &model.url])?;
    let gateway = Server::gateway(&model.url, &folder)?;
    let client = ptk_http::client().no_proxy().tcp_nodelay(true).build()?;
    for server in [&bare, &gateway] {
        load(&client, &server.url, &request(false), 200).await?;
    }
    let litellm = match std::env::var_os("PTK_BENCH_LITELLM") {
        Some(program) => {
            let server = Server::litellm(&program, &model.url, &folder, &client).await?;
            load(&client, &server.url, &request(false), FEWER).await?;
            Some(server)
        }
        None => None,
    };
    println!(
        "{:<34} {:>10} {:>10} {:>7} {:>6} {:>10}",
        "", "bare proxy", "gateway", "ratio", "bar", "LiteLLM"
    );
    let mut held = Vec::new();
    for (what, stream, bar) in [
        ("a small completion, with tools", false, REQUEST_BAR),
        ("a piece of a stream", true, PIECE_BAR),
    ] {
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let theirs = cost(&bare, &client, stream, 1).await?;
            let ours = cost(&gateway, &client, stream, 1).await?;
            ratios.push((ours.as_secs_f64() / theirs.as_secs_f64(), theirs, ours));
        }
        let litellm = match &litellm {
            Some(server) => Some(cost(server, &client, stream, FEWER).await?),
            None => None,
        };
        held.push(gateway.memory()?.0);
        ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
        if let Some((ratio, theirs, ours)) = ratios.get(ROUNDS / 2) {
            let micros = |time: &Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
            println!(
                "{what:<34} {:>10} {:>10} {ratio:>7.2} {bar:>6} {:>10}",
                micros(theirs),
                micros(ours),
                litellm.as_ref().map(micros).unwrap_or_default()
            );
        }
    }
    let (theirs, ours) = (
        first(&bare, &client).await?,
        first(&gateway, &client).await?,
    );
    println!(
        "{:<34} {theirs:>10.1?} {ours:>10.1?}",
        "until the first words, median"
    );
    let held: Vec<String> = held
        .into_iter()
        .map(|it| format!("{:.1}", mib(it)))
        .collect();
    println!(
        "memory of the gateway: {} MiB behind the completions and the streams (bar {} behind completions), {:.1} at most",
        held.join(" and "),
        MEMORY_BAR / 1024,
        mib(gateway.memory()?.1),
    );
    if let Some(server) = &litellm {
        let (now, _) = server.memory()?;
        let first = first(server, &client).await?;
        println!(
            "LiteLLM's proxy: {:.1} MiB, {first:.1?} until the first words",
            mib(now)
        );
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "no program has so much memory")]
fn mib(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// Runs many streams at once from a slow model.
async fn slow(streams: usize, seconds: u64) -> Result<(), Anything> {
    let folder = std::env::temp_dir().join(format!("ptk-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let pause = (seconds * 1000 / PIECES as u64).to_string();
    let model = Server::own(&["model", &pause])?;
    let gateway = Server::gateway(&model.url, &folder)?;
    let client = ptk_http::client().no_proxy().tcp_nodelay(true).build()?;
    let start = Instant::now();
    let url = format!("{}/v1/chat/completions", gateway.url);
    let asked = (0..streams).map(|_| {
        let request = client.post(&url).json(&request(true));
        tokio::spawn(async move {
            let response = request.send().await?.error_for_status()?;
            let text = response.text().await?;
            Ok::<_, reqwest::Error>(text.ends_with("data: [DONE]\n\n") && text.contains("word399"))
        })
    });
    let asked: Vec<_> = asked.collect();
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_secs((seconds / 6).max(1))).await;
            if let Ok((now, most)) = gateway.memory() {
                println!(
                    "{:>4} s: {:.1} MiB, {:.1} at most",
                    start.elapsed().as_secs(),
                    mib(now),
                    mib(most)
                );
            }
        }
    };
    let all = async {
        let mut whole = 0;
        for answer in asked {
            match answer.await {
                Ok(Ok(true)) => whole += 1,
                other => println!("not whole: {other:?}"),
            }
        }
        whole
    };
    let whole = tokio::select! {
        whole = all => whole,
        () = watch => 0,
    };
    println!(
        "{whole} of {streams} streams whole after {:.1} s; CPU {:.1?}",
        start.elapsed().as_secs_f64(),
        gateway.cpu()?
    );
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Kills and restarts a model's server while requests are sent.
async fn restart() -> Result<(), Anything> {
    let folder = std::env::temp_dir().join(format!("ptk-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut model = Server::own(&["model", "0"])?;
    let port = model.url.rsplit(':').next().unwrap_or_default().to_owned();
    let gateway = Server::gateway(&model.url, &folder)?;
    let client = ptk_http::client().no_proxy().build()?;
    let start = Instant::now();
    let askers = (0..8).map(|_| {
        let (client, url) = (client.clone(), gateway.url.clone());
        tokio::spawn(async move {
            let mut statuses: BTreeMap<(u64, u16), usize> = BTreeMap::new();
            while start.elapsed() < Duration::from_secs(12) {
                let request = client
                    .post(format!("{url}/v1/chat/completions"))
                    .json(&request(false));
                let status = match request.send().await {
                    Ok(response) => {
                        let status = response.status().as_u16();
                        // Whatever it is, it is a response of the API.
                        let is_json = response.json::<Value>().await.is_ok();
                        if is_json { status } else { 0 }
                    }
                    Err(_) => 0,
                };
                let phase = start.elapsed().as_secs() / 4;
                *statuses.entry((phase, status)).or_default() += 1;
            }
            statuses
        })
    });
    let askers: Vec<_> = askers.collect();
    tokio::time::sleep(Duration::from_secs(4)).await;
    model.child.kill()?;
    model.child.wait()?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    model = Server::own(&["model", "0", &port])?;
    let mut all: BTreeMap<(u64, u16), usize> = BTreeMap::new();
    for asker in askers {
        for (key, count) in asker.await? {
            *all.entry(key).or_default() += count;
        }
    }
    println!("killed after 4 s, started again after 7 s; status 0 is no answer at all");
    for ((phase, status), count) in all {
        println!(
            "{:>2} to {:>2} s: {count:>6} with {status}",
            phase * 4,
            phase * 4 + 4
        );
    }
    drop(model);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
