//! Making room in the model's window: whole turns are left out or summarised,
//! the oldest first. It shrinks the conversation, or the run stops.

use std::sync::Arc;

use ptk_events::{CompactionWay, EventKind};
use ptk_llm::{Message, Request, complete};
use ptk_model::{Budget, cost};
use ptk_protocol::{ErrorCode, Message as Said, Role};
use ptk_store::{Content, HelperAsked, HelperReplied, HelperTask, Item, ModelReplied, Next};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::engine::TurnConfig;
use crate::render::{LEFT_OUT, Renderer, Shown, without_images};
use crate::session::millis;
use crate::stop::Stop;
use crate::turn::Turn;
use crate::{Compaction, RunError, RunOptions, Session, ask, spans};

/// The longest summary, in tokens.
const SUMMARY: u32 = 1024;
/// The heading before the user's prompt.
const ASKED: &str = "\n\nThe person asked:\n";
const SUM_UP: &str = "Sum up the conversation so far in at most 300 words, for yourself: what the person wants, what was found out and done, which files and names matter, and what is still to do. Answer with the summary only.";

/// Where a conversation can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seam {
    /// Before a prompt of the user.
    Turn,
    /// Before a reply: its calls and their results are part of it.
    Reply,
    /// Nowhere.
    None,
}

/// The cost of an item, and whether the conversation can be cut there.
#[derive(Debug, Clone, Copy)]
struct Part {
    cost: u64,
    seam: Seam,
}

/// The cut that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    /// The first part that stays.
    at: usize,
    /// The user's prompt, if it lies before the cut and has to be repeated.
    prompt: Option<usize>,
}

/// The result of leaving out the beginning of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// What stands in its place.
    pub way: CompactionWay,
    /// How many messages were left out.
    pub messages: usize,
    /// How many tokens a request took before.
    pub before: u64,
    /// How many tokens a request takes now.
    pub after: u64,
}

impl Session {
    /// The messages for the model. Room is made if there is not enough.
    pub(crate) async fn fitting(
        &mut self,
        config: &TurnConfig,
        budget: Budget,
    ) -> Result<Vec<Message>, RunError> {
        let mut before = u64::MAX;
        loop {
            let shown = self.shown(config);
            let most = config.most() + shown.iter().map(|shown| shown.most).sum::<u64>();
            let fits = most <= budget.available;
            // Where it fits whatever is counted, nothing is.
            if fits || self.used(config) <= budget.available {
                let messages = shown
                    .iter()
                    .flat_map(|shown| shown.messages.iter().cloned());
                return Ok(messages.collect());
            }
            let parts = self.parts(config, &shown);
            let (base, used) = (config.base(), self.used(config));
            let cut = cut(&parts, base, budget);
            let Some(cut) = cut.filter(|_| used < before) else {
                return Err(does_not_fit(used, budget));
            };
            before = used;
            let stop = self.stop.clone();
            let summary = self.summary_of(config, &stop, cut, &shown).await?;
            self.leave_out(cut, &shown, summary).await?;
        }
    }

