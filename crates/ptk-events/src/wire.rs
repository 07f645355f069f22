//! The JSON of an event: one flat object with the type first, then the time,
//! the correlation ids and the content.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::{Event, EventKind, ToolStep, time};

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("type", &self.kind.name())?;
        line.serialize_entry("ts", &time::written::<S::Error>(self.ts)?)?;
        entry_if_some(&mut line, "request_id", self.correlation.request_id)?;
        entry_if_some(&mut line, "parent_id", self.correlation.parent_id.as_ref())?;
        entry_if_some(&mut line, "call_id", self.correlation.call_id.as_ref())?;
        line.serialize_entry("channel", &self.channel)?;
        write_kind(&mut line, &self.kind)?;
        line.end()
    }
}

fn write_kind<M: SerializeMap>(line: &mut M, kind: &EventKind) -> Result<(), M::Error> {
    match kind {
        EventKind::TurnBegan { prompt } => line.serialize_entry("prompt", prompt),
        EventKind::Iteration {
            iteration,
            call_type,
        } => {
            line.serialize_entry("iteration", iteration)?;
            line.serialize_entry("call_type", call_type)
        }
        EventKind::MessageChunk { part, chunk } => {
            line.serialize_entry("part", part)?;
            line.serialize_entry("chunk", chunk)
        }
        EventKind::MessageRestarted { reason } => line.serialize_entry("reason", reason),
        EventKind::ReceiveMessage { message, metadata } => {
            line.serialize_entry("message", message)?;
            line.serialize_entry("metadata", metadata)
        }
        EventKind::Compacted { way, messages } => {
            line.serialize_entry("way", way)?;
            entry_if_some(line, "messages", *messages)
        }
        EventKind::Note { message } => line.serialize_entry("message", message),
        EventKind::HelperReplied {
            task,
            model,
            files,
            error,
            duration_ms,
        } => {
            line.serialize_entry("task", task)?;
            line.serialize_entry("model", model)?;
            entry_if_some(line, "files", (!files.is_empty()).then_some(files))?;
            entry_if_some(line, "error", error.as_ref())?;
            line.serialize_entry("duration_ms", duration_ms)
        }
        EventKind::ToolCallRequested {
            tool,
            arguments,
            reasoning,
            repairs,
        } => {
            line.serialize_entry("tool", tool)?;
            line.serialize_entry("arguments", arguments)?;
            entry_if_some(line, "reasoning", reasoning.as_ref())?;
            entry_if_some(line, "repairs", (!repairs.is_empty()).then_some(repairs))
        }
        EventKind::ToolCallStart { tool, arguments } => {
            line.serialize_entry("tool", tool)?;
            line.serialize_entry("arguments", arguments)
        }
        EventKind::ToolCallHeld { tool } => line.serialize_entry("tool", tool),
        EventKind::ToolStep(ToolStep {
            step,
            outcome,
            detail,
            duration_us,
        }) => {
            line.serialize_entry("step", step)?;
            line.serialize_entry("outcome", outcome)?;
            entry_if_some(line, "detail", detail.as_ref())?;
            line.serialize_entry("duration_us", duration_us)
        }
        EventKind::ToolOutputChunk { stream, chunk } => {
            line.serialize_entry("stream", stream)?;
            line.serialize_entry("chunk", chunk)
        }
        EventKind::ToolCallEnd {
            tool,
            success,
            duration_ms,
            result,
        } => {
            line.serialize_entry("tool", tool)?;
            line.serialize_entry("success", success)?;
            line.serialize_entry("duration_ms", duration_ms)?;
            line.serialize_entry("result", result)
        }
        EventKind::Error {
            tool,
            message,
            error_type,
        } => {
            entry_if_some(line, "tool", tool.as_ref())?;
            line.serialize_entry("message", message)?;
            entry_if_some(line, "error_type", *error_type)
        }
    }
}

fn entry_if_some<M: SerializeMap>(
    line: &mut M,
    name: &str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| line.serialize_entry(name, &value))
}
