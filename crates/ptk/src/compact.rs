//! Making room in the model's window: whole turns are left out, or told in
//! short, the oldest first. It shrinks the conversation, or the run stops.

use std::sync::Arc;

use ptk_events::{CompactionWay, EventKind};
use ptk_llm::{Message, Request, complete};
use ptk_protocol::{ErrorCode, Message as Said, Role};
use ptk_store::{Compacted, Content, HelperAsked, HelperReplied, HelperTask, Item, ModelReplied};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::engine::Terms;
use crate::render::{Renderer, Shown};
use crate::session::millis;
use crate::window::Budget;
use crate::{Compaction, RunError, Session, ask, spans};

/// The longest summary, in tokens.
const SUMMARY: u32 = 1024;
/// What is told in the place of what was left out.
pub(crate) const LEFT_OUT: &str =
    "The beginning of this conversation was left out, because it no longer fits.";
/// What stands before the words of the person.
const ASKED: &str = "\n\nThe person asked:\n";
const SUM_UP: &str = "Sum up the conversation so far in at most 300 words, for yourself: what the person wants, what was found out and done, which files and names matter, and what is still to do. Answer with the summary only.";

/// Where a conversation can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seam {
    /// Before what the person says.
    Turn,
    /// Before a reply: its calls and their results are part of it.
    Reply,
    /// Nowhere.
    None,
}

/// An item, as far as it matters here.
#[derive(Debug, Clone, Copy)]
struct Part {
    cost: u64,
    seam: Seam,
}

/// Where it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    /// The first part that stays.
    at: usize,
    /// What the person asked for lies before it, and has to be told again.
    prompt: Option<usize>,
}

impl Session {
    /// The messages for the model. Room is made if there is not enough.
    pub(crate) async fn fitting(
        &mut self,
        terms: &Terms,
        budget: Budget,
    ) -> Result<Vec<Message>, RunError> {
        let mut before = u64::MAX;
        loop {
            let shown = self.shown(terms);
            let most = terms.most() + shown.iter().map(|shown| shown.most).sum::<u64>();
            let fits = most <= budget.available;
            // Where it fits whatever is counted, nothing is.
            if fits || self.used(terms) <= budget.available {
                let messages = shown
                    .iter()
                    .flat_map(|shown| shown.messages.iter().cloned());
                return Ok(messages.collect());
            }
            let items = self.log.transcript.items().iter();
            let parts = items.zip(&shown).map(|(item, shown)| Part {
                cost: shown.cost(&*terms.tokens),
                seam: seam(item),
            });
            let parts: Vec<Part> = parts.collect();
            let (base, used) = (terms.base(), self.used(terms));
            let cut = cut(&parts, base, budget);
            let Some(cut) = cut.filter(|_| used < before) else {
                return Err(does_not_fit(used, budget));
            };
            before = used;
            self.compact(terms, cut, &shown).await?;
        }
    }

    /// What the messages for the model take, with all that is told beside
    /// them.
    pub(crate) fn used(&mut self, terms: &Terms) -> u64 {
        let shown = self.shown(terms);
        let costs = shown.iter().map(|shown| shown.cost(&*terms.tokens));
        terms.base() + costs.sum::<u64>()
    }

    /// What is shown of each item. It is made once a turn: what the model was
    /// told does not change.
    fn shown(&mut self, terms: &Terms) -> Vec<Arc<Shown>> {
        let renderer = Renderer { terms };
        let items = self.log.transcript.items().iter();
        let shown = items.map(|item| {
            let known = self.shown.entry(item.seq);
            Arc::clone(known.or_insert_with(|| Arc::new(renderer.shown(item))))
        });
        shown.collect()
    }

    async fn compact(
        &mut self,
        terms: &Terms,
        cut: Cut,
        shown: &[Arc<Shown>],
    ) -> Result<(), RunError> {
        let items = self.log.transcript.items();
        let dropped = shown.get(..cut.at).unwrap_or_default();
        let through = items
            .get(cut.at)
            .map_or(0, |item| item.seq.saturating_sub(1));
        let prompt = cut
            .prompt
            .and_then(|at| items.get(at))
            .and_then(|item| match &item.content {
                Content::Message(message) => Some(message.content.clone()),
                // It was told again before.
                Content::Summary(text) => Some(text.split_once(ASKED)?.1.to_owned()),
                _ => None,
            });
        let mut entries = Vec::new();
        let mut summary = None;
        if terms.options.compaction == Compaction::Summarise {
            let replied = self.summary(terms, dropped).await?;
            summary = replied.error.is_none().then(|| replied.text.clone());
            self.tell(&replied, None);
            entries.push(self.log.entry(replied));
        }
        let way = if summary.is_some() {
            CompactionWay::Summarised
        } else {
            CompactionWay::Dropped
        };
        let mut text = summary.unwrap_or_else(|| LEFT_OUT.to_owned());
        if let Some(prompt) = prompt {
            text = format!("{text}{ASKED}{prompt}");
        }
        let messages = dropped.iter().map(|shown| shown.messages.len()).sum();
        // What stands for it takes the number of something that was left out.
        self.shown.clear();
        entries.push(self.log.entry(Compacted { text, through }));
        self.log.append(entries).await?;
        self.publish(EventKind::Compacted {
            way,
            messages: Some(messages),
        });
        Ok(())
    }

    /// The model's own summary. One that is not shorter is none.
    async fn summary(
        &mut self,
        terms: &Terms,
        dropped: &[Arc<Shown>],
    ) -> Result<HelperReplied, RunError> {
        let (model, prices) = (terms.model.clone(), terms.candidate.model.prices);
        let provider = &*terms.candidate.model.provider;
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
                    Message::User(_) => Role::User,
                    Message::Assistant { .. } => Role::Assistant,
                    Message::Result { .. } => Role::Tool,
                };
                Said::new(role, message.text())
            })
            .collect();
        let conversation = terms.formatter.conversation(&said);
        let request = Request {
            model: terms.model.clone(),
            messages: vec![Message::user(format!("{conversation}\n\n{SUM_UP}"))],
            max_tokens: Some(SUMMARY),
            ..Request::default()
        };
        let start = Instant::now();
        let span = spans::request(provider, &request, &self.log.turn.correlation());
        let asked = complete(provider, &request).instrument(span.clone());
        let (said, error) = match self.stop.unless(asked).await? {
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
        let tokens = &*terms.tokens;
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
