//! How the families with tagged arguments differ: their marks, and where the
//! names stand.

use super::section::Section;

/// How a family writes its calls.
#[derive(Debug, Clone)]
pub(crate) struct TagForm {
    /// The marks that open a call, up to its name or attributes.
    pub(crate) open: Vec<String>,
    /// The position of the call's name.
    pub(crate) named: NamePosition,
    /// The mark that ends an opening tag.
    pub(crate) tag_end: String,
    /// The marks that close a call. Empty where that is the tool's name in a
    /// tag.
    pub(crate) close: Vec<String>,
    /// How an argument is written.
    pub(crate) param: Param,
    /// Tags around the arguments that have no meaning.
    pub(crate) groups: Vec<String>,
    /// The marks around several calls.
    pub(crate) sections: Vec<Section>,
    /// Whether values have the entities and the CDATA of XML.
    pub(crate) is_xml: bool,
    /// Whether the arguments may be one JSON object instead of tags.
    pub(crate) json: JsonBody,
    /// The marks around the arguments where they are one JSON object. The first
    /// one is an opening tag, which may have attributes.
    pub(crate) json_block: Option<(&'static str, &'static str)>,
    /// The marks around the name of a recipient, before the sections.
    pub(crate) addresses: Vec<Section>,
    /// What the line breaks around a value are.
    pub(crate) lines: ValueLines,
    /// What may stand between an opening mark and the attributes.
    pub(crate) spaces: &'static [&'static str],
}

/// White space before the attributes of a tag.
pub(crate) const SPACES: &[&str] = &[" ", "\n", "\t"];

/// What may stand before the attributes where the space may be missing, or be
/// the character that byte-level tokenizers show for it.
pub(crate) const SPACES_OR_NONE: &[&str] = &[" ", "\n", "\t", "name=", "Ġ"];

/// What the line breaks around a value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueLines {
    /// They belong to the form, which does without them.
    Dropped,
    /// They belong to the form, which has them.
    OfForm,
    /// They belong to the value.
    OfValue,
}

/// Whether the arguments may be one JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonBody {
    /// The arguments may be one JSON object.
    Read,
    /// The arguments may be one JSON object, which counts as a repair.
    Repair,
    /// The arguments have to be one JSON object; other calls belong to another
    /// dialect.
    Only,
    /// The arguments may not be one JSON object: another dialect reads that.
    No,
}

/// The position of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamePosition {
    /// In the rest of the tag: `<function=f>`.
    Rest,
    /// In an attribute: `<invoke name="f">`.
    Attribute(String),
    /// Behind the tag, up to a line break, a tag or one of these marks.
    Behind(Vec<String>),
    /// The name is the tag itself: `<f>`.
    Tag,
}

/// How an argument is written.
#[derive(Debug, Clone)]
pub(crate) enum Param {
    /// A tag with the name in it, and its closing tag.
    Tag {
        /// The tag up to the name or its attributes.
        open: String,
        /// The position of its name.
        named: NamePosition,
        /// The closing tag.
        close: String,
    },
    /// The name and the value in a pair of tags each.
    Pair {
        /// The tags around the name.
        key: (String, String),
        /// The tags around the type, where it may be given.
        kind: Option<(String, String)>,
        /// The tags around the value.
        value: (String, String),
    },
    /// A tag with the argument's name as its own: `<k>v</k>`.
    Element {
        /// The text before each tag.
        prefix: String,
    },
}

impl TagForm {
    /// Whether another family's calls stand between the same marks, so that
    /// what cannot be read may be its.
    pub(crate) fn shares_marks(&self) -> bool {
        self.open.iter().any(|open| open == "<tool_call>")
    }

    /// The closing marks of the sections.
    pub(crate) fn section_ends(&self) -> Vec<String> {
        let sections = self.sections.iter();
        sections.map(|section| section.close.clone()).collect()
    }
}
