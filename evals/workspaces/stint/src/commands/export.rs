use std::io;
use std::path::Path;

use crate::store::Store;

/// Writes all hours into a file, separated by semicolons.
pub fn run(store: &Store, target: &Path) -> io::Result<()> {
    // To do: offer JSON, too.
    let mut writer = csv::WriterBuilder::new()
        .delimiter(b';')
        .from_path(target)
        .map_err(io::Error::other)?;
    let stints = store.load()?;
    for stint in &stints {
        writer.serialize(stint).map_err(io::Error::other)?;
    }
    writer.flush()?;
    println!("Exported {} stints to {}", stints.len(), target.display());
    Ok(())
}
