//! The endpoint `/openapi.json`: a description of all endpoints, for programs.

use hyper::StatusCode;

use super::{JSON, Reply};

const DOCUMENT: &str = include_str!("openapi.json");

/// The document that describes all endpoints.
pub(super) fn document() -> Reply {
    Reply::whole(StatusCode::OK, JSON, DOCUMENT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::Endpoint;
    use super::*;

    fn document() -> Value {
        serde_json::from_str(DOCUMENT).unwrap()
    }

    #[test]
    fn the_document_has_every_endpoint_and_no_other() {
        let served: BTreeSet<(String, String)> = Endpoint::ALL
            .iter()
            .map(|found| (found.path().to_owned(), found.method().as_str().to_owned()))
            .collect();
        let document = document();
        let paths = document["paths"].as_object().unwrap().iter();
        let described: BTreeSet<(String, String)> = paths
            .flat_map(|(path, item)| {
                let methods = item.as_object().unwrap().keys();
                methods.map(|method| (path.clone(), method.to_uppercase()))
            })
            .collect();
        assert_eq!(described, served);
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_part_is_used() {
        fn references(value: &Value, found: &mut BTreeSet<String>) {
            match value {
                Value::Object(map) => {
                    if let Some(Value::String(reference)) = map.get("$ref") {
                        found.insert(reference.clone());
                    }
                    map.values().for_each(|value| references(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        let kinds = document["components"].as_object().unwrap().iter();
        let there: BTreeSet<String> = kinds
            .filter(|(kind, _)| *kind != "securitySchemes")
            .flat_map(|(kind, parts)| {
                let names = parts.as_object().unwrap().keys();
                names.map(move |name| format!("#/components/{kind}/{name}"))
            })
            .collect();
        assert_eq!(found, there);
    }

    #[test]
    fn the_document_is_of_this_version() {
        assert_eq!(document()["info"]["version"], env!("CARGO_PKG_VERSION"));
    }
}
