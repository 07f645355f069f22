//! Tools as clients send them with every request, parsed once.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use ptk_model::{Approach, DeferPolicy, DeferredTools, Estimate, Teacher, ToolPrompt};
use ptk_protocol::schema::Complexity;
use ptk_protocol::{Arguments, Formatter, ToolSpec, Toolset};
use serde_json::Value;

use crate::failure::Failure;
use crate::workers::Workers;

/// The most sets of tools that are cached: a program sends the same with every
/// request.
const MAX_OFFERS: usize = 64;
/// The most bytes of tools that are cached, compiled schemas included.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// About how many bytes a compiled schema takes.
const SCHEMA: usize = 512;
/// The most tools in one request. Clients offer hundreds at most.
const MAX_TOOLS: usize = 4096;
/// The most schemas in all tools of one request.
const MAX_SCHEMAS: usize = 200_000;
/// A tool with more schemas is compiled before it is called, and its calls are
/// parsed on worker threads.
const MAX_SIMPLE: usize = 500;
/// The most prompts for the same tools that are cached.
const MAX_PROMPTS: usize = 8;

/// A set of tools, and what was computed from it.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// All tools that may be called, the search for deferred ones included.
    pub(crate) tools: Toolset,
    /// The tools that the client has deferred.
    pub(crate) deferred: Option<DeferredTools>,
    /// The names of those whose schema is enforced.
    strict: Vec<String>,
    /// Why they can only be offered by a server that speaks the client's API,
    /// if one of them exists only there.
    pub(crate) unsupported_content: Option<Failure>,
    /// How many schemas there are in all of them.
    schemas: usize,
    /// The names of those whose arguments may take long to check.
    complex: Vec<String>,
    tool_prompts: Mutex<Vec<KnownPrompt>>,
}

/// A cached prompt, and what it depends on.
#[derive(Debug)]
struct KnownPrompt {
    only: Option<String>,
    names: Option<Vec<String>>,
    /// The window of the model, which decides how long the list of deferred
    /// tools is.
    window: Option<u32>,
    prompt: Arc<ToolPrompt>,
}

/// How the model comes to know deferred tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoundBy {
    /// By a search that the gateway runs.
    Gateway,
    /// By a search of the client.
    Client,
}

impl Offer {
    /// Creates an offer of these tools, each with whether its schema is
    /// enforced.
    ///
    /// # Errors
    ///
    /// If two have the same name, or they are too complex.
    pub(crate) fn new(tools: Vec<(ToolSpec, bool)>) -> Result<Self, Failure> {
        if tools.len() > MAX_TOOLS {
            return Err(too_complex(
                "tools",
                format!("There are {} tools; {MAX_TOOLS} at most", tools.len()),
            ));
        }
        let mut schemas = 0;
        let mut complex = Vec::new();
        for (tool, _) in &tools {
            let subject = format!("The schema of the tool `{}`", tool.name);
            let measured = measure("tools", &subject, &tool.parameters)?;
            schemas += measured.schemas;
            if schemas > MAX_SCHEMAS {
                let message = format!(
                    "The tools up to `{}` consist of more than {MAX_SCHEMAS} schemas; send fewer",
                    tool.name
                );
                return Err(too_complex("tools", message));
            }
            if measured.has_references || measured.schemas > MAX_SIMPLE {
                complex.push(tool.name.clone());
            }
        }
        let strict = tools.iter().filter(|(_, strict)| *strict);
        let strict = strict.map(|(tool, _)| tool.name.clone()).collect();
        let tools = Toolset::new(tools.into_iter().map(|(tool, _)| tool));
        Ok(Self {
            tools: tools.map_err(|error| Failure::invalid("tools", error.to_string()))?,
            strict,
            schemas,
            complex,
            ..Self::default()
        })
    }

    /// Defers the tools of these names.
    pub(crate) fn deferring(
        mut self,
        names: &[String],
        found_by: FoundBy,
    ) -> Result<Self, Failure> {
        let deferred = self.only(names);
        if deferred.is_empty() {
            return Ok(self);
        }
        let search = DeferredTools::search_name(|name| self.tools.contains(name));
        self.deferred = Some(match search.filter(|_| found_by == FoundBy::Gateway) {
            Some(name) => DeferredTools::new(deferred, name, 0, &Estimate),
            None => DeferredTools::hidden(deferred),
        });
        let search = self.deferred.as_ref().and_then(DeferredTools::search);
        if let Some(search) = search {
            let tools = self.tools.with(search.clone());
            self.tools = tools.map_err(|error| Failure::invalid("tools", error.to_string()))?;
        }
        Ok(self)
    }

    /// The deferred tools, if the gateway runs the search for them.
    pub(crate) fn searched(&self) -> Option<&DeferredTools> {
        let deferred = self.deferred.as_ref();
        deferred.filter(|deferred| deferred.search().is_some())
    }

    /// The result of a search for tools that found these, for a model that has
    /// their definitions beside it.
    pub(crate) fn search_result(&self, args: &Arguments, names: &[String]) -> String {
        let found = self.tools.named(names.iter().map(String::as_str));
        let result = match &self.deferred {
            Some(deferred) => deferred.result(args, &found, None),
            None => DeferredTools::hidden(Toolset::default()).result(args, &found, None),
        };
        result.payload_json()
    }

    /// Whether this is the name of the search that the gateway runs.
    pub(crate) fn is_search(&self, name: &str) -> bool {
        let deferred = self.deferred.as_ref();
        deferred.is_some_and(|deferred| deferred.is_search(name))
    }

    pub(crate) fn is_strict(&self, name: &str) -> bool {
        self.strict.iter().any(|strict| strict == name)
    }

