//! `read`: several files as one listing with line numbers.

use ptk_protocol::Arguments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aliases::with_paths;
use super::source::{Loaded, Source, counted};
use super::text::{Binary, Encoding, Excerpt, MAX_BYTES, Room, Taken, WantedContent, WantedLines};
use crate::{CallContext, Effects, Plan, ToolError, TypedTool};

/// How many files one call may name: each has a part of the budget that is
/// worth having.
const MAX_FILES: usize = 100;
/// A number of six digits and a tab.
const NUMBER: usize = 7;

/// Reads several files at once, as a listing with line numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Read;

/// The arguments of [`Read`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ReadArgs {
    /// The files, relative to the workspace or absolute, for example `["src/main.rs", "Cargo.toml"]`
    file_paths: Vec<String>,
    /// How many lines of each file to read, for example 100. Default: 0, all that fit
    limit: Option<usize>,
    /// The first line of each file to read, counted from 1, for example 201. Default: 1
    offset: Option<usize>,
}

/// The result of [`Read`].
#[derive(Debug, Serialize)]
pub struct ReadOutput {
    content: String,
    files_read: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_failed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
}

/// One file of the listing.
struct Section {
    /// The source, unless the path leads nowhere.
    source: Option<Source>,
    /// The name in the header.
    header: String,
    /// The name that the model may use.
    name: String,
    loaded: Result<Loaded, ToolError>,
}

impl TypedTool for Read {
    type Args = ReadArgs;
    type Output = ReadOutput;

    const NAME: &'static str = "read";
    const DESCRIPTION: &'static str = "Read several files at once, as a listing with line numbers. \
        The numbers and the tab behind them are not part of the files.";
    const EFFECTS: Effects = Effects::READ;

    fn adapt(&self, args: Arguments) -> Arguments {
        with_paths(args)
    }

    fn plan(&self, context: &CallContext, args: &ReadArgs) -> Result<Plan, ToolError> {
        if args.file_paths.is_empty() {
            return Err(
                ToolError::validation("file_paths must be a non-empty array")
                    .suggest("Name at least one file, for example file_paths=[\"src/main.rs\"]."),
            );
        }
        if args.file_paths.len() > MAX_FILES {
            let told = format!("{} files are too many for one call", args.file_paths.len());
            return Err(ToolError::validation(told)
                .suggest(format!("Read at most {MAX_FILES} files at once.")));
        }
        let sources = args
            .file_paths
            .iter()
            .map(|path| Source::new(context, path));
        Ok(Plan {
            reads: sources
                .filter_map(|source| source.ok()?.place().cloned())
                .collect(),
            ..Plan::default()
        })
    }

    async fn run(&self, context: &CallContext, args: ReadArgs) -> Result<ReadOutput, ToolError> {
        let own = context.clone();
        context.blocking(move || listing(&own, &args)).await
    }
}

fn listing(context: &CallContext, args: &ReadArgs) -> Result<ReadOutput, ToolError> {
    let wanted = WantedLines {
        offset: args.offset.unwrap_or(1).max(1),
        column: 1,
        limit: args.limit.filter(|limit| *limit > 0),
    };
    let sections: Vec<Section> = args
        .file_paths
        .iter()
        .map(|path| Section::load(context, path, wanted))
        .collect();
    if let Some(error) = nothing_read(&sections) {
        return Err(error);
    }
    let needs: Vec<usize> = sections.iter().map(Section::need).collect();
    let mut truncated = false;
    let mut texts = Vec::with_capacity(sections.len());
    let room = Room::of_text(context, &sample(&sections));
    for (section, budget) in sections.iter().zip(shares(&needs, room.bytes)) {
        let (text, is_all) = section.text(context, budget);
        truncated |= !is_all;
        texts.push(text);
    }
    let failed = sections
        .iter()
        .filter(|section| section.loaded.is_err())
        .count();
    Ok(ReadOutput {
        content: texts.join("\n\n"),
        files_read: sections.len() - failed,
        files_failed: (failed > 0).then_some(failed),
        truncated: truncated.then_some(true),
    })
}

/// The beginning of what the listing would be with all lines: as much as is ever
/// shown.
fn sample(sections: &[Section]) -> String {
    let mut sample = String::new();
    for section in sections {
        if sample.len() >= MAX_BYTES {
            break;
        }
        if let Ok(Loaded {
            content: WantedContent::Text(excerpt),
            ..
        }) = &section.loaded
        {
            let taken = excerpt.take(MAX_BYTES, NUMBER);
            sample.push_str(&section.below_header(&numbered(taken.first, taken.text)));
        }
    }
    sample
}

