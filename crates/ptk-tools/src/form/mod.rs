//! Forms: a few plain values that a person is asked for.
//!
//! A server or a tool describes the values by a JSON Schema. A [`Form`] is what
//! a face shows of it, and the one place where typed answers are read and
//! checked.

mod field;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

pub use field::{Choice, Field, FieldKind};

/// The most fields of a form.
const MAX_FIELDS: usize = 50;

/// Values that a person is asked for.
///
/// ```
/// use ptk_tools::form::Form;
/// use serde_json::json;
///
/// let form = Form::new("travel", "Where to?", json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
///     "required": ["city"],
/// }))?;
/// let days = form.fields.last().unwrap();
/// assert_eq!(days.read("3"), Ok(Some(json!(3))));
/// assert_eq!(days.read("0").unwrap_err(), "it wants a whole number, at least 1");
/// # Ok::<(), ptk_tools::form::FormError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Who asks.
    pub from: String,
    /// The question.
    pub message: String,
    /// The values, in the order of the schema.
    pub fields: Vec<Field>,
    /// The schema itself: an object of plain values.
    pub schema: Value,
}

/// Why there is no form for a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// A value is not plain.
    #[error("the value `{0}` is not a text, a number, yes or no, or a choice")]
    NotPlain(String),
    /// The schema has too many values.
    #[error("more than {MAX_FIELDS} values are asked for")]
    TooMany,
}

/// The answer to a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormAnswer {
    /// The values.
    Filled(Map<String, Value>),
    /// The person does not want to give them.
    Declined,
    /// The person did not decide, or there is no one to ask.
    Unanswered,
}

/// Shows forms to a person.
pub trait FormAsker: Send + Sync {
    /// Asks, and waits for the answer. The question is withdrawn if the returned
    /// future is dropped.
    fn ask(&self, form: Form) -> BoxFuture<'_, FormAnswer>;
}

impl Form {
    /// The form for a JSON Schema.
    ///
    /// # Errors
    ///
    /// A value is not plain, or there are too many.
    pub fn new(from: &str, message: &str, schema: Value) -> Result<Self, FormError> {
        let required: Vec<&str> = (schema.get("required").and_then(Value::as_array))
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flatten();
        let fields = properties.map(|(name, property)| {
            let is_required = required.contains(&name.as_str());
            Field::new(name, property, is_required).ok_or_else(|| FormError::NotPlain(name.clone()))
        });
        let fields: Vec<Field> = fields.collect::<Result<_, _>>()?;
        if fields.len() > MAX_FIELDS {
            return Err(FormError::TooMany);
        }
        Ok(Self {
            from: from.to_owned(),
            message: message.to_owned(),
            fields,
            schema,
        })
    }

    /// Checks values that were not typed into fields.
    ///
    /// # Errors
    ///
    /// What is wrong with them, for the person.
    pub fn check(&self, values: &Map<String, Value>) -> Result<(), String> {
        for (name, value) in values {
            let field = self.fields.iter().find(|field| field.name == *name);
            let field = field.ok_or_else(|| format!("there is no value `{name}`"))?;
            field
                .check(value)
                .map_err(|error| format!("`{name}`: {error}"))?;
        }
        let missing = self.fields.iter().find(|field| {
            field.is_required && field.default.is_none() && !values.contains_key(&field.name)
        });
        match missing {
            Some(field) => Err(format!("`{}` is missing", field.name)),
            None => Ok(()),
        }
    }
}
