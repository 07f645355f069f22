//! The tool `request_code_context`: finds the code that a model needs, within a
//! token budget.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ptk_protocol::{Arguments, ToolResult};
use ptk_sandbox::Workspace;
use ptk_tools::{CallContext, Effects, Plan, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Passage, top_k, within};
use crate::live::{Live, LiveError};
use crate::{Index, Meaning, Progress, Query};

/// The default limit of tokens that a call returns.
pub const TOKEN_LIMIT: u64 = 2048;
/// The timeout of a call that has to build the index first.
const INDEXING: Duration = Duration::from_secs(600);
/// How often indexing progress is reported.
const BEAT: Duration = Duration::from_millis(200);
/// Other names that models use for the hint.
const OTHER_NAMES: [&str; 3] = ["search_term", "query", "search"];

/// Opens the index of a workspace, when it is first needed.
pub type OpenIndex = dyn Fn(&Workspace) -> Result<Index, String> + Send + Sync;
/// Counts the tokens of a text.
pub type Count = dyn Fn(&str) -> u64 + Send + Sync;

/// Finds code for a model. The first call builds the index, which is kept up to
/// date from then on.
///
/// ```
/// use std::sync::Arc;
///
/// use ptk_sandbox::Workspace;
/// use ptk_search::{Index, RequestCodeContext};
/// use ptk_tools::{CallRequest, Registry, ToolManager, Typed};
/// use ptk_protocol::{Arguments, ToolCall};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path().join("project");
/// # std::fs::create_dir(&root)?;
/// # let cache = folder.path().join("cache");
/// std::fs::write(root.join("a.py"), "def add(a, b):\n    return a + b\n")?;
///
/// let tool = RequestCodeContext::new(
///     move |workspace| Ok(Index::new(&cache, workspace.clone())),
///     |text: &str| text.len() as u64,
/// );
/// let mut tools = Registry::new();
/// tools.register(Typed::new(tool))?;
/// let manager = ToolManager::builder(Workspace::open(&root)?).tools(tools).build();
///
/// let args = Arguments::from_json(r#"{"token_budget": 1000, "hint": "sum of two numbers add"}"#)?;
/// let call = ToolCall::new("request_code_context", args);
/// let result = manager.execute(CallRequest::new(call)).await.result;
/// assert_eq!(result.fields["results"][0]["id"], "a.py#1:2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RequestCodeContext {
    open: Box<OpenIndex>,
    count: Arc<Count>,
    limit: u64,
    live: OnceLock<Arc<Live>>,
}

impl std::fmt::Debug for RequestCodeContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestCodeContext")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl RequestCodeContext {
    /// Creates the tool with a function that opens the index when it is first
    /// needed, and one that counts tokens.
    pub fn new(
        open: impl Fn(&Workspace) -> Result<Index, String> + Send + Sync + 'static,
        count: impl Fn(&str) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            open: Box::new(open),
            count: Arc::new(count),
            limit: TOKEN_LIMIT,
            live: OnceLock::new(),
        }
    }

    /// Sets the most tokens that a call returns.
    #[must_use]
    pub fn limit(mut self, tokens: u64) -> Self {
        self.limit = tokens;
        self
    }

    fn live(&self, workspace: &Workspace) -> Result<Arc<Live>, ToolError> {
        if let Some(live) = self.live.get() {
            return Ok(Arc::clone(live));
        }
        let index = (self.open)(workspace).map_err(unavailable)?;
        let live = self.live.get_or_init(|| Arc::new(Live::new(index)));
        Ok(Arc::clone(live))
    }
}

/// Arguments of [`RequestCodeContext`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct RequestCodeContextArgs {
    /// What the code is about, in words or names, for example "where uploads are checked for size". Default: what the user said last
    #[serde(default)]
    hint: Option<String>,
    /// How many tokens of code to give at most. Default: 1500
    #[serde(default)]
    #[schemars(range(min = 1))]
    token_budget: Option<u64>,
}

/// How many tokens of code are given by default.
const USUAL_BUDGET: u64 = 1500;

/// Result of [`RequestCodeContext`].
#[derive(Debug, Serialize)]
pub struct RequestCodeContextResult {
    ok: bool,
    /// The query that was searched for.
    query: String,
    /// How many results were searched for.
    top_k: usize,
    /// The results that fit the budget, best first.
    results: Vec<Passage>,
    /// Whether they were found by words, or also by meaning.
    by: &'static str,
    /// How many were left out because rules forbid reading their files.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_allowed: Option<usize>,
}

impl TypedTool for RequestCodeContext {
    type Args = RequestCodeContextArgs;
    type Output = RequestCodeContextResult;

