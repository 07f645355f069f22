//! What a declaration says, and what may be wrong with it.

use serde::Deserialize;

use crate::dialects::engine::json_marks::is_name_character;
use crate::parse::reasoning_marks;

/// The longest mark and the longest name or key. Those of real models have a
/// few dozen bytes.
const MAX_LENGTH: usize = 128;
/// The most entries of one list.
const MAX_ENTRIES: usize = 32;

/// A dialect as data. The fields are those of a `[[dialects]]` table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// The name by which the dialect is chosen.
    pub name: String,
    /// Other names by which the dialect can be chosen.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The marks that open a call. The first is the correct one, which is
    /// taught to the model; the others are what models write instead. For
    /// [`Body::Tags`] with `NAME` where the tool's name stands: `<call:NAME>`,
    /// `<call name="NAME">`, `<call>NAME`.
    pub open: Vec<String>,
    /// The marks that close a call; the first is the correct one. May be left
    /// out, but not for [`Body::Tags`].
    #[serde(default)]
    pub close: Vec<String>,
    /// The marks around all calls of a reply.
    #[serde(default)]
    pub section: Option<[String; 2]>,
    /// The form of the text between the marks.
    #[serde(default)]
    pub body: Body,
    /// For [`Body::Json`]: keys of the tool's name beside the usual ones. The
    /// first is the one that is taught.
    #[serde(default)]
    pub name_keys: Vec<String>,
    /// For [`Body::Json`]: keys of the arguments beside the usual ones. The
    /// first is the one that is taught.
    #[serde(default)]
    pub args_keys: Vec<String>,
    /// For [`Body::NameJson`]: the marks between the tool's name and the JSON.
    /// Left out where that is white space or nothing.
    #[serde(default)]
    pub name_end: Vec<String>,
    /// For [`Body::Tags`]: how an argument is written, with `KEY` and `VALUE`
    /// where its name and value stand: `<p k="KEY">VALUE</p>`,
    /// `<p=KEY>VALUE</p>`, `<k>KEY</k><v>VALUE</v>`, `<KEY>VALUE</KEY>`.
    #[serde(default)]
    pub argument: Option<String>,
}

/// The form of the text between the marks of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Body {
    /// A JSON object with the tool's name and the arguments, or a list of such.
    #[default]
    Json,
    /// The tool's name, then its arguments as JSON.
    NameJson,
    /// Each argument in tags of its own.
    Tags,
    /// Calls as Python expressions, in a list or not.
    Python,
}

impl Body {
    /// The name of the body in a declaration.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::NameJson => "name-json",
            Self::Tags => "tags",
            Self::Python => "python",
        }
    }
}

/// What is wrong with a declaration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationFault {
    /// The name cannot be chosen on a command line.
    #[error("`{0}` is not a valid name for a dialect; use letters, digits, `.`, `_` and `-`")]
    BadName(String),
    /// The name belongs to another dialect.
    #[error("the name `{0}` is taken; choose another")]
    TakenName(String),
    /// A list that needs an entry is empty.
    #[error("`{0}` is empty; give at least one mark")]
    NoMark(&'static str),
    /// A list has too many entries.
    #[error("`{field}` has {count} entries; {MAX_ENTRIES} are the most")]
    TooMany {
        /// The field.
        field: &'static str,
        /// How many there are.
        count: usize,
    },
    /// An entry is empty or nothing but white space.
    #[error("`{0}` has an entry that is empty or white space")]
    Blank(&'static str),
    /// An entry is too long.
    #[error("`{field}` has an entry of {length} bytes; {MAX_LENGTH} are the most")]
    TooLong {
        /// The field.
        field: &'static str,
        /// The length of the entry.
        length: usize,
    },
    /// A mark begins or ends with white space.
    #[error("the mark {mark:?} in `{field}` has white space around it; leave that out")]
    Padded {
        /// The field.
        field: &'static str,
        /// The mark.
        mark: String,
    },
    /// A mark is one character, or only letters and digits.
    #[error(
        "the mark {mark:?} in `{field}` would be found in any prose; it needs two characters or more, and one that is not a letter or digit"
    )]
    TooCommon {
        /// The field.
        field: &'static str,
        /// The mark.
        mark: String,
    },
    /// A mark opens inline code or a fence.
    #[error("the mark {mark:?} in `{field}` starts like inline code or a fence, which quote")]
    Fence {
        /// The field.
        field: &'static str,
        /// The mark.
        mark: String,
    },
    /// A mark cannot be defused where a tool's result quotes it.
    #[error("the mark {mark:?} in `{field}` holds a `~` or a line break, which marks may not have")]
    Unguarded {
        /// The field.
        field: &'static str,
        /// The mark.
        mark: String,
    },
    /// A mark is one of reasoning.
    #[error("the mark {0:?} stands around reasoning and cannot be a call's, too")]
    Reasoning(String),
    /// A mark is given in two places.
    #[error("the mark {0:?} is given twice")]
    Twice(String),
    /// A key is both one of the name and one of the arguments.
    #[error("the key `{0}` stands in `name_keys` and in `args_keys`; it can be but one of them")]
    SameKey(String),
    /// The end of a name may be part of a name.
    #[error("`name_end` {0:?} starts with a character that a tool's name may have")]
    PartOfName(String),
    /// A field has no meaning for this body.
    #[error("`{field}` says nothing where `body` is \"{body}\"; leave it out")]
    Idle {
        /// The field.
        field: &'static str,
        /// The body.
        body: &'static str,
    },
    /// A field that this body needs is missing.
    #[error("`{field}` is missing; `body = \"{body}\"` needs it")]
    Missing {
        /// The field.
        field: &'static str,
        /// The body.
        body: &'static str,
    },
    /// A template cannot be parsed.
    #[error("`{field}` {template:?} cannot be understood; write it like {example}")]
    Template {
        /// The field.
        field: &'static str,
        /// The template.
        template: String,
        /// An example of a valid template.
        example: &'static str,
    },
    /// Two opening tags end differently.
    #[error("the opening tags end with {0:?} and with {1:?}; they have to end alike")]
    TagEnds(String, String),
}

