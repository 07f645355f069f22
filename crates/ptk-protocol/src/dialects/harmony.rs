//! The dialect of gpt-oss: every message has a header, which names its
//! recipient.

use std::sync::{Arc, LazyLock};

use super::engine::call_object::Called;
use super::engine::json_marks::{Head, HeadAt, JsonMarks, leading_name};
use super::engine::marked_json::MarkedJson;
use super::{Claim, Dialect, Trigger, Writer};
use crate::json::scan::{Scan, Scanner};
use crate::parse::{Findings, Input, MarkAt, Reader, Step, floor, mark_at};
use crate::{ProblemCode, ToolCall};

/// Messages with a header: `<|channel|>commentary to=functions.f<|message|>{…}`.
#[derive(Debug)]
pub struct Harmony;

pub(super) const START: &str = "<|start|>assistant";
pub(super) const CHANNEL: &str = "<|channel|>";
pub(crate) const RECIPIENT: &str = "to=";
pub(crate) const MESSAGE: &str = "<|message|>";
pub(super) const CALL: &str = "<|call|>";
pub(super) const END: &str = "<|end|>";
/// What the type of a message may be, in its header.
const KINDS: [&str; 2] = ["", " <|constrain|>json"];

static MARKS: LazyLock<Arc<JsonMarks>> = LazyLock::new(|| {
    let marks = JsonMarks::exact(&[START, CHANNEL], &[CALL]);
    Arc::new(marks.headed(Head::Read(head)))
});

/// The recipient begins the reply where the prompt ends inside the header.
static HEADED_BY_RECIPIENT: LazyLock<Arc<JsonMarks>> = LazyLock::new(|| {
    let marks = JsonMarks::exact(&[RECIPIENT], &[CALL]);
    Arc::new(marks.headed(Head::Read(recipient)))
});

/// Headers without a recipient, whose message may call all the same.
fn unaddressed() -> impl Iterator<Item = String> {
    let channels = ["", "<|channel|>commentary"].into_iter();
    channels.flat_map(|channel| {
        ["", START].into_iter().flat_map(move |start| {
            let kinds = KINDS.into_iter();
            let kinds = kinds.filter(move |kind| kind.is_empty() || !channel.is_empty());
            kinds.map(move |kind| format!("{start}{channel}{kind}{MESSAGE}"))
        })
    })
}

