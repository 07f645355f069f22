//! `ptk completions`: a script by which a shell completes command lines.

use std::io::Write;

use anyhow::Result;

use crate::args::CompletionsArgs;
use crate::completion;
use crate::exit::Exit;

pub(crate) fn run(args: &CompletionsArgs, out: &mut impl Write) -> Result<Exit> {
    out.write_all(&completion::script(&args.shell.to_string())?)?;
    Ok(Exit::Success)
}
