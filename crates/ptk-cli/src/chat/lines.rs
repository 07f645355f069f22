//! The line-by-line chat: for pipes, for terminals that do not support the full
//! screen, and by request.

use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::sync::Arc;

use anyhow::Result;
use ptk::RunError;
use ptk::view::Conversation;

use super::command;
use super::host::{Done, Host, unwritten};
use super::orders::{self, Told};
use crate::agent::SessionHandle;
use crate::args::ChatArgs;
use crate::ask::ProgramQuestions;
use crate::commands::run::{Watched, asking, watch};
use crate::config::Settings;
use crate::exit::{self, Exit};
use crate::interrupt::Interrupts;
use crate::printer;
use crate::sessions::{self, short};
use crate::view::clean::visible;
use crate::view::{self, HumanView, Json, MarkdownStream, Screen, View};

/// The input prompt.
const MARK: &str = "› ";

/// Runs the chat line by line until the input ends.
pub(crate) async fn run(args: &ChatArgs, out: &mut impl Write) -> Result<Exit> {
    let agent = &args.agent;
    let settings = Arc::new(Settings::read(&agent.config)?);
    let handle = SessionHandle::wanted(&args.session, settings.folder()).await?;
    let known = handle.known.clone();
    let screen = if agent.quiet {
        Screen::quiet()
    } else if agent.json {
        Screen::default()
    } else {
        Screen::live()
    };
    let is_new = known.is_none();
    let (target, questions) = asking(agent);
    let mut host = Host::open(agent.clone(), settings, handle, screen, target).await?;
    if agent.json {
        view::session(host.id().as_str(), is_new, out)?;
    }
    let mut talk = Talk {
        shown: host.conversation().await?,
        has_json: agent.json,
        is_person: io::stdin().is_terminal() && !agent.json && !agent.quiet,
        questions: questions.map(ProgramQuestions::beside_prompts),
    };
    for note in &host.agent.notes {
        exit::note(note);
    }
    if talk.is_person {
        let model = &host.agent.model;
        exit::note(&format!(
            "{model} · /help tells what there is, Ctrl-D leaves"
        ));
    }
    let mut last = Exit::Success;
    if known.as_ref().is_some_and(sessions::is_resumable) {
        host.resume();
        last = talk.watch(&mut host, out).await?;
    }
    let mut before = String::new();
    let mut is_over = false;
    while !is_over {
        let line = talk.line(&before).await?;
        is_over = line.is_none();
        let line = std::mem::take(&mut before) + &line.unwrap_or_default();
        // A trailing backslash continues the prompt on the next line.
        if let Some(open) = line.strip_suffix('\\')
            && !is_over
        {
            before = format!("{open}\n");
            continue;
        }
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let Some(exit) = talk.take(line, &mut host, out).await? else {
            break;
        };
        last = exit;
        if last == Exit::Interrupted && !talk.is_person {
            break;
        }
    }
    host.leave().await?;
    if talk.is_person {
        exit::note(&format!(
            "`ptk chat --session {}` goes on.",
            short(host.id())
        ));
    }
    Ok(last)
}

struct Talk {
    shown: Conversation,
    has_json: bool,
    /// Whether a user types the input.
    is_person: bool,
    /// The questions that a program answers, which then also writes the prompts.
    questions: Option<ProgramQuestions>,
}

impl Talk {
    /// Reads the next line. Nothing is read while work is running, because
    /// answers to questions come from the same input.
    async fn line(&mut self, before: &str) -> Result<Option<String>> {
        if self.is_person {
            let mark = if before.is_empty() { MARK } else { "  " };
            exit::prompt(mark);
        }
        let questions = &mut self.questions;
        let read = async {
            match questions {
                Some(questions) => questions.prompt().await,
                None => tokio::task::spawn_blocking(typed).await?,
            }
        };
        let mut interrupts = Interrupts::new();
        tokio::select! {
            line = read => {
                let line = line?;
                Ok(line.map(|line| line.trim_end_matches(['\n', '\r']).to_owned()))
            }
            // A blocking read cannot be cancelled.
            _ = interrupts.next() => exit::leave(),
        }
    }

