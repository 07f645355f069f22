//! `ptk mcp list` and `ptk mcp test`: which servers there are, and what they
//! offer.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};
use ptk_mcp::{McpServers, ServerStatus};
use ptk_protocol::schema::suggest;
use ptk_tools::Tool as _;
use serde_json::json;

use crate::args::{ListServersArgs, TestServersArgs};
use crate::commands::run::runtime;
use crate::config::{ConfiguredServer, Settings, Standing};
use crate::exit::{self, Exit};
use crate::mcp;
use crate::view::clean::in_line;
use crate::view::short_path;

pub(super) fn list(args: &ListServersArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let servers = settings.servers()?;
    for server in &servers {
        let source = in_line(&short_path(std::path::Path::new(&server.declared.origin)));
        let problem = match &server.standing {
            Standing::Unusable(reason) => Some(reason.as_str()),
            _ => None,
        };
        let (summary, grants) = (server.declared.summary(), server.declared.grants());
        if args.json {
            let line = json!({
                "name": server.name,
                "summary": summary,
                "grants": grants,
                "source": server.declared.origin,
                "in_force": server.standing == Standing::Used,
                "state": state(&server.standing),
                "error": problem,
            });
            writeln!(out, "{line}")?;
            continue;
        }
        let told = match &server.standing {
            Standing::Used => String::new(),
            standing => format!(" ({})", state(standing)),
        };
        writeln!(out, "{}{told}", in_line(&server.name))?;
        if let Some(problem) = problem {
            writeln!(out, "  {}", in_line(problem))?;
        } else {
            writeln!(out, "  {}", in_line(&summary))?;
            writeln!(out, "  {}", in_line(&grants))?;
        }
        writeln!(out, "  from {source}")?;
    }
    if args.json {
        return Ok(Exit::Success);
    }
    if servers.is_empty() {
        writeln!(
            out,
            "No MCP servers. Add one: ptk mcp add time --network -- uvx mcp-server-time"
        )?;
    }
    if servers.iter().any(|it| it.standing == Standing::Untrusted) {
        exit::note(&format!(
            "{} may have come with code of others. `ptk permissions trust` shows its servers, and asks whether to trust it.",
            settings.trusted_name()
        ));
    }
    Ok(Exit::Success)
}

/// Whether a server is used, in a word or two.
const fn state(standing: &Standing) -> &'static str {
    match standing {
        Standing::Used => "used",
        Standing::Disabled => "disabled",
        Standing::Untrusted => "not trusted",
        Standing::Hidden => "yours of this name is used",
        Standing::Unusable(_) => "cannot be used",
    }
}

pub(super) fn test(args: &TestServersArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let servers = wanted(settings.servers()?, &args.names)?;
    if servers.is_empty() {
        writeln!(out, "No MCP servers to test.")?;
        return Ok(Exit::Success);
    }
    let options = mcp::options(&settings, &args.sandbox, None)?;
    let declarations: BTreeMap<_, _> = servers
        .into_iter()
        .map(|it| (it.name, it.declared))
        .collect();
    let runtime = runtime()?;
    let (connected, statuses) = runtime.block_on(McpServers::connect(declarations, &options));
    for status in &statuses {
        if args.json {
            writeln!(out, "{}", as_json(&connected, status))?;
        } else {
            tell(&connected, status, out)?;
        }
    }
    runtime.block_on(connected.close());
    let has_failed = statuses.iter().any(|status| status.error.is_some());
    Ok(if has_failed {
        Exit::Failed
    } else {
        Exit::Success
    })
}

/// The servers of these names, or all that are used.
pub(super) fn wanted(
    servers: Vec<ConfiguredServer>,
    names: &[String],
) -> Result<Vec<ConfiguredServer>> {
    let can_be_tried =
        |it: &ConfiguredServer| matches!(it.standing, Standing::Used | Standing::Disabled);
    for name in names {
        if servers
            .iter()
            .any(|it| it.name == *name && can_be_tried(it))
        {
            continue;
        }
        let Some(server) = servers.iter().find(|it| it.name == *name) else {
            let known = servers.iter().map(|it| it.name.as_str());
            let near = suggest::nearest(name, known);
            let near = near.map_or_else(
                || "`ptk mcp list` shows those that there are".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            bail!("there is no MCP server `{}`; {near}", in_line(name));
        };
        let origin = in_line(&server.declared.origin);
        match &server.standing {
            Standing::Unusable(reason) => bail!("{name} in {origin}: {}", in_line(reason)),
            _ => bail!(
                "{name} stands in {origin}, which is not trusted; `ptk permissions trust` asks whether to trust it"
            ),
        }
    }
    let is_wanted = |it: &ConfiguredServer| {
        if names.is_empty() {
            it.standing == Standing::Used
        } else {
            names.contains(&it.name) && can_be_tried(it)
        }
    };
    let mut servers: Vec<_> = servers.into_iter().filter(is_wanted).collect();
    // Who names a server wants to test it.
    for server in &mut servers {
        server.declared.disabled = false;
    }
    Ok(servers)
}

fn as_json(servers: &McpServers, status: &ServerStatus) -> serde_json::Value {
    let tools = servers.tools();
    let tools = tools.iter().filter(|tool| tool.server() == status.name);
    let tools: Vec<_> = tools
        .map(|tool| {
            json!({
                "name": tool.spec().name,
                "remote_name": tool.remote_name(),
                "effects": tool.effects().to_string(),
            })
        })
        .collect();
    let quarantined = status.quarantined.iter();
    let quarantined: Vec<_> = quarantined
        .map(|it| json!({"name": it.name, "reason": it.reason}))
        .collect();
    json!({
        "name": status.name,
        "connected": status.error.is_none(),
        "error": status.error.as_ref().map(ToString::to_string),
        "server": status.info.as_ref().map(|it| &it.name),
        "revision": status.info.as_ref().map(|it| &it.revision),
        "tools": tools,
        "quarantined": quarantined,
    })
}

fn tell(servers: &McpServers, status: &ServerStatus, out: &mut impl Write) -> Result<()> {
    let name = &status.name;
    if let Some(error) = &status.error {
        writeln!(out, "✗ {name}: {}", in_line(&error.to_string()))?;
        if let Some(command) = error.login_command(name) {
            writeln!(out, "  To log in: {command}")?;
        }
        return Ok(());
    }
    let about = status.info.as_ref().map_or_else(String::new, |info| {
        format!(
            ": {}, revision {}",
            in_line(&info.name),
            in_line(&info.revision)
        )
    });
    writeln!(out, "✓ {name}{about}, {} tools", status.tools)?;
    for tool in servers.tools() {
        if tool.server() != name {
            continue;
        }
        let about = tool.spec().description.lines().next().unwrap_or_default();
        let about: String = about.chars().take(80).collect();
        writeln!(out, "  {}  ({})  {about}", tool.spec().name, tool.effects())?;
    }
    for tool in &status.quarantined {
        writeln!(
            out,
            "  ✗ {}: {}",
            in_line(&tool.name),
            in_line(&tool.reason)
        )?;
    }
    Ok(())
}
