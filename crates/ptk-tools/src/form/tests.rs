//! What fields take.

use serde_json::json;

use super::*;

fn form(properties: &Value) -> Form {
    Form::new(
        "server",
        "Well?",
        json!({"type": "object", "properties": properties}),
    )
    .unwrap()
}

fn field(property: &Value) -> Field {
    form(&json!({"it": property})).fields.remove(0)
}

#[test]
fn typed_texts_become_values() {
    let colours = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
    let titled = json!({"type": "string", "oneOf": [
        {"const": "low", "title": "Not much"}, {"const": "high", "title": "A lot"},
    ]});
    let some = json!({"type": "array", "items": {"enum": ["a", "b", "c"], "type": "string"}, "maxItems": 2});
    for (property, typed, value) in [
        (json!({"type": "string"}), " Hà Nội ", json!("Hà Nội")),
        (json!({"type": "integer"}), "-3", json!(-3)),
        (json!({"type": "number"}), "1.5e3", json!(1500.0)),
        (json!({"type": "boolean"}), "Yes", json!(true)),
        (json!({"type": "boolean"}), "n", json!(false)),
        (colours.clone(), "green", json!("g")),
        (colours, "1", json!("r")),
        (titled, "a lot", json!("high")),
        (some, "c, a", json!(["c", "a"])),
        (
            json!({"type": "string", "format": "email"}),
            "a@b.example",
            json!("a@b.example"),
        ),
        (
            json!({"type": "string", "format": "date"}),
            "2026-02-28",
            json!("2026-02-28"),
        ),
    ] {
        assert_eq!(field(&property).read(typed), Ok(Some(value)), "{property}");
    }
}

#[test]
fn what_does_not_fit_is_told_with_what_would() {
    let some =
        json!({"type": "array", "items": {"enum": ["a", "b"], "type": "string"}, "maxItems": 1});
    for (property, typed, wanted) in [
        (json!({"type": "integer"}), "1.5", "a whole number"),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 5}),
            "9",
            "a whole number, at least 1, at most 5",
        ),
        (json!({"type": "number"}), "much", "a number"),
        (json!({"type": "boolean"}), "maybe", "yes or no"),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            "c",
            "one of: a, b",
        ),
        (
            some,
            "a, b",
            "some of, separated by commas: a, b, at most 1",
        ),
        (
            json!({"type": "string", "format": "email"}),
            "no-address",
            "an e-mail address",
        ),
        (
            json!({"type": "string", "format": "date"}),
            "2026-02-31",
            "a date such as 2026-01-31",
        ),
        (
            json!({"type": "string", "minLength": 3}),
            "ab",
            "a text, at least 3 characters",
        ),
    ] {
        let error = field(&property).read(typed).unwrap_err();
        assert_eq!(error, format!("it wants {wanted}"), "{property}");
    }
}

#[test]
fn nothing_typed_is_the_default_or_no_value() {
    let schema = json!({
        "properties": {
            "city": {"type": "string"},
            "note": {"type": "string"},
            "days": {"type": "integer", "default": 3},
            "level": {"type": "integer", "minimum": 1, "default": 0},
        },
        "required": ["city", "days"],
    });
    let form = Form::new("server", "Well?", schema).unwrap();
    let read = |at: usize| form.fields[at].read("  ");
    assert!(read(0).is_err());
    assert_eq!(read(1), Ok(None));
    assert_eq!(read(2), Ok(Some(json!(3))));
    // A default that does not fit is none.
    assert_eq!(read(3), Ok(None));
}

#[test]
fn values_are_shown_as_they_are_typed() {
    let titled = json!({"type": "string", "oneOf": [{"const": "low", "title": "Not much"}]});
    for (property, value, typed) in [
        (json!({"type": "boolean"}), json!(true), "yes"),
        (titled, json!("low"), "Not much"),
        (
            json!({"type": "array", "items": {"enum": ["a", "b"]}}),
            json!(["b", "a"]),
            "b, a",
        ),
        (json!({"type": "number"}), json!(1.5), "1.5"),
    ] {
        let field = field(&property);
        assert_eq!(field.typed(&value), typed);
        assert_eq!(field.read(typed), Ok(Some(value)));
    }
}

#[test]
fn values_from_elsewhere_are_checked() {
    let schema = json!({
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    });
    let form = Form::new("server", "Well?", schema).unwrap();
    let check = |values: Value| form.check(values.as_object().unwrap());
    assert_eq!(check(json!({"city": "Huế", "days": 2})), Ok(()));
    assert_eq!(
        check(json!({"days": 2})),
        Err("`city` is missing".to_owned())
    );
    assert_eq!(
        check(json!({"city": "Huế", "days": "two"})),
        Err("`days`: it wants a whole number".to_owned())
    );
    assert_eq!(
        check(json!({"city": "Huế", "x": 1})),
        Err("there is no value `x`".to_owned())
    );
}

#[test]
fn only_plain_values_are_asked_for() {
    for property in [
        json!({"type": "object"}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": ["string", "null"]}),
        json!(true),
    ] {
        let schema = json!({"properties": {"it": property}});
        let error = Form::new("server", "Well?", schema).unwrap_err();
        assert_eq!(error, FormError::NotPlain("it".to_owned()));
    }
    let many = (0..=MAX_FIELDS).map(|at| (at.to_string(), json!({"type": "string"})));
    let many: Map<String, Value> = many.collect();
    let error = Form::new("server", "Well?", json!({"properties": many})).unwrap_err();
    assert_eq!(error, FormError::TooMany);
}
