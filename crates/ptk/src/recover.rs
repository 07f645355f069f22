//! Recovers from a model that does not reply, or not as it should: ask it for
//! less, ask it in another way, ask it again, or ask another one.

use ptk_events::EventKind;
use ptk_llm::{Completion, Constraint, LlmError, LlmErrorKind};
use ptk_model::{Attempts, Finding, Remedy};
use ptk_protocol::{ErrorCode, Reply, Role};
use ptk_store::{Content, Failure, Item};
use tokio::time::sleep;

use crate::engine::TurnConfig;
use crate::{RunError, Session, Streamed};

/// The attempts so far to get a reply.
#[derive(Debug)]
pub(crate) struct Effort {
    attempts: Attempts,
    /// Tokens that are left for the conversation, where the window turned out
    /// to be smaller than was thought.
    pub(crate) available: Option<u64>,
    /// The error that showed this.
    pub(crate) refused: Option<RunError>,
    /// The constraint of the last request.
    pub(crate) constraint: Constraint,
    /// The first constraint that was given up.
    weakened: Option<Constraint>,
    /// How many images were in the last request.
    pub(crate) images: usize,
}

impl Effort {
    /// No attempt so far. A request may be sent again so often to each model.
    pub(crate) fn new(retries: u32) -> Self {
        Self {
            attempts: Attempts::new(retries),
            available: None,
            refused: None,
            constraint: Constraint::None,
            weakened: None,
            images: 0,
        }
    }
}

impl Session {
    /// Tries to remedy the error, so that the model can be asked again.
    ///
    /// # Errors
    ///
    /// If nothing helps.
    pub(crate) async fn recover(
        &mut self,
        config: &TurnConfig,
        effort: &mut Effort,
        error: LlmError,
    ) -> Result<(), RunError> {
        let is_constrained = effort.constraint != Constraint::None;
        // Whether it is about the images is known once there is no constraint.
        let may_be_constraint = is_constrained && !error.is_about_images();
        let error = if effort.images > 0 && !may_be_constraint {
            error.with_images()
        } else {
            error
        };
        if error.kind == LlmErrorKind::Images {
            if let Some(constraint) = effort.weakened.take() {
                config.candidate.restore(constraint);
            }
            if self.leave_out_images(config, effort, &error).await? {
                return Ok(());
            }
        }
        if let Some(window) = error.stated_window()
            && config.options.context_window.is_none()
            && config.budget.window.is_none_or(|known| window < known)
        {
            let (model, memory) = (config.approach.model.as_deref(), &*self.engine.memory);
            config.candidate.learn_window(model, memory, window);
            effort.available = None;
            effort.refused = Some(error.into());
            return self.change(config.options.clone(), config.rank);
        }
        if error.kind == LlmErrorKind::TooLong {
            let cost = self.used(config);
            if cost < effort.available.unwrap_or(config.budget.available) {
                // The window is smaller than was thought. Instructions and
                // tools cannot be made any shorter.
                effort.available = Some(config.base() + (cost - config.base()) * 7 / 10);
                effort.refused = Some(error.into());
                return Ok(());
            }
        }
        if error.kind == LlmErrorKind::Rejected && is_constrained {
            effort.weakened.get_or_insert(effort.constraint);
            return self.loosen(config, effort.constraint, &error).await;
        }
        let models = &self.engine.models;
        match effort
            .attempts
            .remedy(models, config.rank, &config.approach, &error)
        {
            Remedy::Text => self.teach(config, &error.to_string()).await,
            Remedy::Wait(wait) => {
                tracing::warn!(%error, ?wait, "the model is asked again");
                // If it fails again, the whole error is told then.
                let why = error.in_short();
                self.begin_again(format!("The model is asked again: {why}"))
                    .await?;
                self.stop.unless(sleep(wait)).await
            }
            Remedy::Another(next) => {
                let next = self.next_that_sees(config, effort, next)?;
                let other = self.engine.name_of(next);
                tracing::warn!(%error, other, "another model is asked");
                self.begin_again(format!("{other} is asked instead: {error}"))
                    .await?;
                self.turn_to(next, config, effort).await
            }
            Remedy::None => Err(error.into()),
        }
    }

    /// Asks another model from now on. If it cannot see the images of the
    /// question, the user is told.
    async fn turn_to(
        &mut self,
        next: usize,
        config: &TurnConfig,
        effort: &mut Effort,
    ) -> Result<(), RunError> {
        effort.available = None;
        effort.refused = None;
        effort.weakened = None;
        self.change(config.options.clone(), next)?;
        let config = self.learned().await?;
        if self.asks_with_images() && !config.approach.can.takes_images {
            let other = self.engine.name_of(next);
            let message = format!("{other} takes no images, so it answers without seeing them.");
            self.publish(EventKind::Note { message });
        }
        Ok(())
    }

    /// The rank of the model to ask instead: `next`, unless the question has
    /// images and only another one takes them.
    fn next_that_sees(
        &self,
        config: &TurnConfig,
        effort: &Effort,
        next: usize,
    ) -> Result<usize, RunError> {
        if !self.asks_with_images() {
            return Ok(next);
        }
        let sees = |rank: usize| {
            let config = self.engine.config_with(config.options.clone(), rank)?;
            Ok::<_, RunError>(config.approach.can.takes_images)
        };
        if sees(next)? {
            return Ok(next);
        }
        let models = &self.engine.models;
        let seeing = effort
            .attempts
            .next_that(models, |rank| sees(rank).unwrap_or(false));
        Ok(seeing.unwrap_or(next))
    }

