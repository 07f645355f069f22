//! Tools that the model searches for: where there are many, most of them are
//! only listed in the prompt, and their definitions come with the result of a
//! search.
//!
//! | Module | Purpose |
//! |---|---|
//! | `index`, `words` | which tools fit a query |
//! | `listing` | what the prompt says of tools that are not defined in it |
//! | `policy` | which tools are deferred, and when |

mod index;
mod listing;
mod policy;
mod words;

use std::sync::OnceLock;

use ptk_protocol::{Arguments, Formatter, ToolResult, ToolSpec, Toolset};
use serde_json::{Value, json};

use self::index::ToolIndex;
use crate::TokenCounter;

pub use self::policy::{DeferPolicy, DeferTools};

/// The names that the search can have: the first that no other tool has. An
/// earlier search may have had any of them.
const NAMES: [&str; 2] = ["find_tools", "find_more_tools"];
/// Stands between the name of a server and that of its tool.
const PREFIX: &str = "__";
/// How many tools a search returns, and at most.
const FOUND: usize = 5;
const MAX_FOUND: usize = 20;
/// The most characters of a query that a result repeats.
const MAX_QUOTED: usize = 80;

/// The field of a search's result with the names of the tools.
const FOUND_FIELD: &str = "found";
/// The field of a result with definitions of tools.
pub const DEFINITIONS: &str = "definitions";

/// Tools that are listed in the prompt without their definitions, and the
/// search for them.
///
/// ```
/// use ptk_model::{DeferredTools, Estimate};
/// use ptk_protocol::{ToolSpec, Toolset};
/// use serde_json::json;
///
/// let tool = |name: &str, about: &str| ToolSpec::new(name, about, json!({"type": "object"}));
/// let tools = Toolset::new([
///     tool("mail__send_message", "Send an e-mail"),
///     tool("calendar__create_event", "Create an event in a calendar"),
/// ])?;
/// let deferred = DeferredTools::new(tools, "find_tools", 200, &Estimate);
/// let found = deferred.find("add an event", 5);
/// assert_eq!(found.names().collect::<Vec<_>>(), ["calendar__create_event"]);
/// # Ok::<(), ptk_protocol::ToolsetError>(())
/// ```
#[derive(Debug)]
pub struct DeferredTools {
    tools: Toolset,
    search: Option<ToolSpec>,
    listing: String,
    index: OnceLock<ToolIndex>,
}

impl DeferredTools {
    /// Defers these tools. The search for them is a tool of this name, and the
    /// list of them takes about `budget` tokens at most.
    #[must_use]
    pub fn new(tools: Toolset, name: &str, budget: u64, tokens: &dyn TokenCounter) -> Self {
        let search = search_tool(name);
        let list = listing::list(&tools, budget, tokens);
        let listing = format!(
            "There are {} more tools, whose definitions are not shown here. To use one, call {name} first: it returns the definitions of the tools that fit, and those can be called from then on.\n{list}",
            tools.len()
        );
        Self {
            tools,
            search: Some(search),
            listing,
            index: OnceLock::new(),
        }
    }

    /// Defers these tools without a search and a list: the model learns of them
    /// in another way.
    #[must_use]
    pub fn hidden(tools: Toolset) -> Self {
        Self {
            tools,
            search: None,
            listing: String::new(),
            index: OnceLock::new(),
        }
    }

    /// The tools, in the order in which they were given.
    #[must_use]
    pub fn tools(&self) -> &Toolset {
        &self.tools
    }

    /// The definition of the search, if there is one.
    #[must_use]
    pub fn search(&self) -> Option<&ToolSpec> {
        self.search.as_ref()
    }

    /// Whether this is the name of the search.
    #[must_use]
    pub fn is_search(&self, name: &str) -> bool {
        self.search.as_ref().is_some_and(|spec| spec.name == name)
    }

    /// The name for a search, unless all of those that it can have are taken by
    /// other tools.
    #[must_use]
    pub fn search_name(is_taken: impl Fn(&str) -> bool) -> Option<&'static str> {
        NAMES.into_iter().find(|name| !is_taken(name))
    }

    /// The list of the tools, for the prompt. Names and descriptions come from
    /// other programs: marks of calls in them are not broken yet.
    #[must_use]
    pub fn listing(&self) -> &str {
        &self.listing
    }

    /// The tools that fit a query, the best first.
    #[must_use]
    pub fn find(&self, query: &str, limit: usize) -> Toolset {
        let index = self.index.get_or_init(|| ToolIndex::new(&self.tools));
        let names: Vec<&str> = self.tools.names().collect();
        let found = index.search(query).into_iter().take(limit);
        self.tools
            .named(found.filter_map(|at| names.get(at).copied()))
    }

    /// The tools that a call of the search finds.
    #[must_use]
    pub fn find_for(&self, args: &Arguments) -> Toolset {
        let limit = args.get("limit").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(FOUND).clamp(1, MAX_FOUND);
        self.find(query_of(args), limit)
    }

    /// The result of a call of the search that found these tools, as a model
    /// is shown it. If `formatter` is given, it has their definitions; a model
    /// that calls tools natively gets them with the tools of the next request.
    #[must_use]
    pub fn result(
        &self,
        args: &Arguments,
        found: &Toolset,
        formatter: Option<&dyn Formatter>,
    ) -> ToolResult {
        if found.is_empty() {
            let query = query_of(args);
            let notice = if query.trim().is_empty() {
                "The query is empty: say what a tool is needed for".to_owned()
            } else {
                let query: String = query.chars().take(MAX_QUOTED).collect();
                format!("No tool fits {query:?}; try other words")
            };
            return ToolResult::success([
                (FOUND_FIELD, json!([])),
                ("count", json!(0)),
                ("notice", notice.into()),
                ("groups", listing::told(&self.tools).into()),
            ]);
        }
        match formatter {
            Some(formatter) => Self::defined(found, formatter),
            None => ToolResult::success([
                (FOUND_FIELD, found.names().collect()),
                ("notice", json!("These tools can be called now.")),
            ]),
        }
    }

    /// The result of a search that found these tools, with their definitions.
    #[must_use]
    pub fn defined(found: &Toolset, formatter: &dyn Formatter) -> ToolResult {
        ToolResult::success([
            (FOUND_FIELD, found.names().collect()),
            (DEFINITIONS, formatter.tool_definitions(found).into()),
        ])
    }

    /// The names of the tools in a result of the search.
    #[must_use]
    pub fn names_in(result: &ToolResult) -> Vec<String> {
        let names = result.fields.get(FOUND_FIELD).and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }
}

fn query_of(args: &Arguments) -> &str {
    args.get("query")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn search_tool(name: &str) -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What the tool is needed for, in a few words, or its name",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_FOUND,
                "default": FOUND,
                "description": "How many tools to return at most",
            },
        },
        "required": ["query"],
    });
    let description = "Search for a tool among those whose definitions are not shown. Returns the definitions of the best matches, which can be called from then on.";
    ToolSpec::new(name, description, parameters).with_main_parameters(Some(1))
}