    /// Leaves the beginning of the conversation out now, though it may still
    /// fit: all but the last turn, in the way that the options say. `None`
    /// where there is nothing that would become shorter.
    ///
    /// It is logged and published as if there had been no more room. Where the
    /// model is to sum up what is left out and cannot, nothing is left out.
    ///
    /// ```
    /// use ptk::llm::Script;
    /// use ptk::store::SessionId;
    /// use ptk::{Compaction, Ptk, RunOptions};
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let long = "A week has seven days. ".repeat(20);
    /// let ptk = Ptk::builder()
    ///     .provider(Script::new([long.as_str(), "Sunday.", "They talked about weeks."]))
    ///     .build()?;
    /// let mut session = ptk.session(SessionId::new());
    /// session.run("How many days has a week?").await?;
    /// session.run("Which one is the last?").await?;
    ///
    /// let options = RunOptions { compaction: Compaction::Summarise, ..RunOptions::default() };
    /// let compacted = session.compact(options.clone()).await?.ok_or("nothing to shorten")?;
    /// assert!(compacted.after < compacted.before);
    /// assert_eq!(compacted.messages, 2);
    /// assert_eq!(session.compact(options).await?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the options name something that there is not, the model cannot sum
    /// up, the log cannot be written, or the options stop it.
    pub async fn compact(&mut self, options: RunOptions) -> Result<Option<Compacted>, RunError> {
        let stop = Stop::new(&options);
        self.load().await?;
        stop.check()?;
        let config = self.engine.learned_config(options, &stop).await?;
        let config = self.with_found(config);
        if self.log.transcript.next() == Next::Prompt {
            // This is not part of a turn.
            self.log.turn = Turn::default();
        }
        let shown = self.shown_anew(&config);
        let parts = self.parts(&config, &shown);
        let Some(cut) = before_last_turn(&parts) else {
            return Ok(None);
        };
        let taken: u64 = parts.iter().take(cut.at).map(|part| part.cost).sum();
        let notice = Renderer::new(&config).note(LEFT_OUT);
        if taken <= cost(&*config.tokens, &notice) {
            return Ok(None);
        }
        let summary = self.summary_of(&config, &stop, cut, &shown).await?;
        if let Some(error) = summary.as_ref().and_then(|replied| replied.error.clone()) {
            let message = format!(
                "The model could not sum up the conversation: {error}; nothing was left out, so try again, or have the beginning dropped"
            );
            let entry = summary.map(|replied| self.log.entry(replied));
            self.log.append(entry.into_iter().collect()).await?;
            return Err(RunError::failed(ErrorCode::LlmCallFailed, message));
        }
        let tokens = &*config.tokens;
        let all = |shown: &[Arc<Shown>]| -> u64 {
            config.told() + shown.iter().map(|shown| shown.cost(tokens)).sum::<u64>()
        };
        let before = all(&shown);
        let (way, messages) = self.leave_out(cut, &shown, summary).await?;
        Ok(Some(Compacted {
            way,
            messages,
            before,
            after: all(&self.shown_anew(&config)),
        }))
    }

    /// What each item takes, and whether it can be cut there.
    fn parts(&self, config: &TurnConfig, shown: &[Arc<Shown>]) -> Vec<Part> {
        let items = self.log.transcript.items().iter();
        let parts = items.zip(shown).map(|(item, shown)| Part {
            cost: shown.cost(&*config.tokens),
            seam: seam(item),
        });
        parts.collect()
    }

    /// Renders each item under a configuration other than the turn's.
    fn shown_anew(&self, config: &TurnConfig) -> Vec<Arc<Shown>> {
        let renderer = Renderer::with_results(config, &self.cut_results);
        let items = self.log.transcript.items();
        let shown = items.iter().map(|item| renderer.shown(items, item));
        shown.map(Arc::new).collect()
    }

    /// How many tokens a request takes: messages, instructions and tools.
    pub(crate) fn used(&mut self, config: &TurnConfig) -> u64 {
        let shown = self.shown(config);
        let costs = shown.iter().map(|shown| shown.cost(&*config.tokens));
        config.base() + costs.sum::<u64>()
    }

    /// The rendered items. Each is rendered once a turn, because what the model
    /// was shown does not change.
    fn shown(&mut self, config: &TurnConfig) -> Vec<Arc<Shown>> {
        let renderer = Renderer::with_results(config, &self.cut_results);
        let items = self.log.transcript.items();
        let shown = items.iter().map(|item| {
            let known = self.shown.entry(item.seq);
            Arc::clone(known.or_insert_with(|| Arc::new(renderer.shown(items, item))))
        });
        let shown = shown.collect();
        for call in self.cut_results.take_fresh() {
            self.hide_files_of(&call);
        }
        shown
    }

    /// The model's summary of what is to be left out, if the options want one.
    /// It is published.
    async fn summary_of(
        &mut self,
        config: &TurnConfig,
        stop: &Stop,
        cut: Cut,
        shown: &[Arc<Shown>],
    ) -> Result<Option<HelperReplied>, RunError> {
        if config.options.compaction != Compaction::Summarise {
            return Ok(None);
        }
        let dropped = shown.get(..cut.at).unwrap_or_default();
        let replied = self.summary(config, stop, dropped).await?;
        self.tell(&replied, None);
        Ok(Some(replied))
    }

