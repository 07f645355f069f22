//! `ptk completions`: a shell completion script, generated from the arguments.

use std::io::Write;

use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Exit;

pub(crate) fn run(args: &CompletionsArgs, out: &mut impl Write) -> Result<Exit> {
    // Not directly to `out`: the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ptk", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Success)
}
