//! `ptk run` and `ptk resume`: one turn of a model with tools.

use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use ptk::events::{EventType, Filter, Subscription};
use ptk::store::{Overview, SessionId, SqliteStore, Store as _};
use ptk::{AnswerSchema, Prompt, RunError, RunOptions};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Face, PATIENCE, SessionHandle};
use crate::args::{AgentArgs, Cli, ResumeArgs, RunArgs, nearest_command, unknown_command};
use crate::ask::{ProgramQuestions, QuestionSender, QuestionTarget};
use crate::attachments;
use crate::config::Settings;
use crate::exit::{self, Exit};
use crate::input::Source;
use crate::interrupt::{Interrupt, Interrupts};
use crate::printer;
use crate::sessions;
use crate::setup::{Dialogue, Unanswered};
use crate::view::clean::in_line;
use crate::view::{self, HumanView, Json, Screen, View};

/// How often the screen is updated.
const TICK: Duration = Duration::from_millis(100);

/// The most characters of a session's name.
const MAX_NAME: usize = 70;
/// How long stdin is read before a hint is shown.
const HINT: Duration = Duration::from_secs(2);
/// How long to wait for an orderly exit before it is forced.
const GRACE: Duration = Duration::from_secs(2);

/// The key of the schema of the answer in the settings of a turn.
const SCHEMA: &str = "schema";

/// The task in a session.
enum Task {
    /// A prompt, and the schema of its answer.
    Prompt(Prompt, Option<AnswerSchema>),
    Resume,
}

pub(crate) fn run(args: &RunArgs, out: &mut impl Write) -> Result<Exit> {
    let mut prompt = Prompt::from(prompt(args)?);
    for file in &args.files {
        attachments::add(&mut prompt, file)?;
    }
    let schema = args.schema.as_deref().map(schema).transpose()?;
    let task = Task::Prompt(prompt, schema);
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let settings = Settings::read(&args.agent.config)?;
        let handle = SessionHandle::wanted(&args.session, settings.folder()).await?;
        work(&args.agent, &settings, handle, task, out).await
    });
    runtime.shutdown_timeout(PATIENCE);
    ended
}

pub(crate) fn resume(args: &ResumeArgs, out: &mut impl Write) -> Result<Exit> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let settings = Settings::read(&args.agent.config)?;
        let store = sessions::open()?;
        let found = match &args.session {
            Some(text) => sessions::existing(&store, text).await?,
            None => last_open(&store, settings.folder()).await?,
        };
        sessions::check_resumable(&found)?;
        if found.is_open && !args.agent.quiet {
            writeln!(printer::stderr(), "{}", resumed(&found))?;
        }
        let handle = SessionHandle::here(store, found, settings.folder()).await?;
        work(&args.agent, &settings, handle, Task::Resume, out).await
    });
    runtime.shutdown_timeout(PATIENCE);
    ended
}

/// The schema of the answer in a file.
fn schema(path: &Path) -> Result<AnswerSchema> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    let schema = serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))?;
    AnswerSchema::new(schema).with_context(|| name.to_string())
}

/// What is about to go on.
fn resumed(session: &Overview) -> String {
    let name = in_line(session.name());
    let name: String = name.chars().take(MAX_NAME).collect();
    let (id, age) = (sessions::short(&session.id), view::age(session.updated));
    format!("Resuming session {id} ({age} ago): {name}")
}

/// The last session of the workspace that was interrupted.
async fn last_open(store: &SqliteStore, folder: &Path) -> Result<Overview> {
    let workspace = sessions::workspace(folder)?;
    let last = sessions::last(store, &workspace, true).await?;
    last.ok_or_else(|| {
        anyhow!("no session of this workspace was interrupted; `ptk sessions list` shows them")
    })
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("nothing can be run")
}

/// Asks whether a single word is a prompt, which a model is paid for, or was
/// meant as a command. `None` if it is a prompt.
pub(crate) fn confirm(args: &RunArgs) -> Result<Option<Exit>> {
    // What comes through a pipe decides, once it was read.
    let Some(word) = args.unknown_command().filter(|_| io::stdin().is_terminal()) else {
        return Ok(None);
    };
    let near = nearest_command(word);
    let Some(dialogue) = Dialogue::find()? else {
        return Err(unknown_command(&mut Cli::command(), word, near.as_deref()).into());
    };
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let question = format!("No such command: `{word}`{near}\nSend it as a prompt?");
    let answer = dialogue.agrees(&question);
    dialogue.end();
    match answer {
        Ok(true) => Ok(None),
        Err(error) if error.downcast_ref() == Some(&Unanswered::Interrupted) => {
            Ok(Some(Exit::Interrupted))
        }
        Ok(false) | Err(_) => {
            exit::note("Nothing was sent.");
            Ok(Some(Exit::WrongUsage))
        }
    }
}

