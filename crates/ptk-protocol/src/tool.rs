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

#[derive(Debug, Clone, Default)]
struct ToolsetInner {
    tools: Vec<Arc<CompiledTool>>,
    /// The positions of the tools, by length and letters of the name: a handful
    /// of names is compared sooner than hashed.
    by_name: Vec<usize>,
}

/// A tool and its schema, shared by all sets that it is part of.
#[derive(Debug)]
struct CompiledTool {
    spec: ToolSpec,
    compiled: OnceLock<Compiled>,
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
        let specs = specs.into_iter();
        let mut names = HashSet::with_capacity(specs.size_hint().0);
        let mut tools = Vec::with_capacity(specs.size_hint().0);
        for (position, spec) in specs.enumerate() {
            if spec.name.trim().is_empty() {
                return Err(ToolsetError::Unnamed {
                    position: position + 1,
                });
            }
            if !names.insert(spec.name.clone()) {
                return Err(ToolsetError::Duplicate { name: spec.name });
            }
            tools.push(Arc::new(CompiledTool {
                spec,
                compiled: OnceLock::new(),
            }));
        }
        Ok(Self::of(tools))
    }

    /// The set of these tools, whose names differ.
    fn of(tools: Vec<Arc<CompiledTool>>) -> Self {
        let mut by_name: Vec<usize> = (0..tools.len()).collect();
        by_name.sort_by_key(|&position| tools.get(position).map(|tool| rank(&tool.spec.name)));
        Self {
            inner: Arc::new(ToolsetInner { tools, by_name }),
        }
    }

    /// The set with one more tool at its end.
    ///
    /// # Errors
    ///
    /// If the tool has no name, or that of another one.
    pub fn with(&self, spec: ToolSpec) -> Result<Self, ToolsetError> {
        if spec.name.trim().is_empty() {
            return Err(ToolsetError::Unnamed {
                position: self.len() + 1,
            });
        }
        let ToolsetInner { tools, by_name } = &*self.inner;
        let rank_at = |&position: &usize| tools.get(position).map(|tool| rank(&tool.spec.name));
        let known = by_name.binary_search_by_key(&Some(rank(&spec.name)), rank_at);
        let Err(place) = known else {
            return Err(ToolsetError::Duplicate { name: spec.name });
        };
        let mut inner = ToolsetInner::clone(&self.inner);
        inner.by_name.insert(place, inner.tools.len());
        inner.tools.push(Arc::new(CompiledTool {
            spec,
            compiled: OnceLock::new(),
        }));
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The tools of this set that are wanted, in its order.
    #[must_use]
    pub fn filtered(&self, mut is_wanted: impl FnMut(&ToolSpec) -> bool) -> Self {
        let tools = self.inner.tools.iter();
        Self::of(
            tools
                .filter(|tool| is_wanted(&tool.spec))
                .cloned()
                .collect(),
        )
    }

    /// The tools of this set, and behind them those of `others` that it lacks.
    #[must_use]
    pub fn followed_by(&self, others: &Self) -> Self {
        let added = others.inner.tools.iter();
        let mut added = added
            .filter(|tool| !self.contains(&tool.spec.name))
            .peekable();
        if added.peek().is_none() {
            return self.clone();
        }
        let tools = self.inner.tools.iter().chain(added);
        Self::of(tools.cloned().collect())
    }

    /// The tools of these names, in the order of the names. A name that there
    /// is not, or that occurs again, is left out.
    #[must_use]
    pub fn named<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut known = HashSet::new();
        let positions = names.into_iter().filter_map(|name| self.position(name));
        let positions = positions.filter(|position| known.insert(*position));
        let tools = positions.filter_map(|position| self.inner.tools.get(position));
        Self::of(tools.cloned().collect())
    }

    /// The tool of exactly this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        let tool = self.inner.tools.get(self.position(name)?)?;
        Some(&tool.spec)
    }

    fn position(&self, name: &str) -> Option<usize> {
        let ToolsetInner { tools, by_name } = &*self.inner;
        let rank_at = |&position: &usize| tools.get(position).map(|tool| rank(&tool.spec.name));
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
        let CompiledTool { spec, compiled } = &**self.inner.tools.get(self.position(name)?)?;
        let make = || Compiled::new(&spec.parameters);
        Some((spec, compiled.get_or_init(make)))
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
        self.inner.tools.iter().map(|tool| &tool.spec)
    }

    /// The names in the order in which they were given.
    #[must_use]
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.iter().map(|spec| spec.name.as_str())
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.tools.len()
    }

    /// Whether the set has no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.tools.is_empty()
    }
}

/// The order of names: mostly they differ in length.
fn rank(name: &str) -> (usize, &str) {
    (name.len(), name)
}
