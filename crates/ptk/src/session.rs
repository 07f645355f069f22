//! A running conversation: one step after the other, each logged before it acts
//! and after it ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ptk_events::{CallId, Correlation, EventKind, RequestId};
use ptk_llm::FinishReason;
use ptk_protocol::{ErrorCode, ExecutionError, Message};
use ptk_store::{
    Content, NewEntry, Next, ReplyRejected, SessionId, Transcript, TurnBegan, TurnEnded,
    TurnOutcome,
};
use ptk_tools::Conversation;
use tokio::time::Instant;

use crate::cut_results::CutResults;
use crate::engine::{Engine, TurnConfig};
use crate::log::{self, Log};
use crate::prompt::with_images;
use crate::render::Shown;
use crate::stop::Stop;
use crate::{Execution, Hooks, Prompt, ReplyKind, RunError, RunOptions, read};

/// The request to continue a reply that ran into its limit.
const CONTINUE: &str = "Continue from where you left off. Do not repeat what you have written.";

/// A conversation, with its log.
///
/// Dropping the future of a run leaves its turn open, as if the process had
/// been killed: [`resume`](Self::resume) continues it.
#[derive(Debug)]
pub struct Session {
    pub(crate) engine: Arc<Engine>,
    pub(crate) log: Log,
    pub(crate) config: Option<Arc<TurnConfig>>,
    pub(crate) stop: Stop,
    /// The hooks of the run.
    pub(crate) hooks: Hooks,
    /// When the turn was begun, or resumed.
    pub(crate) since: Instant,
    /// The number of the first item whose images are shown: the server refused
    /// those of earlier ones.
    pub(crate) images_from: u64,
    /// The items that were rendered in this turn, by their numbers.
    pub(crate) shown: HashMap<u64, Arc<Shown>>,
    /// Results that were too long for the window.
    pub(crate) cut_results: CutResults,
    conversation: Conversation,
}

/// What one step of a run did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// The model was asked, and its reply was read.
    Replied(Iteration),
    /// The calls of a reply have ended. Those that could not be run are among
    /// them.
    Called(Vec<CallId>),
    /// The model was sent a correction of an unusable reply.
    Rejected(String),
    /// The model was asked to go on with an answer that was too long, to read the
    /// file first that its answer is about, or for one that fits its schema.
    Continued,
    /// The turn ended with this answer.
    Ended(String),
}

