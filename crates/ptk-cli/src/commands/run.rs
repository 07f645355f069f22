//! `ptk run` and `ptk resume`: a model, tools, and one answer.

use std::io::{self, IsTerminal as _, Write};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, anyhow};
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use ptk::events::{EventType, Filter, Subscription};
use ptk::store::{Overview, Retention, SessionId, SqliteStore, Store as _, StoreError};
use ptk::{Execution, RunError, RunOptions};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, Agent, PATIENCE, Place};
use crate::args::{AgentArgs, Cli, ResumeArgs, RunArgs};
use crate::config;
use crate::exit::Exit;
use crate::input::Source;
use crate::interrupt::{Interrupt, Interrupts};
use crate::sessions;
use crate::view::{self, Json, Person, Screen, View};

/// How often the screen moves.
const TICK: Duration = Duration::from_millis(100);

/// What is to be done in a session.
enum Task {
    Prompt(String),
    Resume,
}

pub(crate) fn run(args: &RunArgs, out: &mut impl Write) -> Result<Exit> {
    let prompt = prompt(&args.prompt)?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let place = place(args).await?;
        work(&args.agent, place, Task::Prompt(prompt), out).await
    });
    runtime.shutdown_timeout(PATIENCE);
    ended
}

pub(crate) fn resume(args: &ResumeArgs, out: &mut impl Write) -> Result<Exit> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let store = sessions::open()?;
        let found = match &args.session {
            Some(text) => sessions::existing(&store, text).await?,
            None => last_open(&store, args).await?,
        };
        let place = Place {
            store,
            id: found.id.clone(),
            known: Some(found),
        };
        work(&args.agent, place, Task::Resume, out).await
    });
    runtime.shutdown_timeout(PATIENCE);
    ended
}

/// The last session of the workspace that was interrupted.
async fn last_open(store: &SqliteStore, args: &ResumeArgs) -> Result<Overview> {
    let workspace = sessions::workspace(&args.agent.config)?;
    let last = sessions::last(store, &workspace, |it| it.is_open).await?;
    last.ok_or_else(|| {
        anyhow!("no session of this workspace was interrupted; `ptk sessions list` shows them")
    })
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("nothing can be run")
}

/// The prompt that was given, and what comes on stdin behind it.
fn prompt(words: &[String]) -> Result<String> {
    let mut prompt = match words {
        [word] if word == "-" => String::new(),
        words => words.join(" "),
    };
    let is_alone = prompt.trim().is_empty();
    if !io::stdin().is_terminal() {
        let piped = Source::Stdin.read()?;
        let piped = piped.trim_end();
        if !piped.is_empty() {
            if !is_alone {
                prompt.push_str("\n\n");
            }
            prompt.push_str(piped);
        }
    }
    if prompt.trim().is_empty() {
        let message = "there is no prompt; write it behind the command, or on stdin\n\n  ptk \"What does this folder do?\"";
        let mut cli = Cli::command();
        return Err(cli
            .error(ErrorKind::MissingRequiredArgument, message)
            .into());
    }
    Ok(prompt)
}

/// The session that a prompt belongs to.
async fn place(args: &RunArgs) -> Result<Place> {
    let store = sessions::open()?;
    let (id, known) = match &args.session {
        Some(text) => match sessions::find(&store, text).await? {
            Some(found) => (found.id.clone(), Some(found)),
            None => (text.parse()?, None),
        },
        None if args.go_on => {
            let workspace = sessions::workspace(&args.agent.config)?;
            let last = sessions::last(&store, &workspace, |_| true).await?;
            let last = last.ok_or_else(|| {
                anyhow!("there is no session in this workspace to go on with; leave out --continue")
            })?;
            (last.id.clone(), Some(last))
        }
        None => (SessionId::new(), None),
    };
    Ok(Place { store, id, known })
}

