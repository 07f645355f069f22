//! The main type of the crate: tools and a model, ready to run.

use std::sync::Arc;

use ptk_llm::{Assembly, Message};
use ptk_model::DeferTools;
use ptk_protocol::{Formatter, Message as Said, ToolCall, Toolset};
use ptk_store::SessionId;
use ptk_tools::{CallOutcome, CallRequest, RegistryError, Tool, ToolManager};

use crate::engine::Engine;
use crate::render::Renderer;
use crate::stop::Stop;
use crate::{
    Execution, Iteration, ModelNameError, Prompt, PtkBuilder, Replay, ReplyKind, RunError,
    RunOptions, Session, Streamed, ask, by_name, read, replay,
};

/// Tools and a model, ready to run. Cheap to clone; clones share
/// everything.
#[derive(Debug, Clone)]
pub struct Ptk {
    engine: Arc<Engine>,
}

impl Ptk {
    /// Starts to build a [`Ptk`].
    #[must_use]
    pub fn builder() -> PtkBuilder {
        PtkBuilder::default()
    }

    /// Starts to build a [`Ptk`] with a model by its name:
    ///
    /// | Name | Model |
    /// |---|---|
    /// | `openai/gpt-5-mini`, `ollama/qwen3:4b` | a service and its model. The key is in the service's variable, such as `OPENAI_API_KEY` |
    /// | `http://127.0.0.1:8080/v1` | the only model of a server that speaks as OpenAI's does; the server is asked for its name, which blocks. The key is in `PTK_API_KEY` |
    /// | `local/qwen2.5-coder-0.5b` | a model that `ptk models pull` has got, with the feature `local` |
    /// | `cmd:COMMAND` | a command that reads the prompt and prints the reply |
    /// | `script:FILE` | the replies of a file, for tests |
    ///
    /// ```no_run
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let ptk = ptk::Ptk::model("ollama/qwen3:4b")?.build()?;
    /// println!("{}", ptk.run("Why is the sky blue?").await?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such model, or its key is missing.
    pub fn model(name: &str) -> Result<PtkBuilder, ModelNameError> {
        Ok(Self::builder().provider(by_name::provider(name)?))
    }

    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine: Arc::new(engine),
        }
    }

    /// Runs until there is an answer. Each run is a conversation of its own, so
    /// that runs can be made at the same time. For one that remembers, use a
    /// [`session`](Self::session).
    ///
    /// # Errors
    ///
    /// If there is none.
    pub async fn run(&self, prompt: impl Into<Prompt>) -> Result<String, RunError> {
        let options = self.engine.options.clone();
        self.execute(prompt, options).await.into_result()
    }

    /// Runs until there is an answer or an error, and returns how it came
    /// about. Each run is a conversation of its own.
    pub async fn execute(&self, prompt: impl Into<Prompt>, options: RunOptions) -> Execution {
        self.new_session().execute(prompt, options).await
    }

    /// The same as [`execute`](Self::execute), under the name that it has in
    /// other programs.
    pub async fn orchestrate_tool_calling(
        &self,
        prompt: impl Into<Prompt>,
        options: RunOptions,
    ) -> Execution {
        self.execute(prompt, options).await
    }

    /// A new session: a conversation whose runs remember those before them.
    #[must_use]
    pub fn new_session(&self) -> Session {
        self.session(SessionId::new())
    }

    /// The session of this id, new or not. Each should be open only once at a
    /// time.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Session {
        Session::new(Arc::clone(&self.engine), id)
    }

    /// Resumes a turn that was interrupted; `None` if the session has none.
    pub async fn resume(&self, id: SessionId) -> Option<Execution> {
        let options = self.engine.options.clone();
        self.session(id).resume(options).await
    }

    /// Parses and judges a session again, as it would be today; `None` if there
    /// is none of that id. Nothing is run, no model is asked, and nothing is
    /// written.
    ///
    /// # Errors
    ///
    /// If the log cannot be read, or the options name something that there is
    /// not.
    pub async fn replay(
        &self,
        id: &SessionId,
        options: RunOptions,
    ) -> Result<Option<Replay>, RunError> {
        replay::replay(&self.engine, id, options).await
    }

    /// Asks the model once, with these messages, and parses its reply. Nothing
    /// is run and nothing is written. No tool is deferred.
    ///
    /// # Errors
    ///
    /// If there is no reply, or the options name something that there is not.
    pub async fn iterate(
        &self,
        messages: &[Said],
        options: RunOptions,
    ) -> Result<Iteration, RunError> {
        let engine = &*self.engine;
        let stop = Stop::new(&options);
        let hooks = options.hooks.or(&engine.hooks);
        // What a search has found would be known from a log.
        let options = RunOptions {
            defer_tools: DeferTools::Never,
            ..options
        };
        let config = engine.config(options)?;
        let renderer = Renderer::new(&config);
        let shown: Vec<Message> = messages.iter().map(|said| renderer.said(said)).collect();
        let mut request = ask::request(&config, shown, false);
        request.format = engine.format(&config, 0);
        let tell = |streamed: &Streamed<'_>| hooks.streamed(streamed);
        let mut heard = Assembly::new();
        let listening = ask::listen(engine, &config, &request, &stop, &tell, &mut heard);
        let reply = listening.await?;
        let said = ask::said(
            heard.so_far(),
            std::time::Duration::ZERO,
            config.candidate.model().prices,
        );
        let mut parsed = read::parsed(&reply, &said);
        engine.check(&config, &mut parsed.calls);
        Ok(Iteration {
            iteration: 1,
            kind: ReplyKind::from(parsed.outcome),
            content: parsed.text.trim().to_owned(),
            tool_calls: parsed.calls,
            raw: said.text,
        })
    }

    /// Runs a tool without asking any model.
    pub async fn call(&self, call: ToolCall) -> CallOutcome {
        self.engine.tools.execute(CallRequest::new(call)).await
    }

    /// Adds a tool while others run.
    ///
    /// # Errors
    ///
    /// If it is not fit for a model, or its name is taken.
    pub fn register(&self, tool: impl Tool + 'static) -> Result<(), RegistryError> {
        self.engine.tools.register(tool)
    }

    /// The tools, as a model sees them.
    #[must_use]
    pub fn toolset(&self) -> Toolset {
        self.engine.tools.toolset()
    }

    /// The manager that runs the tools and publishes their events.
    #[must_use]
    pub fn tools(&self) -> &ToolManager {
        &self.engine.tools
    }

    /// The formatter that teaches the model its tools.
    #[must_use]
    pub fn formatter(&self) -> &dyn Formatter {
        &*self.engine.formatter
    }

    /// The default options of runs.
    #[must_use]
    pub fn options(&self) -> RunOptions {
        self.engine.options.clone()
    }
}
