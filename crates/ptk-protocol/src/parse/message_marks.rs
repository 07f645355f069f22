//! Messages inside a reply: families that address each part of a reply to the
//! user, to themselves or to a tool.

/// A message to the user. The family's own calls in it are quoted, as a call is
/// a message to a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct UserMessage {
    /// The marks that open it, and count wherever they stand.
    pub(super) open: &'static [&'static str],
    /// Marks that open it at the start of a line.
    pub(super) open_line: &'static [&'static str],
    /// The marks that close it.
    pub(super) close: &'static [&'static str],
    /// Marks of the next message, which end it without belonging to it.
    next: &'static [&'static str],
    /// The dialects whose calls are quoted in it.
    pub(super) quotes: &'static [&'static str],
}

impl UserMessage {
    /// Whether this mark opens the message behind it.
    pub(super) fn is_left_at(&self, mark: &str) -> bool {
        self.next.iter().any(|next| {
            let start = mark.as_bytes().get(..next.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(next.as_bytes()))
        })
    }
}

/// All families with such messages.
pub(super) const USER_MESSAGES: &[UserMessage] = &[
    // Muse.
    UserMessage {
        open: &[
            "<|start|>assistant to=user<|message|>",
            "<|start|>assistant to=commentary<|message|>",
        ],
        open_line: &["to=user<|message|>", "to=commentary<|message|>"],
        close: &["<|eom|>", "<|eot|>"],
        next: &["<|start|>assistant"],
        quotes: &["muse-glimmer", "muse-spark"],
    },
    // Inkling.
    UserMessage {
        open: &[
            "<|message_model|><|content_text|>",
            "<|content_text|>",
            "<|content_invoke_tool_text|>",
            "<|content_tool_error|>",
        ],
        open_line: &[],
        close: &["<|end_message|>"],
        next: &["<|message_model|>"],
        quotes: &["inkling"],
    },
    // Cohere.
    UserMessage {
        open: &["<|START_RESPONSE|>", "<|START_TEXT|>"],
        open_line: &[],
        close: &["<|END_RESPONSE|>", "<|END_TEXT|>"],
        next: &["<|START_THINKING|>"],
        quotes: &["cohere"],
    },
    // Kimi K3.
    UserMessage {
        open: &["<|open|>response<|sep|>", "<|open|> response <|sep|>"],
        open_line: &[],
        close: &["<|close|>response<|sep|>", "<|close|> response <|sep|>"],
        next: &["<|open|>tools<|sep|>"],
        quotes: &["kimi-k3"],
    },
];

/// Whether a mark opens a message to the user in some family.
pub(crate) fn is_message_mark(mark: &str) -> bool {
    let mut opens = USER_MESSAGES.iter().flat_map(|message| message.open);
    opens.any(|open| open.eq_ignore_ascii_case(mark))
}

/// Whether a mark ends a turn, or stands around messages, of some model.
pub(crate) fn is_silent_mark(mark: &str) -> bool {
    SILENT
        .iter()
        .any(|silent| silent.eq_ignore_ascii_case(mark))
}

/// The marks that end a turn of some model, or stand around messages.
pub(crate) fn silent_marks() -> &'static [&'static str] {
    SILENT
}

/// Marks that end a turn of some model, or stand around its messages, and may
/// come out as text.
pub(super) const SILENT: &[&str] = &[
    "<|eom_id|>",
    "<|eot_id|>",
    "<|eom|>",
    "<|eot|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
    "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    "<|CHATBOT_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|content_model_end_sampling|>",
    "<|open|>message role=\"assistant\"<|sep|>",
    "<|close|>message<|sep|>",
    "<|close|> message <|sep|>",
    "<|end_of_msg|>",
    "<|ifm|im_end|>",
    "<|plamo:tag|>",
    "<｜tool_sep｜>",
    "<|iquest_end|>",
    "</s>",
];
