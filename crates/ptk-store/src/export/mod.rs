//! Sessions as files: JSON lines, which can be imported again, and Markdown,
//! which people can read. Both are written page by page.

mod calls;
mod data;
mod form;
mod json_lines;
mod markdown;

pub use form::Thoughts;
pub use json_lines::{Imported, import_json_lines, write_json_lines};
pub use markdown::write_markdown;

use std::io;

use crate::StoreError;

fn unwritable(error: io::Error) -> StoreError {
    StoreError::Io {
        attempt: "write",
        place: "the export".to_owned(),
        source: error.into(),
    }
}
