//! `xml`: `<tool name="f"><arg name="k">v</arg></tool>`.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::engine::tag_form::{JsonBody, NamePosition, Param, SPACES, TagForm, ValueLines};
use super::{Dialect, Trigger, Writer};
use crate::ToolCall;
use crate::parse::Reader;
use crate::schema::coerce_text;

const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

static FORM: LazyLock<Arc<TagForm>> = LazyLock::new(|| {
    Arc::new(TagForm {
        open: vec!["<tool".to_owned()],
        named: NamePosition::Attribute("name".to_owned()),
        tag_end: ">".to_owned(),
        close: vec!["</tool>".to_owned()],
        param: Param::Tag {
            open: "<arg".to_owned(),
            named: NamePosition::Attribute("name".to_owned()),
            close: "</arg>".to_owned(),
        },
        groups: Vec::new(),
        sections: Vec::new(),
        is_xml: true,
        json: JsonBody::Repair,
        json_block: None,
        addresses: Vec::new(),
        lines: ValueLines::Dropped,
        spaces: SPACES,
    })
});

/// The dialect with arguments as elements. A value ends at the `</arg>` behind
/// which the next argument or the end of the call follows, so that it may hold
/// markup; in CDATA it may hold anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Xml;

impl Dialect for Xml {
    fn name(&self) -> &'static str {
        "xml"
    }

    fn triggers(&self) -> Vec<Trigger> {
        FORM.triggers()
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        TagForm::reader(&FORM, trigger)
    }

    fn closers(&self) -> Vec<String> {
        FORM.close.clone()
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Xml {
    fn rules(&self) -> Vec<String> {
        vec!["Put code and other text with < or & in it into <![CDATA[ … ]]>.".to_owned()]
    }

    fn shows_long_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall) -> String {
        let mut text = format!("<tool name=\"{}\"", escape_attribute(&call.name));
        if let Some(reasoning) = &call.reasoning {
            text.push_str(&format!(" reasoning=\"{}\"", escape_attribute(reasoning)));
        }
        text.push('>');
        for (key, value, json) in call.args.members() {
            let (kind, value) = match value {
                Value::String(string) => ("", escape_value(string)),
                Value::Null => (" type=\"null\"", Cow::Owned(json)),
                Value::Bool(_) => (" type=\"boolean\"", Cow::Owned(json)),
                Value::Number(_) => (" type=\"number\"", Cow::Owned(json)),
                Value::Array(_) => (" type=\"array\"", Cow::Owned(escape_json(&json))),
                Value::Object(_) => (" type=\"object\"", Cow::Owned(escape_json(&json))),
            };
            let key = escape_attribute(key);
            text.push_str(&format!("\n<arg name=\"{key}\"{kind}>{value}</arg>"));
        }
        text.push_str("\n</tool>");
        text
    }
}

fn escape_attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push_str(&format!("&#{};", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON in which nothing can be taken for markup: `<` and `&` stand in strings
/// only, where they can be escaped.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c").replace('&', "\\u0026")
}

/// A string as it can stand in an element: as it is where it reads back as
/// the same string, else in CDATA.
fn escape_value(text: &str) -> Cow<'_, str> {
    let plain = !text.contains(['<', '&'])
        && text.trim() == text
        && !text.is_empty()
        && coerce_text(text, None).value.is_string();
    if plain {
        return Cow::Borrowed(text);
    }
    let safe = text.replace(CDATA_END, "]]]]><![CDATA[>");
    Cow::Owned(format!("{CDATA}{safe}{CDATA_END}"))
}