    /// Leaves out what stands before the cut. Returns what stands in its place
    /// now, and how many messages were left out.
    async fn leave_out(
        &mut self,
        cut: Cut,
        shown: &[Arc<Shown>],
        replied: Option<HelperReplied>,
    ) -> Result<(CompactionWay, usize), RunError> {
        let items = self.log.transcript.items();
        let dropped = shown.get(..cut.at).unwrap_or_default();
        let through = items
            .get(cut.at)
            .map_or(0, |item| item.seq.saturating_sub(1));
        let prompt = cut
            .prompt
            .and_then(|at| items.get(at))
            .and_then(|item| match &item.content {
                Content::Message(message) => {
                    Some((message.content.clone(), message.images.clone()))
                }
                // It was repeated in an earlier summary.
                Content::Summary { text, images } => {
                    let (_, prompt) = text.split_once(ASKED)?;
                    Some((prompt.to_owned(), images.clone()))
                }
                _ => None,
            });
        let mut entries = Vec::new();
        let mut summary = None;
        if let Some(replied) = replied {
            summary = replied.error.is_none().then(|| replied.text.clone());
            entries.push(self.log.entry(replied));
        }
        let way = if summary.is_some() {
            CompactionWay::Summarised
        } else {
            CompactionWay::Dropped
        };
        let text = summary.unwrap_or_else(|| LEFT_OUT.to_owned());
        let compacted = match prompt {
            Some((prompt, images)) => ptk_store::Compacted {
                images,
                ..ptk_store::Compacted::new(format!("{text}{ASKED}{prompt}"), through)
            },
            None => ptk_store::Compacted::new(text, through),
        };
        let messages = dropped.iter().map(|shown| shown.messages.len()).sum();
        // The summary takes the number of an item that was left out.
        self.shown.clear();
        entries.push(self.log.entry(compacted));
        self.log.append(entries).await?;
        self.publish(EventKind::Compacted {
            way,
            messages: Some(messages),
        });
        Ok((way, messages))
    }

    /// Asks the model for a summary. One that is not shorter counts as failed.
    async fn summary(
        &mut self,
        config: &TurnConfig,
        stop: &Stop,
        dropped: &[Arc<Shown>],
    ) -> Result<HelperReplied, RunError> {
        let (model, prices) = (
            config.approach.model.clone(),
            config.candidate.model().prices,
        );
        let provider = &**config.candidate.provider();
        let asked = HelperAsked {
            task: HelperTask::SumUp,
            provider: provider.name().to_owned(),
            model: model.clone(),
        };
        let entry = self.log.entry(asked);
        self.log.append(vec![entry]).await?;
        let said: Vec<Said> = dropped
            .iter()
            .flat_map(|shown| &shown.messages)
            .map(|message| {
                let role = match message {
                    Message::System(_) => Role::System,
                    Message::User { .. } => Role::User,
                    Message::Assistant { .. } => Role::Assistant,
                    Message::Result { .. } => Role::Tool,
                };
                if message.images().is_empty() {
                    Said::new(role, message.text())
                } else {
                    Said::new(role, without_images(message.text()))
                }
            })
            .collect();
        let conversation = config.prompt.formatter.conversation(&said);
        let request = Request {
            model: config.approach.model.clone(),
            messages: vec![Message::user(format!("{conversation}\n\n{SUM_UP}"))],
            max_tokens: Some(SUMMARY),
            ..Request::default()
        };
        let start = Instant::now();
        let span = spans::request(provider, &request, &self.log.turn.correlation());
        let asked = complete(provider, &request).instrument(span.clone());
        let (said, error) = match stop.unless(asked).await? {
            Ok(completion) => {
                spans::replied(&span, &completion);
                (ask::said(completion, start.elapsed(), prices), None)
            }
            Err(error) => {
                let told = error.to_string();
                spans::unanswered(&span, &error.into());
                (ModelReplied::default(), Some(told))
            }
        };
        let text = said.text.trim().to_owned();
        let tokens = &*config.tokens;
        let is_shorter = tokens.count(&text) < tokens.count(&conversation) / 2;
        let is_useless = text.is_empty() || !is_shorter;
        let useless = || is_useless.then(|| "what it gave back is not shorter".to_owned());
        Ok(HelperReplied {
            task: HelperTask::SumUp,
            provider: provider.name().to_owned(),
            model,
            error: error.or_else(useless),
            text,
            files: Vec::new(),
            usage: said.usage,
            duration_ms: millis(start.elapsed()),
        })
    }
}

fn seam(item: &Item) -> Seam {
    match &item.content {
        Content::Message(message) if message.role == Role::User => Seam::Turn,
        Content::Reply(_) => Seam::Reply,
        _ => Seam::None,
    }
}

