//! Grammars made from tools, which allow only valid calls.
//!
//! A server that takes a grammar lets its model write nothing else. A [`Gbnf`]
//! is such a grammar, made from the tools and their schemas, in the notation
//! that llama.cpp reads: of the arguments of one tool, of one call, or of a
//! whole reply, in which the model chooses between words and calls. No call
//! in it can be malformed or name a tool that does not exist. For other servers,
//! the same grammar is written as a structural tag, as XGrammar reads it
//! ([`Gbnf::structural_tag`]), or as Lark, as llguidance reads it
//! ([`Gbnf::lark`]).
//!
//! Not all that a JSON Schema can say fits into a grammar. What does not is
//! listed by [`Gbnf::outside`]: there the grammar is wider than the schema, and
//! the validator decides.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ptk_protocol::dialects::{Dialect, Ptk};
//! use ptk_protocol::gbnf::Gbnf;
//! use ptk_protocol::{ToolSpec, Toolset};
//! use serde_json::json;
//!
//! let head = ToolSpec::new("head", "Show the first lines of a file", json!({
//!     "type": "object",
//!     "properties": {
//!         "path": {"type": "string"},
//!         "lines": {"type": "integer", "minimum": 1, "maximum": 20},
//!     },
//!     "required": ["path"],
//! }));
//! let tools = Toolset::new([head])?;
//! let dialect: Arc<dyn Dialect> = Arc::new(Ptk::default());
//!
//! let grammar = Gbnf::of_reply(&tools, &dialect).unwrap();
//! assert!(grammar.outside().is_empty());
//! assert!(grammar.to_string().starts_with("root ::= "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// The examples of `docs/grammar.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/grammar.md")]
struct Page;

#[cfg(any(test, feature = "invariants"))]
mod accepts;
mod arguments;
mod call_schema;
mod lark;
mod number;
mod part;
mod reply;
mod rules;
#[cfg(any(test, feature = "invariants"))]
mod sample;
mod shape;
mod structural_tag;
mod text;
mod write;

use std::sync::Arc;

pub use call_schema::call_schema;
pub use part::{Class, Part, Rule};
use rules::Rules;
use shape::{Several, Shape};

use crate::dialects::Dialect;
use crate::{ToolSpec, Toolset};

/// The most bytes that a grammar of calls takes when it is written.
pub const MAX_SIZE: usize = 1024 * 1024;

/// How many of these bytes are for arguments. Where a schema would take more,
/// any value fits.
const MAX_ARGUMENTS: usize = MAX_SIZE / 4 * 3;

/// A grammar, whose first rule stands for the whole text.
///
/// It is written as GBNF by its `Display`, as a structural tag by
/// [`structural_tag`](Self::structural_tag), and as Lark by [`lark`](Self::lark).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gbnf {
    rules: Vec<Rule>,
    outside: Vec<Outside>,
    shape: Shape,
}

/// A limit of a tool's schema that the grammar does not keep.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Outside {
    /// The name of the tool.
    pub tool: String,
    /// The position in its schema, as a JSON Pointer.
    pub path: String,
    /// The keyword; `size` and `depth` where the schema is too large or deep,
    /// `name` where the dialect cannot write the tool's name, and `false` where
    /// nothing fits the schema. Of the last two no call can be written, so the
    /// tool is left out.
    pub keyword: String,
}

impl std::fmt::Display for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: `{}` at {}", self.tool, self.keyword, self.path)
    }
}

impl Gbnf {
    /// Creates a grammar of a tool's arguments, as a JSON object.
    ///
    /// ```
    /// use ptk_protocol::ToolSpec;
    /// use ptk_protocol::gbnf::Gbnf;
    /// use serde_json::json;
    ///
    /// let tool = ToolSpec::new("wait", "Wait for so many seconds", json!({
    ///     "type": "object",
    ///     "properties": {"seconds": {"type": "integer", "minimum": 0, "maximum": 59}},
    ///     "required": ["seconds"],
    /// }));
    /// let grammar = Gbnf::of_arguments(&tool).to_string();
    /// assert!(grammar.contains(r#"wait-seconds ::= [0-9] | [1-5] [0-9]"#), "{grammar}");
    /// ```
    #[must_use]
    pub fn of_arguments(spec: &ToolSpec) -> Self {
        let mut rules = Rules::default();
        let mut outside = Vec::new();
        let args =
            arguments::ArgumentRules::new(&mut rules, &mut outside, spec, MAX_ARGUMENTS).object();
        let fruitful = rules.fruitful();
        let fits = matches!(args, Part::Rule(index) if fruitful.get(index) == Some(&true));
        let args = if fits {
            args
        } else {
            outside.push(Outside {
                tool: spec.name.clone(),
                path: String::new(),
                keyword: "false".to_owned(),
            });
            rules.object()
        };
        Self::finished(rules, args, Shape::default(), outside)
    }

    /// Creates a grammar of one call of one of the tools, in a dialect. `None`
    /// if the dialect writes arguments otherwise than as one JSON object, if
    /// there is no tool to call, or if the calls of so many take more than
    /// [`MAX_SIZE`].
    #[must_use]
    pub fn of_call(tools: &Toolset, dialect: &Arc<dyn Dialect>) -> Option<Self> {
        let calls = reply::calls(tools, dialect)?;
        let shape = Shape {
            several: Several::None,
            ..calls.shape
        };
        let (rules, one) = (calls.rules, calls.one);
        Some(Self::finished(rules, one, shape, calls.outside))
    }

    /// Creates a grammar of a reply: words, or calls in a dialect with words
    /// before them, as the model chooses. No mark of the dialect stands in the
    /// words. `None` where there is no such grammar: if the dialect writes
    /// arguments otherwise than as one JSON object, or its calls without marks,
    /// or if the calls of so many tools take more than [`MAX_SIZE`].
    ///
    /// The reply is to be read with the dialect
    /// [alone](crate::GrammarBuilder::alone).
    #[must_use]
    pub fn of_reply(tools: &Toolset, dialect: &Arc<dyn Dialect>) -> Option<Self> {
        reply::reply(tools, dialect)
    }

    /// The grammar with this root.
    fn finished(rules: Rules, root: Part, shape: Shape, outside: Vec<Outside>) -> Self {
        let (rules, shape) = rules.finish(root, shape);
        Self {
            rules,
            outside,
            shape,
        }
    }

    /// The rules. The first one is the root.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The limits of the schemas that the grammar does not keep, so that a call
    /// may still be rejected for them.
    #[must_use]
    pub fn outside(&self) -> &[Outside] {
        &self.outside
    }
}