/// The error if no file can be read: the reason of each, and what helps.
fn nothing_read(sections: &[Section]) -> Option<ToolError> {
    let failed = |section: &Section| section.loaded.as_ref().err().cloned();
    let errors: Vec<ToolError> = sections.iter().map(failed).collect::<Option<_>>()?;
    let first = errors.first()?;
    if errors.len() == 1 {
        return Some(first.clone());
    }
    let is_one_kind = errors
        .iter()
        .all(|error| error.error_type == first.error_type);
    let told = sections.iter().zip(&errors);
    let told: Vec<String> = told
        .map(|(section, error)| format!("{}: {error}", section.name))
        .collect();
    let mut hints: Vec<&str> = Vec::new();
    for hint in errors
        .iter()
        .filter_map(|error| error.suggestion.as_deref())
    {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    let message = format!(
        "None of the {} files can be read. {}",
        errors.len(),
        told.join(". ")
    );
    let error = if is_one_kind {
        ToolError::new(first.error_type, message)
    } else {
        ToolError::user(message)
    };
    Some(
        error
            .suggest(hints.join("\n"))
            .with("files_failed", errors.len()),
    )
}

impl Section {
    fn load(context: &CallContext, path: &str, wanted: WantedLines) -> Self {
        match Source::new(context, path) {
            Ok(source) => Self {
                header: source.absolute(),
                name: source.name(),
                loaded: source.load(context, wanted),
                source: Some(source),
            },
            Err(error) => Self {
                source: None,
                header: path.to_owned(),
                name: path.to_owned(),
                loaded: Err(error),
            },
        }
    }

    /// How many bytes the section takes if it may take all.
    fn need(&self) -> usize {
        match &self.loaded {
            Ok(Loaded {
                content: WantedContent::Text(excerpt),
                ..
            }) => {
                let taken = excerpt.take(MAX_BYTES, NUMBER);
                let lines = (taken.last + 1).saturating_sub(taken.first);
                let need = taken.text.len() + lines * NUMBER;
                if taken.is_all { need } else { MAX_BYTES }
            }
            _ => 0,
        }
    }

    /// The file as it stands in the listing, and whether that is all that was
    /// wanted.
    fn text(&self, context: &CallContext, budget: usize) -> (String, bool) {
        let loaded = match &self.loaded {
            Ok(loaded) => loaded,
            Err(error) => return (self.below_header(&failure(error)), true),
        };
        let excerpt = match &loaded.content {
            WantedContent::Text(excerpt) => excerpt,
            WantedContent::Binary(..) => return (self.below_header(Binary::SHOWN), true),
        };
        let taken = excerpt.take(budget, NUMBER);
        loaded.note(context, excerpt, &taken);
        let source = self.source.as_ref();
        let snippet = source.and_then(|source| source.snippet(context, taken.first, taken.text));
        let mut text =
            snippet.unwrap_or_else(|| self.below_header(&numbered(taken.first, taken.text)));
        for note in notes(&self.name, excerpt, &taken) {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&note);
        }
        (text, taken.is_all)
    }

    fn below_header(&self, body: &str) -> String {
        format!("=== {} ===\n{body}", self.header)
    }
}

fn failure(error: &ToolError) -> String {
    match &error.suggestion {
        Some(suggestion) => format!("Error: {error}\n{suggestion}"),
        None => format!("Error: {error}"),
    }
}

/// Every line behind its number.
fn numbered(first: usize, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines = text.split('\n').enumerate();
    let lines: Vec<String> = lines
        .map(|(at, line)| format!("{:>6}\t{line}", first + at))
        .collect();
    lines.join("\n")
}

/// Notes on a file beside its lines.
fn notes(name: &str, excerpt: &Excerpt, taken: &Taken<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if excerpt.total == 0 {
        notes.push("[Empty file]".to_owned());
    }
    if excerpt.encoding != Encoding::Utf8 {
        notes.push(format!("[Encoding: {}]", excerpt.encoding.name()));
    }
    if let Some((bytes, column)) = taken.cut {
        notes.push(format!(
            "[… {bytes} bytes of line {} left out; the rest: \
             read_file(path=\"{name}\", offset={}, column={column}) …]",
            taken.first, taken.first
        ));
    } else if !taken.is_all {
        let left = excerpt.total.saturating_sub(taken.last);
        notes.push(format!(
            "[… {} left out; the rest: read(file_paths=[\"{name}\"], offset={}) …]",
            counted(left, "line"),
            taken.last + 1
        ));
    } else if taken.last < excerpt.total {
        let more = excerpt.total - taken.last;
        notes.push(format!(
            "[… {}; the rest: read(file_paths=[\"{name}\"], offset={}) …]",
            counted(more, "more line"),
            taken.last + 1
        ));
    }
    notes
}

/// A fair share for each: small needs are met, the others share the rest.
fn shares(needs: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<(usize, usize)> = needs.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, need)| *need);
    let mut shares = vec![0; needs.len()];
    let (mut left, mut count) = (budget, needs.len());
    for (at, need) in order {
        let share = need.min(left / count.max(1));
        if let Some(slot) = shares.get_mut(at) {
            *slot = share;
        }
        left -= share;
        count -= 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_needs_little_leaves_the_rest_to_the_others() {
        assert_eq!(shares(&[10, 1_000, 1_000], 110), [10, 50, 50]);
        assert_eq!(shares(&[10, 20], 100), [10, 20]);
        assert_eq!(shares(&[], 100), Vec::<usize>::new());
    }

    #[test]
    fn numbers_have_six_places() {
        assert_eq!(numbered(9, "a\nb\n"), "     9\ta\n    10\tb");
        assert_eq!(numbered(1, "\n"), "     1\t");
        assert_eq!(numbered(1, "\n\n"), "     1\t\n     2\t");
        assert_eq!(numbered(1_234_567, "x"), "1234567\tx");
    }
}
