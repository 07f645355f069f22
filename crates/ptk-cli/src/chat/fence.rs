//! Code fences around a text, as in Markdown.

/// Puts a text between fences that it does not contain.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}
