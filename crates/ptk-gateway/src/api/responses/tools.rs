//! The tools of the responses API: functions and tools that take a text, alone
//! or in namespaces, and the search for those that are deferred.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ptk_llm::qualified_name;
use ptk_model::DeferredTools;
use ptk_protocol::{ToolSpec, Toolset};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::request::INPUT;
use crate::failure::Failure;
use crate::fields;
use crate::gateway::Inner;
use crate::offer::{FoundBy, Offer};
use crate::response::Note;

/// The name of the search that the client runs, for the model.
const CLIENT_SEARCH: &str = "tool_search";
/// What the model is told of it, if the client tells nothing.
const SEARCH_ABOUT: &str = "Search for tools whose definitions are not shown. Those that are found can be called from then on.";

/// The tools of a request, those among its items included.
#[derive(Default)]
pub(super) struct Tools<'r> {
    /// Each with whether its schema is enforced.
    all: Vec<(ToolSpec, bool)>,
    /// Those that are to be searched for.
    deferred: Vec<String>,
    /// Those that results of searches brought along.
    loaded: Vec<String>,
    search: Option<Search>,
    pub(super) names: ToolNames,
    pub(super) notes: Vec<Note>,
    /// The text of the tools of the request, and of those among its items.
    text: &'r str,
    more: String,
}

/// The search for deferred tools.
struct Search {
    is_client: bool,
    about: Option<String>,
    parameters: Option<Value>,
}

/// How the tools of a request are called in items.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolNames {
    /// Those that take a text.
    pub(super) custom: Vec<String>,
    /// Those in namespaces: the namespace, and the name in it.
    grouped: HashMap<String, (String, String)>,
    /// What namespaces are about.
    about: HashMap<String, String>,
    /// The search that the client runs.
    pub(super) client_search: Option<&'static str>,
}

#[derive(Deserialize)]
struct ToolField {
    #[serde(rename = "type", default)]
    kind: String,
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    strict: Option<bool>,
    /// For tools that take a text: its format.
    #[serde(default)]
    format: Option<Value>,
    /// For a namespace: the tools in it.
    #[serde(default)]
    tools: Vec<ToolField>,
    #[serde(default)]
    defer_loading: Option<bool>,
    /// For the search for tools: whether the client runs it.
    #[serde(default)]
    execution: Option<String>,
}

impl<'r> Tools<'r> {
    /// Reads the tools of a request.
    pub(super) fn read(raw: Option<&'r RawValue>) -> Result<Self, Failure> {
        let mut tools = Self::default();
        let Some(raw) = raw else {
            return Ok(tools);
        };
        tools.text = raw.get();
        let fields: Vec<ToolField> = fields::read("tools", raw)?;
        for (at, field) in fields.into_iter().enumerate() {
            tools.take(&format!("tools[{at}]"), field, None, None)?;
        }
        Ok(tools)
    }

    /// Adds the tools of an item, which are known from there on, and returns
    /// their names.
    pub(super) fn load(&mut self, at: &str, raw: &RawValue) -> Result<Vec<String>, Failure> {
        self.more.push_str(raw.get());
        let fields: Vec<ToolField> = fields::read(at, raw)?;
        let mut names = Vec::new();
        for field in fields {
            self.take(at, field, None, Some(&mut names))?;
        }
        self.loaded.extend(names.iter().cloned());
        Ok(names)
    }

    /// Adds the tools of an item, which count as those of the request.
    pub(super) fn add(&mut self, at: &str, raw: &RawValue) -> Result<(), Failure> {
        self.more.push_str(raw.get());
        for field in fields::read::<Vec<ToolField>>(at, raw)? {
            self.take(at, field, None, Some(&mut Vec::new()))?;
        }
        Ok(())
    }

    /// Adds a tool. One of an item that is known by its name stays as it is;
    /// `names` are those of an item.
    fn take(
        &mut self,
        at: &str,
        field: ToolField,
        namespace: Option<&str>,
        mut names: Option<&mut Vec<String>>,
    ) -> Result<(), Failure> {
        let missing = || Failure::invalid(format!("{at}.name"), "A tool has no name");
        match field.kind.as_str() {
            "namespace" => {
                let namespace = field.name.ok_or_else(missing)?;
                let about = field.description.unwrap_or_default();
                self.names.about.insert(namespace.clone(), about);
                for (inner, field) in field.tools.into_iter().enumerate() {
                    let at = format!("{at}.tools[{inner}]");
                    self.take(&at, field, Some(&namespace), names.as_deref_mut())?;
                }
                return Ok(());
            }
            "tool_search" => {
                self.search = Some(Search {
                    is_client: field.execution.as_deref() == Some("client"),
                    about: field.description,
                    parameters: field.parameters.filter(Value::is_object),
                });
                return Ok(());
            }
            "function" | "" | "custom" => {}
            kind => {
                self.notes.push(Note::new(
                    "tool_left_out",
                    format!("The tool `{kind}` is run by OpenAI's own servers, and is not offered to the model here"),
                ));
                return Ok(());
            }
        }
        let own = field.name.ok_or_else(missing)?;
        let name = match namespace {
            Some(namespace) => qualified_name(namespace, &own),
            None => own.clone(),
        };
        if let Some(names) = names {
            names.push(name.clone());
            if self.all.iter().any(|(tool, _)| tool.name == name) {
                return Ok(());
            }
        }
        if let Some(namespace) = namespace {
            let grouped = (namespace.to_owned(), own);
            self.names.grouped.insert(name.clone(), grouped);
        }
        if field.defer_loading == Some(true) {
            self.deferred.push(name.clone());
        }
        let is_strict = field.strict == Some(true);
        let spec = if field.kind == "custom" {
            self.names.custom.push(name.clone());
            free_form(name, field.description, field.format.as_ref())
        } else {
            let parameters = field.parameters.filter(Value::is_object);
            let parameters =
                parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
            ToolSpec::new(name, field.description.unwrap_or_default(), parameters)
        };
        self.all.push((spec, is_strict));
        Ok(())
    }

