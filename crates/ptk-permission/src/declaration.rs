//! The permissions of a configuration: its mode and its rules.

use serde::{Deserialize, Serialize};

use crate::rule::RuleError;
use crate::rules::{Action, Entry};

/// What happens to calls that change something and that no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The approver is asked.
    #[default]
    Ask,
    /// They run without a question.
    Auto,
    /// They are refused, and so are those that a rule allows.
    Deny,
}

impl Mode {
    /// The one of two that lets less run.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Deny, _) | (_, Self::Deny) => Self::Deny,
            (Self::Ask, _) | (_, Self::Ask) => Self::Ask,
            (Self::Auto, Self::Auto) => Self::Auto,
        }
    }
}

/// The section `[permissions]` of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// What happens to calls that no rule decides.
    pub mode: Option<Mode>,
    /// Rules for calls that run.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Rules for calls that are asked about.
    #[serde(default)]
    pub ask: Vec<String>,
    /// Rules for calls that are refused.
    #[serde(default)]
    pub deny: Vec<String>,
    /// How many seconds a question waits for its answer.
    pub patience: Option<u64>,
}

impl Declaration {
    /// The rules as entries, with `source` as the place where they stand.
    ///
    /// # Errors
    ///
    /// If one of them is not a rule.
    pub fn entries(&self, source: &str) -> Result<Vec<Entry>, RuleError> {
        let of = |action: Action, texts: &[String]| -> Result<Vec<Entry>, RuleError> {
            let entry = |text: &String| {
                Ok(Entry {
                    rule: text.parse()?,
                    action,
                    source: source.to_owned(),
                })
            };
            texts.iter().map(entry).collect()
        };
        let mut entries = of(Action::Deny, &self.deny)?;
        entries.extend(of(Action::Ask, &self.ask)?);
        entries.extend(of(Action::Allow, &self.allow)?);
        Ok(entries)
    }

    /// Whether it gives permissions, which an untrusted file must not do.
    #[must_use]
    pub fn grants(&self) -> bool {
        !self.allow.is_empty() || self.mode == Some(Mode::Auto)
    }

    /// The declaration without what it grants.
    #[must_use]
    pub fn without_grants(mut self) -> Self {
        self.allow.clear();
        self.mode = self.mode.filter(|mode| *mode != Mode::Auto);
        self
    }
}