    /// The item with the question of the turn.
    fn question_item(&self) -> Option<&Item> {
        let mut items = self.log.transcript.items().iter().rev();
        items.find(|item| match &item.content {
            Content::Message(message) => message.role == Role::User,
            Content::Summary { images, .. } => !images.is_empty(),
            _ => false,
        })
    }

    /// Whether the question of the turn has images.
    fn asks_with_images(&self) -> bool {
        self.question_item().is_some_and(|item| images_of(item) > 0)
    }

    /// Asks the model again without the images of earlier turns, because its
    /// server refused the request with them. Returns whether there were any.
    async fn leave_out_images(
        &mut self,
        config: &TurnConfig,
        effort: &Effort,
        error: &LlmError,
    ) -> Result<bool, RunError> {
        let question = self.question_item();
        let from = question.map_or(u64::MAX, |item| item.seq);
        if effort.images <= question.map_or(0, images_of) || self.images_from >= from {
            return Ok(false);
        }
        tracing::warn!(%error, "the model is asked again without earlier images");
        self.images_from = from;
        let again = "The model is asked again, without the images of earlier turns";
        self.begin_again(format!("{again}: {error}")).await?;
        self.change(config.options.clone(), config.rank)?;
        Ok(true)
    }

    /// Turns to another model, which may have a larger window: the conversation
    /// does not fit into this one, whatever is left out of it.
    ///
    /// # Errors
    ///
    /// If there is no other.
    pub(crate) async fn outgrow(
        &mut self,
        config: &TurnConfig,
        effort: &mut Effort,
        error: RunError,
    ) -> Result<(), RunError> {
        let models = &self.engine.models;
        let Remedy::Another(next) = effort.attempts.give_up(models, config.rank) else {
            return Err(error);
        };
        let next = self.next_that_sees(config, effort, next)?;
        let other = self.engine.name_of(next);
        tracing::warn!(%error, other, "another model is asked");
        let reason = format!("{other} is asked instead: {error}");
        // No request was sent, so there is no failure with a code.
        let entry = self.log.entry(Failure::new(&reason));
        self.log.append(vec![entry]).await?;
        self.publish(EventKind::MessageRestarted { reason });
        self.turn_to(next, config, effort).await
    }

    /// Checks whether the model was shown its tools at all, and how it calls
    /// them. Returns whether it has to be asked again.
    pub(crate) async fn watch(
        &mut self,
        config: &TurnConfig,
        completion: &Completion,
        reply: &Reply,
    ) -> Result<bool, RunError> {
        if !config.prompt.is_native || !config.approach.may_change || config.prompt.tools.is_empty()
        {
            return Ok(false);
        }
        let tools = config.tools_cost();
        match config.candidate.observe(completion, reply, tools) {
            Finding::Nothing => {}
            Finding::NotShown(shown) => {
                let why = format!(
                    "{} left out the tools: it read {shown} tokens, and they take about {tools}",
                    self.engine.name_of(config.rank)
                );
                self.teach(config, &why).await?;
                return Ok(true);
            }
            Finding::WritesCalls => {
                self.note_text(config, "it writes its calls into its text");
                self.change(config.options.clone(), config.rank)?;
            }
        }
        Ok(false)
    }

    /// Asks the model again, with its tools taught in text from now on.
    async fn teach(&mut self, config: &TurnConfig, why: &str) -> Result<(), RunError> {
        self.note_text(config, why);
        let again = "The model is asked again, with its tools told in words";
        self.begin_again(format!("{again}: {why}")).await?;
        self.change(config.options.clone(), config.rank)
    }

    /// Asks the model again with a weaker constraint, because its server may
    /// have refused the request for this one. The server is not sent it again.
    async fn loosen(
        &mut self,
        config: &TurnConfig,
        refused: Constraint,
        error: &LlmError,
    ) -> Result<(), RunError> {
        let left = match config.candidate.weaken(refused) {
            Constraint::None => "without a constraint",
            _ => "with a grammar in the place of a structural tag",
        };
        tracing::warn!(%error, left, "the model is asked again");
        self.begin_again(format!("The model is asked again, {left}: {error}"))
            .await?;
        self.change(config.options.clone(), config.rank)
    }

    /// Remembers that a model is better taught its tools in text.
    fn note_text(&self, config: &TurnConfig, why: &str) {
        tracing::info!(why, "tools are told in words");
        let (model, memory) = (config.approach.model.as_deref(), &*self.engine.memory);
        config.candidate.turn_to_text(model, memory, why);
    }

    /// Logs and publishes that the reply so far does not count, and why.
    async fn begin_again(&mut self, reason: String) -> Result<(), RunError> {
        let failure = Failure::new(&reason).with_code(ErrorCode::LlmCallFailed);
        let entry = self.log.entry(failure);
        self.log.append(vec![entry]).await?;
        self.tell_streamed(&Streamed::Restarted);
        self.publish(EventKind::MessageRestarted { reason });
        Ok(())
    }
}

/// How many images a prompt has, or one that a summary repeats.
fn images_of(item: &Item) -> usize {
    match &item.content {
        Content::Message(message) => message.images.len(),
        Content::Summary { images, .. } => images.len(),
        _ => 0,
    }
}
