//! What a parameter of a tool wants, by what its schema says of it.

use serde_json::Value;

use super::words::fold;

/// What a parameter wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Want {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A folder or a file.
    Place,
    /// A pattern of paths.
    Glob,
    /// What is searched for.
    Search,
    /// A text, as it is to be.
    Text,
    /// A command line.
    Command,
    /// One of these.
    Choice(Vec<Value>),
    /// Whether capitals count; the value that says that they do not.
    Case(bool),
    /// Whether a text is no pattern.
    Literal,
    /// A whole number or any.
    Number,
    /// A list of replacements: the names of what is replaced and by what.
    Replacements(String, String),
    /// Something else.
    Other,
}

/// What a parameter wants.
pub(super) fn want(name: &str, schema: &Value) -> Want {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return Want::Choice(choices.clone());
    }
    let words = words_of(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    match type_of(schema) {
        Some("boolean") => {
            if has(&["case"]) {
                let ignores = has(&["ignore", "insensitive", "fold", "no"]);
                return Want::Case(ignores);
            }
            if has(&["literal", "fixed", "verbatim"]) {
                return Want::Literal;
            }
            Want::Other
        }
        Some("integer" | "number") => Want::Number,
        Some("array") => replacements(schema).unwrap_or(Want::Other),
        Some("string") | None => want_of_text(&has, schema),
        Some(_) => Want::Other,
    }
}

fn want_of_text(has: &dyn Fn(&[&str]) -> bool, schema: &Value) -> Want {
    let description = schema.get("description").and_then(Value::as_str);
    let description = fold(description.unwrap_or_default());
    // What follows the first sentence tells details of other things.
    let first = description
        .split_once(". ")
        .map_or(description.as_str(), |(first, _)| first);
    let says = |words: &[&str]| words.iter().any(|word| first.contains(word));
    if has(&["glob"]) || first.starts_with("a glob") || first.starts_with("the glob") {
        return Want::Glob;
    }
    if has(&["directory", "dir", "folder", "cwd"]) {
        return Want::Folder;
    }
    if has(&["path", "file", "filepath", "filename"]) {
        return match (says(&["folder", "directory"]), says(&["file"])) {
            (true, true) => Want::Place,
            (true, false) => Want::Folder,
            _ => Want::File,
        };
    }
    if has(&["command", "cmd"]) {
        return Want::Command;
    }
    if has(&[
        "pattern", "query", "search", "regex", "needle", "term", "keyword", "q",
    ]) || says(&[
        "search for",
        "searched for",
        "regular expression",
        "look for",
    ]) {
        return Want::Search;
    }
    if has(&[
        "content", "text", "body", "message", "title", "note", "comment", "prompt", "data",
        "input", "value",
    ]) {
        return Want::Text;
    }
    Want::Other
}

/// A list of objects with a text to replace and one to put there.
fn replacements(schema: &Value) -> Option<Want> {
    let items = schema.get("items")?;
    let fields = items.get("properties")?.as_object()?;
    let named = |parts: &[&str]| {
        let is_named = |name: &&String| {
            words_of(name)
                .iter()
                .any(|word| parts.contains(&word.as_str()))
        };
        fields.keys().find(is_named).cloned()
    };
    let old = named(&["old", "search", "find", "before", "from"])?;
    let new = named(&["new", "replace", "after", "to"])?;
    Some(Want::Replacements(old, new))
}

/// The type that is not `null`.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(one) => Some(one),
        Value::Array(several) => several
            .iter()
            .filter_map(Value::as_str)
            .find(|one| *one != "null"),
        _ => None,
    }
}

/// The words of a name such as `case_sensitive` or `filePath`, in small letters.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && was_small {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{Want, want};
    use serde_json::json;

    fn text(name: &str, description: &str) -> Want {
        want(
            name,
            &json!({"type": ["string", "null"], "description": description}),
        )
    }

    #[test]
    fn schemas_say_what_parameters_want() {
        assert_eq!(
            text("path", "The file, relative to the workspace"),
            Want::File
        );
        assert_eq!(text("filePath", ""), Want::File);
        assert_eq!(text("path", "The folder or file to search"), Want::Place);
        assert_eq!(
            text("path", "The folder to look in, for example \"src\""),
            Want::Folder
        );
        assert_eq!(text("working_dir", "Where it runs"), Want::Folder);
        assert_eq!(
            text("pattern", "A glob relative to the directory"),
            Want::Glob
        );
        assert_eq!(text("pattern", "The regular expression"), Want::Search);
        assert_eq!(text("query", ""), Want::Search);
        assert_eq!(text("content", "The new content"), Want::Text);
        assert_eq!(text("command", "The command"), Want::Command);
        assert_eq!(
            want("case_sensitive", &json!({"type": "boolean"})),
            Want::Case(false)
        );
        assert_eq!(
            want("ignoreCase", &json!({"type": "boolean"})),
            Want::Case(true)
        );
        assert_eq!(want("limit", &json!({"type": "integer"})), Want::Number);
    }
}
