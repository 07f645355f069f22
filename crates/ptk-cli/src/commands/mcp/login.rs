//! `ptk mcp login` and `ptk mcp logout`: logins to servers over HTTP.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use ptk_mcp::Login;

use super::show::wanted;
use crate::args::{ServerLoginArgs, ServerLogoutArgs};
use crate::commands::run::runtime;
use crate::config::{ConfiguredServer, Settings};
use crate::exit::{self, Exit};
use crate::interrupt::Interrupts;
use crate::mcp;
use crate::view::clean::in_line;

/// What opens an address in the user's browser.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

pub(super) fn login(args: &ServerLoginArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let server = named(&settings, &args.name)?;
    let tokens = mcp::tokens().context("there is no folder for a key file")?;
    let open = |url: &str| {
        let is_opened = !args.no_browser && open_in_browser(url);
        let what = if is_opened {
            "Opened in your browser"
        } else {
            "Open this in your browser"
        };
        exit::note(&format!("{what}:\n  {}", in_line(url)));
        exit::note("Waiting for the login; Ctrl-C gives up.");
    };
    let client_secret = args.client_secret_env.as_deref().map(secret).transpose()?;
    let login = Login {
        client_id: args.client_id.as_deref(),
        client_secret: client_secret.as_deref(),
        scopes: &args.scopes,
        open: &open,
    };
    let ended = runtime()?.block_on(async {
        let mut interrupts = Interrupts::new();
        tokio::select! {
            ended = ptk_mcp::login(&server.declared, tokens, login) => Some(ended),
            _ = interrupts.next() => None,
        }
    });
    let name = &server.name;
    match ended {
        None => Ok(Exit::Interrupted),
        Some(Err(error)) => Err(anyhow!("{name}: {error}")),
        Some(Ok(())) => {
            writeln!(
                out,
                "Logged in to {name}. `ptk mcp test {name}` shows its tools."
            )?;
            Ok(Exit::Success)
        }
    }
}

pub(super) fn logout(args: &ServerLogoutArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let server = named(&settings, &args.name)?;
    let tokens = mcp::tokens().context("there is no folder for a key file")?;
    let url = server.declared.url.unwrap_or_default();
    if tokens.load(&url).map_err(|error| anyhow!(error))?.is_none() {
        bail!("there is no login to {}", server.name);
    }
    tokens.save(&url, None).map_err(|error| anyhow!(error))?;
    writeln!(out, "The login to {} is forgotten.", server.name)?;
    Ok(Exit::Success)
}

/// The secret of a client, in a variable of the environment: others on the machine
/// see the command line.
fn secret(name: &str) -> Result<String> {
    let secret = std::env::var(name).ok().filter(|secret| !secret.is_empty());
    secret.with_context(|| format!("the variable {name} is not set in the environment of ptk"))
}

fn named(settings: &Settings, name: &str) -> Result<ConfiguredServer> {
    let found = wanted(settings.servers()?, &[name.to_owned()])?;
    found.into_iter().next().context("there is no such server")
}

/// Opens an address, and returns whether something was found that does.
fn open_in_browser(url: &str) -> bool {
    OPENERS.iter().any(|opener| {
        let mut command = Command::new(opener);
        let command = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null()).spawn().is_ok()
    })
}
