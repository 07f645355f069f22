//! The endpoint `/v1/responses`. Nothing is kept between requests: a client
//! sends the whole conversation each time.

mod request;
mod tools;
mod write;

use self::request::read;
use self::write::ResponsesWriter;
use super::{Call, EVENTS, Reply, Writer as _, streamed, whole};
use crate::failure::Failure;
use crate::response::{ResponseEvent, ResponsePart};

pub(super) async fn answer(call: Call) -> Result<Reply, Failure> {
    let (call, read) = super::read(call, |call| read(&call.gateway, &call.body)).await?;
    call.ticket.asked(&read.chat.model, read.streams);
    let mut events = ResponsesWriter::new(read.about, read.names);
    if read.streams {
        return streamed(call, EVENTS, vec![(read.chat, events)], |_, _| {}).await;
    }
    let answer = whole(&call, &[read.chat]).await?.pop().unwrap_or_default();
    // The same items as in a stream, whose events are dropped.
    let mut unheard = Vec::new();
    for part in &answer.parts {
        match part {
            ResponsePart::Text(text) => events.event(ResponseEvent::Text(text), &mut unheard),
            ResponsePart::Reasoning(text) => {
                events.event(ResponseEvent::Reasoning(text), &mut unheard);
            }
            ResponsePart::Passthrough(passthrough) => {
                events.event(ResponseEvent::Passthrough(passthrough), &mut unheard);
            }
            ResponsePart::Search(search) => {
                events.event(ResponseEvent::Search(search), &mut unheard);
            }
            ResponsePart::Call {
                id,
                name,
                json,
                args,
                is_cut,
            } => {
                events.event(ResponseEvent::Call { id, name }, &mut unheard);
                events.event(ResponseEvent::Arguments(json), &mut unheard);
                let end = if *is_cut {
                    ResponseEvent::CallCut(args)
                } else {
                    ResponseEvent::CallEnd(args)
                };
                events.event(end, &mut unheard);
            }
        }
        unheard.clear();
    }
    Ok(Reply::json(&events.whole(&answer.end)))
}
