//! Tools as the model sees them: name, description, parameters.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::schema::Compiled;

/// The definition of a tool: what a model has to know to call it.
///
/// The parameters are a JSON Schema of type `object`. Whatever JSON Schema
/// 2020-12 can say may stand there; the prompt and the checks follow it.
///
/// ```
/// use ptk_protocol::ToolSpec;
/// use serde_json::json;
///
/// let tool = ToolSpec::new("read_file", "Read the content of a file", json!({
///     "type": "object",
///     "properties": {"path": {"type": "string", "description": "Path of the file"}},
///     "required": ["path"],
/// }));
/// assert_eq!(tool.required().collect::<Vec<_>>(), ["path"]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name a call uses, exactly.
    pub name: String,
    /// What the tool does, for the model.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of the arguments.
    #[serde(default = "no_parameters")]
    pub parameters: Value,
    /// How many of the parameters most calls need, from the first on. A list of
    /// tools for a small model leaves out the others, unless they are required:
    /// such models fill in whatever they see.
    #[serde(skip)]
    pub main_parameters: Option<usize>,
}

fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

impl ToolSpec {
    /// Creates a tool with the given JSON Schema for its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            main_parameters: None,
        }
    }

    /// Sets how many of the first parameters most calls need.
    #[must_use]
    pub const fn with_main_parameters(mut self, count: Option<usize>) -> Self {
        self.main_parameters = count;
        self
    }

    /// The declared parameters by name, in the order in which they are declared.
    #[must_use]
    pub fn properties(&self) -> Option<&Map<String, Value>> {
        self.parameters.get("properties").and_then(Value::as_object)
    }

    /// The names of the parameters that a call must give.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.parameters
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }

    /// The definition in the form of the native tool APIs.
    #[must_use]
    pub fn function_definition(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        })
    }
}

/// The tools that a model was offered, found by name. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Toolset {
    inner: Arc<ToolsetInner>,
}

#[derive(Debug, Default)]
struct ToolsetInner {
    specs: Vec<ToolSpec>,
    /// The positions of the tools, by length and letters of the name: a handful
    /// of names is compared sooner than hashed.
    by_name: Vec<usize>,
    compiled: Vec<OnceLock<Compiled>>,
}

/// Why tools cannot form a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsetError {
    /// A tool has no name.
    #[error("tool number {position} has no name; give every tool a name")]
    Unnamed {
        /// The position of the tool, counted from one.
        position: usize,
    },
    /// Two tools have the same name.
    #[error("two tools are named `{name}`; rename one of them")]
    Duplicate {
        /// The name that both have.
        name: String,
    },
}

impl Toolset {
    /// Creates a set of the given tools.
    ///
    /// # Errors
    ///
    /// If a tool has no name or two share one.
    pub fn new(specs: impl IntoIterator<Item = ToolSpec>) -> Result<Self, ToolsetError> {
        let specs: Vec<ToolSpec> = specs.into_iter().collect();
        let mut names = HashSet::with_capacity(specs.len());
        for (position, spec) in specs.iter().enumerate() {
            if spec.name.trim().is_empty() {
                return Err(ToolsetError::Unnamed {
                    position: position + 1,
                });
            }
            if !names.insert(spec.name.as_str()) {
                return Err(ToolsetError::Duplicate {
                    name: spec.name.clone(),
                });
            }
        }
        let mut by_name: Vec<usize> = (0..specs.len()).collect();
        by_name.sort_by_key(|&position| specs.get(position).map(|spec| rank(&spec.name)));
        let compiled = specs.iter().map(|_| OnceLock::new()).collect();
        Ok(Self {
            inner: Arc::new(ToolsetInner {
                specs,
                by_name,
                compiled,
            }),
        })
    }

    /// The tool of exactly this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.inner.specs.get(self.position(name)?)
    }

    fn position(&self, name: &str) -> Option<usize> {
        let ToolsetInner { specs, by_name, .. } = &*self.inner;
        let rank_at = |&position: &usize| specs.get(position).map(|spec| rank(&spec.name));
        let found = by_name.binary_search_by_key(&Some(rank(name)), rank_at);
        by_name.get(found.ok()?).copied()
    }

    /// Why the schema of this tool cannot be used, if it cannot.
    #[must_use]
    pub fn schema_error(&self, name: &str) -> Option<&str> {
        let (_, compiled) = self.compiled(name)?;
        compiled.validator.as_ref().err().map(String::as_str)
    }

    /// The tool of exactly this name and its schema, compiled at first use.
    pub(crate) fn compiled(&self, name: &str) -> Option<(&ToolSpec, &Compiled)> {
        let position = self.position(name)?;
        let spec = self.inner.specs.get(position)?;
        let cell = self.inner.compiled.get(position)?;
        Some((spec, cell.get_or_init(|| Compiled::new(&spec.parameters))))
    }

    /// Compiles the schema of the tool of this name now, instead of when it is
    /// first called.
    pub fn compile(&self, name: &str) {
        let _ = self.compiled(name);
    }

    /// Whether there is a tool of exactly this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// The tools in the order in which they were given.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ToolSpec> {
        self.inner.specs.iter()
    }

    /// The names in the order in which they were given.
    #[must_use]
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.inner.specs.iter().map(|spec| spec.name.as_str())
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.specs.len()
    }

    /// Whether the set has no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.specs.is_empty()
    }
}

/// The order of names: mostly they differ in length.
fn rank(name: &str) -> (usize, &str) {
    (name.len(), name)
}
