//! Finds weaknesses of a tool's definition.

use serde_json::Value;

use super::Compiled;
use crate::ToolSpec;

/// A remark on a tool's definition, for its author. The tool works all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The name of the tool.
    pub tool: String,
    /// The parameter, if the remark is about one.
    pub parameter: Option<String>,
    /// The weakness, and what to do about it.
    pub message: String,
}

impl std::fmt::Display for Lint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.parameter {
            Some(parameter) => write!(f, "{}.{parameter}: {}", self.tool, self.message),
            None => write!(f, "{}: {}", self.tool, self.message),
        }
    }
}

/// A description of fewer words says too little to a model ("Read stuff").
const MIN_WORDS: usize = 3;

impl ToolSpec {
    /// Finds weaknesses of this definition that matter to a model.
    ///
    /// ```
    /// use ptk_protocol::ToolSpec;
    /// use serde_json::json;
    ///
    /// let tool = ToolSpec::new("read", "Read stuff", json!({"type": "object", "properties": {}}));
    /// assert!(tool.lint()[0].message.contains("description"));
    /// ```
    #[must_use]
    pub fn lint(&self) -> Vec<Lint> {
        let mut lints = Vec::new();
        let mut remark = |parameter: Option<&str>, message: String| {
            lints.push(Lint {
                tool: self.name.clone(),
                parameter: parameter.map(str::to_owned),
                message,
            });
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !self.name.chars().all(plain) {
            remark(
                None,
                "the name should be letters, digits, `_` and `-` only".into(),
            );
        }
        match self.description.split_whitespace().count() {
            0 => remark(
                None,
                "the description is empty; say what the tool does".into(),
            ),
            words if words < MIN_WORDS => {
                let message = "the description is vague; say what the tool does and with what";
                remark(None, message.into());
            }
            _ => {}
        }
        if let Err(error) = &Compiled::new(&self.parameters).validator {
            remark(
                None,
                format!(
                    "the parameter schema is invalid, so arguments are hardly checked: {error}"
                ),
            );
        }
        let properties = self.properties();
        for (name, property) in properties.into_iter().flatten() {
            let text = |keyword: &str| property.get(keyword).and_then(Value::as_str);
            if text("description").unwrap_or_default().trim().is_empty() {
                let message = "no description; say what it means, with an example";
                remark(Some(name), message.into());
            }
            let typed = ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"];
            if !typed.iter().any(|keyword| property.get(*keyword).is_some()) {
                remark(
                    Some(name),
                    "no type; values of any type are accepted".into(),
                );
            }
        }
        for name in self.required() {
            if properties.is_none_or(|all| !all.contains_key(name)) {
                remark(
                    Some(name),
                    "required, but not declared under `properties`".into(),
                );
            }
        }
        lints
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A good definition passes, a bad one does not.
    #[test]
    fn poor_definitions_are_named_and_good_ones_are_not() {
        let good = ToolSpec::new(
            "read_file",
            "Read the complete content of a file from disk",
            json!({"type": "object", "required": ["path"], "properties": {"path": {
                "type": "string",
                "description": "Absolute or relative file path (e.g., 'src/index.ts')",
            }}}),
        );
        assert_eq!(good.lint(), []);

        let bad = ToolSpec::new(
            "read stuff",
            "",
            json!({"type": "object", "required": ["gone"], "properties": {"x": {"pattern": "("}}}),
        );
        let remarks: Vec<String> = bad.lint().iter().map(ToString::to_string).collect();
        assert_eq!(remarks.len(), 6, "{remarks:#?}");
        assert!(
            remarks
                .iter()
                .any(|remark| remark.contains("schema is invalid"))
        );
    }
}
