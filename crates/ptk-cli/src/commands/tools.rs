//! `ptk tools`: lists the tools, shows one, calls one.

use std::io::{Read as _, Write};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use ptk_events::{Delivery, EventKind, Filter, OutputStream};
use ptk_permission::Mode;
use ptk_permission::shell::Word;
use ptk_protocol::schema::{example, suggest};
use ptk_protocol::{Arguments, ToolCall};
use ptk_sandbox::Workspace;
use ptk_tools::form::FormAsker;
use ptk_tools::{CallRequest, Tool, ToolManager, preview, tools};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::args::{CallToolArgs, Cli, ListToolsArgs, SandboxArgs, ShowToolArgs, ToolsCommand};
use crate::ask::{approver, asker};
use crate::commands::run::runtime;
use crate::config::{Settings, Tools, Withheld};
use crate::exit::{self, Exit};
use crate::interrupt::Interrupts;
use crate::mcp::Servers;
use crate::permissions;
use crate::person::ToolReport;
use crate::printer;
use crate::view::Screen;

/// The most bytes of JSON that are read from stdin.
const MAX_ARGUMENTS: u64 = 64 * 1024 * 1024;

/// How deep nested parameters are shown.
const MAX_DEPTH: usize = 6;

pub(crate) fn run(command: &ToolsCommand, out: &mut impl Write) -> Result<Exit> {
    match command {
        ToolsCommand::List(args) => list(args, out),
        ToolsCommand::Show(args) => show(args, out),
        ToolsCommand::Call(args) => call(args, out),
    }
}

/// The tools that a configuration makes available, those of MCP servers
/// included. Of a named tool, only its own server is connected to.
fn with_servers(
    settings: &Settings,
    sandbox: &SandboxArgs,
    name: Option<&str>,
    asker: Option<Arc<dyn FormAsker>>,
    runtime: &Runtime,
) -> Result<(Tools, Servers)> {
    let mut tools = settings.tools()?;
    let wanted = name.map(|name| [name.to_owned()]);
    let wanted = wanted.as_ref().map(<[String; 1]>::as_slice);
    let servers = runtime.block_on(Servers::connect(settings, sandbox, wanted, asker))?;
    servers.add_to(&mut tools);
    servers.notes().iter().for_each(|note| exit::note(note));
    Ok((tools, servers))
}

/// What programs may do that nothing else is said about.
const PLAIN: SandboxArgs = SandboxArgs {
    network: false,
    no_sandbox: false,
};

fn list(args: &ListToolsArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let runtime = runtime()?;
    let (tools, servers) = with_servers(&settings, &PLAIN, None, None, &runtime)?;
    runtime.block_on(servers.close());
    let remarks = tools.remarks();
    let Tools {
        registry,
        untrusted,
        of_servers,
        ..
    } = tools;
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or_default();
    let width = longest(&mut registry.toolset().names().map(str::len));
    let effects_width = longest(&mut registry.iter().map(|tool| tool.effects().to_string().len()));
    for tool in registry.iter() {
        let spec = tool.spec();
        let effects = tool.effects();
        let is_default =
            tools::DEFAULT.contains(&spec.name.as_str()) || of_servers.contains(&spec.name);
        if args.json {
            let effects: Vec<&str> = effects.iter().map(ptk_tools::Effect::as_str).collect();
            let line = json!({
                "name": spec.name,
                "description": spec.description,
                "effects": effects,
                "default": is_default,
            });
            writeln!(out, "{line}")?;
        } else {
            let mark = if is_default { '*' } else { ' ' };
            let about = spec.description.lines().next().unwrap_or_default();
            let about = about.split_inclusive(". ").next().unwrap_or(about);
            writeln!(
                out,
                "{mark} {:width$}  {:effects_width$}  {}",
                spec.name,
                effects.to_string(),
                about.trim_end()
            )?;
        }
    }
    if !args.json {
        writeln!(out, "\n* offered to a model unless told otherwise")?;
    }
    for remark in remarks {
        exit::note(&remark);
    }
    if !untrusted.is_empty() {
        writeln!(printer::stderr(), "{}", told(&untrusted))?;
    }
    Ok(Exit::Success)
}

/// The note about declared tools that are not trusted.
fn told(untrusted: &[String]) -> String {
    let (names, is) = (
        untrusted.join(", "),
        if untrusted.len() == 1 { "is" } else { "are" },
    );
    format!(
        "{names} {is} declared in ptk.toml, which may have come with code of others. `ptk permissions list` shows it, `ptk permissions trust` asks whether to trust it."
    )
}

