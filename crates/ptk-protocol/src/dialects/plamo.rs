//! `plamo3`: the tool's name and its arguments as JSON, each between marks of
//! its own.
//!
//! ```text
//! <|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|>
//! <|plamo:begin_tool_name:plamo|>read_file<|plamo:end_tool_name:plamo|>
//! <|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>
//! {"path":"a.txt"}<|plamo:end_tool_arguments:plamo|>
//! <|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>
//! ```

use super::engine::call_object::Called;
use super::engine::json_marks::{Head, HeadAt, JsonMarks, name_head};
use super::marked::{Marked, each};
use crate::parse::{MarkAt, mark_at};

const REQUEST: &str = "<|plamo:begin_tool_request:plamo|>";
const REQUEST_END: &str = "<|plamo:end_tool_request:plamo|>";
const REQUESTS: &str = "<|plamo:begin_tool_requests:plamo|>";
const REQUESTS_END: &str = "<|plamo:end_tool_requests:plamo|>";
const NAME: &str = "<|plamo:begin_tool_name:plamo|>";
const NAME_END: &str = "<|plamo:end_tool_name:plamo|>";
const ARGUMENTS: &str = "<|plamo:begin_tool_arguments:plamo|>";
const ARGUMENTS_END: &str = "<|plamo:end_tool_arguments:plamo|>";
const CONSTRAIN: &str = "<|plamo:constrain|>";
const MESSAGE: &str = "<|plamo:msg|>";

/// The dialect of `PLaMo` 3.
pub(super) fn plamo3() -> Marked {
    // The mark of the name opens a call whose own mark is missing.
    let marks = JsonMarks::exact(&[REQUEST, NAME], &[REQUEST_END]).headed(Head::Read(head));
    Marked::new("plamo3", marks, |calls| {
        let calls = each(calls, "", |call| {
            let (name, args) = (&call.name, call.args.to_json());
            format!(
                "{REQUEST}{NAME}{name}{NAME_END}{ARGUMENTS}{CONSTRAIN}json{MESSAGE}{args}{ARGUMENTS_END}{REQUEST_END}"
            )
        });
        format!("{REQUESTS}{calls}{REQUESTS_END}")
    })
    .in_section(REQUESTS, REQUESTS_END)
}

/// Parses the name and the marks up to the JSON.
fn head(text: &str) -> HeadAt {
    let rest = text.trim_start();
    let name = match mark_at(rest, &[NAME]) {
        MarkAt::Partial => return HeadAt::More,
        MarkAt::Finding { length, .. } => rest.get(length..).unwrap_or(""),
        MarkAt::None => rest,
    };
    let before = text.len() - name.len();
    let (called, length) = match name_head(name, &[NAME_END]) {
        HeadAt::Finding(Some(called), length) => (called, length),
        other => return other,
    };
    let mut at = before + length;
    for mark in [ARGUMENTS, CONSTRAIN, "json", MESSAGE] {
        let rest = text.get(at..).unwrap_or("").trim_start();
        match mark_at(rest, &[mark]) {
            MarkAt::Partial => return HeadAt::More,
            MarkAt::Finding { length, .. } => at = text.len() - rest.len() + length,
            MarkAt::None => {}
        }
    }
    let called = Called {
        tail: Some(ARGUMENTS_END.to_owned()),
        ..called
    };
    HeadAt::Finding(Some(called), at)
}
