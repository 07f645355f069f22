//! A person at a terminal who decides about calls that change something.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use futures_util::future::BoxFuture;
use ptk_tools::{AllowAll, ApprovalRequest, Approver, Decision, DenyAll};

use crate::args::Approve;

/// Whoever decides, as `--approve` says.
pub(crate) fn approver(approve: Approve) -> Box<dyn Approver> {
    match approve {
        Approve::Auto => Box::new(AllowAll),
        Approve::Deny => Box::new(DenyAll::new(
            "--approve deny refuses whatever changes something",
        )),
        Approve::Ask if io::stdin().is_terminal() && io::stderr().is_terminal() => Box::new(Person),
        Approve::Ask => Box::new(DenyAll::new(
            "nobody can be asked here; run it on a terminal, or with --approve auto",
        )),
    }
}

/// Asks on the terminal.
struct Person;

impl Approver for Person {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        let question = question(&request);
        Box::pin(async move {
            let answer = tokio::task::spawn_blocking(move || ask(&question)).await;
            match answer {
                Ok(Ok(true)) => Decision::Allow,
                Ok(Ok(false)) => Decision::Deny("the user said no".to_owned()),
                Ok(Err(error)) => Decision::Deny(format!("nobody could be asked: {error}")),
                Err(_) => Decision::Deny("nobody could be asked".to_owned()),
            }
        })
    }
}

/// What is asked: the call, and what it is about to do.
fn question(request: &ApprovalRequest<'_>) -> String {
    let summary = request.plan.summary.trim_end();
    let summary = if summary.is_empty() {
        request.args.to_json()
    } else {
        summary.to_owned()
    };
    let summary: String = summary.chars().map(visible).collect();
    format!(
        "{} wants to {}:\n\n{summary}\n\nLet it? [y/N] ",
        request.tool, request.effects
    )
}

/// Characters that could paint over the question, turn it round or hide in it.
fn visible(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

fn ask(question: &str) -> io::Result<bool> {
    // Not locked while waiting: others may have something to say meanwhile.
    io::stderr().write_all(question.as_bytes())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let answer = answer.trim();
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}
