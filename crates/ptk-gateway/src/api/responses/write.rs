//! Writes answers of the responses API, whole and streamed.

use ptk_llm::{FinishReason, Passthrough, Usage};
use serde_json::{Map, Value, json};

use super::super::{Writer, now, put};
use super::request::INPUT;
use super::tools::ToolNames;
use crate::failure::Failure;
use crate::response::{End, ResponseEvent, ToolSearch, new_id};

/// The beginning of the ids of searches for tools.
pub(super) const SEARCH: &str = "tsc_";

/// Writes an answer as events, and keeps its items.
pub(super) struct ResponsesWriter {
    id: String,
    created: u64,
    about: Map<String, Value>,
    names: ToolNames,
    number: u64,
    has_begun: bool,
    output: Vec<Value>,
    open: Option<OpenItem>,
    /// The type and the id of the next item, as the model's server gave them.
    next: Option<(String, String)>,
}

/// An item that is being written.
struct OpenItem {
    id: String,
    kind: OpenKind,
    text: String,
}

enum OpenKind {
    Message,
    Reasoning,
    Call {
        call_id: String,
        name: String,
    },
    Custom {
        call_id: String,
        name: String,
    },
    /// A search for tools that the client runs.
    Search {
        call_id: String,
    },
}

impl ResponsesWriter {
    pub(super) fn new(about: Map<String, Value>, names: ToolNames) -> Self {
        Self {
            id: new_id("resp_"),
            created: now(),
            about,
            names,
            number: 0,
            has_begun: false,
            output: Vec::new(),
            open: None,
            next: None,
        }
    }

