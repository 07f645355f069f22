//! Answers constrained by a schema or a grammar: in the format of each server,
//! and reported as a capability only where it is one.

use ptk_llm::http::{HttpProvider, SERVICES, Service};
use ptk_llm::{Constraint, Provider as _, ResponseFormat, complete};
use serde_json::{Value, json};

use crate::server::{Answer, Server, request};

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false})
}

/// The request that a service gets for an answer in this format. It gives none.
async fn asked(service: &str, format: ResponseFormat) -> Value {
    let server = Server::new(vec![Answer::json(&json!({}))]);
    let service = Service::named(service).unwrap();
    let provider = HttpProvider::elsewhere(service, &server.address).unwrap();
    let mut request = request();
    request.format = format;
    complete(&provider.with_model("tiny"), &request)
        .await
        .unwrap_err();
    server.asked().body
}

#[tokio::test]
async fn each_server_is_told_the_schema_in_its_own_words() {
    let openai = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema(), "strict": true}});
    let responses =
        json!({"type": "json_schema", "name": "answer", "schema": schema(), "strict": true});
    let anthropic = json!({"type": "json_schema", "schema": schema()});
    for (service, pointer, expected) in [
        ("openai", "/response_format", openai.clone()),
        ("openai-responses", "/text/format", responses),
        ("anthropic", "/output_config/format", anthropic),
        (
            "ai-studio",
            "/generationConfig/responseJsonSchema",
            schema(),
        ),
        ("groq", "/response_format", openai.clone()),
        ("ollama", "/format", schema()),
        ("llama.cpp", "/response_format/schema", schema()),
        ("llama.cpp-completion", "/json_schema", schema()),
        ("vllm", "/structured_outputs/json", schema()),
        ("sglang", "/response_format", openai.clone()),
        ("lmstudio", "/response_format", openai),
    ] {
        let body = asked(service, ResponseFormat::Schema(schema())).await;
        assert_eq!(body.pointer(pointer), Some(&expected), "{service} {body}");
        let open = asked(service, ResponseFormat::Schema(json!({"type": "object"}))).await;
        assert!(!open.to_string().contains("\"strict\":true"), "{service}");
    }
}

#[tokio::test]
async fn a_grammar_goes_only_to_those_that_know_it() {
    let grammar = "root ::= \"yes\" | \"no\"";
    for service in SERVICES {
        let body = asked(service.name, ResponseFormat::Grammar(grammar.to_owned())).await;
        let pointer = match service.name {
            "llama.cpp" | "llama.cpp-completion" => Some("/grammar"),
            "vllm" => Some("/structured_outputs/grammar"),
            "sglang" => Some("/ebnf"),
            _ => None,
        };
        let found = pointer.and_then(|pointer| body.pointer(pointer));
        assert_eq!(
            found,
            pointer.map(|_| json!(grammar)).as_ref(),
            "{}",
            service.name
        );
        assert_eq!(
            body.to_string().contains("root ::="),
            pointer.is_some(),
            "{}",
            service.name
        );
    }
}

#[tokio::test]
async fn a_structural_tag_goes_only_to_those_that_know_it() {
    let format = json!({"type": "const_string", "value": "yes"});
    let tag = json!({"type": "structural_tag", "format": format});
    for service in SERVICES {
        let body = asked(service.name, ResponseFormat::StructuralTag(tag.clone())).await;
        let found = match service.name {
            "vllm" => Some(("/structured_outputs/structural_tag", json!(tag.to_string()))),
            "sglang" => Some(("/response_format", tag.clone())),
            _ => None,
        };
        match found {
            Some((pointer, expected)) => {
                assert_eq!(body.pointer(pointer), Some(&expected), "{}", service.name);
            }
            None => assert!(!body.to_string().contains("const_string"), "{body}"),
        }
    }
}

#[test]
fn services_say_whether_they_hold_to_a_schema() {
    let held_to = |constraint| -> Vec<&str> {
        let holds = |service: &&Service| {
            let provider = HttpProvider::elsewhere(service, "http://127.0.0.1:9").unwrap();
            provider.capabilities(None).constraint == constraint
        };
        let services = SERVICES.iter().filter(holds);
        services.map(|service| service.name).collect()
    };
    let unknown = held_to(Constraint::None);
    assert_eq!(unknown, ["groq", "openrouter", "completion"]);
    let grammar = held_to(Constraint::Grammar);
    assert_eq!(grammar, ["llama.cpp", "llama.cpp-completion"]);
    let tag = held_to(Constraint::StructuralTag);
    assert_eq!(tag, ["vllm", "sglang"]);
}
