//! `ptk browser`: web pages with models.

use std::io::Write as _;

use anyhow::Result;

use crate::args::BrowserCommand;
use crate::config::Settings;
use crate::exit::Exit;
use crate::pages;
use crate::printer;

pub(crate) fn run(command: &BrowserCommand) -> Result<Exit> {
    let BrowserCommand::Login(args) = command;
    let (page, browser) = pages::find(&args.name, &Settings::read(&args.config)?)?;
    let title = page.title();
    let hint = format!("Log in to {title} in the window that opens, then close it.");
    drop(writeln!(printer::stderr(), "{hint}"));
    browser.open_window(&page.url)?;
    Ok(Exit::Success)
}
