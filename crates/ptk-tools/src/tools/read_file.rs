//! `read_file`: the content of one file, as it is.

use ptk_protocol::Arguments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aliases::with_path;
use super::search::instead;
use super::source::{Loaded, Source, counted};
use super::text::{Binary, Encoding, Excerpt, Room, Taken, WantedContent, WantedLines, tokens};
use crate::{CallContext, Effects, Plan, Redirect, ToolError, TypedTool};

/// Reads one file: its content as it is, without line numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadFile;

/// The arguments of [`ReadFile`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ReadFileArgs {
    /// The file, relative to the workspace or absolute, for example "src/main.rs"; or the handle of a kept output, for example "output:3"
    path: String,
    /// The first line to read, counted from 1, for example 201. Default: 1
    #[schemars(range(min = 1))]
    offset: Option<usize>,
    /// How many lines to read, for example 100. Default: all that fit
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Where in the first line to begin, in bytes, counted from 1. Only for a line that was too long; the notice says which number to use
    #[schemars(range(min = 1))]
    column: Option<usize>,
}

/// The result of [`ReadFile`]. What does not apply is left out.
#[derive(Debug, Serialize)]
pub struct ReadFileOutput {
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<usize>,
    #[serde(flatten)]
    part: Option<LinesRead>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    #[serde(flatten)]
    binary: Option<BinaryFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

/// Which lines of a file are there.
#[derive(Debug, Serialize)]
struct LinesRead {
    start_line: usize,
    end_line: usize,
    total_lines: usize,
    tokens: usize,
}

#[derive(Debug, Serialize)]
struct BinaryFile {
    binary: bool,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
}

impl TypedTool for ReadFile {
    type Args = ReadFileArgs;
    type Output = ReadFileOutput;

    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Read the content of a file. A long file is read in parts: \
        the notice says which lines are missing and which offset to go on with.";
    const EFFECTS: Effects = Effects::READ;
    const MAIN_PARAMETERS: Option<usize> = Some(2);

    fn adapt(&self, args: Arguments) -> Arguments {
        with_path(args)
    }

    async fn redirect(&self, context: &CallContext, args: &Arguments) -> Option<Redirect> {
        let path = args.get("path")?.as_str()?;
        let only = instead::only(context, path).await?;
        let told = [
            ("path".to_owned(), only.clone().into()),
            ("instead_of".to_owned(), path.into()),
        ];
        let mut args = args.clone().into_map();
        args.insert("path".to_owned(), only.into());
        Some(Redirect {
            args: args.into(),
            told: told.into_iter().collect(),
        })
    }

    fn plan(&self, context: &CallContext, args: &ReadFileArgs) -> Result<Plan, ToolError> {
        let source = Source::new(context, &args.path)?;
        Ok(Plan {
            reads: source.place().cloned().into_iter().collect(),
            ..Plan::default()
        })
    }

    async fn run(
        &self,
        context: &CallContext,
        args: ReadFileArgs,
    ) -> Result<ReadFileOutput, ToolError> {
        let wanted = WantedLines {
            offset: args.offset.unwrap_or(1).max(1),
            column: args.column.unwrap_or(1).max(1),
            limit: args.limit.filter(|limit| *limit > 0),
        };
        let source = Source::new(context, &args.path)?;
        let own = context.clone();
        let place = source.place().cloned();
        let read = context.blocking(move || {
            let loaded = source.load(&own, wanted)?;
            Ok(output(&own, &source, &loaded))
        });
        match (read.await, place) {
            (Err(error), Some(place)) => Err(instead::suggest(context, &place, error).await),
            (read, _) => read,
        }
    }
}

fn output(context: &CallContext, source: &Source, loaded: &Loaded) -> ReadFileOutput {
    let excerpt = match &loaded.content {
        WantedContent::Text(excerpt) => excerpt,
        WantedContent::Binary(binary, size) => return ReadFileOutput::binary(*binary, *size),
    };
    let room = Room::of(context, excerpt);
    let taken = excerpt.take(room.bytes, 0);
    loaded.note(context, excerpt, &taken);
    let is_whole = taken.first == 1 && taken.last >= excerpt.total && taken.is_all;
    let part = (!is_whole || excerpt.begins_in_line()).then(|| LinesRead {
        start_line: taken.first,
        end_line: taken.last,
        total_lines: excerpt.total,
        tokens: tokens(taken.text),
    });
    let notice = if excerpt.total == 0 {
        Some("The file is empty.".to_owned())
    } else {
        missing(&source.name(), excerpt, &taken, room)
    };
    let snippet = source.snippet(context, taken.first, taken.text);
    ReadFileOutput {
        content: snippet.unwrap_or_else(|| taken.text.to_owned()),
        lines: Some(excerpt.total),
        part,
        encoding: (excerpt.encoding != Encoding::Utf8).then(|| excerpt.encoding.name()),
        binary: None,
        truncated: (!taken.is_all).then_some(true),
        notice,
    }
}

impl ReadFileOutput {
    fn binary(binary: Binary, size: u64) -> Self {
        Self {
            content: Binary::SHOWN.to_owned(),
            lines: None,
            part: None,
            encoding: None,
            binary: Some(BinaryFile {
                binary: true,
                size,
                kind: binary.kind,
            }),
            truncated: None,
            notice: None,
        }
    }
}

/// A note on the lines behind those that were wanted.
fn following(name: &str, excerpt: &Excerpt, taken: &Taken<'_>) -> Option<String> {
    let more = excerpt
        .total
        .checked_sub(taken.last)
        .filter(|more| *more > 0)?;
    let follow = if more == 1 { "follows" } else { "follow" };
    let limit = excerpt.limit();
    let limit = limit.map_or_else(String::new, |limit| format!(", limit={limit}"));
    Some(format!(
        "{} {follow}. The next: read_file(path=\"{name}\", offset={}{limit})",
        counted(more, "line"),
        taken.last + 1
    ))
}

/// A note on which wanted lines are missing, and how to get them.
fn missing(name: &str, excerpt: &Excerpt, taken: &Taken<'_>, room: Room) -> Option<String> {
    if taken.is_all {
        return following(name, excerpt, taken);
    }
    if let Some((bytes, column)) = taken.cut {
        let line = taken.first;
        let rest = format!("read_file(path=\"{name}\", offset={line}, column={column})");
        let next = match excerpt.total.saturating_sub(line) {
            0 => String::new(),
            lines => format!(" {} after it: offset={}", counted(lines, "line"), line + 1),
        };
        return Some(format!(
            "Line {line} is too long to show at once: {bytes} bytes of it are missing. \
             The rest: {rest}.{next}"
        ));
    }
    let (last, total, size) = (taken.last, excerpt.total, excerpt.size);
    Some(format!(
        "Only lines {}-{last} of {total} fit into {} tokens (the file has {size} bytes). \
         The next: read_file(path=\"{name}\", offset={})",
        taken.first,
        room.tokens,
        last + 1
    ))
}
