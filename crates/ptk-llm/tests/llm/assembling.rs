//! Any chunking of a reply gives the same reply, and none that is cut off is
//! taken for a whole one.

use std::num::NonZeroUsize;

use futures_util::StreamExt as _;
use proptest::prelude::*;
use ptk_llm::{Assembly, Completion, Delta, FinishReason, Script, ScriptedCall, ScriptedReply};
use serde_json::Value;

use crate::{next, pieces, request};

fn assembled(deltas: &[Delta]) -> Option<Completion> {
    let mut reply = Assembly::new();
    for delta in deltas {
        reply.absorb(delta);
    }
    reply.finish()
}

fn on_this_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(work)
}

fn replies() -> impl Strategy<Value = ScriptedReply> {
    let call =
        ("[a-z_]{1,8}", any::<String>(), any::<bool>()).prop_map(|(name, arguments, has_id)| {
            ScriptedCall {
                id: has_id.then(|| format!("id_{name}")),
                name,
                arguments: Value::String(arguments),
            }
        });
    let finish = prop::option::of("stop|length|content_filter|tool_calls|eos");
    let calls = prop::collection::vec(call, 0..4);
    (any::<String>(), calls, finish).prop_map(|(text, tool_calls, finish_reason)| ScriptedReply {
        text,
        tool_calls,
        finish_reason,
        ..ScriptedReply::default()
    })
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_reply(reply in replies(), size in 1_usize..9) {
        let whole = Script::new([reply.clone()]);
        let chunked = Script::new([ScriptedReply { chunk: NonZeroUsize::new(size), ..reply }]);
        let whole = on_this_thread(next(&whole)).unwrap();
        let chunked = on_this_thread(next(&chunked)).unwrap();
        prop_assert_eq!(whole, chunked);
    }

    #[test]
    fn a_reply_that_is_cut_anywhere_is_no_reply(reply in replies(), keep in 0_usize..40) {
        let reply = ScriptedReply { chunk: NonZeroUsize::new(3), ..reply };
        let deltas = on_this_thread(pieces(&Script::new([reply])));
        let deltas: Vec<Delta> = deltas.into_iter().map(Result::unwrap).collect();
        let kept = keep.min(deltas.len() - 1);
        prop_assert_eq!(assembled(&deltas[..kept]), None);
        prop_assert!(assembled(&deltas).is_some());
    }
}

#[test]
fn calls_that_arrive_in_turns_are_told_apart() {
    let start = |index, name: &str| Delta::CallStart {
        index,
        id: None,
        name: name.to_owned(),
    };
    let more = |index, json: &str| Delta::Arguments {
        index,
        json: json.to_owned(),
    };
    let reply = assembled(&[
        start(1, "second"),
        start(0, "first"),
        more(1, "{\"b\""),
        more(0, "{\"a\""),
        more(1, ":2}"),
        more(0, ":1}"),
        Delta::CallEnd { index: 0 },
        Delta::CallEnd { index: 1 },
        Delta::Finish(FinishReason::ToolCalls),
    ])
    .unwrap();
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|call| (&*call.name, &*call.arguments))
        .collect();
    assert_eq!(calls, [("first", r#"{"a":1}"#), ("second", r#"{"b":2}"#)]);
}

#[test]
fn arguments_without_a_call_are_kept_as_one_without_a_name() {
    let stray = Delta::Arguments {
        index: 4,
        json: "{}".to_owned(),
    };
    let reply = assembled(&[stray, Delta::Finish(FinishReason::Stop)]).unwrap();
    assert_eq!(reply.calls[0].arguments, "{}");
    assert_eq!(reply.calls[0].name, "");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_ends_the_request() {
    let script = Script::parse(
        r#"{"text": "late", "delay_ms": 60000} "next""#.replace("} ", "}\n").as_str(),
    )
    .unwrap();
    let asked = request();
    {
        let mut deltas = ptk_llm::Provider::stream(&script, &asked);
        let wait = tokio::time::timeout(std::time::Duration::from_secs(1), deltas.next());
        assert!(wait.await.is_err());
    }
    assert_eq!(next(&script).await.unwrap().text, "next");
}
