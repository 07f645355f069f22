//! The forms that families of tagged arguments share.

use crate::dialects::engine::section::Section;
use crate::dialects::engine::tag_form::{
    JsonBody, NamePosition, Param, SPACES, SPACES_OR_NONE, TagForm, ValueLines,
};

/// The form `<parameter=k>v</parameter>` in `<function=f>`.
pub(super) fn function_form(sections: &[(&str, &str)]) -> TagForm {
    TagForm {
        open: vec!["<function=".to_owned()],
        named: NamePosition::Rest,
        tag_end: ">".to_owned(),
        close: vec!["</function>".to_owned()],
        param: Param::Tag {
            open: "<parameter=".to_owned(),
            named: NamePosition::Rest,
            close: "</parameter>".to_owned(),
        },
        groups: Vec::new(),
        sections: marks(sections),
        is_xml: false,
        json: JsonBody::Read,
        json_block: None,
        addresses: Vec::new(),
        lines: ValueLines::OfForm,
        spaces: SPACES,
    }
}

/// The form `<parameter name="k">v</parameter>` in `<invoke name="f">`, every
/// tag with a prefix.
pub(super) fn invoke_form(prefix: &str, sections: &[(&str, &str)]) -> TagForm {
    TagForm {
        open: vec![format!("<{prefix}invoke")],
        named: NamePosition::Attribute("name".to_owned()),
        tag_end: ">".to_owned(),
        close: vec![format!("</{prefix}invoke>")],
        param: Param::Tag {
            open: format!("<{prefix}parameter"),
            named: NamePosition::Attribute("name".to_owned()),
            close: format!("</{prefix}parameter>"),
        },
        groups: Vec::new(),
        sections: marks(sections),
        is_xml: false,
        json: JsonBody::Read,
        json_block: None,
        addresses: Vec::new(),
        lines: ValueLines::Dropped,
        spaces: SPACES,
    }
}

/// The form `<arg_key>k</arg_key><arg_value>v</arg_value>` behind the tool's
/// name.
pub(super) fn key_value_form(sections: &[(&str, &str)]) -> TagForm {
    key_value_tags(|tag| format!("{tag}>"), sections)
}

/// The form with a key and a value, its tags spelt by `tag`, which is given
/// their names.
pub(crate) fn key_value_tags(tag: impl Fn(&str) -> String, sections: &[(&str, &str)]) -> TagForm {
    let tags = |name: &str| (format!("<{}", tag(name)), format!("</{}", tag(name)));
    let (open, close) = tags("tool_call");
    TagForm {
        open: vec![open],
        named: NamePosition::Behind(vec![tags("tool_sep").0]),
        tag_end: ">".to_owned(),
        close: vec![close],
        param: Param::Pair {
            key: tags("arg_key"),
            kind: None,
            value: tags("arg_value"),
        },
        groups: Vec::new(),
        sections: marks(sections),
        is_xml: false,
        json: JsonBody::Read,
        json_block: None,
        addresses: Vec::new(),
        lines: ValueLines::Dropped,
        spaces: SPACES,
    }
}

/// The form `<param name="k">v</param>` in `<function name="f">`.
pub(super) fn param_form(sections: &[(&str, &str)]) -> TagForm {
    let groups = ["<params>", "</params>", "<parameters>", "</parameters>"];
    TagForm {
        open: vec!["<function".to_owned()],
        named: NamePosition::Attribute("name".to_owned()),
        tag_end: ">".to_owned(),
        close: vec!["</function>".to_owned()],
        param: Param::Tag {
            open: "<param".to_owned(),
            named: NamePosition::Attribute("name".to_owned()),
            close: "</param>".to_owned(),
        },
        groups: groups.map(str::to_owned).to_vec(),
        sections: marks(sections),
        is_xml: true,
        json: JsonBody::Read,
        json_block: None,
        addresses: Vec::new(),
        lines: ValueLines::Dropped,
        spaces: SPACES_OR_NONE,
    }
}

/// The form `<k>v</k>` in `<f>`.
pub(super) fn element_form() -> TagForm {
    TagForm {
        open: vec!["<".to_owned()],
        named: NamePosition::Tag,
        tag_end: ">".to_owned(),
        close: Vec::new(),
        param: Param::Element {
            prefix: String::new(),
        },
        groups: Vec::new(),
        sections: Vec::new(),
        is_xml: true,
        json: JsonBody::Read,
        json_block: None,
        addresses: Vec::new(),
        lines: ValueLines::Dropped,
        spaces: SPACES,
    }
}

pub(super) fn marks(sections: &[(&str, &str)]) -> Vec<Section> {
    sections
        .iter()
        .map(|(open, close)| Section::new(*open, *close))
        .collect()
}
