//! `ptk mcp serve`: runs PTK's tools as an MCP server.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ptk_mcp::serve::{ClientApprover, HTTP_PATH, HttpOptions, McpServer, ParseReply, RepairJson};
use ptk_tools::TypedTool as _;
use ptk_tools::tools::SearchCode;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::sessions::Sessions;
use super::token;
use crate::agent::{self, HostedToolSettings};
use crate::args::{McpServeArgs, listed_names};
use crate::config::{Settings, Withheld};
use crate::exit::{self, Exit};
use crate::interrupt::{Interrupt, Interrupts};
use crate::mcp::Servers;
use crate::printer;
use crate::sessions;

pub(crate) fn run(args: &McpServeArgs) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let server = server(args, &settings)?;
    if let Some(note) = settings.note(Withheld::is_about_tools)? {
        exit::note(&note);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, usize::from))
        .enable_all()
        .build()?;
    let end = CancellationToken::new();
    let ended = runtime.block_on(async {
        let serving = async {
            match args.listen {
                Some(address) => over_http(args, &server, address, &end).await,
                None => over_stdio(&server, &end).await,
            }
        };
        tokio::pin!(serving);
        let mut interrupts = Interrupts::new();
        let interrupt = tokio::select! {
            ended = &mut serving => return ended.map(|()| Exit::Success),
            interrupt = interrupts.next() => interrupt,
        };
        end.cancel();
        if interrupt == Interrupt::Stop {
            exit::note("finishing what is under way; once more to stop at once");
        }
        tokio::select! {
            ended = serving => ended.map(|()| Exit::Success),
            _ = interrupts.next() => Ok(Exit::Interrupted),
        }
    });
    // Background jobs end with the tools.
    drop(server);
    // A thread still waits for stdin.
    runtime.shutdown_background();
    ended
}

async fn over_stdio(server: &McpServer, end: &CancellationToken) -> Result<()> {
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    Ok(server.serve_streams(stdin, stdout, end).await?)
}

async fn over_http(
    args: &McpServeArgs,
    server: &McpServer,
    address: SocketAddr,
    end: &CancellationToken,
) -> Result<()> {
    let is_here = address.ip().is_loopback();
    let options = HttpOptions {
        token: token::of(args, is_here)?,
        hosts: args.host.clone(),
        any_host: !is_here && args.host.is_empty(),
        ..HttpOptions::default()
    };
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("nothing can listen on {address}; choose another port with --listen, such as 127.0.0.1:0")
    })?;
    let address = listener.local_addr()?;
    // The process that started it waits for this line.
    let _ = writeln!(printer::stderr(), "listening on http://{address}");
    exit::note(&format!("the MCP server is at http://{address}{HTTP_PATH}"));
    Ok(server.serve_http(listener, options, end).await?)
}

fn server(args: &McpServeArgs, settings: &Settings) -> Result<McpServer> {
    let named = args.tools.as_deref().map(listed_names);
    let offers = |name: &str| {
        let named = named.as_ref();
        named.is_none_or(|named| named.iter().any(|it| it == name))
    };
    // These two are no tools of the agent, whose model writes no calls for others.
    let (parses, repairs) = (offers(ParseReply::NAME), offers(RepairJson::NAME));
    let hosted = match &named {
        Some(named) => {
            let pure = [ParseReply::NAME, RepairJson::NAME];
            let others = named.iter().filter(|name| !pure.contains(&name.as_str()));
            Some(others.cloned().collect())
        }
        None => settings.run()?.tools,
    };
    let wanted = HostedToolSettings {
        names: hosted.as_deref(),
        approve: args.approve,
        sandbox: &args.sandbox,
        approver: Arc::new(ClientApprover),
    };
    let (manager, mut offered) = agent::hosted(&wanted, settings, &Servers::default())?;
    if named.is_none() {
        offered.push(SearchCode::NAME.to_owned());
    }
    let workspace = manager.workspace().root().display().to_string();
    let mut builder = McpServer::builder(manager)
        .offer(offered)
        .resources(Sessions::of(sessions::workspace(settings.folder())?))
        .instructions(format!(
            "The tools work in {workspace}; paths are relative to it. If a call is not allowed, do not try the same in another way: tell the user what it was for."
        ));
    if parses {
        builder = builder.parse_reply(ParseReply::new(settings.dialects()?))?;
    }
    if repairs {
        builder = builder.repair_json()?;
    }
    Ok(builder.build()?)
}
