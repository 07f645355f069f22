use std::io;

use chrono::Local;

use crate::store::{Stint, Store};

/// Begins a stint, unless one runs already.
pub fn run(store: &Store, task: &str, project: String) -> io::Result<()> {
    let stints = store.load().unwrap_or_default();
    if stints.iter().any(|stint| stint.end.is_none()) {
        return Err(io::Error::other("a stint is already running"));
    }
    let stint = Stint {
        task: task.to_owned(),
        project,
        start: Local::now(),
        end: None,
    };
    store.append(&stint)?;
    println!("Started: {task}");
    Ok(())
}