/// The prompt from the arguments, followed by stdin.
fn prompt(args: &RunArgs) -> Result<String> {
    let mut prompt = match args.prompt.as_slice() {
        [word] if word == "-" => String::new(),
        words => words.join(" "),
    };
    let is_alone = prompt.trim().is_empty();
    // Answers come from stdin if they are asked for.
    if !args.agent.answers && !io::stdin().is_terminal() {
        let piped = piped()?;
        let piped = piped.trim_end();
        if !piped.is_empty() {
            if !is_alone {
                prompt.push_str("\n\n");
            }
            prompt.push_str(piped);
        } else if let Some(word) = args.unknown_command() {
            let near = nearest_command(word);
            return Err(unknown_command(&mut Cli::command(), word, near.as_deref()).into());
        }
    }
    if prompt.trim().is_empty() {
        let message = "no prompt; write it after the command, or pass it on stdin\n\n  ptk \"What does this folder do?\"";
        let mut cli = Cli::command();
        return Err(cli
            .error(ErrorKind::MissingRequiredArgument, message)
            .into());
    }
    Ok(prompt)
}

/// Reads stdin, with a hint if it stays open.
fn piped() -> Result<String> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(Source::Stdin.read()));
    let first = told.recv_timeout(HINT);
    let read = first.or_else(|_| {
        let hint = "Reading stdin to its end; `< /dev/null` says that there is nothing.";
        drop(writeln!(printer::stderr(), "{hint}"));
        told.recv()
    });
    read.context("stdin cannot be read")?
}

/// Runs the task, shows it, and returns how it ended.
async fn work(
    args: &AgentArgs,
    settings: &Settings,
    handle: SessionHandle,
    task: Task,
    out: &mut impl Write,
) -> Result<Exit> {
    let screen = if args.quiet {
        Screen::quiet()
    } else if args.json {
        Screen::default()
    } else {
        Screen::live()
    };
    let given = match task {
        Task::Prompt(..) => 0,
        Task::Resume => handle.given,
    };
    let retention = settings.retention()?;
    let (target, mut questions) = asking(args);
    let servers = handle
        .servers(args, settings, target.asker(&screen))
        .await?;
    let face = Face {
        screen: &screen,
        approver: &|workspace, note| target.approver(workspace, note, &screen),
        tools: None,
        servers: &servers,
    };
    let agent = Agent::new(args, settings, &handle, given, &face)?;
    let types = EventType::ALL.iter().copied();
    let (filter, mut view): (_, Box<dyn View>) = if args.json {
        view::session(handle.id.as_str(), handle.known.is_none(), out)?;
        (Filter::all(), Box::new(Json::default()))
    } else {
        let seen = types.filter(|it| *it != EventType::ToolStep);
        let person = HumanView::new(screen, agent.ptk.tools().clone());
        (Filter::types(seen), Box::new(person))
    };
    for note in &agent.notes {
        view.say(note, out)?;
    }
    let mut events = agent.ptk.tools().bus().subscribe(filter);
    let mut session = agent.ptk.session(handle.id.clone());
    let cancel = agent.options.cancel.clone();
    let mut options = RunOptions {
        stay_open: true,
        ..agent.options
    };
    options.answer_schema = match &task {
        Task::Prompt(_, schema) => schema.clone(),
        Task::Resume => {
            let recorded = handle.settings.get(SCHEMA).cloned();
            recorded.map(AnswerSchema::new).transpose()?
        }
    };
    if let Some(schema) = options
        .answer_schema
        .as_ref()
        .and_then(AnswerSchema::schema)
    {
        options.settings.insert(SCHEMA.to_owned(), schema.clone());
    }
    let running = tokio::spawn(async move {
        match task {
            Task::Prompt(prompt, _) => Some(session.execute(prompt, options).await),
            Task::Resume => session.resume(options).await,
        }
    });
    let questions = questions.as_mut();
    let ended = watch(running, &mut events, questions, &cancel, view.as_mut(), out).await;
    let exit = match ended? {
        Watched::Ended(Some(execution)) => {
            view.end(&execution, out)?;
            match execution.error {
                None => Exit::Success,
                Some(RunError::Cancelled) => Exit::Interrupted,
                Some(_) => Exit::Failed,
            }
        }
        Watched::Ended(None) => {
            let id = sessions::short(&handle.id);
            return Err(anyhow!(
                "session {id} was not interrupted; `ptk --session {id} \"…\"` goes on with it"
            ));
        }
        Watched::Left => {
            // The reader of the output may be gone, too.
            let _ = view.left(&format!("Left. {}", go_on(&handle.id)), out);
            Exit::Interrupted
        }
        Watched::Unread => {
            exit::say(&format!("the output was closed. {}", go_on(&handle.id)));
            Exit::Failed
        }
    };
    servers.close().await;
    handle.store.release(&handle.id).await?;
    if let Err(error) = sessions::tidy(&handle.store, retention).await {
        view.say(&format!("Old sessions could not be removed: {error}"), out)?;
    }
    Ok(exit)
}

