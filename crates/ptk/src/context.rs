//! How the model's window is used.

use ptk_llm::Message;
use ptk_model::{TokenCounter, cost};
use ptk_protocol::Role;
use ptk_store::{Content, Item};

use crate::engine::{Engine, NOTICE, TurnConfig};
use crate::render::Renderer;
use crate::stop::Stop;
use crate::{RunError, RunOptions, Session};

/// How many tokens fill the model's window, as PTK counts them.
///
/// Everything but the window, and what is [free](Self::free), adds up to it,
/// unless the conversation is longer than fits. Messages are counted one by
/// one, as for the budget; where some are joined for a model, a request takes a
/// little less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextUse {
    /// The window: that of the model, or the one that is assumed where it is not
    /// known.
    pub window: Option<u64>,
    /// What is kept for the reply.
    pub reply: u64,
    /// What is kept because tokens are counted without the model, and for a
    /// notice about what was left out.
    pub margin: u64,
    /// The instructions.
    pub instructions: u64,
    /// The tools, in the instructions or beside the messages.
    pub tools: u64,
    /// Messages of the user, and what the user has run by hand.
    pub people: u64,
    /// Messages of the model, its calls included.
    pub model: u64,
    /// Results of tools.
    pub results: u64,
    /// The summary or notice in the place of what was left out.
    pub summary: u64,
    /// Other messages to the model: corrections of its replies, files that were
    /// chosen.
    pub notes: u64,
}

impl ContextUse {
    /// How many tokens a request takes, with everything that the model is
    /// shown.
    #[must_use]
    pub const fn used(&self) -> u64 {
        let told = self.instructions + self.tools;
        told + self.people + self.model + self.results + self.summary + self.notes
    }

    /// How many tokens are left before the beginning of the conversation has to
    /// be left out; `None` where the window is not known.
    #[must_use]
    pub fn free(&self) -> Option<u64> {
        let taken = self.reply + self.margin + self.used();
        self.window.map(|window| window.saturating_sub(taken))
    }

    fn count(&mut self, tokens: &dyn TokenCounter, item: &Item, messages: &[Message]) {
        for message in messages {
            let part = match (&item.content, message) {
                (Content::Reply(_), Message::Assistant { .. }) => &mut self.model,
                (Content::Reply(_), _) => &mut self.results,
                (Content::Summary { .. }, _) => &mut self.summary,
                (Content::RanByHand(_), _) => &mut self.people,
                (Content::Message(said), _) => match said.role {
                    Role::User => &mut self.people,
                    Role::Assistant => &mut self.model,
                    Role::Tool => &mut self.results,
                    Role::System => &mut self.notes,
                },
                _ => &mut self.notes,
            };
            *part += cost(tokens, message);
        }
    }
}

impl Session {
    /// How the model's window is used now: what a request with these options
    /// would take. Nothing is written, and a turn that is open goes on as it
    /// was begun. A server that knows the window is asked for it, once.
    ///
    /// ```
    /// use ptk::llm::Script;
    /// use ptk::store::SessionId;
    /// use ptk::{Ptk, RunOptions};
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let ptk = Ptk::builder()
    ///     .provider(Script::new(["Seven."]))
    ///     .system("Be brief.")
    ///     .build()?;
    /// let mut session = ptk.session(SessionId::new());
    /// session.run("How many days has a week?").await?;
    ///
    /// let options = RunOptions { context_window: Some(8192), ..RunOptions::default() };
    /// let context = session.context(options).await?;
    /// assert!(context.people > context.model && context.results == 0);
    /// let kept = context.reply + context.margin;
    /// assert_eq!(context.free(), Some(8192 - kept - context.used()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the options name something that there is not, the log cannot be
    /// read, or the options stop it.
    pub async fn context(&mut self, options: RunOptions) -> Result<ContextUse, RunError> {
        let stop = Stop::new(&options);
        self.load_transcript().await?;
        let config = self.engine.learned_config(options, &stop).await?;
        let config = self.with_found(config);
        let mut context = self.engine.context(&config);
        let renderer = Renderer::with_results(&config, &self.cut_results);
        let items = self.log.transcript.items();
        for item in items {
            let shown = renderer.shown(items, item);
            context.count(&*config.tokens, item, &shown.messages);
        }
        Ok(context)
    }
}

impl Engine {
    /// The part that is the same for every conversation.
    fn context(&self, config: &TurnConfig) -> ContextUse {
        let own = self.system.as_deref().unwrap_or_default();
        let instructions = config.tokens.count(own);
        let budget = config.budget;
        ContextUse {
            window: budget.window.map(u64::from),
            reply: budget.reply,
            margin: budget.window.map_or(0, |_| budget.margin() + NOTICE),
            instructions,
            // What teaches them follows the instructions.
            tools: config.told().saturating_sub(instructions),
            ..ContextUse::default()
        }
    }
}