    /// The response so far.
    fn response(&self, status: &str, more: Value) -> Value {
        let mut response = json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "output": self.output,
            "usage": null,
        });
        if let (Value::Object(response), Value::Object(more)) = (&mut response, more) {
            response.extend(self.about.clone());
            response.extend(more);
        }
        response
    }

    /// The whole response, with its status.
    pub(super) fn whole(&mut self, end: &End) -> Value {
        self.close(&mut Vec::new());
        self.ended(end).1
    }

    fn ended(&self, end: &End) -> (&'static str, Value) {
        let reason = match end.finish {
            FinishReason::Length => Some("max_output_tokens"),
            FinishReason::ContentFilter => Some("content_filter"),
            _ => None,
        };
        let (kind, status) = match reason {
            Some(_) => ("response.incomplete", "incomplete"),
            None => ("response.completed", "completed"),
        };
        let mut more = json!({
            "incomplete_details": reason.map(|reason| json!({"reason": reason})),
            "usage": usage_of(&end.usage),
        });
        if let (false, Value::Object(more)) = (end.notes.is_empty(), &mut more) {
            more.insert("ptk".to_owned(), json!({"problems": end.notes}));
        }
        (kind, self.response(status, more))
    }

    fn event(&mut self, kind: &str, fields: Value, out: &mut Vec<u8>) {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        let mut event = Map::with_capacity(6);
        event.insert("type".to_owned(), kind.into());
        event.insert("sequence_number".to_owned(), self.number.into());
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        self.number += 1;
        put(&event, out);
        out.extend_from_slice(b"\n\n");
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.has_begun {
            return;
        }
        self.has_begun = true;
        let response = self.response("in_progress", json!({}));
        self.event("response.created", json!({"response": response}), out);
        let response = self.response("in_progress", json!({}));
        self.event("response.in_progress", json!({"response": response}), out);
    }

    fn place(&self) -> usize {
        self.output.len()
    }

    /// Begins an item, unless the open one is of the same kind.
    fn open(&mut self, kind: OpenKind, out: &mut Vec<u8>) {
        self.close(out);
        self.begin(out);
        let (name, begins) = match kind {
            OpenKind::Message => ("message", "msg_"),
            OpenKind::Reasoning => ("reasoning", "rs_"),
            OpenKind::Call { .. } => ("function_call", "fc_"),
            OpenKind::Custom { .. } => ("custom_tool_call", "ctc_"),
            OpenKind::Search { .. } => ("tool_search_call", SEARCH),
        };
        let passthrough = self.next.take_if(|(kind, _)| kind == name);
        let open = OpenItem {
            id: passthrough.map_or_else(|| new_id(begins), |(_, id)| id),
            kind,
            text: String::new(),
        };
        let mut item = open.item("in_progress", &self.names);
        // Its content follows as a part of its own.
        if let (OpenKind::Message | OpenKind::Reasoning, Value::Object(item)) =
            (&open.kind, &mut item)
        {
            item.insert(open.list().to_owned(), json!([]));
        }
        let place = self.place();
        self.event(
            "response.output_item.added",
            json!({"output_index": place, "item": item}),
            out,
        );
        if let Some((kind, index)) = open.part_event("added") {
            let fields =
                json!({"item_id": open.id, "output_index": place, index: 0, "part": open.part()});
            self.event(&kind, fields, out);
        }
        self.open = Some(open);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        self.close_as("completed", out);
    }

    /// Ends the open item.
    fn close_as(&mut self, status: &str, out: &mut Vec<u8>) {
        if let Some(open) = self.open.take() {
            self.end_parts(&open, out);
            let item = open.item(status, &self.names);
            self.done(item, out);
        }
    }

    /// Ends the parts of an item.
    fn end_parts(&mut self, open: &OpenItem, out: &mut Vec<u8>) {
        let place = self.place();
        let about = |index: Option<&str>| {
            let mut fields = json!({"item_id": open.id, "output_index": place});
            if let (Some(index), Value::Object(fields)) = (index, &mut fields) {
                fields.insert(index.to_owned(), json!(0));
            }
            fields
        };
        let with = |mut fields: Value, name: &str, value: Value| {
            if let Value::Object(fields) = &mut fields {
                fields.insert(name.to_owned(), value);
            }
            fields
        };
        match &open.kind {
            OpenKind::Message => {
                let fields = with(
                    about(Some("content_index")),
                    "text",
                    open.text.clone().into(),
                );
                self.event(
                    "response.output_text.done",
                    with(fields, "logprobs", json!([])),
                    out,
                );
            }
            OpenKind::Reasoning => {
                let fields = with(
                    about(Some("summary_index")),
                    "text",
                    open.text.clone().into(),
                );
                self.event("response.reasoning_summary_text.done", fields, out);
            }
            OpenKind::Call { name, .. } => {
                let fields = with(about(None), "arguments", open.text.clone().into());
                let (_, own) = self.names.in_items(name);
                let fields = with(fields, "name", own.into());
                self.event("response.function_call_arguments.done", fields, out);
            }
            OpenKind::Custom { .. } => {
                let text = Value::from(open.text.clone());
                self.event(
                    "response.custom_tool_call_input.delta",
                    with(about(None), "delta", text.clone()),
                    out,
                );
                self.event(
                    "response.custom_tool_call_input.done",
                    with(about(None), INPUT, text),
                    out,
                );
            }
            OpenKind::Search { .. } => {}
        }
        if let Some((kind, index)) = open.part_event("done") {
            self.event(&kind, with(about(Some(index)), "part", open.part()), out);
        }
    }

    /// Writes a search for tools that the gateway ran, and its result.
    fn search(&mut self, search: &ToolSearch, out: &mut Vec<u8>) {
        let ToolSearch { id, args, found } = search;
        let item = |status: &str, kind: &str, begins: &str, name: &str, value: Value| {
            let mut item = json!({
                "id": format!("{begins}{id}"), "type": kind, "status": status,
                "execution": "server", "call_id": null,
            });
            if let Value::Object(item) = &mut item {
                item.insert(name.to_owned(), value);
            }
            item
        };
        let call =
            |status: &str, args: Value| item(status, "tool_search_call", SEARCH, "arguments", args);
        self.add(&call("in_progress", json!({})), out);
        self.done(call("completed", Value::Object(args.as_map().clone())), out);
        let found = Value::Array(self.names.definitions(found));
        let output = item("completed", "tool_search_output", "tso_", "tools", found);
        self.add(&output, out);
        self.done(output, out);
    }

    /// Writes a complete item.
    fn done(&mut self, item: Value, out: &mut Vec<u8>) {
        let fields = json!({"output_index": self.place(), "item": item});
        self.event("response.output_item.done", fields, out);
        self.output.push(item);
    }

    /// Writes content that only this API has a field for.
    fn passthrough(&mut self, passthrough: &Passthrough, out: &mut Vec<u8>) {
        match passthrough {
            Passthrough::Id { kind, id } => self.next = Some((kind.clone(), id.clone())),
            Passthrough::Fields { answer, .. } => self.about.extend(answer.clone()),
            Passthrough::Part(item) if kind_of(item) == "message" => self.own_message(item, out),
            Passthrough::Part(item) => {
                let is_it = |open: &mut OpenItem| {
                    matches!(open.kind, OpenKind::Reasoning) && kind_of(item) == "reasoning"
                };
                // The item repeats what was streamed of it, and adds to it.
                match self.open.take_if(is_it) {
                    Some(open) => self.end_parts(&open, out),
                    None => self.add(item, out),
                }
                self.done(item.clone(), out);
            }
            _ => {}
        }
    }

    /// Begins an item of the model's server.
    fn add(&mut self, item: &Value, out: &mut Vec<u8>) {
        self.close(out);
        self.begin(out);
        let fields = json!({"output_index": self.place(), "item": item});
        self.event("response.output_item.added", fields, out);
    }

    /// Writes a message of the model's server unchanged. If calls were parsed
    /// in it, it stays as it was streamed.
    fn own_message(&mut self, item: &Value, out: &mut Vec<u8>) {
        let text = text_of(item);
        let Some(open) = self.open.take_if(|open| open.is_message()) else {
            if text.is_empty() {
                self.add(item, out);
                self.done(item.clone(), out);
            }
            return;
        };
        if open.text != text {
            self.open = Some(open);
            return self.close(out);
        }
        let parts = item.get("content").and_then(Value::as_array);
        for (index, part) in parts.into_iter().flatten().enumerate() {
            let sources = part.get("annotations").and_then(Value::as_array);
            for (at, source) in sources.into_iter().flatten().enumerate() {
                let fields = json!({"item_id": open.id, "output_index": self.place(), "content_index": index, "annotation_index": at, "annotation": source});
                self.event("response.output_text.annotation.added", fields, out);
            }
        }
        self.end_parts(&open, out);
        let mut item = item.clone();
        if let Value::Object(item) = &mut item {
            item.insert("id".to_owned(), open.id.into());
        }
        self.done(item, out);
    }

    /// Writes further text of an item.
    fn delta(&mut self, kind: &str, index: Option<&str>, text: &str, out: &mut Vec<u8>) {
        let place = self.place();
        let Some(open) = &mut self.open else {
            return;
        };
        open.text.push_str(text);
        let mut fields = json!({"item_id": open.id, "output_index": place, "delta": text});
        if let (Some(index), Value::Object(fields)) = (index, &mut fields) {
            fields.insert(index.to_owned(), json!(0));
            if index == "content_index" {
                fields.insert("logprobs".to_owned(), json!([]));
            }
        }
        self.event(kind, fields, out);
    }
}

