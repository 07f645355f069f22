//! A value of the file, with its place in it.

use serde_json::{Map, Value};

use super::error::{Result, TemplateError, TemplateFault};

/// A value and the path of keys that leads to it.
#[derive(Debug, Clone)]
pub(super) struct TemplateNode<'v> {
    pub(super) place: String,
    pub(super) value: &'v Value,
}

impl<'v> TemplateNode<'v> {
    pub(super) fn new(place: impl Into<String>, value: &'v Value) -> Self {
        let place = place.into();
        Self { place, value }
    }

    pub(super) fn fault(&self, fault: TemplateFault) -> TemplateError {
        TemplateError {
            place: self.place.clone(),
            fault,
        }
    }

    pub(super) fn unsupported(&self, why: impl Into<String>) -> TemplateError {
        self.fault(TemplateFault::Unsupported(why.into()))
    }

    fn wrong_type(&self, expected: &'static str) -> TemplateError {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.fault(TemplateFault::Type { expected, found })
    }

    /// The object, if it has no keys but these.
    pub(super) fn object(&self, known: &[&str]) -> Result<&'v Map<String, Value>> {
        let object = self.map()?;
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self.fault(TemplateFault::UnknownKey {
                key: key.clone(),
                known: known.join(", "),
            })),
            None => Ok(object),
        }
    }

    /// The object, with any keys.
    pub(super) fn map(&self) -> Result<&'v Map<String, Value>> {
        let object = self.value.as_object();
        object.ok_or_else(|| self.wrong_type("an object"))
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key)?;
        Some(Self::new(format!("{}.{key}", self.place), value))
    }

    pub(super) fn string(&self) -> Result<&'v str> {
        let text = self.value.as_str();
        text.ok_or_else(|| self.wrong_type("a string"))
    }

    /// The boolean of a key; false without it.
    pub(super) fn flag(&self, key: &str) -> Result<bool> {
        let Some(node) = self.get(key) else {
            return Ok(false);
        };
        let flag = node.value.as_bool();
        flag.ok_or_else(|| node.wrong_type("true or false"))
    }

    /// The text of a key, or this one without it.
    pub(super) fn text_or(&self, key: &str, otherwise: &str) -> Result<String> {
        match self.get(key) {
            Some(node) => Ok(node.string()?.to_owned()),
            None => Ok(otherwise.to_owned()),
        }
    }

    /// The entries of a list.
    pub(super) fn list(&self, most: usize) -> Result<Vec<Self>> {
        let entries = self.value.as_array();
        let entries = entries.ok_or_else(|| self.wrong_type("a list"))?;
        let count = entries.len();
        if count == 0 || count > most {
            return Err(self.fault(TemplateFault::Count { count, most }));
        }
        let entries = entries.iter().enumerate();
        let node = |(index, value)| Self::new(format!("{}[{index}]", self.place), value);
        Ok(entries.map(node).collect())
    }

    /// One string, or a list of them.
    pub(super) fn strings(&self, most: usize) -> Result<Vec<(Self, &'v str)>> {
        let entries = match self.value {
            Value::String(_) => vec![self.clone()],
            Value::Array(_) => self.list(most)?,
            _ => return Err(self.wrong_type("a string or a list of strings")),
        };
        let entries = entries.into_iter();
        entries
            .map(|node| node.string().map(|text| (node, text)))
            .collect()
    }
}
