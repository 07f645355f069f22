use std::io;

use chrono::Local;

use crate::store::Store;

/// Ends the stint that runs.
pub fn run(store: &Store) -> io::Result<()> {
    let stints = store.load()?;
    let Some(running) = stints.into_iter().find(|stint| stint.end.is_none()) else {
        return Err(io::Error::other("nothing is running"));
    };
    let now = Local::now();
    let end = now.max(running.start);
    let minutes = (end - running.start).num_minutes();
    let mut stopped = running;
    stopped.end = Some(end);
    store.append(&stopped)?;
    println!("Stopped after {minutes} minutes");
    Ok(())
}
