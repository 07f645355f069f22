//! `ptk probe`: finds the best way for a model to call tools.

use std::io::Write;

use anyhow::{Result, bail};
use ptk::llm::{FileMemory, Memory as _};
use ptk::protocol::dialects::Registry;
use ptk::{CancellationToken, Model, Trial, Verdict, Way, best, questions, try_model};
use serde_json::json;

use crate::agent::{self, MEMORY};
use crate::args::ProbeArgs;
use crate::args::dialects::{DIALECTS, check_taught};
use crate::config::Settings;
use crate::dialect_file;
use crate::engine;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::models::Unchosen;
use crate::view::{money, tokens, took};

/// The dialects that are tried by default, after that of the model's family.
const LIKELY: [&str; 4] = ["ptk", "hermes", "xml", "function"];
/// The name that stands for all dialects.
const ALL: &str = "all";

pub(crate) fn run(args: &ProbeArgs, out: &mut impl Write) -> Result<Exit> {
    let settings = Settings::read(&args.config)?;
    let model = agent::chosen(&args.model, &settings, Unchosen::OnlyService)?.model;
    let mut dialects = agent::dialects(&settings)?;
    for name in &args.dialects {
        dialects = dialect_file::add(dialects, name)?;
    }
    let ways = ways(args, &model, &dialects)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut interrupts = Interrupts::new();
        tokio::select! {
            exit = ask(args, &model, ways, &dialects, out) => exit,
            // A command that acts as a model ends when the trial is dropped.
            _ = interrupts.next() => Ok(Exit::Interrupted),
        }
    })
}

/// The ways of calling tools that are tried.
fn ways(args: &ProbeArgs, model: &Model, registry: &Registry) -> Result<Vec<Way>> {
    let named: Vec<String> = match args.dialects.as_slice() {
        [] => {
            let own = model.known_dialect();
            let mut names: Vec<&str> = own.into_iter().collect();
            names.extend(LIKELY.iter().filter(|name| own != Some(**name)));
            names.into_iter().map(str::to_owned).collect()
        }
        [all] if all == ALL => engine::taught_dialects(registry),
        names => names.to_vec(),
    };
    for name in &named {
        check_taught(registry, DIALECTS, name)?;
    }
    let text = named.into_iter().map(Way::Text);
    let native = model.has_place_for_tools().then_some(Way::Native);
    Ok(native.into_iter().chain(text).collect())
}

async fn ask(
    args: &ProbeArgs,
    model: &Model,
    ways: Vec<Way>,
    dialects: &Registry,
    out: &mut impl Write,
) -> Result<Exit> {
    let width = ways.iter().map(|way| way.to_string().chars().count());
    let width = width.max().unwrap_or_default();
    if !args.json {
        let about: Vec<&str> = questions().collect();
        writeln!(out, "Questions: {}.\n", about.join(", "))?;
    }
    let mut trials = Vec::new();
    for way in ways {
        if !args.json {
            write!(out, "{way:width$}  ")?;
            out.flush()?;
        }
        let mut failed = Ok(());
        let tell = |verdict: Verdict| {
            if !args.json {
                // Each result is shown at once.
                let written = write!(out, "{}", mark(verdict)).and_then(|()| out.flush());
                failed = written;
            }
        };
        let cancel = CancellationToken::new();
        let trial = try_model(model, way, dialects, args.timeout, cancel, tell).await;
        failed?;
        let trial = trial?;
        if args.json {
            writeln!(out, "{}", row(&trial))?;
        } else {
            writeln!(out, "{}", told(&trial))?;
        }
        out.flush()?;
        if trial.is_hopeless() {
            let error = trial.error.map(|error| error.to_string());
            bail!("{}", error.unwrap_or_default());
        }
        trials.push(trial);
    }
    conclude(args, model, &trials, out)
}

/// Reports and stores the best way.
fn conclude(
    args: &ProbeArgs,
    model: &Model,
    trials: &[Trial],
    out: &mut impl Write,
) -> Result<Exit> {
    let Some(best) = best(trials) else {
        if args.json {
            writeln!(out, "{}", json!({"best": null}))?;
        } else {
            writeln!(
                out,
                "\nIt made no right call. Try other forms with --dialects, or a larger model."
            )?;
        }
        return Ok(Exit::Failed);
    };
    let memory = ptk_sandbox::state_folder().map(|folder| FileMemory::new(folder.join(MEMORY)));
    let kept = match (memory, model.memory_key()) {
        (Some(memory), Some(key)) if !args.dry_run => {
            memory.remember(&key, best.profile());
            memory.recall(&key).map(|_| memory.path().to_owned())
        }
        _ => None,
    };
    let settings = match &best.way {
        Way::Native => "mode = \"native\"".to_owned(),
        Way::Text(dialect) => format!("mode = \"text\"\ndialect = \"{dialect}\""),
    };
    if args.json {
        let kept = kept.map(|path| path.display().to_string());
        let best = json!({"best": best.way.to_string(), "remembered_in": kept});
        writeln!(out, "{best}")?;
        return Ok(Exit::Success);
    }
    let settings = settings.replace('\n', ", ");
    writeln!(
        out,
        "\nBest: {}, which in [models] is {settings}.",
        best.way
    )?;
    match kept {
        Some(path) => writeln!(out, "Remembered in {}.", path.display())?,
        None => writeln!(out, "Not remembered.")?,
    }
    Ok(Exit::Success)
}

fn mark(verdict: Verdict) -> char {
    match verdict {
        Verdict::Right => '✓',
        Verdict::Called => '~',
        Verdict::Wrong => '✗',
    }
}

/// A trial as text, after its marks.
fn told(trial: &Trial) -> String {
    let usage = trial.usage;
    let mut parts = vec![format!("{}/{} points", trial.points(), Trial::most())];
    parts.push(format!("{} replies", trial.replies));
    parts.extend(tokens(usage));
    if usage.cost_micros > 0 {
        parts.push(money(usage.cost_micros));
    }
    parts.push(took(trial.duration));
    let error = trial.error.as_ref();
    let error = error.map_or_else(String::new, |error| format!("\n    {error}"));
    format!("  {}{error}", parts.join(", "))
}

/// A trial as JSON.
fn row(trial: &Trial) -> serde_json::Value {
    let verdicts = trial.verdicts.iter().map(|verdict| match verdict {
        Verdict::Right => "right",
        Verdict::Called => "called",
        Verdict::Wrong => "wrong",
    });
    let questions: serde_json::Map<String, serde_json::Value> = questions()
        .map(str::to_owned)
        .zip(verdicts.map(Into::into))
        .collect();
    json!({
        "way": trial.way.to_string(),
        "points": trial.points(),
        "of": Trial::most(),
        "questions": questions,
        "replies": trial.replies,
        "usage": trial.usage,
        "duration_ms": u64::try_from(trial.duration.as_millis()).unwrap_or(u64::MAX),
        "error": trial.error.as_ref().map(ToString::to_string),
    })
}
