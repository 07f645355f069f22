//! Commands as models.

use std::time::Duration;

use futures_util::StreamExt as _;
use ptk_llm::http::Timeouts;
use ptk_llm::{
    CommandProvider, Completion, Delta, Form, LlmError, LlmErrorKind, Message, Provider as _,
    Request, complete,
};

fn shell(script: &str) -> CommandProvider {
    CommandProvider::new("sh", ["-c", script])
}

async fn said(script: &str, prompt: &str) -> Result<Completion, LlmError> {
    let request = Request::new([Message::user(prompt)]);
    complete(&shell(script), &request).await
}

/// A process that it left behind keeps its stdout open, until the gate is
/// opened.
#[tokio::test]
async fn a_command_that_has_ended_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    for (number, expected) in [(0, Ok("hi\n")), (3, Err("exit status: 3"))] {
        let gate = folder.path().join(number.to_string());
        let made = std::process::Command::new("mkfifo").arg(&gate).status();
        assert!(made.unwrap().success());
        let script = format!("(read x < '{}') & echo hi; exit {number}", gate.display());
        let reply = said(&script, "Hi").await;
        drop(std::fs::OpenOptions::new().write(true).open(gate));
        match expected {
            Ok(text) => assert_eq!(reply.unwrap().text, text),
            Err(why) => assert!(reply.unwrap_err().message.contains(why)),
        }
    }
}

/// Findings about one command do not hold for another.
#[test]
fn commands_of_one_program_are_told_apart() {
    let ids = ["echo a", "echo b"].map(|script| shell(script).id());
    assert_ne!(ids[0], ids[1]);
    assert_eq!(ids[0], shell("echo a").id());
}

#[tokio::test]
async fn the_prompt_goes_in_and_the_answer_comes_out() {
    let request = Request::new([Message::user("USER: Hi")]).system("Be brief.");
    let provider = shell("cat; echo ' – yes'");
    assert_eq!(
        (provider.name(), provider.capabilities(None).form),
        ("sh", Form::Prompt)
    );
    let reply = complete(&provider, &request).await.unwrap();
    assert_eq!(reply.text, "Be brief.\n\nUSER: Hi – yes\n");
    // No shell is between them.
    let provider = CommandProvider::new("printf", ["%s", "$HOME; `ls`"]);
    assert_eq!(
        complete(&provider, &request).await.unwrap().text,
        "$HOME; `ls`"
    );
}

/// More than the pipes hold, in both directions, at once and one after the
/// other.
#[tokio::test]
async fn long_prompts_and_answers_block_nobody() {
    let prompt = "ü€🎉x".repeat(100_000);
    for script in ["cat", "head -c 300000 /dev/zero | tr '\\0' x >&2; cat"] {
        let reply = said(script, &prompt).await.unwrap();
        assert_eq!(reply.text.len(), prompt.len());
        assert!(
            reply.text == prompt,
            "characters cut in two are put together"
        );
    }
    let before = said(
        "head -c 300000 /dev/zero | tr '\\0' x; cat >/dev/null",
        &prompt,
    )
    .await;
    assert_eq!(before.unwrap().text.len(), 300_000);
}

#[tokio::test]
async fn a_command_need_not_read() {
    let prompt = "x".repeat(1_000_000);
    assert_eq!(said("echo Hi.", &prompt).await.unwrap().text, "Hi.\n");
    assert_eq!(
        said("exec <&-; echo Hi.", &prompt).await.unwrap().text,
        "Hi.\n"
    );
}

#[tokio::test]
async fn what_fails_says_why() {
    for (script, kind, words) in [
        (
            "echo Half; echo one >&2; echo two >&2; exit 3",
            LlmErrorKind::Failing,
            "exit status: 3: one; two",
        ),
        ("exit 4", LlmErrorKind::Failing, "exit status: 4"),
        ("kill -9 $$", LlmErrorKind::Failing, "SIGKILL"),
        ("cat >/dev/null", LlmErrorKind::Empty, "printed nothing"),
        ("echo; echo 'no model' >&2", LlmErrorKind::Empty, "no model"),
        ("printf 'a\\377b'", LlmErrorKind::Unreadable, "no UTF-8"),
        ("printf 'a\\303'", LlmErrorKind::Unreadable, "no UTF-8"),
    ] {
        let error = said(script, "Hi").await.unwrap_err();
        assert_eq!(error.kind, kind, "{script}: {error}");
        assert!(error.to_string().contains(words), "{script}: {error}");
    }
    let request = Request::new([Message::user("Hi")]);
    let missing = CommandProvider::new("/no/such/program", [""; 0]);
    let error = complete(&missing, &request).await.unwrap_err();
    assert_eq!(
        (error.kind, error.is_retryable()),
        (LlmErrorKind::NotStarted, false)
    );
    let told = error.to_string();
    assert!(
        told.starts_with("program cannot be started: No such file"),
        "{told}"
    );
}

#[tokio::test]
async fn complaints_are_bounded_to_the_last_ones() {
    let error = said("seq 1 100000 >&2; exit 1", "Hi").await.unwrap_err();
    assert!(error.message.ends_with("99999; 100000"), "{error}");
    assert!(error.message.len() < 200, "{error}");
}

#[tokio::test]
async fn a_reply_without_end_is_given_up() {
    let error = said("yes", "Hi").await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::TooMuch);
}

#[tokio::test]
async fn a_command_that_falls_silent_is_not_waited_for_without_end() {
    let request = Request::new([Message::user("Hi")]);
    for timeouts in [
        Timeouts {
            idle: Duration::from_millis(50),
            ..Timeouts::default()
        },
        Timeouts {
            whole: Duration::from_millis(50),
            ..Timeouts::default()
        },
    ] {
        let provider = shell("echo Half; sleep 1000").timeouts(timeouts);
        let error = complete(&provider, &request).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::TimedOut);
    }
}

/// The processes that it started end with it: a reader of their pipe sees its
/// end.
#[tokio::test]
async fn nothing_is_left_when_nobody_listens() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // It has the pipe open before it prints anything, and so has what it
    // starts.
    let pipe_name = pipe.display();
    let script = format!("exec 3>'{pipe_name}'; sleep 1000 & echo Hi; sleep 1000");
    let reading = std::thread::spawn(move || std::fs::read(pipe).unwrap());
    let request = Request::new([Message::user("Hi")]);
    let provider = shell(&script);
    let mut deltas = provider.stream(&request);
    let first = deltas.next().await.unwrap().unwrap();
    assert_eq!(first, Delta::Text("Hi\n".to_owned()));
    drop(deltas);
    assert_eq!(reading.join().unwrap(), b"");
}