impl Declaration {
    /// Checks that the names can be chosen, and that none is given twice.
    pub(super) fn check_names(&self) -> Result<(), DeclarationFault> {
        check_count("aliases", &self.aliases)?;
        for name in std::iter::once(&self.name).chain(&self.aliases) {
            let is_name = name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
            if name.is_empty() || !is_name || name.len() > MAX_LENGTH || name == "auto" {
                return Err(DeclarationFault::BadName(name.clone()));
            }
        }
        let mut names: Vec<&String> = std::iter::once(&self.name).chain(&self.aliases).collect();
        names.sort();
        let twice = names.windows(2).find_map(|pair| match pair {
            [one, other] if one == other => Some((*one).clone()),
            _ => None,
        });
        twice.map_or(Ok(()), |name| Err(DeclarationFault::TakenName(name)))
    }

    /// Checks that each field belongs to the body, and that none is missing.
    pub(super) fn check_fields(&self) -> Result<(), DeclarationFault> {
        let body = self.body.name();
        let idle = [
            ("name_keys", !self.name_keys.is_empty(), Body::Json),
            ("args_keys", !self.args_keys.is_empty(), Body::Json),
            ("name_end", !self.name_end.is_empty(), Body::NameJson),
            ("argument", self.argument.is_some(), Body::Tags),
        ];
        for (field, given, belongs_to) in idle {
            if given && self.body != belongs_to {
                return Err(DeclarationFault::Idle { field, body });
            }
        }
        if self.open.is_empty() {
            return Err(DeclarationFault::NoMark("open"));
        }
        if self.body == Body::Tags && self.close.is_empty() {
            let field = "close";
            return Err(DeclarationFault::Missing { field, body });
        }
        for (field, entries) in [
            ("open", &self.open),
            ("close", &self.close),
            ("name_keys", &self.name_keys),
            ("args_keys", &self.args_keys),
            ("name_end", &self.name_end),
        ] {
            check_count(field, entries)?;
            for entry in entries {
                check_entry(field, entry)?;
            }
        }
        if let Some(key) = self
            .name_keys
            .iter()
            .find(|key| self.args_keys.contains(key))
        {
            return Err(DeclarationFault::SameKey(key.clone()));
        }
        for end in &self.name_end {
            if end.trim() != end {
                let (field, mark) = ("name_end", end.clone());
                return Err(DeclarationFault::Padded { field, mark });
            }
            if end.starts_with(is_name_character) {
                return Err(DeclarationFault::PartOfName(end.clone()));
            }
        }
        Ok(())
    }
}

fn check_count(field: &'static str, entries: &[String]) -> Result<(), DeclarationFault> {
    let count = entries.len();
    if count > MAX_ENTRIES {
        return Err(DeclarationFault::TooMany { field, count });
    }
    Ok(())
}

fn check_entry(field: &'static str, entry: &str) -> Result<(), DeclarationFault> {
    if entry.trim().is_empty() {
        return Err(DeclarationFault::Blank(field));
    }
    let length = entry.len();
    if length > MAX_LENGTH {
        return Err(DeclarationFault::TooLong { field, length });
    }
    Ok(())
}

/// Checks that a text can be a mark of calls: one that does not occur in any
/// prose, and does not stand around reasoning.
pub(in crate::dialects) fn check_mark(
    field: &'static str,
    mark: &str,
) -> Result<(), DeclarationFault> {
    check_distinct(field, mark)?;
    if reasoning_marks().any(|tag| tag.eq_ignore_ascii_case(mark)) {
        return Err(DeclarationFault::Reasoning(mark.to_owned()));
    }
    Ok(())
}

/// Checks that a text does not occur in any prose.
pub(in crate::dialects) fn check_distinct(
    field: &'static str,
    mark: &str,
) -> Result<(), DeclarationFault> {
    check_entry(field, mark)?;
    let owned = || mark.to_owned();
    if mark.trim() != mark {
        let mark = owned();
        return Err(DeclarationFault::Padded { field, mark });
    }
    if mark.chars().count() < 2 || mark.chars().all(char::is_alphanumeric) {
        let mark = owned();
        return Err(DeclarationFault::TooCommon { field, mark });
    }
    if mark.contains(['~', '\n', '\r']) {
        let mark = owned();
        return Err(DeclarationFault::Unguarded { field, mark });
    }
    if mark.starts_with('`') {
        let mark = owned();
        return Err(DeclarationFault::Fence { field, mark });
    }
    Ok(())
}
