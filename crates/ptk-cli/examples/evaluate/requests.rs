//! The format of the requests, as `evals/README.md` describes it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The arguments of a call, or a table of the right ones.
pub(crate) type Arguments = Map<String, Value>;

/// A request, with what is expected of a run.
#[derive(Debug, Deserialize)]
#[serde(try_from = "RawRequest")]
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) language: String,
    /// The folder below `workspaces/`.
    pub(crate) workspace: String,
    pub(crate) ask: String,
    pub(crate) expected: Expected,
    /// The final answer must contain all strings of one of these lists.
    pub(crate) answer: Vec<Vec<String>>,
    /// The final answer must contain none of these strings.
    pub(crate) answer_not: Vec<String>,
    /// The files that must exist afterwards.
    pub(crate) writes: Vec<WrittenFile>,
}

/// What a request requires. Results are counted by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Single,
    Chain,
    Parallel,
    None,
    Trap,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Chain => "chain",
            Self::Parallel => "parallel",
            Self::None => "none",
            Self::Trap => "trap",
        }
    }
}

/// The calls that answer a request.
#[derive(Debug)]
pub(crate) enum Expected {
    NoCall,
    Steps { steps: Vec<Step>, order: Order },
}

/// Whether the steps have an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    InOrder,
    Any,
}

/// A required call, with its alternatives.
#[derive(Debug, Deserialize)]
#[serde(try_from = "RawStep")]
pub(crate) struct Step {
    pub(crate) alternatives: Vec<Alternative>,
    /// A good first step, but not required.
    pub(crate) is_optional: bool,
}

/// A tool, and its right calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Alternative {
    pub(crate) tool: String,
    /// The right arguments: one of these tables must match.
    #[serde(default)]
    pub(crate) calls: Vec<Arguments>,
    /// Strings that the result of a right call contains, whatever its
    /// arguments.
    #[serde(default)]
    pub(crate) gives: Vec<String>,
}

/// A file that must exist after the run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenFile {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// Reads a file of requests.
pub(crate) fn read(file: &Path) -> Result<Vec<Request>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let requests = toml::from_str::<RawFile>(&text);
    Ok(requests
        .with_context(|| file.display().to_string())?
        .request)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    request: Vec<Request>,
}

/// A request as it is written: with `steps`, or with the fields of a single
/// step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRequest {
    id: String,
    kind: Kind,
    language: String,
    workspace: String,
    ask: String,
    tool: Option<String>,
    #[serde(default)]
    calls: Vec<Arguments>,
    #[serde(default)]
    gives: Vec<String>,
    #[serde(default)]
    also: Vec<Alternative>,
    #[serde(default)]
    steps: Vec<Step>,
    order: Option<Order>,
    answer: Vec<Vec<String>>,
    #[serde(default)]
    answer_not: Vec<String>,
    #[serde(default)]
    writes: Vec<WrittenFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    tool: String,
    #[serde(default)]
    calls: Vec<Arguments>,
    #[serde(default)]
    gives: Vec<String>,
    #[serde(default)]
    also: Vec<Alternative>,
    #[serde(default)]
    optional: bool,
}

impl TryFrom<RawRequest> for Request {
    type Error = String;

    fn try_from(raw: RawRequest) -> Result<Self, String> {
        let has_call_fields =
            !(raw.calls.is_empty() && raw.gives.is_empty() && raw.also.is_empty());
        let expected = match (raw.tool, raw.order) {
            (Some(tool), None) if tool == "none" => {
                if has_call_fields || !raw.steps.is_empty() || !raw.writes.is_empty() {
                    let id = raw.id;
                    return Err(format!("{id}: `tool` is \"none\", but calls are described"));
                }
                Expected::NoCall
            }
            (Some(tool), None) if raw.steps.is_empty() => {
                let step = Step::try_from(RawStep {
                    tool,
                    calls: raw.calls,
                    gives: raw.gives,
                    also: raw.also,
                    optional: false,
                });
                Expected::Steps {
                    steps: vec![step.map_err(|reason| format!("{}: {reason}", raw.id))?],
                    order: Order::InOrder,
                }
            }
            (None, Some(order)) if !has_call_fields => {
                let is_whole = raw.steps.last().is_some_and(|step| !step.is_optional);
                if raw.steps.len() < 2 || !is_whole {
                    let id = raw.id;
                    return Err(format!(
                        "{id}: `steps` needs two steps or more, and the last one is not optional"
                    ));
                }
                Expected::Steps {
                    steps: raw.steps,
                    order,
                }
            }
            _ => {
                let id = raw.id;
                return Err(format!(
                    "{id}: needs either `tool`, or `steps` together with `order`"
                ));
            }
        };
        Ok(Self {
            id: raw.id,
            kind: raw.kind,
            language: raw.language,
            workspace: raw.workspace,
            ask: raw.ask,
            expected,
            answer: raw.answer,
            answer_not: raw.answer_not,
            writes: raw.writes,
        })
    }
}

impl TryFrom<RawStep> for Step {
    type Error = String;

    fn try_from(raw: RawStep) -> Result<Self, String> {
        let own = Alternative {
            tool: raw.tool,
            calls: raw.calls,
            gives: raw.gives,
        };
        let mut alternatives = vec![own];
        alternatives.extend(raw.also);
        let is_empty = |it: &&Alternative| it.calls.is_empty() && it.gives.is_empty();
        if let Some(Alternative { tool, .. }) = alternatives.iter().find(is_empty) {
            return Err(format!("{tool} has neither `calls` nor `gives`"));
        }
        Ok(Self {
            alternatives,
            is_optional: raw.optional,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const HEAD: &str = r#"
id = "t-chain-01"
kind = "chain"
language = "en"
workspace = "w"
ask = "?"
answer = []
"#;

    fn error(fields: &str) -> String {
        let text = format!("{HEAD}{fields}");
        toml::from_str::<Request>(&text).unwrap_err().to_string()
    }

    #[test]
    fn both_files_are_read_and_no_id_stands_in_them_twice() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/requests");
        let mut ids = BTreeSet::new();
        for name in ["tuning.toml", "held-out.toml"] {
            for request in read(&folder.join(name)).unwrap() {
                let workspace = folder.join("../workspaces").join(&request.workspace);
                assert!(workspace.is_dir(), "{}", request.id);
                assert!(request.id.contains(request.kind.name()), "{}", request.id);
                assert!(ids.insert(request.id.clone()), "{}", request.id);
            }
        }
        assert_eq!(ids.len(), 128);
    }

    #[test]
    fn a_request_that_cannot_be_judged_is_refused() {
        let cases = [
            ("", "either `tool`, or `steps`"),
            (
                "tool = \"glob\"\norder = \"any\"",
                "either `tool`, or `steps`",
            ),
            ("tool = \"glob\"", "neither `calls` nor `gives`"),
            ("tool = \"none\"\ngives = [\"a\"]", "calls are described"),
            (
                "order = \"any\"\nsteps = [{ tool = \"glob\", gives = [\"a\"] }]",
                "two steps or more",
            ),
            ("tool = \"none\"\nanswers = []", "unknown field"),
        ];
        for (fields, reason) in cases {
            let error = error(fields);
            assert!(error.contains(reason), "{fields}: {error}");
        }
    }
}