fn kind_of(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The whole text of an item.
fn text_of(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array);
    let texts = parts.into_iter().flatten().filter_map(|part| {
        let text = part.get("text").or_else(|| part.get("refusal"));
        text.and_then(Value::as_str)
    });
    texts.collect()
}

impl OpenItem {
    fn is_message(&self) -> bool {
        matches!(self.kind, OpenKind::Message)
    }

    fn item(&self, status: &str, names: &ToolNames) -> Value {
        let mut item = match &self.kind {
            OpenKind::Message => json!({
                "id": self.id, "type": "message", "status": status, "role": "assistant",
                "content": [self.part()],
            }),
            OpenKind::Reasoning => json!({
                "id": self.id, "type": "reasoning", "summary": [self.part()],
            }),
            OpenKind::Call { call_id, .. } => json!({
                "id": self.id, "type": "function_call", "status": status,
                "arguments": self.text, "call_id": call_id,
            }),
            OpenKind::Custom { call_id, .. } => json!({
                "id": self.id, "type": "custom_tool_call", "status": status,
                "call_id": call_id, INPUT: self.text,
            }),
            OpenKind::Search { call_id } => json!({
                "id": self.id, "type": "tool_search_call", "status": status,
                "execution": "client", "call_id": call_id,
                "arguments": serde_json::from_str(&self.text).unwrap_or_else(|_| json!({})),
            }),
        };
        if let (OpenKind::Call { name, .. } | OpenKind::Custom { name, .. }, Value::Object(item)) =
            (&self.kind, &mut item)
        {
            names.name(name, item);
        }
        item
    }

