//! Errors of a local model.

use ptk_llm::{LlmErrorKind, Request, ResponseFormat};
use ptk_local::{Local, Settings};

use crate::scene::{ask, file, model, reply};

#[tokio::test]
async fn a_conversation_that_does_not_fit_is_refused() {
    let model = model();
    let error = reply(&model, &ask(&"word ".repeat(2000)))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::TooLong);
    assert!(error.to_string().contains("window is 1024"), "{error}");
    // The model still answers another request.
    reply(&model, &ask("Hi")).await.unwrap();
}

#[tokio::test]
async fn a_grammar_that_is_none_is_refused() {
    let model = model();
    let request = Request {
        format: ResponseFormat::Grammar("root ::= (".to_owned()),
        ..ask("Hi")
    };
    let error = reply(&model, &request).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Rejected);
    reply(&model, &ask("Hi")).await.unwrap();
}

#[test]
fn a_file_that_holds_no_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no model.gguf");
    std::fs::write(&path, "hello").unwrap();
    let error = Local::open(Settings::new(&path)).unwrap_err();
    assert!(error.to_string().contains("no model.gguf"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_cut_off_is_refused_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.gguf");
    let whole = std::fs::read(file()).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let model = match Local::open(Settings::new(&path)) {
        Ok(model) => model,
        Err(error) => {
            assert!(error.to_string().contains("cut.gguf"), "{error}");
            return;
        }
    };
    let error = reply(&model, &ask("Hi")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::NotStarted);
    assert!(error.to_string().contains("cut.gguf"), "{error}");
}