/// The tool of this name, or an error with a suggestion.
fn find<'r>(tools: &'r Tools, name: &str, command: &str) -> Result<&'r std::sync::Arc<dyn Tool>> {
    let registry = &tools.registry;
    if tools.untrusted.iter().any(|it| it == name) {
        return Err(anyhow!(told(&[name.to_owned()])));
    }
    registry.get(name).ok_or_else(|| {
        let names = registry.toolset().names();
        let near = suggest::nearest(name, names);
        let near = near.map_or_else(
            || "see `ptk tools list`".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        usage(command, &format!("unknown tool `{name}`; {near}"))
    })
}

/// A usage error of one of these commands.
fn usage(name: &str, message: &str) -> anyhow::Error {
    let mut whole = Cli::command();
    // Otherwise the usage would be that of `ptk`.
    whole.build();
    let tools = whole.find_subcommand_mut("tools");
    let command = tools.and_then(|tools| tools.find_subcommand_mut(name));
    let error = match command {
        Some(command) => command.error(ErrorKind::InvalidValue, message),
        None => Cli::command().error(ErrorKind::InvalidValue, message),
    };
    anyhow!(error)
}

fn show(args: &ShowToolArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let runtime = runtime()?;
    let (tools, servers) = with_servers(&settings, &PLAIN, Some(&args.name), None, &runtime)?;
    runtime.block_on(servers.close());
    let tool = find(&tools, &args.name, "show")?;
    let spec = tool.spec();
    if args.json {
        writeln!(out, "{}", spec.function_definition())?;
        return Ok(Exit::Success);
    }
    writeln!(out, "{}\n\n{}\n", spec.name, spec.description)?;
    let effects = tool.effects().to_string();
    let effects = if effects.is_empty() { "none" } else { &effects };
    writeln!(out, "Effects: {effects}")?;
    if spec.properties().is_none_or(serde_json::Map::is_empty) {
        writeln!(out, "It has no parameters.")?;
    } else {
        writeln!(out, "Parameters:")?;
        describe(&spec.parameters, 1, out)?;
    }
    let example = Value::Object(example::args(spec)).to_string();
    let example = Word::quoted(&example);
    writeln!(out, "\nExample:\n  ptk tools call {} {example}", spec.name)?;
    Ok(Exit::Success)
}

/// Describes the members of an object, one by one, with nested ones below.
fn describe(schema: &Value, depth: usize, out: &mut impl Write) -> Result<()> {
    let space = "  ".repeat(depth);
    let members = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    for (name, member) in members.into_iter().flatten() {
        let is_required = required.is_some_and(|names| names.iter().any(|it| it == name));
        let required = if is_required { ", required" } else { "" };
        writeln!(out, "{space}{name} ({}{required})", kind(member))?;
        let about = member.get("description").and_then(Value::as_str);
        for line in about.unwrap_or_default().lines() {
            writeln!(out, "{space}    {line}")?;
        }
        if depth < MAX_DEPTH {
            describe(member.get("items").unwrap_or(member), depth + 2, out)?;
        }
    }
    Ok(())
}

/// The type of a parameter in a word.
fn kind(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            let kinds: Vec<&str> = kinds.filter(|kind| *kind != "null").collect();
            kinds.join(" or ")
        }
        _ => "any".to_owned(),
    }
}

/// The arguments, from the command line or from stdin.
fn arguments(given: &[String]) -> Result<Arguments> {
    let text = match given {
        [] => "{}".to_owned(),
        [one] if one == "-" => {
            let mut text = String::new();
            let mut stdin = std::io::stdin().lock().take(MAX_ARGUMENTS);
            stdin.read_to_string(&mut text).context("stdin")?;
            text
        }
        [first, ..] if is_pair(first) => return pairs(given),
        several => several.join(" "),
    };
    Arguments::from_json(&text).map_err(|error| {
        let message = format!(
            "the arguments are not a JSON object: {error}\n\n  \
             Write path=a.txt, or a JSON object in single quotes: '{{\"path\": \"a.txt\"}}'"
        );
        usage("call", &message)
    })
}

/// Whether an argument names a parameter and its value.
fn is_pair(text: &str) -> bool {
    let name = text.split_once('=').map(|(name, _)| name);
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    name.is_some_and(|name| !name.is_empty() && name.chars().all(is_name))
}

