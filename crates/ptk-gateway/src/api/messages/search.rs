//! The search for tools in the words of Anthropic's API, where its servers run
//! it.

use ptk_protocol::Arguments;
use serde_json::{Map, Value, json};

use crate::response::ToolSearch;

/// The beginning of the types and names of both searches.
const NAME: &str = "tool_search_tool";
/// The beginning of the ids of calls that a server runs.
const ID: &str = "srvtoolu_";

/// How the client calls the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchTool {
    Words,
    /// A regular expression, in which the words of a query stand.
    Regex,
}

impl SearchTool {
    /// Whether this is the type or the name of a search.
    pub(super) fn is_name(name: &str) -> bool {
        name.starts_with(NAME)
    }

    /// The search among the tools of a request.
    pub(super) fn of(tools: Option<&str>) -> Self {
        match tools {
            Some(tools) if tools.contains("tool_search_tool_regex") => Self::Regex,
            _ => Self::Words,
        }
    }

    /// The input of a search, as clients know it.
    pub(super) fn input(self, args: &Arguments) -> Value {
        let mut input = args.as_map().clone();
        if self == Self::Regex
            && let Some(query) = input.remove("query")
        {
            input.insert("pattern".to_owned(), query);
        }
        Value::Object(input)
    }

    /// The arguments of a search in a conversation.
    pub(super) fn args(mut input: Map<String, Value>) -> Arguments {
        if let Some(pattern) = input.remove("pattern") {
            input.entry("query").or_insert(pattern);
        }
        Arguments::from(input)
    }

    /// The call of a search.
    pub(super) fn call(self, search: &ToolSearch, input: &Value) -> Value {
        let name = match self {
            Self::Words => "tool_search_tool_bm25",
            Self::Regex => "tool_search_tool_regex",
        };
        json!({
            "type": "server_tool_use",
            "id": format!("{ID}{}", search.id),
            "name": name,
            "input": input,
            "caller": {"type": "direct"},
        })
    }

    /// The result of a search.
    pub(super) fn result(search: &ToolSearch) -> Value {
        let references = search.found.names();
        let references =
            references.map(|name| json!({"type": "tool_reference", "tool_name": name}));
        json!({
            "type": "tool_search_tool_result",
            "tool_use_id": format!("{ID}{}", search.id),
            "content": {
                "type": "tool_search_tool_search_result",
                "tool_references": references.collect::<Vec<_>>(),
            },
        })
    }

    /// The id under which the model made the call.
    pub(super) fn id(id: &str) -> String {
        id.strip_prefix(ID).unwrap_or(id).to_owned()
    }
}
