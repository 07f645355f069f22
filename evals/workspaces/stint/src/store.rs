//! Reads and writes the file with the hours.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local};
use serde::{Deserialize, Serialize};

/// More stints than this in one file are refused.
const MAX_STINTS: usize = 20_000;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Stint {
    pub task: String,
    pub project: String,
    pub start: DateTime<Local>,
    pub end: Option<DateTime<Local>>,
}

pub struct Store {
    path: PathBuf,
}

impl Store {
    pub fn open(path: Option<&Path>) -> Self {
        let path = path.map_or_else(default_path, Path::to_path_buf);
        Self { path }
    }

    pub fn load(&self) -> io::Result<Vec<Stint>> {
        let file = File::open(&self.path)?;
        let rows = csv::Reader::from_reader(file).into_deserialize();
        rows.take(MAX_STINTS)
            .map(|row| row.map_err(io::Error::other))
            .collect()
    }

    // To do: lock the file, two terminals can write at once.
    pub fn append(&self, stint: &Stint) -> io::Result<()> {
        let file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        let mut writer = csv::Writer::from_writer(file);
        writer.serialize(stint).map_err(io::Error::other)?;
        writer.flush()
    }
}

fn default_path() -> PathBuf {
    let home = std::env::var("HOME").unwrap_or_default();
    Path::new(&home).join(".stint").join("hours.csv")
}
