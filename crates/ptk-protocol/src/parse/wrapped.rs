//! Arguments that stand inside an argument which the tool does not have, such as
//! `{"arguments": {"path": "a"}}`.

use serde_json::Value;

use crate::schema::{self, Node};
use crate::{Arguments, ToolSpec, Toolset};

/// Names under which models wrap arguments once more.
const WRAPPERS: [&str; 6] = [
    "arguments",
    "args",
    "input",
    "parameters",
    "params",
    "properties",
];

/// The name of the argument in which all others stand, and these; `None` if they
/// are meant as they stand. `is_refused`: whether the tool's schema refuses `args`
/// as they stand. What it allows stays as it is, unless it says nothing about
/// such arguments, and declares all of the inner ones.
pub(super) fn unwrapped(
    args: &Arguments,
    is_refused: bool,
    tool: &ToolSpec,
    tools: &Toolset,
) -> Option<(String, Arguments)> {
    let mut members = args.as_map().iter();
    let (Some((wrapper, value)), None) = (members.next(), members.next()) else {
        return None;
    };
    // Tags hold an object as a text.
    let text = match value {
        Value::Object(_) => None,
        Value::String(text) => Some(text),
        _ => return None,
    };
    if !is_wrapper(tool, wrapper) {
        return None;
    }
    let written = text.and_then(|text| Arguments::from_json(text).ok());
    let inner = match (value, &written) {
        (Value::Object(inner), _) => inner,
        (_, Some(written)) => written.as_map(),
        (_, None) => return None,
    };
    let is_silent = || !tool.schema().rules_others();
    let is_declared = |key: &String| tool.schema().declares(key);
    let may_unwrap =
        is_refused || (!inner.is_empty() && is_silent() && inner.keys().all(is_declared));
    if !may_unwrap {
        return None;
    }
    let (wrapper, mut inner) = if let Some(written) = written {
        (wrapper.clone(), written)
    } else {
        let Node::Object(entries) = args.to_node() else {
            return None;
        };
        let (wrapper, inner) = entries.into_iter().next()?;
        (wrapper, Arguments::from_json(&inner.to_json()).ok()?)
    };
    schema::faults(tools, &tool.name, &mut inner)
        .is_empty()
        .then_some((wrapper, inner))
}

/// Whether this is a key under which arguments are wrapped, and not one of the
/// tool's parameters.
fn is_wrapper(tool: &ToolSpec, key: &str) -> bool {
    WRAPPERS.contains(&key) && !tool.schema().declares(key)
}

/// Holds the arguments of a call back while they may turn out to be wrapped.
#[derive(Debug, Default)]
pub(super) enum Withheld {
    /// The arguments so far, which may still be of any kind.
    Undecided { json: String, first_key: FirstKey },
    /// The arguments so far, which begin with a wrapper.
    Wrapped(String),
    /// Nothing: the arguments are passed on as they come in.
    #[default]
    Nothing,
}

/// What became of a part of the arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It goes on as it is.
    Passed,
    /// It is withheld.
    Withheld,
    /// It goes on with what was withheld before it.
    Ready(String),
}

impl Withheld {
    /// The state at the beginning of a call of this tool.
    pub(super) fn of(tool: Option<&ToolSpec>) -> Self {
        tool.map_or(Self::Nothing, |_| Self::Undecided {
            json: String::new(),
            first_key: FirstKey::default(),
        })
    }

    /// Takes the next part of the arguments, unless it can be passed on.
    pub(super) fn take(&mut self, json: &str, tool: &ToolSpec) -> Taken {
        match self {
            Self::Nothing => Taken::Passed,
            Self::Wrapped(withheld) => {
                withheld.push_str(json);
                Taken::Withheld
            }
            Self::Undecided {
                json: withheld,
                first_key,
            } => {
                let is_first = withheld.is_empty();
                let is_wrapper = if is_first {
                    first_key.is_wrapper(json, tool)
                } else {
                    withheld.push_str(json);
                    first_key.is_wrapper(withheld, tool)
                };
                if is_first && is_wrapper == Some(false) {
                    *self = Self::Nothing;
                    return Taken::Passed;
                }
                if is_first {
                    withheld.push_str(json);
                }
                if let Some(is_wrapper) = is_wrapper {
                    let withheld = std::mem::take(withheld);
                    if !is_wrapper {
                        *self = Self::Nothing;
                        return Taken::Ready(withheld);
                    }
                    *self = Self::Wrapped(withheld);
                }
                Taken::Withheld
            }
        }
    }

    /// Whether nothing of the arguments was passed on, so that others may be
    /// delivered in their place.
    pub(super) fn has_all(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// What is withheld at the end of the call.
    pub(super) fn rest(&mut self) -> Option<String> {
        match std::mem::take(self) {
            Self::Undecided { json, .. } | Self::Wrapped(json) => {
                Some(json).filter(|json| !json.is_empty())
            }
            Self::Nothing => None,
        }
    }
}

/// How long a wrapper is at most, with every letter escaped.
const MAX_KEY: usize = 6 * "properties".len();

/// Looks for the first key of arguments that come in.
#[derive(Debug, Default)]
pub(super) struct FirstKey {
    /// Everything before this was examined: white space and the brace.
    examined: usize,
    is_in_object: bool,
}

impl FirstKey {
    /// Whether the first key of these arguments, which begin with all text given
    /// before, is a wrapper. `None` if more text is needed to decide.
    fn is_wrapper(&mut self, json: &str, tool: &ToolSpec) -> Option<bool> {
        loop {
            let rest = json.get(self.examined..).unwrap_or("");
            let visible = rest.trim_start();
            self.examined += rest.len() - visible.len();
            match visible.bytes().next()? {
                b'{' if !self.is_in_object => {
                    self.is_in_object = true;
                    self.examined += 1;
                }
                b'"' if self.is_in_object => return begins_with_wrapper(visible, tool),
                _ => return Some(false),
            }
        }
    }
}

/// Whether the JSON string that begins here is a wrapper. `None` if more text is
/// needed to decide.
fn begins_with_wrapper(json: &str, tool: &ToolSpec) -> Option<bool> {
    let key = json.get(1..).unwrap_or("");
    let mut is_escaped = false;
    let end = key.bytes().position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    match end {
        None if key.len() > MAX_KEY => Some(false),
        // What an escape stands for is known once the key has closed.
        None if key.contains('\\') => None,
        None if WRAPPERS.iter().any(|wrapper| wrapper.starts_with(key)) => None,
        None => Some(false),
        Some(end) => {
            let key: Result<String, _> = serde_json::from_str(json.get(..end + 2).unwrap_or(""));
            Some(key.is_ok_and(|key| is_wrapper(tool, &key)))
        }
    }
}
