//! The conversion from a checker's output to a result: paths relative to the
//! workspace, columns in characters.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use ptk_sandbox::{Place, Workspace};

use super::diagnostic::{Diagnostic, RawDiagnostic, Unit};

/// Files that are larger keep the columns of their checker.
pub(super) const MAX_SOURCE: u64 = 4 * 1024 * 1024;

/// Finds files and their lines.
#[derive(Debug)]
pub(super) struct Places<'a> {
    workspace: &'a Workspace,
    sources: HashMap<String, Vec<String>>,
}

impl<'a> Places<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            sources: HashMap::new(),
        }
    }

    /// The diagnostic of a checker that ran in `folder`.
    pub(super) fn diagnostic(
        &mut self,
        found: RawDiagnostic,
        source: &str,
        folder: &Path,
    ) -> Diagnostic {
        let (file, place) = self.locate(&found, folder);
        let column = found.column.filter(|column| *column > 0);
        let column = match (column, place, found.unit) {
            (Some(column), Some(place), unit @ (Unit::Utf16 | Unit::Bytes)) => {
                Some(self.in_characters(&file, &place, found.line, column, unit))
            }
            (column, ..) => column,
        };
        Diagnostic {
            file,
            line: found.line,
            column,
            end_line: found.end_line.filter(|end| *end > found.line),
            severity: found.severity,
            message: found.message,
            code: found.code,
            source: found.source.unwrap_or_else(|| source.to_owned()),
        }
    }

    /// The file, as it is shown, and its place if it lies in the workspace.
    /// What lies outside is shown with its whole path.
    fn locate(&self, found: &RawDiagnostic, folder: &Path) -> (String, Option<Place>) {
        let base = found.base.as_deref().unwrap_or(folder);
        let written = Path::new(&found.path);
        let place = |path: &Path| self.workspace.resolve(path.to_str()?).ok();
        // Checkers that look at several packages at once name files from the
        // folder of all of them.
        let bases = base.ancestors().map(|base| plain(&base.join(written)));
        let there = bases.filter_map(|path| place(&path));
        let there = there.take(32).find(|place| place.exists().unwrap_or(false));
        let path = plain(&base.join(written));
        match there.or_else(|| place(&path)) {
            Some(place) => (place.to_string(), Some(place)),
            None => (path.to_string_lossy().into_owned(), None),
        }
    }

    fn in_characters(
        &mut self,
        file: &str,
        place: &Place,
        line: u64,
        column: u64,
        unit: Unit,
    ) -> u64 {
        let lines = self.sources.entry(file.to_owned());
        let lines = lines.or_insert_with(|| source(place).unwrap_or_default());
        let line = usize::try_from(line - 1)
            .ok()
            .and_then(|line| lines.get(line));
        line.map_or(column, |line| characters(line, column, unit))
    }
}

/// The lines of a file, if it is a text of a usual size.
fn source(place: &Place) -> Option<Vec<String>> {
    let text = text(place)?;
    Some(text.lines().map(str::to_owned).collect())
}

/// The text of a file, if it is one of a usual size.
pub(super) fn text(place: &Place) -> Option<String> {
    let mut text = String::new();
    let file = place.open().ok()?;
    let read = file.take(MAX_SOURCE + 1).read_to_string(&mut text).ok()?;
    (read as u64 <= MAX_SOURCE).then_some(text)
}

/// A column from 1, in characters instead of the unit.
fn characters(line: &str, column: u64, unit: Unit) -> u64 {
    let mut passed = 0;
    let mut characters = 1;
    for c in line.chars() {
        passed += match unit {
            Unit::Characters => 1,
            Unit::Utf16 => c.len_utf16() as u64,
            Unit::Bytes => c.len_utf8() as u64,
        };
        if passed >= column {
            return characters;
        }
        characters += 1;
    }
    // Behind the end of the line.
    characters + column.saturating_sub(passed + 1)
}

/// The path without `.` and `..`, by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            component => plain.push(component),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let line = "a😀ö = x";
        for (column, unit, expected) in [
            (1, Unit::Utf16, 1),
            (2, Unit::Utf16, 2),
            (3, Unit::Utf16, 2),
            (4, Unit::Utf16, 3),
            (8, Unit::Utf16, 7),
            (9, Unit::Utf16, 8),
            (10, Unit::Utf16, 9),
            (6, Unit::Bytes, 3),
            (11, Unit::Bytes, 7),
            (12, Unit::Bytes, 8),
        ] {
            assert_eq!(
                characters(line, column, unit),
                expected,
                "{column} {unit:?}"
            );
        }
    }
}
