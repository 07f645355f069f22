//! What a guide asks of a model: how likely it finds a text.

/// The model was stopped before it had an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the model was stopped")]
pub struct Stopped;

/// A model that says how likely texts are.
pub trait Scorer {
    /// Log-likelihood of each candidate after the prompt, in nats, in the
    /// order of the candidates.
    ///
    /// # Errors
    ///
    /// If it was stopped.
    fn score(&mut self, prompt: &str, candidates: &[String]) -> Result<Vec<f32>, Stopped>;
}

/// A model that finds everything equally likely, so that the guide decides
/// alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Indifferent;

impl Scorer for Indifferent {
    fn score(&mut self, _prompt: &str, candidates: &[String]) -> Result<Vec<f32>, Stopped> {
        Ok(vec![0.0; candidates.len()])
    }
}