    /// The field that lists the parts of an item.
    fn list(&self) -> &'static str {
        match self.kind {
            OpenKind::Reasoning => "summary",
            _ => "content",
        }
    }

    fn part(&self) -> Value {
        match self.kind {
            OpenKind::Reasoning => json!({"type": "summary_text", "text": self.text}),
            _ => {
                json!({"type": "output_text", "text": self.text, "annotations": [], "logprobs": []})
            }
        }
    }

    /// The event of a part, and the name of its index.
    fn part_event(&self, what: &str) -> Option<(String, &'static str)> {
        match self.kind {
            OpenKind::Message => Some((format!("response.content_part.{what}"), "content_index")),
            OpenKind::Reasoning => Some((
                format!("response.reasoning_summary_part.{what}"),
                "summary_index",
            )),
            OpenKind::Call { .. } | OpenKind::Custom { .. } | OpenKind::Search { .. } => None,
        }
    }
}

impl Writer for ResponsesWriter {
    fn event(&mut self, event: ResponseEvent<'_>, out: &mut Vec<u8>) {
        let open = self.open.as_ref().map(|open| &open.kind);
        match event {
            ResponseEvent::Text(text) => {
                if !matches!(open, Some(OpenKind::Message)) {
                    self.open(OpenKind::Message, out);
                }
                self.delta(
                    "response.output_text.delta",
                    Some("content_index"),
                    text,
                    out,
                );
            }
            ResponseEvent::Reasoning(text) => {
                if !matches!(open, Some(OpenKind::Reasoning)) {
                    self.open(OpenKind::Reasoning, out);
                }
                self.delta(
                    "response.reasoning_summary_text.delta",
                    Some("summary_index"),
                    text,
                    out,
                );
            }
            ResponseEvent::Call { id, name } => {
                let (call_id, name) = (id.to_owned(), name.to_owned());
                let kind = if self.names.client_search == Some(name.as_str()) {
                    OpenKind::Search { call_id }
                } else if self.names.custom.contains(&name) {
                    OpenKind::Custom { call_id, name }
                } else {
                    OpenKind::Call { call_id, name }
                };
                self.open(kind, out);
            }
            ResponseEvent::Arguments(json) => {
                if matches!(open, Some(OpenKind::Call { .. })) {
                    self.delta("response.function_call_arguments.delta", None, json, out);
                }
            }
            ResponseEvent::CallEnd(args) | ResponseEvent::CallCut(args) => {
                if let Some(open) = &mut self.open {
                    match open.kind {
                        OpenKind::Custom { .. } => {
                            let input = args.get(INPUT).and_then(Value::as_str);
                            open.text = input.map_or_else(|| args.to_json(), str::to_owned);
                        }
                        OpenKind::Search { .. } => open.text = args.to_json(),
                        _ => {}
                    }
                }
                let is_cut = matches!(event, ResponseEvent::CallCut(_));
                self.close_as(if is_cut { "incomplete" } else { "completed" }, out);
            }
            ResponseEvent::Search(search) => self.search(search, out),
            ResponseEvent::Passthrough(passthrough) => self.passthrough(passthrough, out),
            ResponseEvent::WasReasoning | ResponseEvent::WasRescued | ResponseEvent::WasText => {}
        }
    }

    fn end(&mut self, end: &End, out: &mut Vec<u8>) {
        self.close(out);
        self.begin(out);
        let (kind, response) = self.ended(end);
        self.event(kind, json!({"response": response}), out);
    }

    fn failed(&mut self, failure: &Failure, out: &mut Vec<u8>) {
        self.close_as("incomplete", out);
        self.begin(out);
        // The API has only a few codes for it.
        let code = match failure.status.as_u16() {
            429 => "rate_limit_exceeded",
            _ => "server_error",
        };
        let error = json!({"code": code, "message": failure.message});
        let more = json!({"error": error, "ptk": {"code": failure.code}});
        let response = self.response("failed", more);
        self.event("response.failed", json!({"response": response}), out);
    }
}

fn usage_of(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    })
}