    /// Handles a line; returns `None` if the chat is to end.
    async fn take(
        &mut self,
        line: &str,
        host: &mut Host,
        out: &mut impl Write,
    ) -> Result<Option<Exit>> {
        let begun = match command::read(line) {
            Some(Ok(command)) => {
                let number = match &command {
                    command::ChatCommand::Inspect(number) => *number,
                    _ => None,
                };
                self.shown = host.conversation().await?;
                let call = orders::call(&self.shown, number).cloned();
                orders::obey(command, host, &self.shown, call.as_ref()).await
            }
            Some(Err(error)) => Err(anyhow::anyhow!(error)),
            None => {
                match line.strip_prefix('!') {
                    Some(line) => host.run(line.trim())?,
                    None => host.ask(line),
                }
                Ok(Told::Begun)
            }
        };
        match begun {
            Ok(Told::Begun) => return self.watch(host, out).await.map(Some),
            Ok(Told::Note(text)) => self.note(&text, out)?,
            Ok(Told::Page(_, text) | Told::Copied(text)) if self.has_json => {
                self.note(&text, out)?;
            }
            Ok(Told::Page(_, text) | Told::Copied(text)) => page(&text, out)?,
            Ok(Told::List(_, entries)) => {
                let entries = entries.iter();
                let lines = entries.map(|it| format!("{}  {}", it.name, it.about));
                let lines = lines.collect::<Vec<_>>().join("\n");
                if self.has_json {
                    self.note(&lines, out)?;
                } else {
                    writeln!(out, "{}", visible(&lines))?;
                    out.flush()?;
                }
            }
            Ok(Told::Switched(text, is_open)) => {
                self.note(&text, out)?;
                if is_open {
                    host.resume();
                    return self.watch(host, out).await.map(Some);
                }
            }
            Ok(Told::Mouse) => self.note("The mouse is not available here.", out)?,
            Ok(Told::Quit) => return Ok(None),
            Err(error) => {
                exit::say(&format!("{error:#}"));
                return Ok(Some(Exit::Failed));
            }
        }
        Ok(Some(Exit::Success))
    }

    /// Shows a note beside the answers.
    fn note(&self, text: &str, out: &mut impl Write) -> Result<()> {
        if self.has_json {
            return Json::default().say(text, out);
        }
        exit::note(text);
        Ok(())
    }

    /// Shows the running work until it has ended.
    async fn watch(&mut self, host: &mut Host, out: &mut impl Write) -> Result<Exit> {
        let Some((running, cancel)) = host.take_work() else {
            return Ok(Exit::Success);
        };
        let mut view: Box<dyn View> = if self.has_json {
            Box::new(Json::default())
        } else {
            Box::new(HumanView::new(host.screen.clone(), host.tools().clone()))
        };
        let questions = self.questions.as_mut();
        let watched = watch(
            running,
            &mut host.events,
            questions,
            &cancel,
            view.as_mut(),
            out,
        );
        let watched = watched.await?;
        let ended = match watched {
            Watched::Ended(ended) => ended,
            Watched::Left => {
                drop(view.left("Left.", out));
                exit::leave();
            }
            Watched::Unread => return Ok(Exit::Failed),
        };
        let exit = match host.finish(ended) {
            Done::Turn(execution) => {
                view.end(&execution, out)?;
                match execution.error {
                    None => Exit::Success,
                    Some(RunError::Cancelled) => Exit::Interrupted,
                    Some(_) => Exit::Failed,
                }
            }
            Done::Command(outcome, written) => {
                host.screen.doing(None);
                let output = outcome.result.fields.get("output");
                let output = output
                    .and_then(serde_json::Value::as_str)
                    .unwrap_or_default();
                out.write_all(visible(output).as_bytes())?;
                if !output.is_empty() && !output.ends_with('\n') {
                    writeln!(out)?;
                }
                out.flush()?;
                let said = outcome.result.fields.get("stderr");
                let said = said.and_then(serde_json::Value::as_str).unwrap_or_default();
                // If it cannot be written, there is nowhere to say so.
                drop(printer::stderr().write_all(visible(said).as_bytes()));
                if let Err(error) = written {
                    exit::say(unwritten(&error).trim_start());
                }
                if outcome.result.success {
                    Exit::Success
                } else {
                    Exit::Failed
                }
            }
            Done::Said(said) => told(host, said),
            Done::Undone(Ok((id, text))) => {
                host.undone.push(id);
                told(host, Ok(format!("{text}\n/redo has it back.")))
            }
            Done::Redone(Ok(text)) => {
                host.undone.pop();
                told(host, Ok(text))
            }
            Done::Undone(Err(error)) | Done::Redone(Err(error)) => told(host, Err(error)),
        };
        Ok(exit)
    }
}

/// The next line of stdin; `None` at the end.
fn typed() -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let count = io::stdin().lock().read_until(b'\n', &mut line)?;
    let line = String::from_utf8_lossy(&line).into_owned();
    Ok((count > 0).then_some(line))
}

fn told(host: &Host, said: Result<String>) -> Exit {
    host.screen.doing(None);
    match said {
        Ok(text) if text.is_empty() => Exit::Success,
        Ok(text) => {
            exit::note(&text);
            Exit::Success
        }
        Err(error) => {
            exit::say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}

/// Shows a Markdown text.
fn page(text: &str, out: &mut impl Write) -> Result<()> {
    let mut markdown = MarkdownStream::default();
    let shown = markdown.push(text) + &markdown.finish();
    out.write_all(shown.as_bytes())?;
    if !shown.ends_with('\n') {
        writeln!(out)?;
    }
    Ok(out.flush()?)
}