/// A reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Iteration {
    /// The number of the reply in the run, counted from one.
    pub iteration: u32,
    /// The kind of the reply.
    pub kind: ReplyKind,
    /// The prose.
    pub content: String,
    /// The calls, each with its status and problems: not all of them can be run
    /// ([`LoggedCall::is_runnable`](ptk_store::LoggedCall::is_runnable)).
    pub tool_calls: Vec<ptk_store::LoggedCall>,
    /// The text of the model, unchanged.
    pub raw: String,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, id: SessionId) -> Self {
        let log = Log::new(Arc::clone(&engine.store), id, engine.info.clone());
        let stop = Stop::new(&engine.options);
        let hooks = engine.options.hooks.or(&engine.hooks);
        Self {
            hooks,
            cut_results: CutResults::new(Arc::clone(engine.tools.outputs())),
            conversation: Conversation::new(),
            engine,
            log,
            config: None,
            stop,
            since: Instant::now(),
            images_from: 0,
            shown: HashMap::new(),
        }
    }

    /// The id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.log.session
    }

    /// The conversation that calls of this session belong to, also those that
    /// the user makes by hand.
    #[must_use]
    pub const fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The conversation, as it was logged.
    ///
    /// # Errors
    ///
    /// If the log cannot be read.
    pub async fn transcript(&mut self) -> Result<&Transcript, RunError> {
        self.load_transcript().await?;
        Ok(&self.log.transcript)
    }

    /// Sets the title, or removes it if it is empty. A session that is not
    /// written yet gets the title once it begins.
    ///
    /// # Errors
    ///
    /// If the title is too long, or the log cannot be written.
    pub async fn rename(&mut self, title: &str) -> Result<(), RunError> {
        let change = ptk_store::titled(title)?;
        self.load().await?;
        self.log.change(change).await
    }

    /// Logs an entry that belongs to the conversation and to no turn: a tool
    /// that the user has run by hand, a note.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub async fn aside(&mut self, entry: NewEntry) -> Result<(), RunError> {
        self.load().await?;
        let beginning = self.log.beginning();
        let entries = beginning.into_iter().chain([entry]);
        self.log.append(entries.collect()).await
    }

    /// Runs until there is an answer.
    ///
    /// # Errors
    ///
    /// If there is none. [`execute`](Self::execute) also returns how that came
    /// about.
    pub async fn run(&mut self, prompt: impl Into<Prompt>) -> Result<String, RunError> {
        let options = self.engine.options.clone();
        self.execute(prompt, options).await.into_result()
    }

    /// Runs until there is an answer or an error.
    pub async fn execute(&mut self, prompt: impl Into<Prompt>, options: RunOptions) -> Execution {
        match self.begin(prompt, options).await {
            Ok(()) => self.drive().await,
            Err(error) => self.failed_to_start(error),
        }
    }

    /// Resumes a turn that was interrupted; `None` if there is none.
    ///
    /// What has ended is not run again. A call that may or may not have
    /// happened is run again if it only reads. Otherwise the user is asked; if
    /// that is not possible, the model gets a result that says so.
    pub async fn resume(&mut self, options: RunOptions) -> Option<Execution> {
        self.since = Instant::now();
        self.hooks = options.hooks.or(&self.engine.hooks);
        let ready = match self.load().await {
            Ok(()) if self.log.transcript.next() == Next::Prompt => return None,
            Ok(()) => self.configure_turn(options),
            Err(error) => Err(error),
        };
        Some(match ready {
            Ok(()) => self.drive().await,
            Err(error) => self.failed_to_start(error),
        })
    }

    /// Begins a turn, for callers that run it [step](Self::step) by step. A
    /// turn that is open is abandoned.
    ///
    /// # Errors
    ///
    /// If the options name something that there is not, or the log cannot be
    /// written.
    pub async fn begin(
        &mut self,
        prompt: impl Into<Prompt>,
        options: RunOptions,
    ) -> Result<(), RunError> {
        self.since = Instant::now();
        self.hooks = options.hooks.or(&self.engine.hooks);
        self.load().await?;
        let parent = options.parent.clone();
        let settings = options.settings.clone();
        self.configure_turn(options)?;
        let prompt = prompt.into();
        if !prompt.images.is_empty() {
            self.check_images().await?;
        }
        self.engine.tools.begin_turn();
        self.conversation.begin_turn();
        let mut entries: Vec<NewEntry> = self.log.beginning().into_iter().collect();
        if self.log.transcript.next() != Next::Prompt {
            entries.push(self.log.entry(TurnEnded::new(TurnOutcome::Cancelled)));
        }
        let turn = Correlation {
            parent_id: parent,
            ..Correlation::of_request(RequestId::new())
        };
        let text = with_images(&prompt.text, prompt.images.len()).into_owned();
        entries.push(NewEntry::new(TurnBegan { settings }).of(&turn));
        entries.push(NewEntry::new(prompt.into_message()).of(&turn));
        self.log.append(entries).await?;
        self.publish(EventKind::TurnBegan { prompt: text });
        Ok(())
    }

    /// Fails if the model takes no images.
    async fn check_images(&mut self) -> Result<(), RunError> {
        let config = self.learned().await?;
        if config.approach.can.takes_images {
            return Ok(());
        }
        let model = config.candidate.model().display_name();
        Err(RunError::NoImages(model.to_string()))
    }

    /// Becomes the writer, and loads the log and the files that the tools have
    /// seen.
    pub(crate) async fn load(&mut self) -> Result<(), RunError> {
        self.log.claim().await?;
        self.load_transcript().await
    }

    /// Loads the log and the files that the tools have seen.
    pub(crate) async fn load_transcript(&mut self) -> Result<(), RunError> {
        if let Some(loaded) = self.log.load().await? {
            self.engine.tools.outputs().skip_to(loaded.outputs);
            self.conversation.remember(loaded.seen);
            self.conversation.hide(loaded.hidden);
        }
        Ok(())
    }

    /// Forgets the lines of files that a call has shown: the model is not shown
    /// all of its result.
    pub(crate) fn hide_files_of(&self, call: &CallId) {
        let files = log::calls(&self.log.transcript).filter(|known| known.id == *call);
        self.conversation.hide(files.flat_map(log::files_of));
    }

    /// Sets the options of the turn.
    fn configure_turn(&mut self, options: RunOptions) -> Result<(), RunError> {
        self.stop = Stop::new(&options);
        self.images_from = 0;
        self.shown.clear();
        self.config = Some(Arc::new(self.engine.config(options)?));
        Ok(())
    }

    /// Switches to this model, asked as is best. All else stays.
    pub(crate) fn change(&mut self, options: RunOptions, rank: usize) -> Result<(), RunError> {
        self.shown.clear();
        let mut config = self.engine.config_with(options, rank)?;
        config.images_from = self.images_from;
        self.config = Some(Arc::new(config));
        Ok(())
    }

    pub(crate) fn config(&mut self) -> Result<Arc<TurnConfig>, RunError> {
        if self.config.is_none() {
            self.configure_turn(self.engine.options.clone())?;
        }
        let found = &self.log.found;
        if let Some(config) = self.config.as_ref().filter(|config| config.lacks(found)) {
            self.config = Some(Arc::new(config.with_found(found)));
        }
        let none = || RunError::NoTurn(self.log.session.clone());
        self.config.clone().ok_or_else(none)
    }

    /// Runs the next step.
    ///
    /// # Errors
    ///
    /// If the run cannot go on. The turn stays open: try again, or
    /// [begin](Self::begin) another one.
    pub async fn step(&mut self) -> Result<Step, RunError> {
        let mut step = self.advance().await?;
        if let Step::Replied(Iteration { tool_calls, .. }) = &mut step {
            let config = self.config()?;
            self.engine.check(&config, tool_calls);
        }
        Ok(step)
    }

    /// Runs the next step. The arguments of its calls are not checked before
    /// they run.
    pub(crate) async fn advance(&mut self) -> Result<Step, RunError> {
        self.load().await?;
        let config = self.config()?;
        self.stop.check()?;
        match self.log.transcript.next() {
            Next::Ask { again } => self.ask(&config, again).await,
            Next::Parse { reply } => self.parse(&config, reply).await,
            Next::Calls { reply } => self.call(&config, reply).await,
            Next::Reject { reply } => self.reject(&config, reply).await,
            Next::End { reply } => self.end(&config, reply).await,
            _ => Err(RunError::NoTurn(self.log.session.clone())),
        }
    }

    /// Sends the model a correction of an unusable reply, unless there were too
    /// many in a row.
    async fn reject(&mut self, config: &TurnConfig, reply: u64) -> Result<Step, RunError> {
        self.check_retry_limit(config)?;
        let text = self.correction(config, reply);
        let rejected = ReplyRejected {
            text: text.clone(),
            attempt: self.log.turn.unusable,
        };
        let entry = self.log.entry(rejected);
        self.log.append(vec![entry]).await?;
        Ok(Step::Rejected(text))
    }

    /// Fails if too many replies in a row could not be used.
    pub(crate) fn check_retry_limit(&self, config: &TurnConfig) -> Result<(), RunError> {
        let turn = &self.log.turn;
        if turn.unusable <= config.options.protocol_retries {
            return Ok(());
        }
        let fault = turn.fault.clone();
        let fault = fault
            .unwrap_or_else(|| ExecutionError::new(ErrorCode::ParseError, "The reply was empty"));
        let reason = fault.message.trim_end_matches('.');
        let message = format!(
            "{reason}. {} replies in a row could not be used; try another model or dialect",
            turn.unusable
        );
        Err(RunError::failed(fault.code, message))
    }

    fn correction(&self, config: &TurnConfig, reply: u64) -> String {
        let items = self.log.transcript.items().iter();
        let said = items.rev().find_map(|item| match &item.content {
            Content::Reply(said) if item.seq == reply => Some(&said.reply),
            _ => None,
        });
        let reply = said.map(|said| read::whole(&*self.engine.parser, config, said));
        let reply = reply.unwrap_or_default();
        let correction = if config.prompt.is_native {
            let faults: Vec<_> = reply.faults().collect();
            let told = || ptk_protocol::explain(faults.iter().copied());
            (!faults.is_empty()).then(|| format!("{} Please try again.", told()))
        } else {
            reply.correction(&*config.prompt.formatter, &config.prompt.tools)
        };
        correction.unwrap_or_else(|| read::EMPTY.to_owned())
    }

    /// Ends the turn with the answer. If it is about a file that was not read, or
    /// does not fit its schema, the model answers again; if it ran into its
    /// limit, the model continues it, once.
    async fn end(&mut self, config: &Arc<TurnConfig>, reply: u64) -> Result<Step, RunError> {
        if self.log.turn.answers_again == Some(reply) {
            return self.ask(config, false).await;
        }
        if self.send_back_unread(config, reply).await? {
            return Ok(Step::Continued);
        }
        let turn = &self.log.turn;
        let may_go_on = turn.finish == Some(FinishReason::Length)
            && turn.answers.len() == 1
            && turn.iterations < config.options.max_iterations;
        if may_go_on {
            // The request may have been written before the process was killed.
            let last = self.log.transcript.items().last();
            if last.is_some_and(|item| item.seq == reply) {
                let entry = self.log.entry(Message::system(CONTINUE));
                self.log.append(vec![entry]).await?;
                return Ok(Step::Continued);
            }
            return self.ask(config, false).await;
        }
        let said = turn.answers.concat().trim().to_owned();
        let answer = match &config.options.answer_schema {
            None => said,
            Some(schema) => match schema.read(&said) {
                Ok(json) => json,
                Err(reason) => return self.send_back_unfit(config, reply, reason).await,
            },
        };
        let turn = &self.log.turn;
        let ended = TurnEnded {
            iterations: turn.iterations,
            calls: turn.made(),
            duration_ms: millis(self.since.elapsed()),
            ..TurnEnded::new(TurnOutcome::Answered)
        };
        let entry = self.log.entry(ended);
        self.log.append(vec![entry]).await?;
        Ok(Step::Ended(answer))
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
