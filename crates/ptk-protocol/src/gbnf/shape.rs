//! The shape of a reply: which of its parts are words and which are calls, for
//! notations that have more than rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Part;

/// The parts of a reply. Those that a grammar does not have are missing: a
/// grammar of arguments has none of them, one of a call only its calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// White space and reasoning, before everything else.
    pub(super) opening: Option<Part>,
    /// Words without calls.
    pub(super) answer: Option<Part>,
    /// The words before the calls.
    pub(super) lead: Option<Part>,
    /// A call of each tool.
    pub(super) calls: Vec<CallShape>,
    pub(super) several: Several,
    /// What the rules of free text stand for.
    pub(super) texts: BTreeMap<usize, FreeText>,
}

impl Shape {
    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        let words = [&mut self.opening, &mut self.answer, &mut self.lead];
        let calls = self.calls.iter_mut();
        let calls = calls.flat_map(|call| [&mut call.args, &mut call.reason]);
        words.into_iter().flatten().chain(calls)
    }
}

/// A call of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallShape {
    /// The name of the tool.
    pub(super) name: String,
    pub(super) frame: CallFrame,
    pub(super) args: Part,
    /// The model's reason behind the arguments, or nothing.
    pub(super) reason: Part,
}

/// The text that a dialect writes around the arguments of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallFrame {
    pub(super) before: String,
    /// The text between the arguments and the model's reason for the call,
    /// where the form has a place for it.
    pub(super) reason: Option<String>,
    pub(super) after: String,
}

/// How several calls follow each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Several {
    /// Only one call is allowed.
    #[default]
    None,
    /// Calls follow each other with this text between them.
    Each(String),
    /// Calls are in a list, with this text between the arguments of one and the
    /// next, for each tool.
    List(Vec<String>),
}

/// Text in which some beginnings of marks do not occur, in upper or lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FreeText {
    /// The beginnings, in lower case.
    pub(super) without: Arc<[String]>,
    pub(super) form: TextForm,
}

/// Which free text fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    /// Any, or none.
    Any,
    /// Whole lines, or none.
    Lines,
    /// Any that does not begin with white space.
    NotBlank,
}
