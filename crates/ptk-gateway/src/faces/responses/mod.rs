//! `/v1/responses`. Nothing is kept between requests: a client sends the whole
//! conversation each time.

mod request;
mod write;

use self::request::read;
use self::write::Events;
use super::{Call, EVENTS, Reply, Writer as _, streamed, whole};
use crate::failure::Failure;
use crate::said::{Part, Said};

/// The parameter of tools that take a text and no arguments.
const INPUT: &str = "input";

pub(super) async fn answer(call: Call) -> Result<Reply, Failure> {
    let (call, read) = super::read(call, |call| read(&call.gateway, &call.body)).await?;
    call.ticket.asked(&read.ask.model, read.streams);
    let mut events = Events::new(read.about, read.custom);
    if read.streams {
        return streamed(call, EVENTS, vec![(read.ask, events)], |_, _| {}).await;
    }
    let answer = whole(&call, &[read.ask]).await?.pop().unwrap_or_default();
    // The same items as in a stream, without it.
    let mut unheard = Vec::new();
    for part in &answer.parts {
        match part {
            Part::Text(text) => events.said(Said::Text(text), &mut unheard),
            Part::Reasoning(text) => events.said(Said::Reasoning(text), &mut unheard),
            Part::Own(own) => events.said(Said::Own(own), &mut unheard),
            Part::Call {
                id,
                name,
                json,
                args,
                is_cut,
            } => {
                events.said(Said::Call { id, name }, &mut unheard);
                events.said(Said::Arguments(json), &mut unheard);
                let end = if *is_cut {
                    Said::CallCut(args)
                } else {
                    Said::CallEnd(args)
                };
                events.said(end, &mut unheard);
            }
        }
        unheard.clear();
    }
    Ok(Reply::json(&events.whole(&answer.end)))
}
