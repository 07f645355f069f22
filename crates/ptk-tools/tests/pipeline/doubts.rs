use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ptk_permission::{Declaration, Mode};
use ptk_protocol::ErrorType;
use ptk_tools::{AllowAll, ApprovalRequest, Approver, Decision, Permissions};
use serde_json::json;

use super::{Fixture, request};

const DOUBT: &str = "It may have happened already.";

/// A person who always gives the same answer, and remembers the warnings.
#[derive(Clone)]
struct Person {
    says: Decision,
    warned: Arc<Mutex<Vec<String>>>,
}

impl Approver for Person {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        let warnings = request.plan.warnings.join(" ");
        self.warned.lock().unwrap().push(warnings);
        assert!(request.rules.is_empty(), "nobody agrees for longer");
        Box::pin(std::future::ready(self.says.clone()))
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// Even about what needs no question, and what is allowed without one.
#[tokio::test]
async fn a_person_is_asked_about_a_doubt_once_whatever_is_allowed() {
    for (says, is_run) in [
        (Decision::AllowForSession, true),
        (Decision::DenyOnce("no".to_owned()), false),
    ] {
        for tool in ["look", "change"] {
            let person = Person {
                says: says.clone(),
                warned: Arc::default(),
            };
            let asked = person.clone();
            let fixture = Fixture::with(|builder| {
                builder
                    .approver(asked)
                    .permissions(Permissions::new(Mode::Auto))
            });
            let call = request(tool, json!({"text": "a"})).doubted(DOUBT);
            let outcome = fixture.tools.execute(call).await;
            assert_eq!(outcome.result.success, is_run, "{tool}");
            assert_eq!(*person.warned.lock().unwrap(), [DOUBT], "{tool}");
            assert_eq!(fixture.runs(), usize::from(is_run));
        }
    }
}

#[tokio::test]
async fn a_question_to_a_person_is_told_before_its_answer() {
    for (says, answer) in [
        (Decision::Allow, "permission passed"),
        (Decision::DenyOnce("no".to_owned()), "permission refused"),
    ] {
        let ask = Declaration {
            ask: vec!["look".to_owned()],
            ..Declaration::default()
        };
        let rules = ask.entries("test").unwrap();
        let mut fixture = Fixture::with(|builder| {
            builder
                .approver(Person {
                    says,
                    warned: Arc::default(),
                })
                .permissions(Permissions::new(Mode::Ask).rules(rules))
        });
        // Also about what needs no permission but for the rule.
        fixture.call("look", json!({"text": "a"})).await;
        let told = fixture.types();
        let about = told.iter().filter(|name| {
            ["tool_call_start", "tool_call_held", "tool_call_end"].contains(&name.as_str())
                || name.starts_with("permission")
        });
        let about: Vec<&str> = about.map(String::as_str).collect();
        let expected = ["tool_call_start", "tool_call_held", answer, "tool_call_end"];
        assert_eq!(about, expected);
    }
}

#[tokio::test]
async fn nobody_is_told_of_questions_to_a_program() {
    let mut fixture = Fixture::with(|builder| builder.approver(AllowAll));
    fixture.call("change", json!({"text": "a"})).await;
    let told = fixture.types();
    assert!(told.contains(&"permission passed".to_owned()), "{told:?}");
    assert!(!told.contains(&"tool_call_held".to_owned()), "{told:?}");
}

#[tokio::test]
async fn without_a_person_a_call_in_doubt_is_refused() {
    let fixture = Fixture::with(|builder| builder.approver(AllowAll));
    let call = request("look", json!({"text": "a"})).doubted(DOUBT);
    let result = fixture.tools.execute(call).await.result;
    assert_eq!(result.error_type, Some(ErrorType::PermissionError));
    assert!(
        result.error.contains("a person has to agree"),
        "{}",
        result.error
    );
    assert_eq!(fixture.runs(), 0);
}
