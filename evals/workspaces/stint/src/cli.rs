//! What can be typed on the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Keep track of working hours.
#[derive(Parser)]
#[command(version)]
pub struct Cli {
    /// The file that holds the hours
    #[arg(long, env = "STINT_FILE")]
    pub file: Option<PathBuf>,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Begin a stint
    Start {
        task: String,
        #[arg(long, default_value = "general")]
        project: String,
    },
    /// End the stint that runs
    Stop,
    /// Show the hours of today, or of the week
    Report {
        #[arg(long)]
        week: bool,
    },
    /// Write all hours into a file
    Export { target: PathBuf },
}
