//! `ptk mcp add` and `ptk mcp remove`: the servers in the user's configuration.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context as _, Result, bail};
use ptk_mcp::{ServerDeclaration, check_name};
use ptk_permission::{FileError, TomlFile};
use ptk_protocol::schema::suggest;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use crate::args::{AddServerArgs, RemoveServerArgs};
use crate::config;
use crate::exit::{self, Exit};
use crate::view::clean::in_line;
use crate::view::short_path;

/// The first lines of a new file.
const HEADER: &str = "# Settings of ptk. Edit them as you like.\n\n";

pub(super) fn add(args: &AddServerArgs, out: &mut impl Write) -> Result<Exit> {
    let name = args.name.as_str();
    let declared = declared(args)?;
    check_name(name)
        .and_then(|()| declared.check())
        .map_err(|error| exit::wrong_usage(error.to_string()))?;
    let file = user_file()?;
    let added = toml_edit::ser::to_document(&declared)?;
    file.change(HEADER, |document| {
        let servers = servers(document, &file)?;
        if servers.contains_key(name) && !args.force {
            return Err(file.content(format!(
                "there is a server `{name}` already; replace it with --force"
            )));
        }
        let mut table = added.as_table().clone();
        table.set_implicit(false);
        servers.insert(name, Item::Table(table));
        Ok(())
    })?;
    let path = in_line(&short_path(file.path()));
    writeln!(
        out,
        "Added {name} to {path}: {} ({}).\n`ptk mcp test {name}` tries it.",
        in_line(&declared.summary()),
        in_line(&declared.grants()),
    )?;
    Ok(Exit::Success)
}

pub(super) fn remove(args: &RemoveServerArgs, out: &mut impl Write) -> Result<Exit> {
    let name = args.name.as_str();
    let file = user_file()?;
    let mut known = Vec::new();
    let mut is_removed = false;
    file.change(HEADER, |document| {
        let servers = servers(document, &file)?;
        is_removed = servers.remove(name).is_some();
        known = servers.iter().map(|(name, _)| name.to_owned()).collect();
        Ok(())
    })?;
    let path = in_line(&short_path(file.path()));
    if !is_removed {
        let near = suggest::nearest(name, known.iter().map(String::as_str));
        let near = near.map_or_else(
            || "`ptk mcp list` shows those that there are".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        bail!("{path} has no MCP server `{}`; {near}", in_line(name));
    }
    writeln!(out, "Removed {name} from {path}.")?;
    Ok(Exit::Success)
}

fn user_file() -> Result<TomlFile> {
    let path = config::user_path().context(
        "no folder for the user's configuration: neither XDG_CONFIG_HOME nor HOME is set",
    )?;
    Ok(TomlFile::at(path))
}

/// The table of servers, made if there is none.
fn servers<'d>(
    document: &'d mut DocumentMut,
    file: &TomlFile,
) -> Result<&'d mut dyn TableLike, FileError> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let wrong = |name: &str| file.content(format!("`{name}` has to be a section"));
    let mcp = document.entry("mcp").or_insert_with(implicit);
    let mcp = mcp.as_table_like_mut().ok_or_else(|| wrong("mcp"))?;
    let servers = mcp.entry("servers").or_insert_with(implicit);
    servers
        .as_table_like_mut()
        .ok_or_else(|| wrong("mcp.servers"))
}

/// The command. A path in it is made absolute: in another folder it would be
/// another program.
fn command(args: &AddServerArgs) -> Result<Vec<String>> {
    let mut command = args.command.clone();
    if let Some(program) = command.first_mut().filter(|program| program.contains('/'))
        && !args.in_workspace
        && !program.starts_with('~')
    {
        let path = std::path::absolute(&program)?;
        let text = path
            .to_str()
            .context("the path of the program is not UTF-8")?;
        text.clone_into(program);
    }
    Ok(command)
}

/// The declaration that the flags mean.
fn declared(args: &AddServerArgs) -> Result<ServerDeclaration> {
    let pairs = |texts: &[String], separator: char, example: &str| {
        let pairs = texts.iter().map(|text| {
            let pair = text.split_once(separator);
            let pair = pair.filter(|(name, _)| !name.trim().is_empty());
            let (name, value) = pair.ok_or_else(|| {
                exit::wrong_usage(format!(
                    "`{text}` is not a name with a value, such as {example}"
                ))
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        });
        pairs.collect::<Result<BTreeMap<_, _>>>()
    };
    Ok(ServerDeclaration {
        command: command(args)?,
        in_workspace: args.in_workspace.then_some(true),
        env: pairs(&args.env, '=', "KEY=value")?,
        network: args.network,
        read: args.read.clone(),
        write: args.write.clone(),
        sandbox: args.no_sandbox.then_some(false),
        url: args.url.clone(),
        headers: pairs(&args.headers, ':', "`Authorization: Bearer $TOKEN`")?,
        tools: (!args.tools.is_empty()).then(|| args.tools.clone()),
        ..ServerDeclaration::default()
    })
}