impl Dialect for Harmony {
    fn name(&self) -> &'static str {
        "harmony"
    }

    fn aliases(&self) -> Vec<&str> {
        vec!["gpt-oss"]
    }

    fn triggers(&self) -> Vec<Trigger> {
        let addressed = [
            Trigger::anywhere(START),
            Trigger::anywhere(CHANNEL),
            Trigger::at_line_start(RECIPIENT).claimed(Claim::Section),
        ];
        let unaddressed = unaddressed().map(Trigger::at_line_start);
        addressed.into_iter().chain(unaddressed).collect()
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        match trigger.checked_sub(MARKS.open.len()) {
            None => Box::new(MarkedJson::new(Arc::clone(&MARKS), trigger)),
            Some(0) => Box::new(MarkedJson::new(Arc::clone(&HEADED_BY_RECIPIENT), 0)),
            Some(index) => Box::new(Unaddressed {
                header: unaddressed()
                    .nth(index - 1)
                    .map_or(0, |header| header.len()),
            }),
        }
    }

    fn closers(&self) -> Vec<String> {
        MARKS.close.clone()
    }

    fn silent(&self) -> Vec<Trigger> {
        let mut silent = Vec::new();
        for start in ["", START] {
            for kind in KINDS {
                let header = format!("{start}<|channel|>final{kind}{MESSAGE}");
                silent.push(Trigger::at_line_start(header));
            }
        }
        silent.extend([END, "<|return|>"].map(Trigger::anywhere));
        silent
    }

    fn also_reads(&self) -> Vec<String> {
        vec!["json".to_owned()]
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Harmony {
    fn rules(&self) -> Vec<String> {
        vec!["Valid JSON only: double quotes, no comments, no trailing commas.".to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn call(&self, call: &ToolCall) -> String {
        let (name, args) = (&call.name, call.args.to_json());
        format!(
            "{START}<|channel|>commentary to=functions.{name} <|constrain|>json{MESSAGE}{args}{CALL}"
        )
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        calls.iter().map(|call| self.call(call)).collect()
    }

    fn takes_several(&self) -> bool {
        true
    }
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderAt<'t> {
    /// The header with its recipient, up to the message, which begins at this
    /// offset.
    Finding {
        text: &'t str,
        recipient: Option<&'t str>,
        message: usize,
    },
    /// More text is needed to decide.
    More,
    /// Something else.
    None,
}

/// Parses a header up to the message, such as `commentary to=functions.f
/// <|constrain|>json<|message|>`.
pub(super) fn header(text: &str) -> HeaderAt<'_> {
    let stop = text.find(['\n', '{', '`']).unwrap_or(text.len());
    let end = match text.find(MESSAGE) {
        Some(end) if end < stop => end,
        None if stop == text.len() => return HeaderAt::More,
        _ => return HeaderAt::None,
    };
    let header = text.get(..end).unwrap_or("");
    let address = header.split_once(RECIPIENT).map(|(_, behind)| {
        let end = behind.find(|c: char| c.is_whitespace() || c == '<');
        behind.get(..end.unwrap_or(behind.len())).unwrap_or("")
    });
    HeaderAt::Finding {
        text: header,
        recipient: address.map(tool_name).filter(|name| !name.is_empty()),
        message: end + MESSAGE.len(),
    }
}

/// The tool's name in an address.
fn tool_name(address: &str) -> &str {
    address.strip_prefix("functions.").unwrap_or(address)
}

/// Parses the text between `<|channel|>` or `<|start|>assistant` and the message,
/// with a recipient in it.
fn head(text: &str) -> HeadAt {
    match header(text) {
        HeaderAt::Finding {
            recipient: Some(name),
            message,
            ..
        } => HeadAt::Finding(Some(Called::new(name)), message),
        HeaderAt::More => HeadAt::More,
        HeaderAt::Finding { .. } | HeaderAt::None => HeadAt::None,
    }
}

/// Parses a recipient and the rest of its header:
/// `functions.f<|channel|>commentary<|message|>`.
fn recipient(text: &str) -> HeadAt {
    let Some((address, behind)) = leading_name(text) else {
        return HeadAt::More;
    };
    let behind = behind.trim_start();
    match mark_at(behind, &[CHANNEL]) {
        MarkAt::Finding { .. } => {}
        MarkAt::Partial => return HeadAt::More,
        MarkAt::None => return HeadAt::Other,
    }
    match header(behind) {
        HeaderAt::Finding { message, .. } => {
            let length = text.len() - behind.len() + message;
            HeadAt::Finding(Some(Called::new(tool_name(address))), length)
        }
        HeaderAt::More => HeadAt::More,
        HeaderAt::None => HeadAt::Other,
    }
}

/// How much of a message is read to find out whether it calls.
const LIMIT: usize = 4096;

/// Reads a header without a recipient: it is only markup, unless its message
/// ends like a call.
#[derive(Debug)]
struct Unaddressed {
    header: usize,
}

impl Reader for Unaddressed {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let at = input.skip_space(self.header);
        match input.byte(at) {
            None if !input.end => return Step::More,
            Some(b'{') => {}
            _ => return Step::Done(self.header),
        }
        let window = input
            .text
            .get(..floor(input.text, at + LIMIT))
            .unwrap_or("");
        let is_cut = !input.end && window.len() == input.text.len();
        let end = match Scanner::new(at).scan(window) {
            Scan::Done(end) => input.skip_space(end),
            Scan::More if is_cut => return Step::More,
            Scan::More | Scan::Fault(_) => return Step::Done(self.header),
        };
        match mark_at(input.from(end), &[CALL]) {
            MarkAt::Partial if !input.end => Step::More,
            MarkAt::Finding { length, .. } => {
                let end = end + length;
                let message = "The message calls a tool and names none as its recipient; \
                               write to=functions. and the tool's name in its header";
                let raw = input.slice(0..end);
                out.unreadable(ProblemCode::Malformed, message.to_owned(), 0..end, raw);
                Step::Done(end)
            }
            MarkAt::Partial | MarkAt::None => Step::Done(self.header),
        }
    }
}