/// Arguments as pairs. A value is a text, or JSON where it is a list or an
/// object; the tool's schema makes numbers of texts.
fn pairs(given: &[String]) -> Result<Arguments> {
    let mut members = Map::new();
    for pair in given {
        let Some((name, value)) = pair.split_once('=').filter(|_| is_pair(pair)) else {
            let message = format!("`{pair}` is not a parameter with a value, such as path=a.txt");
            return Err(usage("call", &message));
        };
        let json = value
            .starts_with(['[', '{'])
            .then(|| serde_json::from_str(value).ok());
        let value = json.flatten().unwrap_or_else(|| Value::from(value));
        if members.insert(name.to_owned(), value).is_some() {
            return Err(usage("call", &format!("`{name}` is given twice")));
        }
    }
    Ok(Arguments::from(members))
}

fn call(args: &CallToolArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let runtime = runtime()?;
    let asker = asker(Screen::default());
    let (tools, servers) =
        with_servers(&settings, &args.sandbox, Some(&args.name), asker, &runtime)?;
    let here = settings.checked_permissions(&tools)?;
    find(&tools, &args.name, "call")?;
    let Tools {
        registry,
        snippet_format,
        ..
    } = tools;
    let call = ToolCall::new(&args.name, arguments(&args.arguments)?);
    let workspace = Workspace::open(settings.folder())?.with_temp()?;
    let note = here.untrusted.as_ref().map(|_| {
        let name = settings.name();
        format!("{name} would allow more; `ptk permissions list` shows it, `ptk permissions trust` asks whether to trust it.")
    });
    let approver = approver(here.workspace.clone(), note, Screen::default());
    let note = settings.note(Withheld::is_about_tools);
    if let Some(note) = note.unwrap_or_default() {
        writeln!(printer::stderr(), "{note}")?;
    }
    let mode = args.approve.map(Mode::from);
    let names = registry.toolset().names().map(str::to_owned).collect();
    let manager = ToolManager::builder(workspace)
        .tools(registry)
        .snippet_format(snippet_format)
        .undo(settings.undo()?)
        .limits(settings.limits()?.of_tools())
        .sandbox(settings.sandbox(&args.sandbox)?)
        .approver(approver)
        .review(args.review)
        .permissions(permissions::for_tools(here, mode, &Screen::default()))
        .build();
    let mut events = manager.bus().subscribe(Filter::all());
    let cancel = CancellationToken::new();
    let outcome = runtime.block_on(async {
        let mut interrupts = Interrupts::new();
        let request = CallRequest::new(call).cancelled_by(&cancel);
        let running = manager.execute(request);
        tokio::pin!(running);
        loop {
            tokio::select! {
                outcome = &mut running => return outcome,
                Some(delivery) = events.recv() => show_event(&delivery, args.json, out),
                _ = interrupts.next() => cancel.cancel(),
            }
        }
    });
    while let Ok(delivery) = events.try_recv() {
        show_event(&delivery, args.json, out);
    }
    // Background jobs end with the manager. An open question is dropped.
    let person = ToolReport {
        tools: names,
        outputs: Arc::clone(manager.outputs()),
        workspace: args.config.workspace.clone(),
    };
    drop(manager);
    runtime.block_on(servers.close());
    runtime.shutdown_background();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&outcome.result)?)?;
    } else {
        person.show(&outcome, out)?;
    }
    Ok(if cancel.is_cancelled() {
        Exit::Interrupted
    } else if preview::is_failure(&outcome.result) {
        Exit::Failed
    } else {
        Exit::Success
    })
}

/// Shows the events of a call: as JSON on stdout, or its progress on stderr. If
/// the output is no longer read, the call continues all the same.
fn show_event(delivery: &Delivery, json: bool, out: &mut impl Write) {
    let line = match delivery {
        Delivery::Event(event) if json => serde_json::to_string(&**event).ok(),
        Delivery::Missed(missed) if json => {
            let missed =
                json!({"type": "missed", "total": missed.total, "by_type": missed.by_type});
            Some(missed.to_string())
        }
        Delivery::Event(event) => {
            if let EventKind::ToolOutputChunk {
                stream: OutputStream::Progress,
                chunk,
            } = &event.kind
            {
                drop(writeln!(printer::stderr(), "{chunk}"));
            }
            None
        }
        Delivery::Missed(_) => None,
    };
    if let Some(line) = line {
        drop(writeln!(out, "{line}").and_then(|()| out.flush()));
    }
}
