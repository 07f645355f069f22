//! One change as it was asked for, checked as far as that needs no file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::ToolError;

/// One replacement.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Replacement {
    /// The text to replace, exactly as in the file, without line numbers, with as many lines around it as make it unique, for example "let a = 1;"
    pub(super) old_string: String,
    /// The text to put in its place, for example "let a = 2;"
    pub(super) new_string: String,
    /// Replace all places where `old_string` is. Default: false, then there must be one only
    #[serde(default)]
    pub(super) replace_all: bool,
}

/// A text to find and the text to put in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) replace_all: bool,
}

impl Change {
    pub(super) fn new(asked: &Replacement, number: usize) -> Result<Self, ToolError> {
        if asked.old_string.is_empty() {
            return Err(
                ToolError::validation(format!("old_string of edit {number} is empty")).suggest(
                    "Quote the text to replace, or the line next to which to insert. To write a \
                     new or empty file, use write_file.",
                ),
            );
        }
        if asked.old_string == asked.new_string {
            return Err(ToolError::validation(format!(
                "old_string and new_string of edit {number} are the same"
            ))
            .suggest("Leave this edit out, or say in new_string what is to be there instead."));
        }
        if asked.new_string.contains('\0') && !asked.old_string.contains('\0') {
            return Err(ToolError::validation(format!(
                "new_string of edit {number} has a NUL character, and a file with one is not text"
            ))
            .suggest("Write the escape of the file's language, such as \\0, or leave it out."));
        }
        Ok(Self {
            old: asked.old_string.clone(),
            new: asked.new_string.clone(),
            replace_all: asked.replace_all,
        })
    }

    /// The same change without the line numbers of a listing, and the first of
    /// them; `None` if its old text has none.
    ///
    /// # Errors
    ///
    /// If only some lines of the new text have numbers: it is not clear whether
    /// these are meant.
    pub(super) fn without_numbers(
        &self,
        number: usize,
    ) -> Result<Option<(usize, Self)>, ToolError> {
        let bare = without_numbers(&self.old).filter(|(_, old)| !old.trim().is_empty());
        let Some((first, old)) = bare else {
            return Ok(None);
        };
        let lines = self.new.lines().filter(|line| !line.is_empty());
        let numbered = lines
            .clone()
            .filter(|line| split_number(line).is_some())
            .count();
        let new = match numbered {
            0 => self.new.clone(),
            _ if numbered == lines.count() => {
                let lines = self.new.split_inclusive('\n');
                lines
                    .map(|line| split_number(line).map_or(line, |(_, rest)| rest))
                    .collect()
            }
            _ => {
                return Err(ToolError::validation(format!(
                    "The lines of old_string in edit {number} have line numbers, and some lines \
                     of new_string, too"
                ))
                .suggest("Leave the line numbers of the listing out; they are not in the file."));
            }
        };
        let replace_all = self.replace_all;
        let bare = Self {
            old,
            new,
            replace_all,
        };
        Ok(Some((first, bare)))
    }
}

/// A text without the numbers before its lines, and the first of them; `None`
/// if not every line has one, or they do not count up.
fn without_numbers(text: &str) -> Option<(usize, String)> {
    let mut bare = String::with_capacity(text.len());
    let mut first = None;
    let mut expected = None;
    for line in text.split_inclusive('\n') {
        let (number, rest) = split_number(line)?;
        if expected.is_some_and(|expected| expected != number) {
            return None;
        }
        first.get_or_insert(number);
        expected = Some(number.checked_add(1)?);
        bare.push_str(rest);
    }
    first.map(|first| (first, bare))
}

/// The number before a line of a listing, and the line.
fn split_number(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.split_once('\t')?;
    let number = number.trim_start_matches(' ');
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_are_removed_only_where_all_lines_have_them() {
        let bare = |text| without_numbers(text);
        assert_eq!(
            bare("     1\ta\n     2\t\tb\n"),
            Some((1, "a\n\tb\n".to_owned()))
        );
        assert_eq!(bare("9\ta\n10\tb"), Some((9, "a\nb".to_owned())));
        assert_eq!(bare("     1\ta\nb"), None);
        assert_eq!(bare("1\ta\n1\tb"), None);
        assert_eq!(bare("a\tb"), None);
        assert_eq!(bare(""), None);
    }
}
