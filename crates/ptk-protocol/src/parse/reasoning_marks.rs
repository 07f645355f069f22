//! The marks around reasoning, a row for each form.

use crate::dialects::TriggerPosition;

/// The marks around the reasoning of some families.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReasoningMarks {
    /// The mark that opens it.
    pub(crate) open: &'static str,
    /// The marks that close it. The first one is the family's own; the others
    /// are what its models write as well.
    pub(crate) close: &'static [&'static str],
    /// Marks of the next message, which end it without belonging to it.
    next: &'static [&'static str],
    /// Where the opening mark counts.
    pub(crate) place: TriggerPosition,
    /// Whether the closing mark ends reasoning also where none was opened, as
    /// the prompt may have done that.
    closes_alone: bool,
}

const fn row(open: &'static str, close: &'static [&'static str]) -> ReasoningMarks {
    ReasoningMarks {
        open,
        close,
        next: &[],
        place: TriggerPosition::Anywhere,
        closes_alone: true,
    }
}

impl ReasoningMarks {
    /// The words of the tags are common in prose and in other markup.
    const fn common(self) -> Self {
        Self {
            place: TriggerPosition::LineStart,
            closes_alone: false,
            ..self
        }
    }

    /// The reasoning is a message of its own, which ends where one of these
    /// opens the next.
    const fn before(self, next: &'static [&'static str]) -> Self {
        Self {
            next,
            closes_alone: false,
            ..self
        }
    }

    const fn at_line_start(self) -> Self {
        Self {
            place: TriggerPosition::LineStart,
            ..self
        }
    }

    /// The marks at which the reasoning may end.
    pub(super) fn ends(&self) -> impl Iterator<Item = &'static str> {
        self.close.iter().chain(self.next).copied()
    }

    /// Whether this mark closes the reasoning.
    pub(super) fn is_closed_by(&self, mark: &str) -> bool {
        contains(self.close, mark)
    }

    /// Whether this mark opens the message behind the reasoning.
    pub(super) fn is_left_at(&self, mark: &str) -> bool {
        self.next.iter().any(|next| begins_with(mark, next))
    }
}

/// Whether a mark begins with another one.
pub(super) fn begins_with(mark: &str, start: &str) -> bool {
    let begin = mark.as_bytes().get(..start.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()))
}

fn contains(marks: &[&str], mark: &str) -> bool {
    marks.iter().any(|it| it.eq_ignore_ascii_case(mark))
}

/// The closing marks of K2 Horizon, which its models confuse.
const K2_HORIZON: &[&str] = &["</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"];
const KIMI_K3: &[&str] = &["<|close|>think<|sep|>", "<|close|> think <|sep|>"];
const HARMONY_NEXT: &[&str] = &[
    "<|start|>assistant",
    "<|channel|>final",
    "<|channel|>commentary",
];

/// All forms.
pub(crate) const REASONING: &[ReasoningMarks] = &[
    row("<think>", &["</think>"]),
    row("<thinking>", &["</thinking>"]),
    row("<reasoning>", &["</reasoning>"]).common(),
    row("<analysis>", &["</analysis>"]).common(),
    // Kimi K1.5 and Kimi-VL.
    row("◁think▷", &["◁/think▷"]),
    // Mistral.
    row("[THINK]", &["[/THINK]"]),
    // Cohere.
    row("<|START_THINKING|>", &["<|END_THINKING|>"]),
    // gpt-oss.
    row("<|channel|>analysis<|message|>", &["<|end|>"]).before(HARMONY_NEXT),
    row(
        "<|start|>assistant<|channel|>analysis<|message|>",
        &["<|end|>"],
    )
    .before(HARMONY_NEXT),
    // MiniMax M3.
    row("<mm:think>", &["</mm:think>"]),
    row("<seed:think>", &["</seed:think>"]),
    // Gemma 4.
    row("<|channel>thought", &["<channel|>"]),
    row("<|channel>", &["<channel|>"]),
    // Kimi K3. Servers that put spaces between tokens show the second form.
    row("<|open|>think<|sep|>", KIMI_K3),
    row("<|open|> think <|sep|>", KIMI_K3),
    // Muse: messages to itself.
    row("to=self<|message|>", &["<|eom|>", "<|eot|>"])
        .before(&["<|start|>assistant"])
        .at_line_start(),
    row(
        "<|start|>assistant to=self<|message|>",
        &["<|eom|>", "<|eot|>"],
    )
    .before(&["<|start|>assistant"]),
    // Muse: messages to the developer, which are not for the user either.
    row("to=developer<|message|>", &["<|eom|>", "<|eot|>"])
        .before(&["<|start|>assistant"])
        .at_line_start(),
    row(
        "<|start|>assistant to=developer<|message|>",
        &["<|eom|>", "<|eot|>"],
    )
    .before(&["<|start|>assistant"]),
    // Inkling.
    row("<|content_thinking|>", &["<|end_message|>"]).before(&["<|message_model|>"]),
    row(
        "<|message_model|><|content_thinking|>",
        &["<|end_message|>"],
    )
    .before(&["<|message_model|>"]),
    row("<ifm|think>", K2_HORIZON),
    row("<ifm|think_fast>", K2_HORIZON),
    row("<ifm|think_faster>", K2_HORIZON),
    // PLaMo 3.
    row(
        "<|plamo:begin_think:plamo|>",
        &["<|plamo:end_think:plamo|>"],
    ),
];

/// The row of reasoning that the prompt has opened: the form is not known.
pub(super) const OPENED_BY_PROMPT: usize = REASONING.len();

/// The closing marks that end reasoning which the prompt may have opened.
pub(super) fn closing_alone() -> impl Iterator<Item = &'static str> {
    let rows = REASONING.iter().filter(|row| row.closes_alone);
    rows.flat_map(|row| row.close).copied()
}

/// The closing marks that end reasoning which the prompt has opened: also those
/// that close nothing elsewhere, because they end other messages as well.
pub(super) fn closing_opened() -> impl Iterator<Item = &'static str> {
    let rows = REASONING.iter();
    let rows = rows.filter(|row| row.closes_alone || !row.next.is_empty());
    rows.flat_map(|row| row.close).copied()
}

/// The marks of a next message, which end reasoning that the prompt has opened.
pub(super) fn next_messages() -> impl Iterator<Item = &'static str> {
    REASONING.iter().flat_map(|row| row.next).copied()
}

/// The mark with which a prompt opens the reasoning of the reply to it, if it
/// ends with one.
///
/// ```
/// use ptk_protocol::parse::opened_reasoning;
///
/// assert_eq!(opened_reasoning("<|im_start|>assistant\n<think>\n"), Some("<think>"));
/// assert_eq!(opened_reasoning("<|im_start|>assistant\n"), None);
/// ```
#[must_use]
pub fn opened_reasoning(prompt: &str) -> Option<&'static str> {
    let prompt = prompt.trim_end();
    let opens = REASONING.iter().map(|row| row.open);
    opens
        .filter(|open| prompt.ends_with(open))
        .max_by_key(|open| open.len())
}

/// All opening and closing marks.
pub(crate) fn reasoning_marks<'a>() -> impl Iterator<Item = &'a str> {
    let pairs = REASONING.iter();
    pairs.flat_map(|row| std::iter::once(row.open).chain(row.close.iter().copied()))
}
