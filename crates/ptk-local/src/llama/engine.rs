//! Evaluates tokens and provides the logits of the next one.

use std::num::NonZeroU32;
use std::path::Path;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::load;
use super::prompts::Prompts;
use super::trouble::Trouble;

/// How many tokens are evaluated in a batch. A request can be cancelled between
/// two batches.
const PORTION: u32 = 128;
/// The id of the only sequence.
const MAIN: i32 = 0;

/// A conversation in tokens, up to where the model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) tokens: Vec<LlamaToken>,
    /// How many tokens at its beginning are instructions and examples, which
    /// many conversations share.
    pub(super) head: usize,
    /// The mark at its end that opens the reasoning of the reply.
    pub(super) opened: Option<&'static str>,
}

/// A model with its context of evaluated tokens.
pub(super) struct Engine<'m> {
    pub(super) model: &'m LlamaModel,
    context: LlamaContext<'m>,
    window: u32,
    /// The tokens that were evaluated, in order.
    seen: Vec<LlamaToken>,
    /// The prompt cache on disk.
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

    /// The size of the context window in tokens.
    pub(super) const fn window(&self) -> u32 {
        self.window
    }

    /// Evaluates a prompt, and returns how many of its tokens were cached.
    /// `goes_on` is called between batches.
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
        // The last token is evaluated again, for its logits.
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

    /// Evaluates these tokens after those in the context.
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

    /// How many leading tokens are in the context already.
    fn shared(&self, tokens: &[LlamaToken]) -> usize {
        let pairs = tokens.iter().zip(&self.seen);
        pairs.take_while(|(one, two)| one == two).count()
    }

    /// Loads the state of this head of a prompt from the disk cache, if it is
    /// there.
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

    /// Saves the state of this head of a prompt in the disk cache, if possible.
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

    /// Removes all but the first `kept` tokens from the context; all of them if
    /// the model cannot remove a part. Returns how many are left.
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

    /// Evaluates one more token.
    pub(super) fn go_on(&mut self, token: LlamaToken) -> Result<(), Trouble> {
        let mut batch = LlamaBatch::new(1, 1);
        let at = position(self.seen.len());
        batch.add(token, at, &[MAIN], true).map_err(failed)?;
        self.context.decode(&mut batch).map_err(failed)?;
        self.seen.push(token);
        Ok(())
    }

    /// Whether the window has room for another token.
    pub(super) fn has_room(&self) -> bool {
        self.seen.len() + 1 < self.window as usize
    }

    /// The context, which has the logits of the next token.
    pub(super) fn context(&self) -> &LlamaContext<'m> {
        &self.context
    }

    /// Tokenizes a text. Special tokens are recognised only in the template's
    /// text; in other texts they are plain characters.
    pub(super) fn tokens(&self, text: &str, has_marks: bool) -> Vec<LlamaToken> {
        self.model
            .vocab()
            .tokenize(text.as_bytes(), false, has_marks)
    }
}

fn failed(error: impl std::fmt::Display) -> Trouble {
    Trouble::Failed(error.to_string())
}

/// A position in the window, which always fits an `i32`.
fn position(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}
