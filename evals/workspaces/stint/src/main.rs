mod cli;
mod commands;
mod report;
mod store;

use clap::Parser;

use cli::{Cli, Command};
use store::Store;

fn main() {
    let cli = Cli::parse();
    let store = Store::open(cli.file.as_deref());
    let result = match cli.command {
        Command::Start { task, project } => commands::start::run(&store, &task, project),
        Command::Stop => commands::stop::run(&store),
        Command::Report { week } => report::print(&store, week),
        Command::Export { target } => commands::export::run(&store, &target),
    };
    if let Err(problem) = result {
        eprintln!("stint: {problem}");
        std::process::exit(3);
    }
}
