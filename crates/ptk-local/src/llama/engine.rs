//! Tokens in, weights of the next one out.

use std::num::NonZeroU32;
use std::path::Path;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::chat::Prompt;
use super::load;
use super::prompts::Prompts;
use super::trouble::Trouble;

/// How many tokens are looked at together. Between two such portions a request
/// can be stopped.
const PORTION: u32 = 128;
/// The sequence of the conversation, the only one.
const MAIN: i32 = 0;

/// A model with its memory of what it has seen last.
pub(super) struct Engine<'m> {
    pub(super) model: &'m LlamaModel,
    context: LlamaContext<'m>,
    window: u32,
    /// What it has seen, one token behind the other.
    seen: Vec<LlamaToken>,
    /// What it has read in other runs.
    prompts: Option<Prompts>,
}

impl<'m> Engine<'m> {
    pub(super) fn new(
        file: &Path,
        model: &'m LlamaModel,
        window: u32,
        threads: i32,
        prompts: Option<Prompts>,
    ) -> Result<Self, Trouble> {
        load::check_memory(file, model, window)?;
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(window))
            .with_n_batch(PORTION)
            .with_n_ubatch(PORTION)
            .with_n_threads(threads)
            .with_n_threads_batch(threads);
        let context = model.new_context(load::backend()?, params);
        let context = context.map_err(|error| Trouble::Refused {
            what: "make room for",
            file: file.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Self {
            model,
            window: context.n_ctx().min(window),
            context,
            seen: Vec::new(),
            prompts,
        })
    }

    /// How many tokens it can see and write, together.
    pub(super) const fn window(&self) -> u32 {
        self.window
    }

    /// Shows it this prompt, from the first token on, and gives back how many of
    /// them it had seen already. `goes_on` is asked between portions.
    pub(super) fn show(
        &mut self,
        prompt: &Prompt,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<usize, Trouble> {
        let tokens = prompt.tokens.as_slice();
        if tokens.len() > self.window as usize {
            return Err(Trouble::TooLong {
                tokens: tokens.len(),
                window: self.window,
            });
        }
        let head = tokens.get(..prompt.head).unwrap_or_default();
        if self.shared(tokens) < head.len() {
            self.recall(head);
        }
        // The last one is shown again, for the weights behind it.
        let same = self.shared(tokens).min(tokens.len().saturating_sub(1));
        let known = self.forget_behind(same);
        if known < head.len() {
            self.read(head.get(known..).unwrap_or_default(), goes_on)?;
            self.keep(head);
        }
        let rest = tokens.get(known.max(head.len())..);
        self.read(rest.unwrap_or_default(), goes_on)?;
        Ok(known)
    }

    /// Shows it these tokens behind what it has seen.
    fn read(&mut self, tokens: &[LlamaToken], goes_on: &dyn Fn() -> bool) -> Result<(), Trouble> {
        let mut batch = LlamaBatch::new(PORTION as usize, 1);
        for portion in tokens.chunks(PORTION as usize) {
            if !goes_on() {
                return Err(Trouble::Stopped);
            }
            batch.clear();
            let begin = self.seen.len();
            for (index, token) in portion.iter().enumerate() {
                let is_last = index + 1 == portion.len();
                let at = position(begin + index);
                batch.add(*token, at, &[MAIN], is_last).map_err(failed)?;
            }
            self.context.decode(&mut batch).map_err(failed)?;
            self.seen.extend_from_slice(portion);
        }
        Ok(())
    }

    /// How many of these tokens it has seen, from the first on.
    fn shared(&self, tokens: &[LlamaToken]) -> usize {
        let pairs = tokens.iter().zip(&self.seen);
        pairs.take_while(|(one, two)| one == two).count()
    }

    /// Recalls this beginning of a prompt, if it was read in another run.
    fn recall(&mut self, head: &[LlamaToken]) {
        let Some(prompts) = self.prompts.as_ref().filter(|it| it.has(head)) else {
            return;
        };
        if prompts.recall(&mut self.context, MAIN, head) {
            self.seen = head.to_vec();
        } else {
            self.context.clear_kv_cache();
            self.seen.clear();
        }
    }

    /// Keeps this beginning of a prompt for other runs, if it can be.
    fn keep(&mut self, head: &[LlamaToken]) {
        let Some(prompts) = self
            .prompts
            .as_ref()
            .filter(|_| Prompts::is_worth(head.len()))
        else {
            return;
        };
        if let Err(error) = prompts.keep(&self.context, MAIN, head) {
            tracing::debug!(%error, "what the model has read could not be kept");
            self.prompts = None;
        }
    }

    /// Forgets what lies behind so many tokens; all, where a model cannot
    /// forget a part.
    fn forget_behind(&mut self, kept: usize) -> usize {
        if kept == self.seen.len() {
            return kept;
        }
        let from = u32::try_from(kept).ok();
        let forgotten = self.context.kv_cache_seq_rm(MAIN, from, None);
        let kept = if forgotten.is_ok() {
            kept
        } else {
            self.context.clear_kv_cache();
            0
        };
        self.seen.truncate(kept);
        kept
    }

    /// Shows it one more token.
    pub(super) fn go_on(&mut self, token: LlamaToken) -> Result<(), Trouble> {
        let mut batch = LlamaBatch::new(1, 1);
        let at = position(self.seen.len());
        batch.add(token, at, &[MAIN], true).map_err(failed)?;
        self.context.decode(&mut batch).map_err(failed)?;
        self.seen.push(token);
        Ok(())
    }

    /// Whether there is room for another token.
    pub(super) fn has_room(&self) -> bool {
        self.seen.len() + 1 < self.window as usize
    }

    /// What may come next, each token with its weight.
    pub(super) fn context(&self) -> &LlamaContext<'m> {
        &self.context
    }

    /// The tokens of a text. In the model's own form, marks are such; in what
    /// others wrote they are letters.
    pub(super) fn tokens(&self, text: &str, has_marks: bool) -> Vec<LlamaToken> {
        self.model
            .vocab()
            .tokenize(text.as_bytes(), false, has_marks)
    }
}

fn failed(error: impl std::fmt::Display) -> Trouble {
    Trouble::Failed(error.to_string())
}

/// A place in a window, which is never that large.
fn position(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}
