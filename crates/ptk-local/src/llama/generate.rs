//! Generates a reply, token by token.

use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;
use ptk_llm::{Delta, FinishReason, Request, ResponseFormat, Sampling, Usage};
use serde_json::Value;

use super::chat::{Conversation, Template};
use super::engine::Engine;
use super::output::Output;
use super::trouble::Trouble;

/// The default temperature: an agent is to be right rather than original.
const TEMPERATURE: f32 = 0.0;
const TOP_K: i32 = 40;
const TOP_P: f32 = 0.95;
/// A grammar for any JSON.
const JSON: &str = include_str!("json.gbnf");

/// The receiver of a reply.
pub(super) trait Listener {
    /// Sends the next delta.
    fn tell(&self, delta: Delta);
    /// Whether the receiver still exists.
    fn listens(&self) -> bool;
}

/// Generates the reply to a request.
pub(super) fn reply(
    engine: &mut Engine<'_>,
    template: &Template,
    request: &Request,
    listener: &dyn Listener,
) -> Result<(), Trouble> {
    let goes_on = || listener.listens();
    let prompt = template.prompt(engine, Conversation::of(request))?;
    if prompt.tokens.len() >= engine.window() as usize {
        return Err(Trouble::TooLong {
            tokens: prompt.tokens.len(),
            window: engine.window(),
        });
    }
    let mut chooser = Chooser::new(engine, request)?;
    let known = engine.show(&prompt, &goes_on)?;
    let stops: Vec<String> = request
        .stop
        .iter()
        .cloned()
        .chain(template.stops())
        .collect();
    let mut output = Output::new(&stops);
    // The reply begins inside the reasoning that its prompt opened.
    if let Some(opened) = prompt.opened {
        listener.tell(Delta::Text(opened.to_owned()));
    }
    let most = request.max_tokens.map_or(usize::MAX, |most| most as usize);
    let mut count = 0;
    // The last token; it is evaluated only if another one follows.
    let mut last = None;
    let finish = loop {
        if !goes_on() {
            return Err(Trouble::Stopped);
        }
        if count >= most || !engine.has_room() {
            break FinishReason::Length;
        }
        if let Some(token) = last {
            engine.go_on(token)?;
        }
        let token = chooser.next(engine)?;
        let vocab = engine.model.vocab();
        if vocab.is_eog(token) {
            break FinishReason::Stop;
        }
        count += 1;
        let text = output.push(&vocab.token_to_piece(token, false, None));
        if !text.is_empty() {
            listener.tell(Delta::Text(text));
        }
        if output.is_stopped() {
            break FinishReason::Stop;
        }
        last = Some(token);
    };
    let rest = output.finish();
    if !rest.is_empty() {
        listener.tell(Delta::Text(rest));
    }
    listener.tell(Delta::Usage(Usage {
        input_tokens: prompt.tokens.len() as u64,
        cached_tokens: known as u64,
        output_tokens: count as u64,
        ..Usage::default()
    }));
    listener.tell(Delta::Finish(finish));
    Ok(())
}

/// Samples tokens, constrained by a grammar.
struct Chooser {
    sampler: LlamaSampler,
    grammar: Option<LlamaSampler>,
}

impl Chooser {
    fn new(engine: &Engine<'_>, request: &Request) -> Result<Self, Trouble> {
        let grammar = match &request.format {
            ResponseFormat::Text | ResponseFormat::StructuralTag(_) => None,
            ResponseFormat::Json => Some(JSON.to_owned()),
            ResponseFormat::Schema(schema) => Some(by_schema(schema)),
            ResponseFormat::Grammar(grammar) => Some(grammar.clone()),
        };
        let grammar = grammar
            .map(|grammar| LlamaSampler::grammar(engine.model, &grammar, "root"))
            .transpose()
            .map_err(|_| Trouble::Grammar)?;
        Ok(Self {
            sampler: sampler(&request.sampling),
            grammar,
        })
    }

    /// Samples the next token. Most tokens fit the grammar, so only if the
    /// sampled one does not is the grammar applied to all tokens.
    fn next(&mut self, engine: &Engine<'_>) -> Result<LlamaToken, Trouble> {
        let mut all = engine.context().token_data_array_ith(-1);
        let Some(grammar) = &mut self.grammar else {
            return self.choose(&mut all);
        };
        let mut weighed = all.clone();
        self.sampler.apply(&mut weighed);
        let wanted = weighed.selected_token().ok_or_else(no_token)?;
        let mut alone =
            LlamaTokenDataArray::new(vec![LlamaTokenData::new(wanted, 1.0, 0.0)], false);
        grammar.apply(&mut alone);
        let is_allowed = alone.data.first().is_some_and(|it| it.logit().is_finite());
        if is_allowed {
            self.sampler.accept(wanted);
            grammar.accept(wanted);
            return Ok(wanted);
        }
        grammar.apply(&mut all);
        // If no token is allowed, the grammar is complete.
        if all.data.iter().all(|it| !it.logit().is_finite()) {
            return Ok(engine.model.vocab().eos());
        }
        let token = self.choose(&mut all)?;
        if let Some(grammar) = &mut self.grammar {
            grammar.accept(token);
        }
        Ok(token)
    }

    fn choose(&mut self, all: &mut LlamaTokenDataArray) -> Result<LlamaToken, Trouble> {
        self.sampler.apply(all);
        let token = all.selected_token().ok_or_else(no_token)?;
        self.sampler.accept(token);
        Ok(token)
    }
}

fn no_token() -> Trouble {
    Trouble::Failed("no token could be chosen".to_owned())
}

fn sampler(sampling: &Sampling) -> LlamaSampler {
    let temperature = sampling.temperature.unwrap_or(TEMPERATURE);
    if temperature <= 0.0 {
        return LlamaSampler::greedy();
    }
    let top_k = sampling
        .top_k
        .map_or(TOP_K, |k| i32::try_from(k).unwrap_or(i32::MAX));
    let seed = sampling.seed.unwrap_or_else(|| fastrand::u64(..));
    // The generator takes a seed of 32 bits.
    let seed = u32::try_from(seed & u64::from(u32::MAX)).unwrap_or_default();
    LlamaSampler::chain_simple([
        LlamaSampler::top_k(top_k),
        LlamaSampler::top_p(sampling.top_p.unwrap_or(TOP_P), 1),
        LlamaSampler::temp(temperature),
        LlamaSampler::dist(seed),
    ])
}

/// A grammar for JSON that fits a schema.
fn by_schema(schema: &Value) -> String {
    let spec = ptk_protocol::ToolSpec::new("value", "", schema.clone());
    ptk_protocol::gbnf::Gbnf::of_arguments(&spec).to_string()
}
