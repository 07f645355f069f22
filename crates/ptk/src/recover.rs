//! Recovers from a model that does not reply, or not as it should: ask it for
//! less, ask it in another way, ask it again, or ask another one.

use std::time::Duration;

use ptk_events::EventKind;
use ptk_llm::{Completion, LlmError, LlmErrorKind};
use ptk_protocol::{ErrorCode, Reply};
use ptk_store::Failure;
use tokio::time::sleep;

use crate::engine::TurnConfig;
use crate::{RunError, Session, Streamed};

/// How long to wait before a request is sent again for the first time; then
/// twice as long each time.
const WAIT: Duration = Duration::from_millis(500);
/// The longest wait for a server that asks for a pause.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The longest wait if there is another model.
const LONGEST_WAIT_BEFORE_ANOTHER: Duration = Duration::from_secs(5);
/// A model that is shown fewer tokens than this part of what its tools take was
/// not shown its tools.
const SHOWN: u64 = 4;
/// Tools that take fewer tokens prove nothing.
const FEW: u64 = 100;

/// The attempts so far to get a reply.
#[derive(Debug, Default)]
pub(crate) struct Effort {
    tries: u32,
    /// The models that failed.
    failed: Vec<usize>,
    /// Tokens that are left for the conversation, where the window turned out
    /// to be smaller than was thought.
    pub(crate) available: Option<u64>,
    /// The error that showed this.
    pub(crate) refused: Option<RunError>,
}

impl Effort {
    /// Resets the attempts for another model.
    fn turn_to_another(&mut self) {
        *self = Self {
            failed: std::mem::take(&mut self.failed),
            ..Self::default()
        };
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
        if error.kind == LlmErrorKind::NoTools && config.is_native && config.may_change {
            return self.teach(config, &error.to_string()).await;
        }
        effort.failed.push(config.rank);
        // What one model withheld is not asked of another.
        let may_ask = error.kind != LlmErrorKind::Filtered;
        let next = self.engine.next_model(&effort.failed);
        let next = next.filter(|_| may_ask);
        let wait = WAIT.saturating_mul(2_u32.saturating_pow(effort.tries));
        let wait = error.retry_after.unwrap_or_else(|| jittered(wait));
        let longest = match next {
            Some(_) => LONGEST_WAIT_BEFORE_ANOTHER,
            None => LONGEST_WAIT,
        };
        if error.is_retryable() && effort.tries < config.options.provider_retries && wait <= longest
        {
            effort.tries += 1;
            effort.failed.pop();
            tracing::warn!(%error, ?wait, "the model is asked again");
            self.begin_again(format!("The model is asked again: {error}"))
                .await?;
            return self.stop.unless(sleep(wait)).await;
        }
        // Before the run fails, a resting model is asked after all.
        let resting = || self.engine.untried(&effort.failed).next();
        let Some(next) = next.or_else(|| resting().filter(|_| may_ask)) else {
            return Err(error.into());
        };
        if error.kind != LlmErrorKind::TooLong {
            self.engine.rest(config.rank);
        }
        effort.turn_to_another();
        let other = self.engine.name_of(next);
        tracing::warn!(%error, other, "another model is asked");
        self.begin_again(format!("{other} is asked instead: {error}"))
            .await?;
        self.change(config.options.clone(), next)
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
        effort.failed.push(config.rank);
        let Some(next) = self.engine.next_model(&effort.failed) else {
            return Err(error);
        };
        effort.turn_to_another();
        let other = self.engine.name_of(next);
        tracing::warn!(%error, other, "another model is asked");
        let reason = format!("{other} is asked instead: {error}");
        // No request was sent, so there is no failure with a code.
        let entry = self.log.entry(Failure::new(&reason));
        self.log.append(vec![entry]).await?;
        self.publish(EventKind::MessageRestarted { reason });
        self.change(config.options.clone(), next)
    }

    /// Checks whether the model was shown its tools at all, and how it calls
    /// them. Returns whether it has to be asked again.
    pub(crate) async fn watch(
        &mut self,
        config: &TurnConfig,
        completion: &Completion,
        reply: &Reply,
    ) -> Result<bool, RunError> {
        if !config.is_native || !config.may_change || config.tools.is_empty() {
            return Ok(false);
        }
        let (has_called, has_written) = (!completion.calls.is_empty(), !reply.calls.is_empty());
        let candidate = &config.candidate;
        let shown = completion.usage.map_or(0, |usage| usage.input_tokens);
        let tools = config.tools_cost();
        // Some servers do not count cached tokens, so what they report of the
        // model takes precedence.
        let may_be_left_out = !has_called && !has_written && !candidate.is_vouched_for();
        if may_be_left_out && shown > 0 && tools >= FEW && shown < tools / SHOWN {
            let why = format!(
                "{} left out the tools: it read {shown} tokens, and they take about {tools}",
                self.engine.name_of(config.rank)
            );
            self.teach(config, &why).await?;
            return Ok(true);
        }
        if candidate.has_written(has_written && !has_called) {
            self.note_text(config, "it writes its calls into its text");
            self.change(config.options.clone(), config.rank)?;
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

    /// Remembers that a model is better taught its tools in text.
    fn note_text(&self, config: &TurnConfig, why: &str) {
        tracing::info!(why, "tools are told in words");
        let (model, memory) = (config.model.as_deref(), &*self.engine.memory);
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

/// Half of the wait, and a random part of the rest, so that clients that failed
/// together do not retry together.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.5 + fastrand::f64() / 2.0)
}
