//! Parses replies of a model: calls in the text and through the native API,
//! checked alike.

use ptk_llm::FinishReason;
use ptk_protocol::json::{self, End};
use ptk_protocol::{
    Arguments, Outcome, ParsedCall, Problem, ProblemCode, Reply, Span, Status, ToolCall, Toolset,
    schema,
};
use ptk_store::{ModelReplied, NativeCall, ReplyOutcome, ReplyParsed};
use serde_json::Value;

use crate::ReplyParser;
use crate::engine::TurnConfig;

/// The name of the form of native calls.
const NATIVE: &str = "native";
/// The correction of an empty reply.
pub(crate) const EMPTY: &str = "Your reply was empty. Call a tool, or answer in words.";

/// The correction of a reply that went on repeating itself.
const REPEATED: &str = "Your reply repeated itself without end, so it was stopped. Call a tool, or answer in a few words";

/// Parses a reply from the log.
pub(crate) fn whole(parser: &dyn ReplyParser, config: &TurnConfig, said: &ModelReplied) -> Reply {
    let mut reply = Reply::default();
    let mut reading = parser.begin(&config.grammar);
    reading.push(&said.text, &mut |event| reply.absorb(event));
    reading.finish(&mut |event| reply.absorb(event));
    settled(reply, config, said)
}

/// Adds the native calls of a reply to those in its text.
pub(crate) fn settled(mut reply: Reply, config: &TurnConfig, said: &ModelReplied) -> Reply {
    let is_cut = said.finish_reason.as_deref() == Some("length");
    if is_cut {
        reply.cut_by_limit();
    }
    if said.finish_reason.as_deref() == Some(FinishReason::Repetition.as_str()) {
        let start = ptk_llm::repetition(&said.text).unwrap_or(said.text.len());
        let span = Span::new(start, said.text.len());
        reply
            .problems
            .push(Problem::new(ProblemCode::Repetition, REPEATED, span));
    }
    // A withheld reply breaks off, too.
    let breaks_off = is_cut || said.finish_reason.as_deref() == Some("content_filter");
    let end = Span::new(said.text.len(), said.text.len());
    let last = said.calls.len();
    let native = said.calls.iter().zip(1..).map(|(call, number)| {
        let may_be_cut = breaks_off && number == last;
        self::native(&config.tools, call, end, may_be_cut)
    });
    let native: Vec<ParsedCall> = native.collect();
    // Some models also write their native calls into the text.
    reply.calls.retain(|written| {
        let is_same = |call: &ParsedCall| {
            call.call.name == written.call.name && call.call.args == written.call.args
        };
        !native.iter().any(is_same)
    });
    reply.calls.extend(native);
    reply
}

/// The parsed reply, for the log. An empty reply is not an answer.
pub(crate) fn parsed(reply: &Reply, said: &ModelReplied) -> ReplyParsed {
    let mut parsed = ReplyParsed::new(reply, &said.text);
    if matches!(reply.outcome(), Outcome::Text("")) {
        parsed.outcome = ReplyOutcome::Malformed;
    }
    parsed
}

/// A native call, repaired as calls in text are.
fn native(tools: &Toolset, call: &NativeCall, span: Span, may_be_cut: bool) -> ParsedCall {
    let mut problems = Vec::new();
    let (args, mut status) = arguments(&call.arguments, span, &mut problems);
    if may_be_cut && (call.arguments.trim().is_empty() || status != Status::Complete) {
        status = Status::Truncated;
    }
    if status == Status::Truncated {
        let message = "The call was cut off before its arguments closed; send it again, shorter";
        let problem = Problem::new(ProblemCode::Truncated, message, span);
        problems.push(problem.with_raw(call.arguments.clone()));
    }
    let name = call.name.trim();
    let mut checked = args;
    if name.is_empty() {
        let message = "Missing or invalid tool name";
        problems.push(Problem::new(ProblemCode::MissingToolName, message, span));
    } else if !problems.iter().any(Problem::is_fault) {
        let check = schema::check(tools, name, checked);
        problems.extend(check.problems(span));
        checked = check.args;
    }
    ParsedCall {
        call: ToolCall {
            id: call.id.clone(),
            name: name.to_owned(),
            args: checked,
            reasoning: None,
        },
        status,
        problems,
        open_ended: false,
        dialect: NATIVE.to_owned(),
        span,
    }
}

fn arguments(text: &str, span: Span, problems: &mut Vec<Problem>) -> (Arguments, Status) {
    if text.trim().is_empty() {
        return (Arguments::new(), Status::Complete);
    }
    if let Ok(args) = Arguments::from_json(text) {
        return (args, Status::Complete);
    }
    let mended = match json::repair(text) {
        Ok(mended) => mended,
        Err(error) => {
            let message = format!("Missing or invalid args: {error}");
            problems
                .push(Problem::new(ProblemCode::InvalidArguments, message, span).with_raw(text));
            return (Arguments::new(), Status::Complete);
        }
    };
    let mut json = mended.json;
    // A text of JSON instead of JSON.
    if let Ok(Value::String(inner)) = serde_json::from_str(&json) {
        problems.push(Problem::new(
            ProblemCode::StringifiedArguments,
            "The arguments were a text of JSON",
            span,
        ));
        json = inner;
    }
    let Ok(args) = Arguments::from_json(&json) else {
        let message = "Missing or invalid args: they are not an object";
        problems.push(Problem::new(ProblemCode::InvalidArguments, message, span).with_raw(text));
        return (Arguments::new(), Status::Complete);
    };
    for fix in &mended.fixes {
        let message = format!("Mended the JSON at byte {}", fix.at);
        problems.push(Problem::new(fix.code, message, span));
    }
    let status = match mended.end {
        End::Closed => Status::Repaired,
        End::Open { .. } | End::InString { .. } => Status::Truncated,
    };
    (args, status)
}
