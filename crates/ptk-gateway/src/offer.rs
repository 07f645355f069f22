//! Tools as clients send them with every request, parsed once.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use ptk_model::{Approach, Teacher, ToolPrompt};
use ptk_protocol::schema::Complexity;
use ptk_protocol::{Formatter, ToolSpec, Toolset};
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
    pub(crate) tools: Toolset,
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
    prompt: Arc<ToolPrompt>,
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
            prompt: Arc::clone(&prompt),
        });
        Ok(prompt)
    }

    /// The tools of these names.
    pub(crate) fn only(&self, names: &[String]) -> Toolset {
        let chosen = self.tools.iter().filter(|tool| names.contains(&tool.name));
        // They have differing names, or they would not stand in one set.
        Toolset::new(chosen.cloned()).unwrap_or_default()
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
