//! Decides what to do after a model gave no reply: ask it in another way, ask
//! it again, or ask another one.

use std::sync::Arc;
use std::time::Duration;

use ptk_llm::{LlmError, LlmErrorKind};

use crate::{Approach, Candidate};

/// How long to wait before a request is sent again for the first time; then
/// twice as long each time.
const WAIT: Duration = Duration::from_millis(500);
/// The longest wait for a server that asks for a pause.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The longest wait if there is another model.
const LONGEST_WAIT_BEFORE_ANOTHER: Duration = Duration::from_secs(5);

/// Models in the order in which they are asked: each one after the first is a
/// fallback for those before it. A model that failed is left alone for a
/// minute.
#[derive(Debug, Clone, Default)]
pub struct Models {
    candidates: Vec<Arc<Candidate>>,
}

impl FromIterator<Candidate> for Models {
    fn from_iter<I: IntoIterator<Item = Candidate>>(candidates: I) -> Self {
        Self {
            candidates: candidates.into_iter().map(Arc::new).collect(),
        }
    }
}

impl Models {
    /// The model of this rank.
    #[must_use]
    pub fn get(&self, rank: usize) -> Option<&Arc<Candidate>> {
        self.candidates.get(rank)
    }

    /// The models by rank.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Candidate>> {
        self.candidates.iter()
    }

    /// The rank of the model to ask first.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        self.next_after(&[])
    }

    /// The rank of the model to ask after those failed. A resting model is
    /// asked if there is no other.
    #[must_use]
    pub fn next_after(&self, failed: &[usize]) -> Option<usize> {
        let awake = self.awake_after(failed);
        awake.or_else(|| self.untried(failed).next())
    }

    /// The same, without resting models.
    #[must_use]
    pub fn awake_after(&self, failed: &[usize]) -> Option<usize> {
        let is_awake = |rank: &usize| self.get(*rank).is_some_and(|it| !it.is_resting());
        self.untried(failed).find(is_awake)
    }

    fn untried(&self, failed: &[usize]) -> impl Iterator<Item = usize> {
        (0..self.candidates.len()).filter(|rank| !failed.contains(rank))
    }
}

/// What to do after a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Ask the same model again, taught in text:
    /// [`Candidate::turn_to_text`].
    Text,
    /// Ask the same model again after this wait.
    Wait(Duration),
    /// Ask the model of this rank.
    Another(usize),
    /// Nothing helps.
    None,
}

/// The attempts to get one reply.
///
/// ```
/// use ptk_llm::{InMemory, LlmError, Script};
/// use ptk_model::{Attempts, Candidate, Mode, Model, Models, Remedy};
///
/// let models = ["one", "two"].map(|name| Model::new(Script::new(["Hi"])).name(name));
/// let models: Models = models.into_iter().map(Candidate::new).collect();
/// let approach = models.get(0).unwrap().approach(None, Mode::Auto, &InMemory::default());
///
/// let mut attempts = Attempts::new(1);
/// let error = LlmError::of_status("script", Some("one"), 503, "busy");
/// assert!(matches!(attempts.remedy(&models, 0, &approach, &error), Remedy::Wait(_)));
/// assert_eq!(attempts.remedy(&models, 0, &approach, &error), Remedy::Another(1));
/// assert_eq!(models.first(), Some(1), "the first is left alone for a while");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Attempts {
    retries: u32,
    tries: u32,
    /// The models that failed.
    failed: Vec<usize>,
}

impl Attempts {
    /// No attempt so far. A request may be sent again so often to each model.
    #[must_use]
    pub fn new(retries: u32) -> Self {
        Self {
            retries,
            ..Self::default()
        }
    }

    /// What to do after the model of this rank, asked in this way, failed.
    pub fn remedy(
        &mut self,
        models: &Models,
        rank: usize,
        approach: &Approach,
        error: &LlmError,
    ) -> Remedy {
        if error.kind == LlmErrorKind::NoTools && approach.is_native && approach.may_change {
            return Remedy::Text;
        }
        // What one model withheld is not asked of another.
        let may_ask_another = error.kind != LlmErrorKind::Filtered;
        let mut failed = self.failed.clone();
        failed.push(rank);
        let has_other = may_ask_another && models.awake_after(&failed).is_some();
        let wait = WAIT.saturating_mul(2_u32.saturating_pow(self.tries));
        let wait = error.retry_after.unwrap_or_else(|| jittered(wait));
        let longest = if has_other {
            LONGEST_WAIT_BEFORE_ANOTHER
        } else {
            LONGEST_WAIT
        };
        if error.is_retryable() && self.tries < self.retries && wait <= longest {
            self.tries += 1;
            return Remedy::Wait(wait);
        }
        if !may_ask_another {
            return Remedy::None;
        }
        let remedy = self.give_up(models, rank);
        if matches!(remedy, Remedy::Another(_))
            && !error.kind.is_about_request()
            && let Some(candidate) = models.get(rank)
        {
            candidate.rest();
        }
        remedy
    }

    /// The rank of the first model that did not fail and suits, resting ones
    /// last.
    #[must_use]
    pub fn next_that(&self, models: &Models, suits: impl Fn(usize) -> bool) -> Option<usize> {
        let all = || models.untried(&self.failed).filter(|rank| suits(*rank));
        let is_awake = |rank: &usize| models.get(*rank).is_some_and(|it| !it.is_resting());
        all().find(is_awake).or_else(|| all().next())
    }

    /// Gives a model up that cannot take the request; it is not at fault.
    pub fn give_up(&mut self, models: &Models, rank: usize) -> Remedy {
        self.failed.push(rank);
        self.tries = 0;
        models
            .next_after(&self.failed)
            .map_or(Remedy::None, Remedy::Another)
    }
}

/// Half of the wait, and a random part of the rest, so that clients that failed
/// together do not retry together.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.5 + fastrand::f64() / 2.0)
}