    /// The name under which the model calls a tool that an item names.
    pub(super) fn called(namespace: Option<&str>, name: &str) -> String {
        namespace.map_or_else(|| name.to_owned(), |it| qualified_name(it, name))
    }

    /// The name under which the model searches for tools.
    pub(super) fn search_name(&self) -> &'static str {
        if self.search.as_ref().is_some_and(|search| search.is_client) {
            return CLIENT_SEARCH;
        }
        let is_taken = |name: &str| self.all.iter().any(|(tool, _)| tool.name == name);
        DeferredTools::search_name(is_taken).unwrap_or(CLIENT_SEARCH)
    }

    /// The offer of these tools.
    pub(super) fn offer(&mut self, gateway: &Inner) -> Result<Arc<Offer>, Failure> {
        let mut tools = std::mem::take(&mut self.all);
        let mut found_by = FoundBy::Client;
        let mut deferred = std::mem::take(&mut self.deferred);
        match self.search.take() {
            Some(search) if search.is_client => {
                self.names.client_search = Some(CLIENT_SEARCH);
                let about = search.about.unwrap_or_else(|| SEARCH_ABOUT.to_owned());
                let parameters = search.parameters.unwrap_or_else(search_parameters);
                let spec = ToolSpec::new(CLIENT_SEARCH, about, parameters);
                tools.push((spec, false));
            }
            Some(_) => found_by = FoundBy::Gateway,
            // What cannot be found is not hidden.
            None => deferred.clear(),
        }
        deferred.append(&mut self.loaded);
        let text = if self.more.is_empty() {
            Cow::Borrowed(self.text)
        } else {
            Cow::Owned(format!("{}{}", self.text, self.more))
        };
        gateway.offers.get("responses", &text, || {
            Offer::new(tools)?.deferring(&deferred, found_by)
        })
    }
}

/// The parameters of a search that the client runs, if it tells none.
fn search_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What the tool is needed for"}},
        "required": ["query"],
    })
}

/// A tool that takes a text.
fn free_form(name: String, description: Option<String>, format: Option<&Value>) -> ToolSpec {
    let grammar = format.and_then(|format| format.get("definition")?.as_str());
    let about = grammar.map_or_else(
        || "The whole input, as a text".to_owned(),
        |grammar| format!("The whole input, as a text by this grammar:\n{grammar}"),
    );
    let parameters = json!({
        "type": "object",
        "properties": {INPUT: {"type": "string", "description": about}},
        "required": [INPUT],
    });
    ToolSpec::new(name, description.unwrap_or_default(), parameters)
}

impl ToolNames {
    /// The namespace of a tool, if it is in one, and its name there.
    pub(super) fn in_items<'n>(&'n self, name: &'n str) -> (Option<&'n str>, &'n str) {
        match self.grouped.get(name) {
            Some((namespace, own)) => (Some(namespace), own),
            None => (None, name),
        }
    }

    /// The name for the model of a tool that a choice names.
    pub(super) fn chosen(&self, name: String) -> String {
        if self.grouped.contains_key(&name) {
            return name;
        }
        let mut grouped = self.grouped.iter();
        let it = grouped.find(|(_, (_, own))| *own == name);
        it.map_or(name, |(qualified, _)| qualified.clone())
    }

    /// The definitions of tools in the result of a search.
    pub(super) fn definitions(&self, found: &Toolset) -> Vec<Value> {
        let mut definitions: Vec<Value> = Vec::new();
        for tool in found.iter() {
            let (namespace, own) = self.in_items(&tool.name);
            let definition = self.definition(tool, own);
            let Some(namespace) = namespace else {
                definitions.push(definition);
                continue;
            };
            let known = definitions.iter_mut().find(|group| {
                group.get("name").and_then(Value::as_str) == Some(namespace)
                    && group.get("tools").is_some()
            });
            match known.and_then(|group| group.get_mut("tools")?.as_array_mut()) {
                Some(tools) => tools.push(definition),
                None => definitions.push(json!({
                    "type": "namespace",
                    "name": namespace,
                    "description": self.about.get(namespace),
                    "tools": [definition],
                })),
            }
        }
        definitions
    }

    fn definition(&self, tool: &ToolSpec, own: &str) -> Value {
        if self.custom.contains(&tool.name) {
            return json!({"type": "custom", "name": own, "description": tool.description, "defer_loading": true});
        }
        json!({
            "type": "function",
            "name": own,
            "description": tool.description,
            "parameters": tool.parameters,
            "defer_loading": true,
        })
    }

    /// Adds the name of a tool to an item.
    pub(super) fn name(&self, name: &str, item: &mut Map<String, Value>) {
        let (namespace, own) = self.in_items(name);
        item.insert("name".to_owned(), own.into());
        if let Some(namespace) = namespace {
            item.insert("namespace".to_owned(), namespace.into());
        }
    }
}
