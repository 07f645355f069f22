//! The registered tools, by name.

use std::sync::Arc;

use ptk_protocol::schema::Lint;
use ptk_protocol::{ToolSpec, Toolset, ToolsetError};

use crate::Tool;

/// The longest name that the APIs of all providers take.
const MAX_NAME: usize = 64;

/// A set of tools. The order in which they were registered is the
/// order in which a model sees them.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
    set: Toolset,
}

/// Why a tool cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A name that models and providers do not take.
    #[error(
        "`{0}` cannot be a tool's name; use up to {MAX_NAME} of the letters a to z, digits, `_` and `-`"
    )]
    Name(String),
    /// A tool without a description, which a model cannot use.
    #[error("the tool `{0}` has no description; say what it does and when to use it")]
    Undescribed(String),
    /// Parameters that are not a schema of an object.
    #[error("the parameters of `{name}` are not the JSON Schema of an object: {reason}")]
    Parameters {
        /// The tool.
        name: String,
        /// What is wrong with the parameters.
        reason: String,
    },
    /// Two tools of the same name.
    #[error(transparent)]
    Set(#[from] ToolsetError),
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// If its name, description or parameters are not fit for a model, or its
    /// name is taken.
    pub fn register(&mut self, tool: impl Tool + 'static) -> Result<&mut Self, RegistryError> {
        self.register_shared(Arc::new(tool))
    }

    /// Adds a tool that is also held elsewhere.
    ///
    /// # Errors
    ///
    /// As for [`register`](Self::register).
    pub fn register_shared(&mut self, tool: Arc<dyn Tool>) -> Result<&mut Self, RegistryError> {
        check(tool.spec())?;
        self.set = self.set.with(tool.spec().clone())?;
        self.tools.push(tool);
        Ok(self)
    }

    /// Removes a tool.
    pub fn unregister(&mut self, name: &str) -> Option<Arc<dyn Tool>> {
        let at = self
            .tools
            .iter()
            .position(|tool| tool.spec().name == name)?;
        self.set = self.set.filtered(|spec| spec.name != name);
        Some(self.tools.remove(at))
    }

    /// The tool of exactly this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    /// All registered tools.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// The tools as a model, a parser and a formatter see them.
    #[must_use]
    pub fn toolset(&self) -> &Toolset {
        &self.set
    }

    /// Suggestions for better definitions of the tools.
    #[must_use]
    pub fn lint(&self) -> Vec<Lint> {
        self.set.iter().flat_map(ToolSpec::lint).collect()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.set.names()).finish()
    }
}

fn check(spec: &ToolSpec) -> Result<(), RegistryError> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if spec.name.is_empty() || spec.name.len() > MAX_NAME || !spec.name.chars().all(is_part) {
        return Err(RegistryError::Name(spec.name.clone()));
    }
    if spec.description.trim().is_empty() {
        return Err(RegistryError::Undescribed(spec.name.clone()));
    }
    let kind = spec.parameters.get("type").and_then(|kind| kind.as_str());
    let reason = match kind {
        Some("object") => return Ok(()),
        Some(kind) => format!("its type is {kind}"),
        None => "it has no type".to_owned(),
    };
    Err(RegistryError::Parameters {
        name: spec.name.clone(),
        reason,
    })
}
