//! What may not be clear about a text that was found, and what helps.

/// What is not clear about a text that was found with tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unclear {
    /// How the new lines are indented.
    Indentation,
    /// Which blank lines stay.
    BlankLines,
    /// Which of the file's quotes, dashes and such one of the new text is.
    Signs,
}

impl Unclear {
    /// The reason, which reads on from "but".
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Indentation => {
                "how the lines of new_string are to be indented there is not clear"
            }
            Self::BlankLines => "which of the blank lines there are to stay is not clear",
            Self::Signs => {
                "which of the quotes or dashes there those of new_string are is not clear"
            }
        }
    }

    pub(super) const fn advice(self) -> &'static str {
        match self {
            Self::Indentation => {
                "Write old_string and new_string with the indentation that the file has."
            }
            Self::BlankLines => {
                "Write old_string with the blank lines that the file has, and new_string with \
                 those that are to be there."
            }
            Self::Signs => {
                "Write old_string with the characters that the file has, and new_string with \
                 those that are to be there."
            }
        }
    }
}
