//! Engines that several dialects share: calls as JSON objects between marks,
//! calls as Python expressions, and calls whose arguments are named one by one.

pub(crate) mod action;
pub(crate) mod botched;
pub(crate) mod call_object;
pub(crate) mod elements;
pub(crate) mod json_marks;
pub(crate) mod key_value_literals;
pub(crate) mod key_value_text;
pub(crate) mod key_values;
pub(crate) mod literals;
pub(crate) mod marked_json;
pub(crate) mod named_first;
pub(crate) mod named_values;
pub(crate) mod nested;
pub(crate) mod python;
pub(crate) mod python_calls;
pub(crate) mod quoted;
pub(crate) mod section;
pub(crate) mod tag_form;
pub(crate) mod tagged;
pub(crate) mod tagged_json;
pub(crate) mod tags;
pub(crate) mod tolerant;
pub(crate) mod yaml_body;
pub(crate) mod yaml_text;

use crate::ProblemCode;

/// Describes a repair, for developers who debug a model.
pub(crate) const fn repair_message(code: ProblemCode) -> &'static str {
    match code {
        ProblemCode::Comment => "A comment was left out; JSON has none",
        ProblemCode::ExtraComma => "A comma without a value behind it was left out",
        ProblemCode::MissingComma => "A missing comma was put in",
        ProblemCode::MissingColon => "A missing colon was put in",
        ProblemCode::WrongQuotes => "Quotes other than \" were read as \"",
        ProblemCode::MissingQuotes => "Missing quotes were put in",
        ProblemCode::UnescapedQuote => "A quote inside a string was escaped",
        ProblemCode::ForeignLiteral => "A literal that JSON does not have was translated",
        ProblemCode::ControlCharacter => "A raw line break or control character was escaped",
        ProblemCode::BadEscape => "An escape that JSON does not have was mended",
        ProblemCode::BadNumber => "A number was put into JSON's form",
        ProblemCode::MissingCloser => "A missing closing bracket was put in",
        ProblemCode::ExtraCloser => "A closing bracket too many was left out",
        ProblemCode::Ellipsis => "An ellipsis was left out",
        ProblemCode::SurroundingText => "Text around the JSON was left out",
        ProblemCode::Joined => "Several values were put together",
        ProblemCode::MissingOpenMark => "The opening mark is missing",
        ProblemCode::MissingCloseMark => "The closing mark is missing",
        ProblemCode::WrongMark => "The mark is misspelt",
        ProblemCode::Fence => "The call stands in a code fence at the end of the reply",
        ProblemCode::RescuedFromReasoning => "The call stands in the reasoning and nothing follows",
        ProblemCode::PositionalArguments => "Arguments without names were matched by position",
        _ => "Repaired",
    }
}