/// Who is asked, and the questions if that is the program.
pub(crate) fn asking(args: &AgentArgs) -> (QuestionTarget, Option<ProgramQuestions>) {
    if !args.answers {
        return (QuestionTarget::Terminal, None);
    }
    let (sender, asked) = QuestionSender::new();
    (
        QuestionTarget::Face(sender),
        Some(ProgramQuestions::new(asked)),
    )
}

fn go_on(id: &SessionId) -> String {
    format!("`ptk resume {}` goes on where it was.", sessions::short(id))
}

/// How a watched run ended.
pub(crate) enum Watched<T> {
    Ended(T),
    /// The user left. The turn is still open.
    Left,
    /// The output is no longer read. The turn is still open.
    Unread,
}

/// Shows the events of a run until it ends, or the user stops it. Questions to
/// a program are printed between them.
pub(crate) async fn watch<T>(
    mut running: JoinHandle<T>,
    events: &mut Subscription,
    mut questions: Option<&mut ProgramQuestions>,
    cancel: &CancellationToken,
    view: &mut dyn View,
    out: &mut impl Write,
) -> Result<Watched<T>> {
    let mut interrupts = interrupts();
    let mut tick = tokio::time::interval(TICK);
    let ended = loop {
        tokio::select! {
            biased;
            Some(interrupt) = interrupts.recv() => {
                if interrupt == Interrupt::Leave || cancel.is_cancelled() {
                    running.abort();
                    // Processes of the tools end with it.
                    let _ = running.await;
                    return Ok(Watched::Left);
                }
                cancel.cancel();
                view.say("Stopping. Ctrl-C once more ends it at once.", out)?;
            }
            Some(delivery) = events.recv() => {
                if let Err(error) = view.event(&delivery, out) {
                    return unshown(running, error).await;
                }
            }
            line = next(questions.as_deref_mut()) => {
                if let Err(error) = view::print_line(&line, out) {
                    return unshown(running, error).await;
                }
            }
            ended = &mut running => break ended,
            _ = tick.tick() => view.tick(),
        }
    };
    while let Ok(delivery) = events.try_recv() {
        view.event(&delivery, out)?;
    }
    let ended = ended.context("the run broke down; `ptk resume` goes on with it")?;
    Ok(Watched::Ended(ended))
}

/// The next line for the program that answers questions, if there is one.
async fn next(questions: Option<&mut ProgramQuestions>) -> Value {
    match questions {
        Some(questions) => questions.next().await,
        None => std::future::pending().await,
    }
}

/// Ends a run whose events cannot be shown.
async fn unshown<T>(running: JoinHandle<T>, error: anyhow::Error) -> Result<Watched<T>> {
    running.abort();
    let _ = running.await;
    if exit::is_broken_pipe(&error) {
        return Ok(Watched::Unread);
    }
    Err(error)
}

/// Receives interrupts on a task of its own, so that the user can stop even
/// while output blocks.
fn interrupts() -> UnboundedReceiver<Interrupt> {
    let (tell, told) = unbounded_channel();
    tokio::spawn(async move {
        let mut interrupts = Interrupts::new();
        let mut is_stopping = false;
        loop {
            let interrupt = tokio::select! {
                interrupt = interrupts.next() => interrupt,
                // The run has ended: the next one has a task of its own.
                () = tell.closed() => return,
            };
            let is_last = is_stopping || interrupt == Interrupt::Leave;
            is_stopping = true;
            let _ = tell.send(interrupt);
            if is_last {
                tokio::time::sleep(GRACE).await;
                exit::leave();
            }
        }
    });
    told
}