/// Runs, shows how, and says how it ended.
async fn work(args: &AgentArgs, place: Place, task: Task, out: &mut impl Write) -> Result<Exit> {
    let screen = if args.quiet {
        Screen::quiet()
    } else if args.json {
        Screen::default()
    } else {
        Screen::live()
    };
    let given = match task {
        Task::Prompt(_) => 0,
        Task::Resume => agent::given(&place.store, &place.id).await?,
    };
    let kept = config::sessions(&args.config)?;
    let agent = Agent::new(args, &place, given, &screen)?;
    let types = EventType::ALL.iter().copied();
    let (filter, mut view): (_, Box<dyn View>) = if args.json {
        view::session(place.id.as_str(), place.known.is_none(), out)?;
        (Filter::all(), Box::new(Json::default()))
    } else {
        let seen = types.filter(|it| *it != EventType::ToolStep);
        let person = Person::new(screen, agent.ptk.tools().clone());
        (Filter::types(seen), Box::new(person))
    };
    for note in &agent.notes {
        view.say(note);
    }
    let events = agent.ptk.tools().bus().subscribe(filter);
    let mut session = agent.ptk.session(place.id.clone());
    let cancel = agent.options.cancel.clone();
    let options: RunOptions = agent.options;
    let running = tokio::spawn(async move {
        match task {
            Task::Prompt(prompt) => Some(session.execute(prompt, options).await),
            Task::Resume => session.resume(options).await,
        }
    });
    let ended = watch(running, events, &cancel, view.as_mut(), out).await;
    let exit = match ended? {
        Watched::Ended(execution) => {
            view.end(&execution, out)?;
            match execution.error {
                None => Exit::Success,
                Some(RunError::Cancelled) => Exit::Interrupted,
                Some(_) => Exit::Failed,
            }
        }
        Watched::NothingToDo => {
            let id = sessions::short(&place.id);
            return Err(anyhow!(
                "session {id} was not interrupted; `ptk --session {id} \"…\"` goes on with it"
            ));
        }
        Watched::Left => {
            let id = sessions::short(&place.id);
            view.say(&format!("`ptk resume {id}` goes on where it was."));
            Exit::Interrupted
        }
    };
    place.store.release(&place.id).await?;
    if let Err(error) = tidy(&place.store, &kept).await {
        view.say(&format!("Old sessions could not be removed: {error}"));
    }
    Ok(exit)
}

/// Removes the sessions that the user does not want to keep.
async fn tidy(store: &SqliteStore, kept: &config::Sessions) -> Result<(), StoreError> {
    let mut retention = Retention::forever();
    if let Some(age) = kept.max_age {
        retention = retention.no_older_than(age);
    }
    if let Some(most) = kept.max_sessions {
        retention = retention.no_more_than(most);
    }
    if retention != Retention::forever() {
        retention.apply(store, SystemTime::now()).await?;
    }
    Ok(())
}

enum Watched {
    Ended(Box<Execution>),
    /// There was no open turn.
    NothingToDo,
    /// Nobody waits for it any more. The turn is open.
    Left,
}

/// Shows what happens until it is over, or somebody ends it.
async fn watch(
    mut running: JoinHandle<Option<Execution>>,
    mut events: Subscription,
    cancel: &CancellationToken,
    view: &mut dyn View,
    out: &mut impl Write,
) -> Result<Watched> {
    let mut interrupts = Interrupts::new();
    let mut tick = tokio::time::interval(TICK);
    let ended = loop {
        tokio::select! {
            biased;
            interrupt = interrupts.next() => {
                if interrupt == Interrupt::Leave || cancel.is_cancelled() {
                    running.abort();
                    // What the tools have started ends with it.
                    let _ = running.await;
                    return Ok(Watched::Left);
                }
                cancel.cancel();
                view.say("Stopping. Ctrl-C once more ends it at once.");
            }
            Some(delivery) = events.recv() => {
                if let Err(error) = view.event(&delivery, out) {
                    // Nobody reads any more.
                    running.abort();
                    let _ = running.await;
                    return Err(error);
                }
            }
            ended = &mut running => break ended,
            _ = tick.tick() => view.tick(),
        }
    };
    while let Ok(delivery) = events.try_recv() {
        view.event(&delivery, out)?;
    }
    match ended.context("the run broke down; `ptk resume` goes on with it")? {
        Some(execution) => Ok(Watched::Ended(Box::new(execution))),
        None => Ok(Watched::NothingToDo),
    }
}
