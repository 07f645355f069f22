//! `beam`: harmony's frame around tagged arguments.
//!
//! ```text
//! <|start|>assistant to=read_file<|channel|>analysis <|constrain|>xml<|message|><rfl:parameter name="path">
//! a.txt
//! </rfl:parameter><|call|>
//! ```

use std::sync::{Arc, LazyLock};

use super::engine::tag_form::{JsonBody, NamePosition, Param, SPACES, TagForm, ValueLines};
use super::engine::tagged::behind_name;
use super::harmony::{CALL, CHANNEL, END, HeaderAt, MESSAGE, RECIPIENT, START, header};
use super::{Claim, Dialect, Trigger, Writer, hermes_text};
use crate::ToolCall;
use crate::parse::{Findings, Input, MarkAt, Reader, Step, floor, mark_at};

const CONSTRAIN: &str = "<|constrain|>";
const PARAMETER: &str = "<rfl:parameter";

/// The longest header of a message.
const MAX_HEADER: usize = 512;

static FORM: LazyLock<Arc<TagForm>> = LazyLock::new(|| {
    Arc::new(TagForm {
        open: vec![START.to_owned()],
        named: NamePosition::Attribute("to".to_owned()),
        tag_end: ">".to_owned(),
        // Between parallel calls, a message ends as any other does.
        close: vec![CALL.to_owned(), END.to_owned()],
        param: Param::Tag {
            open: PARAMETER.to_owned(),
            named: NamePosition::Attribute("name".to_owned()),
            close: "</rfl:parameter>".to_owned(),
        },
        groups: Vec::new(),
        sections: Vec::new(),
        is_xml: false,
        json: JsonBody::Read,
        json_block: None,
        addresses: Vec::new(),
        lines: ValueLines::OfForm,
        spaces: SPACES,
    })
});

/// The dialect of Beam: messages like those of harmony, with arguments in tags.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beam;

impl Dialect for Beam {
    fn name(&self) -> &'static str {
        "beam"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![
            Trigger::anywhere(START),
            Trigger::anywhere(CHANNEL),
            // The prompt may have begun the message.
            Trigger::at_line_start(RECIPIENT).claimed(Claim::Section),
        ]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(BeamReader(None))
    }

    fn closers(&self) -> Vec<String> {
        vec![CALL.to_owned()]
    }

    fn also_reads(&self) -> Vec<String> {
        vec!["hermes".to_owned(), "json".to_owned()]
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Beam {
    fn rules(&self) -> Vec<String> {
        vec!["Write each value raw between its tags. Escape nothing.".to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn shows_long_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall) -> String {
        if !FORM.can_hold(call) {
            return hermes_text(std::slice::from_ref(call));
        }
        let name = &call.name;
        let head = format!("{START} {RECIPIENT}{name}{CHANNEL}analysis {CONSTRAIN}xml{MESSAGE}");
        FORM.write_behind(head, call)
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<String> = calls.iter().map(|call| self.call(call)).collect();
        calls.concat()
    }

    fn takes_several(&self) -> bool {
        true
    }
}

/// Reads the header, and then the arguments.
struct BeamReader(Option<Box<dyn Reader>>);

impl Reader for BeamReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if let Some(arguments) = &mut self.0 {
            return arguments.read(input, out);
        }
        match call_head(input) {
            BeamHead::More => Step::More,
            BeamHead::Other => Step::Reject,
            BeamHead::Call { name, length } => {
                let mut arguments = behind_name(&FORM, name, length, input);
                let step = arguments.read(input, out);
                self.0 = Some(arguments);
                step
            }
        }
    }
}

/// What a header opens.
enum BeamHead<'t> {
    /// A call of this dialect, whose arguments begin behind these bytes.
    Call { name: &'t str, length: usize },
    /// More text is needed to decide.
    More,
    /// Something else.
    Other,
}

fn call_head<'t>(input: &Input<'t>) -> BeamHead<'t> {
    let window = input
        .text
        .get(..floor(input.text, MAX_HEADER))
        .unwrap_or("");
    let (header, name, length) = match header(window) {
        HeaderAt::Finding {
            text,
            recipient: Some(name),
            message,
        } => (text, name, message),
        HeaderAt::More if window.len() == input.text.len() && !input.end => return BeamHead::More,
        _ => return BeamHead::Other,
    };
    let body = input.from(input.skip_space(length));
    let constrain = header.split_once(CONSTRAIN).map(|(_, kind)| kind.trim());
    match mark_at(body, &[PARAMETER]) {
        MarkAt::Finding { .. } => BeamHead::Call { name, length },
        MarkAt::Partial if !input.end => BeamHead::More,
        _ if constrain == Some("xml") => BeamHead::Call { name, length },
        MarkAt::Partial | MarkAt::None => BeamHead::Other,
    }
}