/// Where to cut so that there is room, and as little as possible is lost: at
/// the beginning of a turn, or else between the replies of the last one.
fn cut(parts: &[Part], base: u64, budget: Budget) -> Option<Cut> {
    let rest = |at: usize| {
        let rest = parts.get(at..).unwrap_or_default();
        base + rest.iter().map(|part| part.cost).sum::<u64>()
    };
    let seams = |seam: Seam| {
        let parts = parts.iter().enumerate().skip(1);
        parts
            .filter(move |(_, part)| part.seam == seam)
            .map(|(at, _)| at)
    };
    // To leave out nothing but a notice makes no room.
    let first = parts
        .iter()
        .position(|part| part.seam != Seam::None)
        .unwrap_or(0);
    let fits = |most: u64| move |at: &usize| rest(*at) <= most && *at > first;
    let turns: Vec<usize> = seams(Seam::Turn).collect();
    let turn = turns.iter().copied().find(fits(budget.with_room()));
    let last = turns.iter().copied().rev().find(fits(budget.available));
    if let Some(at) = turn.or(last) {
        return Some(Cut { at, prompt: None });
    }
    let prompt = turns.last().copied().unwrap_or(0);
    let told = parts.get(prompt).map_or(0, |part| part.cost);
    let replies: Vec<usize> = seams(Seam::Reply)
        .filter(|at| *at > prompt)
        .skip(1)
        .collect();
    let reply = replies
        .iter()
        .copied()
        .find(fits(budget.with_room().saturating_sub(told)));
    let last = replies.iter().copied().rev();
    let last = last
        .clone()
        .find(fits(budget.available.saturating_sub(told)));
    let at = reply.or(last)?;
    Some(Cut {
        at,
        prompt: Some(prompt),
    })
}

/// The cut that leaves the last turn, if it leaves out anything but a notice.
fn before_last_turn(parts: &[Part]) -> Option<Cut> {
    let first = parts.iter().position(|part| part.seam != Seam::None)?;
    let at = parts.iter().rposition(|part| part.seam == Seam::Turn)?;
    (at > first).then_some(Cut { at, prompt: None })
}

fn does_not_fit(used: u64, budget: Budget) -> RunError {
    let window = budget
        .window
        .map_or_else(String::new, |window| format!(" of {window}"));
    let message = format!(
        "The conversation takes about {used} tokens, and the model's window{window} has room for {}; begin a new session, offer fewer tools, or use a model with a larger window",
        budget.available
    );
    RunError::failed(ErrorCode::LlmCallFailed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(costs: &[(u64, Seam)]) -> Vec<Part> {
        costs
            .iter()
            .map(|&(cost, seam)| Part { cost, seam })
            .collect()
    }

    fn budget(available: u64) -> Budget {
        Budget {
            window: Some(1000),
            reply: 0,
            available,
        }
    }

    #[test]
    fn whole_turns_go_first_and_as_few_as_possible() {
        let all = parts(&[
            (10, Seam::Turn),
            (40, Seam::Reply),
            (10, Seam::Turn),
            (20, Seam::Reply),
            (10, Seam::Turn),
            (20, Seam::Reply),
        ]);
        let whole = Cut {
            at: 2,
            prompt: None,
        };
        assert_eq!(cut(&all, 0, budget(100)), Some(whole));
        let further = Cut {
            at: 4,
            prompt: None,
        };
        assert_eq!(cut(&all, 0, budget(60)), Some(further));
    }

    #[test]
    fn in_one_turn_whole_replies_go_and_the_prompt_is_told_again() {
        let all = parts(&[
            (10, Seam::Turn),
            (30, Seam::Reply),
            (30, Seam::Reply),
            (5, Seam::None),
            (30, Seam::Reply),
        ]);
        let inside = Cut {
            at: 4,
            prompt: Some(0),
        };
        assert_eq!(cut(&all, 0, budget(80)), Some(inside));
        assert_eq!(cut(&all, 0, budget(35)), None, "the last reply has to stay");
    }

    #[test]
    fn a_notice_alone_is_not_left_out() {
        let all = parts(&[(50, Seam::None), (50, Seam::Reply)]);
        assert_eq!(cut(&all, 0, budget(60)), None);
    }
}
