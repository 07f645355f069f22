//! The search for tools that the prompt only lists, and what it found in a
//! conversation. That follows from the log alone: from the results of searches,
//! and from calls of tools that were not searched for.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptk_llm::Message;
use ptk_model::{DEFINITIONS, DeferredTools, ToolPrompt};
use ptk_protocol::{Arguments, ToolResult, ToolSpec, Toolset};
use ptk_store::{CallEnded, Content, EntryKind, Item};
use ptk_tools::{
    CallContext, CallOutcome, DEFAULT_LIMIT, Effects, Fields, ResultLimit, Tool, ToolError, preview,
};
use serde_json::{Value, json};

use crate::Session;
use crate::engine::TurnConfig;
use crate::render::Renderer;

/// The key in the state of a call: all tools that were found or called until
/// then, in that order.
const FOUND: &str = "found_tools";
/// The heading of definitions whose results were left out.
const RECALLED: &str = "Tools that you have found or called before, and their definitions:";

/// The search for tools, as a tool.
pub(crate) struct FindTools {
    spec: ToolSpec,
    deferred: Arc<DeferredTools>,
    prompt: Arc<ToolPrompt>,
    limit: ResultLimit,
}

impl FindTools {
    /// The search of a model that is asked with this configuration; `None` if it
    /// has none. Its results stay within the limit.
    pub(crate) fn of(config: &TurnConfig, limit: &ResultLimit) -> Option<Arc<Self>> {
        let deferred = Arc::clone(config.prompt.deferred.as_ref()?);
        Some(Arc::new(Self {
            spec: deferred.search()?.clone(),
            deferred,
            prompt: Arc::clone(&config.prompt),
            limit: limit.clone(),
        }))
    }

    /// The result with the best of these tools, as many as fit.
    fn result(&self, args: &Arguments, mut found: Toolset) -> ToolResult {
        let formatter = (!self.prompt.is_native).then_some(&*self.prompt.formatter);
        loop {
            let result = self.deferred.result(args, &found, formatter);
            let is_short = result.payload_json().len() <= DEFAULT_LIMIT;
            if found.len() <= 1 || is_short && self.limit.fits(&result.fields) {
                return result;
            }
            let names: Vec<&str> = found.names().take(found.len() - 1).collect();
            found = found.named(names);
        }
    }
}

impl Tool for FindTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effects(&self) -> Effects {
        Effects::NONE
    }

    fn has_plan(&self) -> bool {
        false
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        async move {
            let found = self.deferred.find_for(&args);
            Ok(self.result(&args, found).fields)
        }
        .boxed()
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        let names = DeferredTools::names_in(result);
        if names.is_empty() {
            return preview::of(result, max_lines);
        }
        vec![names.join(", ")]
    }
}

/// The state of a call that has ended, if it was a search: all tools that are
/// known by now.
pub(crate) fn state_of(
    config: &TurnConfig,
    known: &[String],
    ended: &CallOutcome,
) -> Option<Value> {
    if !config.prompt.is_search(&ended.tool) {
        return None;
    }
    let mut known = known.to_vec();
    for name in DeferredTools::names_in(&ended.result) {
        add(&mut known, name);
    }
    Some(json!({ FOUND: known }))
}

/// The definition of a tool, for the error of a call that was made without it.
pub(crate) fn definition(config: &TurnConfig, name: &str) -> Fields {
    let tool = config.prompt.tools.named([name]);
    let definitions = if config.prompt.is_native {
        let parameters = tool.iter().map(|spec| spec.parameters.clone());
        parameters.collect()
    } else {
        config.prompt.formatter.tool_definitions(&tool).into()
    };
    Fields::from_iter([(DEFINITIONS.to_owned(), definitions)])
}

/// Whether this is the end of a search for tools.
pub(crate) fn is_search(ended: &CallEnded) -> bool {
    ended
        .state
        .as_ref()
        .is_some_and(|it| it.get(FOUND).is_some())
}

/// Adds the tools that an entry of the log makes known.
pub(crate) fn absorb(known: &mut Vec<String>, kind: &EntryKind) {
    match kind {
        EntryKind::CallEnded(ended) => {
            let all = ended.state.as_ref().and_then(|state| state.get(FOUND));
            match all.and_then(Value::as_array) {
                Some(all) => {
                    let all = all.iter().filter_map(Value::as_str);
                    *known = all.map(str::to_owned).collect();
                }
                None => add(known, ended.tool.clone()),
            }
        }
        EntryKind::Cleared(_) => known.clear(),
        _ => {}
    }
}

fn add(known: &mut Vec<String>, name: String) {
    if !known.contains(&name) {
        known.push(name);
    }
}

/// Definitions of tools that the model knows of, and whose definitions are in
/// none of these items: the results with them were left out. `None` where a
/// request has them anyway.
pub(crate) fn recalled(renderer: &Renderer<'_>, items: &[Item]) -> Option<Message> {
    let prompt = &renderer.config().prompt;
    let deferred = prompt.deferred.as_ref().filter(|_| !prompt.is_native)?;
    let replies = items.iter().filter_map(|item| match &item.content {
        Content::Reply(reply) => Some(&reply.calls),
        _ => None,
    });
    let mut shown: HashSet<String> = HashSet::new();
    for call in replies.flatten() {
        shown.insert(call.name.clone());
        let result = call.result();
        if result.fields.contains_key(DEFINITIONS) {
            shown.extend(DeferredTools::names_in(&result));
        }
    }
    let is_missing =
        |spec: &ToolSpec| deferred.tools().contains(&spec.name) && !shown.contains(&spec.name);
    let missing = prompt.defined.filtered(is_missing);
    if missing.is_empty() {
        return None;
    }
    let definitions = prompt.formatter.tool_definitions(&missing);
    Some(renderer.note(&format!("{RECALLED}\n{definitions}")))
}

impl Session {
    /// The configuration with the tools that were found until now.
    pub(crate) fn with_found(&self, config: TurnConfig) -> TurnConfig {
        if config.lacks(&self.log.found) {
            return config.with_found(&self.log.found);
        }
        config
    }
}
