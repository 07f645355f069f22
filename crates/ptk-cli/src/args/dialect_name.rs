//! The name of a dialect as the value of a flag.

use std::ffi::OsStr;

use clap::Arg;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use ptk_protocol::dialects::Registry;

/// The name of a dialect. Help and completions list those that are built in;
/// whether another one is declared is known when the configuration is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct DialectName(pub(super) fn(&Registry) -> Vec<String>);

impl TypedValueParser for DialectName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.0)(&Registry::builtin());
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}
