//! `ptk serve`: runs the gateway.

use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use ptk::Model;
use ptk::llm::FileMemory;
use ptk::llm::http::{HttpProvider, Key, Kind};
use ptk_gateway::{Ended, Gateway, GatewayBuilder, HostedTools, Keys, Limits, Log};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, HostedToolSettings, MEMORY};
use crate::args::dialects::check_taught;
use crate::args::{AccessLog, ServeArgs, listed_names};
use crate::ask::NoTerminal;
use crate::config::Settings;
use crate::dialect_file;
use crate::exit::{self, Exit};
use crate::interrupt::Interrupts;
use crate::mcp::Servers;
use crate::models::{Models, Unchosen};
use crate::printer::{self, Notation};

/// The variable with the key of a server that is given only by its address.
const UPSTREAM_KEY: &str = "PTK_API_KEY";
/// The variable with one key for all clients.
const KEY: &str = "PTK_SERVE_KEY";

pub(crate) fn run(args: &ServeArgs) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let note = settings.note(|_| true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, usize::from))
        .enable_all()
        .build()?;
    let tools = listed_names(args.tools.as_deref().unwrap_or_default());
    let servers = runtime.block_on(Servers::connect(
        &settings,
        &args.sandbox,
        Some(&tools),
        None,
    ))?;
    servers.notes().iter().for_each(|note| exit::note(note));
    let gateway = gateway(args, &settings, &servers)?;
    runtime.block_on(async {
        let mut interrupts = Interrupts::new();
        let listener = TcpListener::bind(args.listen).await.with_context(|| {
            format!(
                "nothing can listen on {}; choose another port with --listen, such as 127.0.0.1:0",
                args.listen
            )
        })?;
        let address = listener.local_addr()?;
        let mut stderr = printer::stderr();
        // The process that started it waits for this line.
        let _ = writeln!(stderr, "listening on http://{address}");
        if let Some(note) = note {
            let _ = writeln!(stderr, "{note}");
        }
        let end = CancellationToken::new();
        let serving = gateway.serve(listener, end.cancelled());
        tokio::pin!(serving);
        tokio::select! {
            () = &mut serving => return Ok(Exit::Success),
            _ = interrupts.next() => end.cancel(),
        }
        let _ = writeln!(
            stderr,
            "finishing what is under way; once more to stop at once"
        );
        tokio::select! {
            () = &mut serving => Ok(Exit::Success),
            _ = interrupts.next() => Ok(Exit::Interrupted),
        }
    })
}

fn gateway(args: &ServeArgs, settings: &Settings, servers: &Servers) -> Result<Gateway> {
    let mut dialects = agent::dialects(settings)?;
    let configured = Models::of(settings)?;
    let given = args.dialect.as_deref();
    for name in given.into_iter().chain(configured.dialects()) {
        dialects = dialect_file::add(dialects, name)?;
    }
    if let Some(dialect) = args.dialect.as_deref().filter(|it| *it != "auto") {
        check_taught(&dialects, "--dialect <NAME>", dialect)?;
    }
    let is_here = args.listen.ip().is_loopback();
    let mut builder = Gateway::builder()
        .mode(args.mode.into())
        .dialect(args.dialect.clone())
        .dialects(dialects)
        .keys(keys(args, is_here)?)
        .hosts(args.host.iter().cloned())
        .any_host(!is_here && args.host.is_empty())
        .origins(args.cors.iter().cloned())
        .capture(args.capture.clone())
        .limits(Limits {
            body: args.max_body as usize * 1024 * 1024,
            concurrent: args.max_concurrent as usize,
            time: args.timeout,
            connections: args.max_connections as usize,
            body_memory: args.max_body_memory as usize * 1024 * 1024,
            ..Limits::default()
        })
        .log(log(args.access_log));
    if let Some(names) = &args.tools {
        let names = listed_names(names);
        let wanted = HostedToolSettings {
            names: Some(&names),
            approve: args.approve,
            sandbox: &args.sandbox,
            approver: Arc::new(NoTerminal),
        };
        let (manager, names) = agent::hosted(&wanted, settings, servers)?;
        builder = builder.tools(Some(HostedTools::of_manager(manager, &names)?));
    }
    if let Some(folder) = ptk_sandbox::state_folder() {
        builder = builder.memory(Arc::new(FileMemory::new(folder.join(MEMORY))));
    }
    Ok(models(builder, args, settings)?.build()?)
}

/// The log of requests, if it is enabled.
fn log(what: AccessLog) -> Option<Log> {
    match what {
        AccessLog::Off => None,
        AccessLog::Json => Some(Log::new(tell)),
        AccessLog::Contents => Some(Log::new(tell).contents(true)),
    }
}

/// A line of the log.
#[derive(Serialize)]
struct LogLine<'a> {
    /// When the request ended.
    ts: String,
    #[serde(flatten)]
    ended: &'a Ended,
}

/// Logs a request that has ended.
fn tell(ended: &Ended) {
    let ts = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let line = serde_json::to_string(&LogLine { ts, ended }).unwrap_or_default();
    // If the log is no longer read, the gateway continues.
    let mut stderr = printer::stderr().notation(Notation::Json);
    let _ = writeln!(stderr, "{line}");
}

/// The keys of the clients. Clients on other machines need one.
fn keys(args: &ServeArgs, is_here: bool) -> Result<Option<Keys>> {
    if let Some(path) = &args.keys {
        let keys = Keys::open(path).with_context(|| format!("--keys {}", path.display()))?;
        if let Some(exposure) = keys.exposure() {
            let _ = writeln!(printer::stderr(), "warning: {exposure}");
        }
        return Ok(Some(keys));
    }
    let one = std::env::var(KEY).ok().filter(|key| !key.trim().is_empty());
    if let Some(key) = one {
        return Ok(Some(Keys::one(key.trim())));
    }
    if !is_here {
        bail!(exit::wrong_usage(format!(
            "on {} anybody who reaches it could ask; name a file of keys with --keys, or set one in {KEY}",
            args.listen
        )));
    }
    Ok(None)
}

/// Adds the models to serve.
fn models(
    mut builder: GatewayBuilder,
    args: &ServeArgs,
    settings: &Settings,
) -> Result<GatewayBuilder> {
    if let Some(address) = &args.upstream {
        let provider = HttpProvider::at(Kind::OpenAi, address)?;
        let key = Key::of_variables(&[UPSTREAM_KEY]);
        return Ok(builder.server(Model::new(provider.key(key))));
    }
    let said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let named = Models::of(settings)?.all();
    let is_chosen = said(&args.model.provider) || said(&args.model.model);
    if is_chosen || named.is_empty() {
        let chosen = agent::chosen(&args.model, settings, Unchosen::Refuse)?;
        builder = builder.any(std::iter::once(chosen.model).chain(chosen.fallbacks));
    }
    let is_only = named.len() == 1 && !is_chosen;
    for (name, models) in named {
        match models {
            Ok(models) => {
                if is_only {
                    builder = builder.any(models.clone());
                }
                builder = builder.model(name, models);
            }
            // The other models can be served.
            Err(error) if !is_only => {
                let _ = writeln!(printer::stderr(), "{name} is not served: {error:#}");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(builder)
}