    const NAME: &'static str = "request_code_context";
    const DESCRIPTION: &'static str = "Find the code of this workspace that is about something, \
        described in words or by names. Gives whole functions and other definitions, best first, \
        with the full path and the line numbers, within a number of tokens. For an exact text, use grep.";
    const EFFECTS: Effects = Effects::READ;
    const GIVES_SNIPPETS: bool = true;

    fn adapt(&self, args: Arguments) -> Arguments {
        let mut map = args.as_map().clone();
        if map.contains_key("hint") {
            return args;
        }
        let other = OTHER_NAMES.iter().find_map(|name| map.remove(*name));
        match other {
            Some(hint) => {
                map.insert("hint".to_owned(), hint);
                Arguments::from(map)
            }
            None => args,
        }
    }

    fn timeout(&self, _args: &RequestCodeContextArgs) -> Option<Duration> {
        self.live.get().is_none().then_some(INDEXING)
    }

    fn plan(
        &self,
        _context: &CallContext,
        _args: &RequestCodeContextArgs,
    ) -> Result<Plan, ToolError> {
        // The tool itself leaves out files that must not be read.
        Ok(Plan::default())
    }

    async fn run(
        &self,
        context: &CallContext,
        args: RequestCodeContextArgs,
    ) -> Result<RequestCodeContextResult, ToolError> {
        let budget = args.token_budget.unwrap_or(USUAL_BUDGET).min(self.limit);
        let text = query(args.hint.as_deref(), context.prompt())?;
        let mut query = Query::new(text);
        query.top = top_k(budget);
        let live = self.live(context.workspace())?;
        let (count, call) = (Arc::clone(&self.count), context.clone());
        // Stops indexing if the call is dropped.
        let cancel = Cancel::default();
        let flag = Arc::clone(&cancel.0);
        let searched = tokio::task::spawn_blocking(move || {
            let mut told = Instant::now();
            let mut progress = |progress: Progress| {
                if told.elapsed() >= BEAT {
                    told = Instant::now();
                    call.progress(&in_words(&progress));
                }
            };
            let mut hits = live.search(&query, &flag, &mut progress)?;
            let found = hits.len();
            hits.retain(|hit| !call.is_withheld(Path::new(&hit.path)));
            let not_allowed = Some(found - hits.len()).filter(|count| *count > 0);
            let meaning = live.searcher(&flag, &mut progress)?.meaning();
            let root = call.workspace().root();
            Ok::<_, LiveError>(RequestCodeContextResult {
                ok: true,
                top_k: query.top,
                not_allowed,
                results: within(hits, root, budget, &*count),
                query: query.text,
                by: match meaning {
                    Meaning::NoModel => "words",
                    Meaning::Partly { .. } | Meaning::Whole => "words and meaning",
                },
            })
        });
        let searched = searched
            .await
            .map_err(|error| unavailable(error.to_string()))?;
        drop(cancel);
        searched.map_err(|error| unavailable(chain(&error)))
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        let Some(results) = result.fields.get("results").and_then(Value::as_array) else {
            return ptk_tools::preview::of(result, max_lines);
        };
        if results.is_empty() {
            return vec!["nothing found".to_owned()];
        }
        let ids = results.iter().map(|passage| {
            let text = |name: &str| passage.get(name).and_then(Value::as_str);
            let (id, symbol) = (text("id").unwrap_or_default(), text("symbol"));
            symbol.map_or_else(|| id.to_owned(), |symbol| format!("{id} {symbol}"))
        });
        ids.take(max_lines).collect()
    }
}

/// The query: the model's hint, or else the user's last message.
fn query(hint: Option<&str>, prompt: Option<&str>) -> Result<String, ToolError> {
    let texts = [hint, prompt].into_iter().flatten().map(str::trim);
    let mut texts = texts.filter(|text| !text.is_empty());
    texts.next().map(str::to_owned).ok_or_else(|| {
        ToolError::validation("No query available (no hint provided and no recent user message)")
            .suggest("Say in hint what the code is about.")
    })
}

fn unavailable(why: impl std::fmt::Display) -> ToolError {
    ToolError::system(format!("The code index is not available: {why}"))
        .suggest("Use grep or glob instead.")
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    text
}

/// Indexing progress as a text for the user.
fn in_words(progress: &Progress) -> String {
    if progress.to_embed > 0 {
        let Progress {
            embedded, to_embed, ..
        } = progress;
        return format!("indexing by meaning: {embedded} of {to_embed} chunks");
    }
    let Progress {
        files,
        total,
        chunks,
        ..
    } = progress;
    format!("indexing: {files} of {total} files, {chunks} chunks")
}

/// Cancels the work for a call when it is dropped.
#[derive(Default)]
struct Cancel(Arc<AtomicBool>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
