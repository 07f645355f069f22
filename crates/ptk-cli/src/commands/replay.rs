//! `ptk replay`: judges a session by the current parser and policies.

use std::io::Write;

use anyhow::Result;
use ptk::store::ReplyOutcome;
use ptk::{Difference, Differing, Fate, Meaning, ReadCall};
use serde_json::{Value, json};

use crate::agent::{Agent, SessionHandle};
use crate::args::ReplayArgs;
use crate::config::Settings;
use crate::exit::Exit;
use crate::printer::{self, AnsiColor, Style};
use crate::sessions;
use crate::view::clean::visible;

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const STRONG: Style = Style::new().bold();

pub(crate) fn run(args: &ReplayArgs, out: &mut impl Write) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let replay = runtime.block_on(async {
        let Some(store) = sessions::open_to_read()? else {
            return Err(sessions::unknown(&args.session));
        };
        let found = sessions::existing(&store, &args.session).await?;
        let settings = Settings::read(&args.config)?;
        if let Err(error) = sessions::check_place(&found, settings.folder()) {
            writeln!(printer::stderr(), "By the rules of this folder: {error}.")?;
        }
        let handle = SessionHandle::known(store, found).await?;
        let agent = Agent::to_replay(args, &settings, &handle)?;
        let replay = agent.ptk.replay(&handle.id, agent.options).await?;
        replay.ok_or_else(|| sessions::unknown(&args.session))
    })?;
    for difference in &replay.differences {
        if args.json {
            writeln!(out, "{}", written(difference))?;
        } else {
            show(difference, out)?;
        }
    }
    let count = replay.differences.len();
    if !args.json {
        let what = match count {
            0 => "nothing differs".to_owned(),
            1 => "1 difference".to_owned(),
            count => format!("{count} differences"),
        };
        let (replies, calls) = (replay.replies, replay.calls);
        out.flush()?;
        writeln!(
            printer::stderr(),
            "Replies read again: {replies}, calls judged again: {calls}; {what}."
        )?;
    }
    Ok(if count == 0 {
        Exit::Success
    } else {
        Exit::Failed
    })
}

fn show(difference: &Difference, out: &mut impl Write) -> Result<()> {
    let mut text = format!(
        "{STRONG}turn {}, entry {}{STRONG:#}",
        difference.turn, difference.seq
    );
    let (before, after) = match &difference.what {
        Differing::Reply { before, after } => {
            text.push_str(": the reply is read otherwise\n");
            (lines_of(before), lines_of(after))
        }
        Differing::Call {
            tool,
            arguments,
            before,
            after,
        } => {
            let call = visible(&format!("{tool} {}", arguments.to_json()));
            text.push_str(&format!(": {call}\n"));
            (vec![told(before)], vec![told(after)])
        }
        _ => return Ok(()),
    };
    for line in before.iter().filter(|line| !after.contains(line)) {
        text.push_str(&format!("{REMOVED}- {}{REMOVED:#}\n", visible(line)));
    }
    for line in after.iter().filter(|line| !before.contains(line)) {
        text.push_str(&format!("{ADDED}+ {}{ADDED:#}\n", visible(line)));
    }
    Ok(writeln!(out, "{text}")?)
}

/// The meaning of a reply, line by line.
fn lines_of(meaning: &Meaning) -> Vec<String> {
    let mut lines = vec![format!("{}:", outcome(meaning.outcome))];
    lines.extend(meaning.text.trim().lines().map(str::to_owned));
    for ReadCall {
        tool,
        arguments,
        faults,
    } in &meaning.calls
    {
        let mut line = format!("call {tool} {}", arguments.to_json());
        if !faults.is_empty() {
            line.push_str(&format!(" (not run: {})", faults.join("; ")));
        }
        lines.push(line);
    }
    lines
}

const fn outcome(outcome: ReplyOutcome) -> &'static str {
    match outcome {
        ReplyOutcome::Text => "an answer",
        ReplyOutcome::Calls => "calls",
        ReplyOutcome::Malformed => "not to be used",
    }
}

fn told(fate: &Fate) -> String {
    match fate {
        Fate::Runs => "runs".to_owned(),
        Fate::Refused(why) => format!("refused: {why}"),
        Fate::Unfit(why) => format!("not fit to run: {why}"),
    }
}

fn written(difference: &Difference) -> Value {
    let mut line = json!({"seq": difference.seq, "turn": difference.turn});
    let what = match &difference.what {
        Differing::Reply { before, after } => {
            json!({"what": "reply", "before": meaning(before), "after": meaning(after)})
        }
        Differing::Call {
            tool,
            arguments,
            before,
            after,
        } => json!({
            "what": "call",
            "tool": tool,
            "arguments": arguments.as_map(),
            "before": fate(before),
            "after": fate(after),
        }),
        _ => json!({}),
    };
    if let (Some(line), Value::Object(what)) = (line.as_object_mut(), what) {
        line.extend(what);
    }
    line
}

fn meaning(meaning: &Meaning) -> Value {
    let calls = meaning.calls.iter().map(|call| {
        json!({
            "tool": call.tool,
            "arguments": call.arguments.as_map(),
            "faults": call.faults,
        })
    });
    json!({
        "outcome": meaning.outcome,
        "text": meaning.text,
        "calls": calls.collect::<Vec<_>>(),
    })
}

fn fate(fate: &Fate) -> Value {
    match fate {
        Fate::Runs => json!({"fate": "runs"}),
        Fate::Refused(why) => json!({"fate": "refused", "why": why}),
        Fate::Unfit(why) => json!({"fate": "unfit", "why": why}),
    }
}
