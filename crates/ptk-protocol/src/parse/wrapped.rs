//! Arguments that stand inside an argument which the tool does not have, such as
//! `{"arguments": {"path": "a"}}`.

use serde_json::Value;

use crate::schema::Node;
use crate::{Arguments, ToolSpec};

/// Names under which models wrap arguments once more.
const WRAPPERS: [&str; 6] = [
    "arguments",
    "args",
    "input",
    "parameters",
    "params",
    "properties",
];

/// The arguments without what is wrapped around them. `None` if they are as the
/// tool takes them.
pub(super) fn unwrapped(args: &Arguments, tool: &ToolSpec) -> Option<Arguments> {
    let mut members = args.as_map().iter();
    let (Some((wrapper, Value::Object(inner))), None) = (members.next(), members.next()) else {
        return None;
    };
    let is_wrapper = WRAPPERS.contains(&wrapper.as_str()) && !is_declared(tool, wrapper);
    let is_meant = inner.is_empty() || inner.keys().any(|name| is_declared(tool, name));
    if !is_wrapper || !is_meant {
        return None;
    }
    let Node::Object(entries) = args.to_node() else {
        return None;
    };
    let (_, inner) = entries.into_iter().next()?;
    Arguments::from_json(&inner.to_json()).ok()
}

fn is_declared(tool: &ToolSpec, name: &str) -> bool {
    tool.properties()
        .is_some_and(|properties| properties.contains_key(name))
}

/// Holds arguments back while they may turn out to be wrapped.
#[derive(Debug, Default)]
pub(super) enum Withheld {
    /// The arguments so far, which may still be of any kind.
    Undecided(String),
    /// The arguments so far, which begin with a wrapper.
    Wrapped(String),
    #[default]
    Nothing,
}

impl Withheld {
    /// The state at the beginning of a call of this tool.
    pub(super) fn of(tool: Option<&ToolSpec>) -> Self {
        tool.map_or(Self::Nothing, |_| Self::Undecided(String::new()))
    }

    /// Takes the next part of the arguments, unless it can be passed on as it
    /// is. What was withheld before and this part are then in `ready`.
    pub(super) fn take(&mut self, json: &str, tool: &ToolSpec) -> Taken {
        match self {
            Self::Nothing => Taken::Passed,
            Self::Wrapped(withheld) => {
                withheld.push_str(json);
                Taken::Withheld
            }
            Self::Undecided(withheld) => {
                let is_first = withheld.is_empty();
                let begins = if is_first {
                    begins_wrapped(json, tool)
                } else {
                    withheld.push_str(json);
                    begins_wrapped(withheld, tool)
                };
                if is_first && begins != Some(false) {
                    withheld.push_str(json);
                }
                let withheld = std::mem::take(withheld);
                match begins {
                    None => *self = Self::Undecided(withheld),
                    Some(true) => *self = Self::Wrapped(withheld),
                    Some(false) => {
                        *self = Self::Nothing;
                        return if is_first {
                            Taken::Passed
                        } else {
                            Taken::Ready(withheld)
                        };
                    }
                }
                Taken::Withheld
            }
        }
    }

    /// What is withheld at the end of the call.
    pub(super) fn rest(&mut self) -> Option<String> {
        match std::mem::take(self) {
            Self::Undecided(rest) | Self::Wrapped(rest) => Some(rest).filter(|it| !it.is_empty()),
            Self::Nothing => None,
        }
    }
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

/// Whether arguments begin with a wrapper. `None` if more text is needed.
fn begins_wrapped(json: &str, tool: &ToolSpec) -> Option<bool> {
    let rest = json.trim_start();
    let Some(rest) = rest.strip_prefix('{') else {
        return if rest.is_empty() { None } else { Some(false) };
    };
    let rest = rest.trim_start();
    let Some(key) = rest.strip_prefix('"') else {
        return if rest.is_empty() { None } else { Some(false) };
    };
    match key.split_once('"') {
        Some((key, _)) => Some(WRAPPERS.contains(&key) && !is_declared(tool, key)),
        None if WRAPPERS.iter().any(|wrapper| wrapper.starts_with(key)) => None,
        None => Some(false),
    }
}
