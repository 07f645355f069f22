//! An evaluated prompt is not evaluated again, not even in the next run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ptk_llm::{Completion, Message, Request};
use ptk_local::{Local, Settings};

use crate::scene::{ask, file, reply};

/// Instructions and examples of some hundred tokens.
fn request(question: &str) -> Request {
    let instructions = "You count ships for the keeper of a lighthouse, and answer shortly. ";
    let examples = [
        Message::user("How many ships passed on Monday, and how many on Tuesday?"),
        Message::assistant("On Monday twelve ships passed, and on Tuesday seven."),
    ];
    Request {
        examples: examples.into(),
        ..ask(question).system(instructions.repeat(16))
    }
}

/// Answers a request with a newly opened model, as another process would.
async fn run(folder: &Path, request: &Request) -> Completion {
    let settings = Settings::new(file()).context_window(1024).threads(1);
    let model = Local::open(settings.prompts_in(folder)).unwrap();
    reply(&model, request).await.unwrap()
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn instructions_are_read_once_for_all_runs() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("prompts");
    let first = run(&folder, &request("What is the capital of France?")).await;
    let read = first.usage.unwrap();
    assert!(
        read.cached_tokens == 0 && read.input_tokens > 200,
        "{read:?}"
    );
    let files = kept(&folder);
    assert_eq!(files.len(), 1, "{files:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&files[0])), (0o700, 0o600));

    let again = run(&folder, &request("What is the capital of France?")).await;
    let cached = again.usage.unwrap().cached_tokens;
    // Only the question and the template around it are left to evaluate.
    assert!(read.input_tokens - cached < 25, "{cached} of {read:?}");
    assert_eq!(again.text, first.text);
    let other = run(&folder, &request("What is the capital of Italy?")).await;
    assert_eq!(other.usage.unwrap().cached_tokens, cached);
    assert_eq!(kept(&folder), files);

    // Other instructions get a file of their own.
    let others = ask("What is the capital of France?").system("Answer in one word. ".repeat(60));
    assert_eq!(run(&folder, &others).await.usage.unwrap().cached_tokens, 0);
    assert_eq!(kept(&folder).len(), 2);
}

#[tokio::test]
async fn what_cannot_be_read_is_read_anew() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("prompts");
    let question = request("What is the capital of France?");
    let first = run(&folder, &question).await;
    let file = kept(&folder).remove(0);
    let whole = fs::read(&file).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for broken in [
        &b""[..],
        b"no such file",
        &whole[..whole.len() / 2],
        &changed,
    ] {
        fs::write(&file, broken).unwrap();
        let again = run(&folder, &question).await;
        assert_eq!(again.usage.unwrap().cached_tokens, 0);
        assert_eq!(again.text, first.text);
        assert_eq!(fs::read(&file).unwrap().len(), whole.len());
    }
    // If the cache cannot be written, the request is answered all the same.
    let nowhere = state.path().join("file");
    fs::write(&nowhere, "").unwrap();
    let again = run(&nowhere.join("prompts"), &question).await;
    assert_eq!(again.text, first.text);
}