    /// Whether calls of these tools may take long to check.
    pub(crate) fn is_complex(&self) -> bool {
        !self.complex.is_empty()
    }

    /// The prompt for a model that is to call these tools; it is taught those of
    /// these names, or all. Prompts are cached; new ones are made on worker
    /// threads.
    pub(crate) async fn tool_prompt(
        self: &Arc<Self>,
        workers: &Workers,
        teacher: &Arc<Teacher>,
        approach: &Arc<Approach>,
        names: Option<Vec<String>>,
    ) -> Result<Arc<ToolPrompt>, Failure> {
        let formatter = teacher.formatter(approach)?;
        let only = teacher.only_read(approach);
        if let Some(known) = self.known_prompt(&formatter, only, names.as_deref(), approach) {
            return Ok(known);
        }
        if self.tools.is_empty() {
            return self.make_prompt(teacher, approach, names);
        }
        let offer = Arc::clone(self);
        let (teacher, approach) = (Arc::clone(teacher), Arc::clone(approach));
        let make = move || {
            for name in &offer.complex {
                offer.tools.compile(name);
            }
            offer.make_prompt(&teacher, &approach, names)
        };
        workers.run(make).await
    }

    fn known_prompt(
        &self,
        formatter: &Arc<dyn Formatter>,
        only: Option<&str>,
        names: Option<&[String]>,
        approach: &Approach,
    ) -> Option<Arc<ToolPrompt>> {
        let known = self
            .tool_prompts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = known.iter().find(|known| {
            Arc::ptr_eq(&known.prompt.formatter, formatter)
                && known.only.as_deref() == only
                && known.names.as_deref() == names
                && known.window == self.window_of(approach)
                && known.prompt.form == approach.can.form
                && known.prompt.is_native == approach.is_native
                && known.prompt.grammar.opening() == approach.opening
        });
        known.map(|known| Arc::clone(&known.prompt))
    }

    fn make_prompt(
        &self,
        teacher: &Teacher,
        approach: &Approach,
        names: Option<Vec<String>>,
    ) -> Result<Arc<ToolPrompt>, Failure> {
        let prompt = if self.tools.is_empty() {
            teacher.prompt_without_tools(approach)?
        } else if let Some(deferred) = self.deferred.as_ref().filter(|_| names.is_none()) {
            let is_defined =
                |name: &str| !deferred.tools().contains(name) && !deferred.is_search(name);
            let defined = self.tools.filtered(|tool| is_defined(&tool.name));
            let tools = deferred.tools().clone();
            let deferred = match deferred.search() {
                Some(search) => {
                    let budget = DeferPolicy::list_budget(approach.context_window);
                    DeferredTools::new(tools, &search.name, budget, &Estimate)
                }
                None => DeferredTools::hidden(tools),
            };
            teacher.prompt_with_search(approach, &defined, deferred)?
        } else {
            let taught = names.as_ref().map(|names| self.only(names));
            teacher.prompt(
                approach,
                &self.tools,
                taught.as_ref().unwrap_or(&self.tools),
            )?
        };
        let prompt = Arc::new(prompt);
        let mut known = self
            .tool_prompts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_PROMPTS {
            known.remove(0);
        }
        known.push(KnownPrompt {
            only: teacher.only_read(approach).map(str::to_owned),
            names,
            window: self.window_of(approach),
            prompt: Arc::clone(&prompt),
        });
        Ok(prompt)
    }

    fn window_of(&self, approach: &Approach) -> Option<u32> {
        let window = approach.context_window;
        window.filter(|_| self.deferred.is_some())
    }

    /// The tools of these names.
    pub(crate) fn only(&self, names: &[String]) -> Toolset {
        self.tools.filtered(|tool| names.contains(&tool.name))
    }
}

/// Measures the complexity of a schema. `subject` names its owner.
///
/// # Errors
///
/// If it is too complex.
pub(crate) fn measure(param: &str, subject: &str, schema: &Value) -> Result<Complexity, Failure> {
    Complexity::of(schema)
        .map_err(|error| too_complex(param, format!("{subject} is too complex: {error}")))
}

fn too_complex(param: &str, message: String) -> Failure {
    Failure {
        code: "schema_too_complex".into(),
        ..Failure::invalid(param, message)
    }
}

/// The cached offers, by their JSON text, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    hasher: RandomState,
    known: Mutex<VecDeque<Known>>,
}

/// A cached offer.
#[derive(Debug)]
struct Known {
    hash: u64,
    /// The format of the tools in the text.
    form: &'static str,
    text: Arc<str>,
    offer: Arc<Offer>,
}

impl Offers {
    /// The offer in this text, in the format of an API's field: in another
    /// format, the same text may be other tools, or not valid.
    pub(crate) fn get(
        &self,
        form: &'static str,
        text: &str,
        read: impl FnOnce() -> Result<Offer, Failure>,
    ) -> Result<Arc<Offer>, Failure> {
        let hash = self.hasher.hash_one(text);
        let is_it =
            |known: &&Known| known.hash == hash && known.form == form && &*known.text == text;
        if let Some(known) = self.lock().iter().find(is_it) {
            return Ok(Arc::clone(&known.offer));
        }
        let offer = Arc::new(read()?);
        let mut known = self.lock();
        known.push_back(Known {
            hash,
            form,
            text: text.into(),
            offer: Arc::clone(&offer),
        });
        let size = |known: &Known| known.text.len() + known.offer.schemas * SCHEMA;
        let all = |known: &VecDeque<Known>| known.iter().map(size).sum::<usize>();
        while known.len() > MAX_OFFERS || all(&known) > MAX_BYTES {
            known.pop_front();
        }
        Ok(offer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
