//! The size of a model's window, from the message of a server that refused a
//! request as too long.

/// Words right before the number.
const BEFORE: &[&str] = &[
    "context length",
    "context size",
    "context window",
    "n_ctx",
    "number of tokens allowed",
];
/// What stands right behind the number.
const BEHIND: &str = " maximum";
/// How many characters may stand between the words and the number: ` is `, `": `,
/// ` (`, ` of `.
const MAX_BETWEEN: usize = 6;
/// No model has a smaller window.
const LEAST: u32 = 256;

/// The window that a server's message states, in tokens.
pub(crate) fn stated_window(message: &str) -> Option<u32> {
    let message = message.to_lowercase();
    let behind_words = BEFORE.iter().find_map(|words| {
        message
            .match_indices(words)
            .find_map(|(at, _)| number_after(message.get(at + words.len()..)?))
    });
    let before_words = || {
        message
            .match_indices(BEHIND)
            .find_map(|(at, _)| number_before(message.get(..at)?))
    };
    behind_words.or_else(before_words)
}

fn number_after(text: &str) -> Option<u32> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    if text.get(..start)?.chars().count() > MAX_BETWEEN {
        return None;
    }
    let number = text.get(start..)?;
    let end = number.find(|c| !is_of_number(c)).unwrap_or(number.len());
    tokens(number.get(..end)?)
}

fn number_before(text: &str) -> Option<u32> {
    let start = text.rfind(|c| !is_of_number(c)).map_or(0, |at| at + 1);
    tokens(text.get(start..)?)
}

const fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == ','
}

fn tokens(number: &str) -> Option<u32> {
    let digits = number.trim_end_matches(',').replace(',', "");
    digits.parse().ok().filter(|tokens| *tokens >= LEAST)
}

#[cfg(test)]
mod tests {
    use super::stated_window;

    #[test]
    fn servers_state_their_window_in_their_own_words() {
        for (message, expected) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages \
                 resulted in 10000 tokens.",
                Some(8192),
            ),
            (
                "prompt is too long: 213462 tokens > 200000 maximum",
                Some(200_000),
            ),
            (
                "request (5000 tokens) exceeds the available context size (4096 tokens), try \
                 increasing it",
                Some(4096),
            ),
            (
                r#"{"message": "exceeds the available context size", "n_prompt_tokens": 9000, "n_ctx": 2048}"#,
                Some(2048),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed \
                 (1048576).",
                Some(1_048_576),
            ),
            (
                "Prompt contains 40000 tokens, too large for model with 32,768 maximum context \
                 length",
                Some(32_768),
            ),
            (
                "is longer than the model's context length (4096 tokens)",
                Some(4096),
            ),
            ("the context length was exceeded by 3 of 9000 tokens", None),
            ("too long", None),
            ("maximum", None),
            ("context length 99999999999999999999", None),
        ] {
            assert_eq!(stated_window(message), expected, "{message}");
        }
    }
}
