//! A value of a form.

use std::fmt::Write as _;

use serde_json::Value;

/// One value that a person is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// What it can be.
    pub kind: FieldKind,
    /// Whether it may not be left out.
    pub is_required: bool,
    /// What it is if nothing is typed.
    pub default: Option<Value>,
    schema: Value,
}

/// What a value can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// A text.
    Text,
    /// A number, whole or not.
    Number {
        /// Whether it has to be whole.
        is_whole: bool,
    },
    /// Yes or no.
    YesNo,
    /// One of these.
    OneOf(Vec<Choice>),
    /// Any number of these.
    SomeOf(Vec<Choice>),
}

/// One of the values that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value in the answer.
    pub value: String,
    /// The value for people.
    pub label: String,
}

impl Field {
    /// The field of a property; `None` if the property is not plain.
    pub(super) fn new(name: &str, schema: &Value, is_required: bool) -> Option<Self> {
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let kind = match text("type")? {
            "string" => match choices(schema) {
                Some(choices) => FieldKind::OneOf(choices),
                None => FieldKind::Text,
            },
            "integer" => FieldKind::Number { is_whole: true },
            "number" => FieldKind::Number { is_whole: false },
            "boolean" => FieldKind::YesNo,
            "array" => FieldKind::SomeOf(choices(schema.get("items")?)?),
            _ => return None,
        };
        let mut field = Self {
            name: name.to_owned(),
            title: text("title").unwrap_or(name).to_owned(),
            description: text("description").unwrap_or_default().to_owned(),
            kind,
            is_required,
            default: None,
            schema: schema.clone(),
        };
        let default = schema.get("default").filter(|it| field.check(it).is_ok());
        field.default = default.cloned();
        Some(field)
    }

    /// What the field wants, in a few words: `a whole number, at least 1`.
    #[must_use]
    pub fn wanted(&self) -> String {
        let text = |key: &str| self.schema.get(key).and_then(Value::as_str);
        let number = |key: &str| self.schema.get(key).filter(|it| it.is_number());
        let (mut wanted, least, most) = match &self.kind {
            FieldKind::Text => {
                let wanted = match text("format") {
                    Some("email") => "an e-mail address",
                    Some("uri") => "an address such as https://example.com",
                    Some("date") => "a date such as 2026-01-31",
                    Some("date-time") => "a time such as 2026-01-31T09:30:00Z",
                    _ => "a text",
                };
                (wanted.to_owned(), "minLength", "maxLength")
            }
            FieldKind::Number { is_whole: true } => {
                ("a whole number".to_owned(), "minimum", "maximum")
            }
            FieldKind::Number { is_whole: false } => ("a number".to_owned(), "minimum", "maximum"),
            FieldKind::YesNo => return "yes or no".to_owned(),
            FieldKind::OneOf(choices) => return format!("one of: {}", labels(choices)),
            FieldKind::SomeOf(choices) => {
                let wanted = format!("some of, separated by commas: {}", labels(choices));
                (wanted, "minItems", "maxItems")
            }
        };
        let unit = match self.kind {
            FieldKind::Text => " characters",
            _ => "",
        };
        if let Some(least) = number(least) {
            let _ = write!(wanted, ", at least {least}{unit}");
        }
        if let Some(most) = number(most) {
            let _ = write!(wanted, ", at most {most}{unit}");
        }
        wanted
    }

    /// Reads what a person has typed. Nothing typed is the default, or no value.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for the person.
    pub fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        let trimmed = typed.trim();
        if trimmed.is_empty() {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if self.is_required => Err(format!("it wants {}", self.wanted())),
                None => Ok(None),
            };
        }
        let wrong = || format!("it wants {}", self.wanted());
        let value = match &self.kind {
            FieldKind::Text => Value::from(trimmed),
            FieldKind::Number { .. } => {
                let number = serde_json::from_str::<serde_json::Number>(trimmed);
                Value::Number(number.map_err(|_| wrong())?)
            }
            FieldKind::YesNo => match trimmed.to_lowercase().as_str() {
                "y" | "yes" | "true" => Value::Bool(true),
                "n" | "no" | "false" => Value::Bool(false),
                _ => return Err(wrong()),
            },
            FieldKind::OneOf(choices) => {
                let chosen = chosen(choices, trimmed).ok_or_else(wrong)?;
                Value::from(chosen.value.as_str())
            }
            FieldKind::SomeOf(choices) => {
                let parts = trimmed.split(',').map(str::trim);
                let parts = parts.filter(|part| !part.is_empty());
                let some = parts.map(|part| {
                    let chosen = chosen(choices, part).ok_or_else(wrong)?;
                    Ok(Value::from(chosen.value.as_str()))
                });
                some.collect::<Result<_, String>>()?
            }
        };
        self.check(&value)?;
        Ok(Some(value))
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for the person.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&self.schema);
        // A schema that cannot be compiled checks nothing: the server checks.
        match validator {
            Ok(validator) if !validator.is_valid(value) => {
                Err(format!("it wants {}", self.wanted()))
            }
            _ => Ok(()),
        }
    }

    /// A value as a person would type it.
    #[must_use]
    pub fn typed(&self, value: &Value) -> String {
        let label = |value: &Value| {
            let text = value.as_str().unwrap_or_default();
            let choices = match &self.kind {
                FieldKind::OneOf(choices) | FieldKind::SomeOf(choices) => choices.as_slice(),
                _ => &[],
            };
            let choice = choices.iter().find(|choice| choice.value == text);
            choice.map_or(text, |choice| &choice.label).to_owned()
        };
        match value {
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::String(_) => label(value),
            Value::Array(values) => values.iter().map(label).collect::<Vec<_>>().join(", "),
            value => value.to_string(),
        }
    }
}

/// The choices that a schema offers, in any of the forms that there are.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(titled) = list("oneOf").or_else(|| list("anyOf")) {
        let choice = |it: &Value| {
            let value = it.get("const")?.as_str()?;
            let label = it.get("title").and_then(Value::as_str).unwrap_or(value);
            Some(Choice {
                value: value.to_owned(),
                label: label.to_owned(),
            })
        };
        return titled.iter().map(choice).collect();
    }
    let names = list("enumNames");
    let choices = list("enum")?.iter().enumerate().map(|(at, value)| {
        let value = value.as_str()?;
        let name = names.and_then(|names| names.get(at)?.as_str());
        Some(Choice {
            value: value.to_owned(),
            label: name.unwrap_or(value).to_owned(),
        })
    });
    choices.collect()
}

fn labels(choices: &[Choice]) -> String {
    let labels: Vec<&str> = choices.iter().map(|it| it.label.as_str()).collect();
    labels.join(", ")
}

/// The choice that a person means by its label, its value or its number.
fn chosen<'c>(choices: &'c [Choice], typed: &str) -> Option<&'c Choice> {
    let is_meant =
        |it: &&Choice| it.label.eq_ignore_ascii_case(typed) || it.value.eq_ignore_ascii_case(typed);
    let exactly = |it: &&Choice| it.label == typed || it.value == typed;
    let by_number = || choices.get(typed.parse::<usize>().ok()?.checked_sub(1)?);
    (choices.iter().find(exactly))
        .or_else(|| choices.iter().find(is_meant))
        .or_else(by_number)
}
