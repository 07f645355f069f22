//! Text that a model must not write: results of tools, and other turns.
//!
//! A model that was shown a conversation may go on with it beyond its own reply,
//! and make up what a tool says. The reply ends where that begins. A mark that
//! is only named or quoted stays text: what counts is where it stands and what
//! follows it.

/// What a mark begins, and how it is distinguished from a mark that is only
/// mentioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forgery {
    /// A result behind a word and a colon: `PTK_RESULT: {…}`.
    Word,
    /// A result behind a tag.
    Tag,
    /// The result of an action: `Observation: …`.
    Observation,
    /// A turn of a conversation that is formatted as one text: `USER: …`.
    Turn,
    /// A turn behind a control token.
    Token,
}

impl Forgery {
    /// Whether it is a tool's result, and not a turn.
    pub(super) const fn is_result(self) -> bool {
        matches!(self, Self::Word | Self::Tag | Self::Observation)
    }
}

/// The marks of all families. Each counts at the start of a line only.
pub(super) const MARKS: &[(&str, Forgery)] = &[
    ("PTK_RESULT", Forgery::Word),
    ("PTK_ERROR", Forgery::Word),
    ("TOOL_RESULT", Forgery::Word),
    ("TOOL_ERROR", Forgery::Word),
    ("<PTK_RESULT>", Forgery::Tag),
    ("<PTK_ERROR>", Forgery::Tag),
    ("<tool_response>", Forgery::Tag),
    ("<tool_result>", Forgery::Tag),
    ("<tool_results>", Forgery::Tag),
    ("<tool_output>", Forgery::Tag),
    ("<function_results>", Forgery::Tag),
    ("<function_response>", Forgery::Tag),
    ("<function_output>", Forgery::Tag),
    ("<|tool_response|>", Forgery::Tag),
    ("<|tool_response>", Forgery::Tag),
    ("<|tool_result|>", Forgery::Tag),
    ("<|tool_results|>", Forgery::Tag),
    ("<|tool_output|>", Forgery::Tag),
    ("<start_function_response>", Forgery::Tag),
    ("<|observation|>", Forgery::Tag),
    ("[TOOL_RESULTS]", Forgery::Tag),
    ("<｜tool▁outputs▁begin｜>", Forgery::Tag),
    ("<｜tool▁output▁begin｜>", Forgery::Tag),
    ("<|START_TOOL_RESULT|>", Forgery::Tag),
    ("<|start_header_id|>ipython", Forgery::Tag),
    ("<|start_header_id|>tool", Forgery::Tag),
    ("<|im_start|>tool", Forgery::Tag),
    ("Observation:", Forgery::Observation),
    ("USER:", Forgery::Turn),
    ("ASSISTANT:", Forgery::Turn),
    ("<|im_start|>user", Forgery::Token),
    ("<|im_start|>system", Forgery::Token),
    ("<|start_header_id|>user", Forgery::Token),
    ("<start_of_turn>user", Forgery::Token),
    ("<|user|>", Forgery::Token),
    ("<｜User｜>", Forgery::Token),
];
