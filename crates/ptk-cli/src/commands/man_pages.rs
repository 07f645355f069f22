//! `ptk man-pages`: a man page for each command, generated from the arguments.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context as _, Result};
use clap::builder::Resettable;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::{Cli, ManPagesArgs};
use crate::exit::Exit;

pub(crate) fn run(args: &ManPagesArgs) -> Result<Exit> {
    let directory = &args.directory;
    // Its page would only repeat the others.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    fs::create_dir_all(directory)
        .and_then(|()| write(&command, directory))
        .with_context(|| format!("could not write man pages to {}", directory.display()))?;
    Ok(Exit::Success)
}

/// Writes the pages of a command and of all commands below it.
fn write(command: &Command, directory: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write(subcommand, directory)?;
    }
    let man = Man::new(command.clone().after_help(Resettable::Reset))
        .source(concat!("ptk ", env!("CARGO_PKG_VERSION")))
        .manual("PTK");
    let mut page = Vec::new();
    man.render(&mut page)?;
    if let Some(notes) = command.get_after_help() {
        page.extend(as_section("NOTES", &notes.to_string()).into_bytes());
    }
    fs::write(directory.join(man.get_filename()), page)
}

/// A section that keeps its lines, as examples have to.
fn as_section(heading: &str, text: &str) -> String {
    let mut roff = Roff::default();
    roff.control("SH", [heading]).control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []).to_roff()
}
