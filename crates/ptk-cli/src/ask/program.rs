//! Questions as JSON lines for the program that runs `ptk`, and its answers on
//! stdin.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead as _};

use ptk_tools::Decision;
use ptk_tools::form::FormAnswer;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::PendingQuestion;
use crate::question::{Kind, Question, refused};
use crate::view::{note_line, now};

/// The lines of stdin, read on a thread of their own.
#[derive(Debug)]
pub(crate) struct StdinLines {
    lines: mpsc::Receiver<io::Result<String>>,
}

impl StdinLines {
    pub(crate) fn read() -> Self {
        // Lines are read when they are needed, and one ahead.
        let (tell, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut line = Vec::new();
                let read = match stdin.read_until(b'\n', &mut line) {
                    Ok(0) => return,
                    Ok(_) => Ok(String::from_utf8_lossy(&line).into_owned()),
                    Err(error) => Err(error),
                };
                let is_last = read.is_err();
                if tell.blocking_send(read).is_err() || is_last {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next line; `None` at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        self.lines.recv().await.transpose()
    }
}

/// The questions that wait for an answer of the program.
#[derive(Debug)]
pub(crate) struct ProgramQuestions {
    asked: mpsc::UnboundedReceiver<PendingQuestion>,
    lines: StdinLines,
    open: BTreeMap<u64, PendingQuestion>,
    last: u64,
    /// Whether there will be no more lines.
    is_over: bool,
    /// Lines that are no answers, if they are something else.
    prompts: Option<VecDeque<String>>,
}

/// An answer, as the program writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(rename = "answer")]
    question: u64,
    decision: AnswerKind,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    values: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswerKind {
    Allow,
    Session,
    Edits,
    Always,
    Deny,
    Accept,
    Decline,
    Cancel,
}

impl ProgramQuestions {
    /// All lines on stdin are answers.
    pub(crate) fn new(asked: mpsc::UnboundedReceiver<PendingQuestion>) -> Self {
        Self {
            asked,
            lines: StdinLines::read(),
            open: BTreeMap::new(),
            last: 0,
            is_over: false,
            prompts: None,
        }
    }

    /// The same, but lines on stdin that are no answers are prompts.
    pub(crate) fn beside_prompts(self) -> Self {
        Self {
            prompts: Some(VecDeque::new()),
            ..self
        }
    }

    /// The next prompt; `None` at the end.
    pub(crate) async fn prompt(&mut self) -> io::Result<Option<String>> {
        let kept = self.prompts.as_mut().and_then(VecDeque::pop_front);
        match kept {
            Some(line) => Ok(Some(line)),
            None => self.lines.next().await,
        }
    }

    /// The next line for the program: a question, or a note on an answer that
    /// could not be used.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            self.open.retain(|_, put| !put.is_gone());
            let has_open = !self.open.is_empty();
            tokio::select! {
                biased;
                Some(put) = self.asked.recv() => return self.put(put),
                line = self.lines.next(), if has_open && !self.is_over => {
                    // What cannot be read is the end, too.
                    let Ok(Some(line)) = line else {
                        self.is_over = true;
                        // Dropped questions count as not answered.
                        self.open.clear();
                        continue;
                    };
                    if let Err(error) = self.take(&line) {
                        return note_line(&error);
                    }
                }
                // Questions that are dropped meanwhile are forgotten later.
                else => std::future::pending().await,
            }
        }
    }

    /// Puts a question to the program.
    fn put(&mut self, put: PendingQuestion) -> Value {
        self.last += 1;
        let mut line = match &put {
            PendingQuestion::Call(asked) => call(&asked.question),
            PendingQuestion::Form(asked) => json!({
                "kind": "form",
                "from": asked.question.from,
                "message": asked.question.message,
                "schema": asked.question.schema,
                "answers": ["accept", "decline", "cancel"],
            }),
        };
        if let Some(line) = line.as_object_mut() {
            line.insert("type".to_owned(), json!("question"));
            line.insert("ts".to_owned(), json!(now()));
            line.insert("id".to_owned(), json!(self.last));
        }
        if !self.is_over {
            self.open.insert(self.last, put);
        }
        line
    }

    /// Takes a line from stdin.
    fn take(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        let answer: Answer = match (serde_json::from_str(line), &mut self.prompts) {
            (Ok(answer), _) => answer,
            (Err(error), Some(prompts)) => {
                if !is_meant_as_answer(line) {
                    prompts.push_back(line.to_owned());
                    return Ok(());
                }
                return Err(format!("This is no answer: {error}."));
            }
            (Err(error), None) => return Err(format!("This is no answer: {error}.")),
        };
        let id = answer.question;
        let Some(put) = self.open.remove(&id) else {
            return Err(format!("No question {id} is open."));
        };
        let put = match put {
            PendingQuestion::Call(asked) => match decision(&answer, &asked.question) {
                Some(decision) => {
                    asked.answer(decision);
                    return Ok(());
                }
                None => PendingQuestion::Call(asked),
            },
            PendingQuestion::Form(asked) => match answer.decision {
                AnswerKind::Accept => match asked.question.check(&answer.values) {
                    Ok(()) => {
                        asked.answer(FormAnswer::Filled(answer.values));
                        return Ok(());
                    }
                    Err(error) => {
                        self.open.insert(id, PendingQuestion::Form(asked));
                        return Err(format!(
                            "The answer to question {id} does not fit: {error}."
                        ));
                    }
                },
                AnswerKind::Decline => {
                    asked.answer(FormAnswer::Declined);
                    return Ok(());
                }
                AnswerKind::Cancel => {
                    asked.answer(FormAnswer::Unanswered);
                    return Ok(());
                }
                _ => PendingQuestion::Form(asked),
            },
        };
        self.open.insert(id, put);
        Err(format!("Question {id} has no such answer."))
    }
}

/// Whether a line that is no answer was probably meant to be one.
fn is_meant_as_answer(line: &str) -> bool {
    let value: Result<Map<String, Value>, _> = serde_json::from_str(line);
    value.is_ok_and(|value| value.contains_key("answer"))
}

/// The decision about a call, if the question has such an answer.
fn decision(answer: &Answer, question: &Question) -> Option<Decision> {
    Some(match answer.decision {
        AnswerKind::Allow => Decision::Allow,
        AnswerKind::Session if question.has_session() => Decision::AllowForSession,
        AnswerKind::Edits if question.is_edit => Decision::AllowEdits,
        AnswerKind::Always if question.has_always() => Decision::AllowAlways,
        AnswerKind::Deny => refused(&answer.reason),
        _ => return None,
    })
}

/// A question about a call.
fn call(question: &Question) -> Value {
    let mut answers = vec!["allow"];
    if question.has_session() {
        answers.push("session");
    }
    if question.is_edit {
        answers.push("edits");
    }
    if question.has_always() {
        answers.push("always");
    }
    answers.push("deny");
    let kind = match question.kind {
        Kind::Call => "call",
        Kind::Changes => "changes",
    };
    json!({
        "kind": kind,
        "tool": question.tool,
        "purpose": question.purpose,
        "body": question.body,
        "folder": question.folder,
        "warnings": question.warnings,
        "remarks": question.remarks,
        "rules": question.rules,
        "answers": answers,
    })
}

#[cfg(test)]
mod tests {
    use ptk_tools::form::{Form, FormAsker as _};

    use super::*;
    use crate::ask::QuestionSender;

    /// Questions whose lines come from the test.
    fn stage() -> (
        QuestionSender,
        mpsc::Sender<io::Result<String>>,
        ProgramQuestions,
    ) {
        let (sender, asked) = QuestionSender::new();
        let (tell, lines) = mpsc::channel(8);
        let questions = ProgramQuestions {
            asked,
            lines: StdinLines { lines },
            open: BTreeMap::new(),
            last: 0,
            is_over: false,
            prompts: Some(VecDeque::new()),
        };
        (sender, tell, questions)
    }

    fn form() -> Form {
        let schema = json!({"properties": {"days": {"type": "integer"}}, "required": ["days"]});
        Form::new("travel", "How long?", schema).unwrap()
    }

    #[tokio::test]
    async fn an_answer_that_does_not_fit_leaves_the_question_open() {
        let (sender, tell, mut questions) = stage();
        let asking = tokio::spawn(async move { sender.ask(form()).await });
        let question = questions.next().await;
        assert_eq!(question["type"], "question");
        assert_eq!(question["message"], "How long?");
        for (line, note) in [
            (
                r#"{"answer": 7, "decision": "accept"}"#,
                "No question 7 is open.",
            ),
            (
                r#"{"answer": 1, "decision": "always"}"#,
                "Question 1 has no such answer.",
            ),
            (
                r#"{"answer": 1, "decision": "accept", "values": {"days": "x"}}"#,
                "The answer to question 1 does not fit: `days`: it wants a whole number.",
            ),
        ] {
            tell.send(Ok(line.to_owned())).await.unwrap();
            assert_eq!(questions.next().await["message"], note);
        }
        tell.send(Ok("What is this?".to_owned())).await.unwrap();
        let good = r#"{"answer": 1, "decision": "accept", "values": {"days": 3}}"#;
        tell.send(Ok(good.to_owned())).await.unwrap();
        let answer = tokio::select! {
            line = questions.next() => panic!("{line}"),
            answer = asking => answer.unwrap(),
        };
        let FormAnswer::Filled(values) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(Value::Object(values), json!({"days": 3}));
        // What was no answer is the next prompt.
        let prompt = questions.prompt().await.unwrap();
        assert_eq!(prompt.as_deref(), Some("What is this?"));
    }

    #[tokio::test]
    async fn at_the_end_of_the_input_nothing_is_answered() {
        let (sender, tell, mut questions) = stage();
        drop(tell);
        for _ in 0..2 {
            let sender = sender.clone();
            let asking = tokio::spawn(async move { sender.ask(form()).await });
            assert_eq!(questions.next().await["kind"], "form");
            let answer = tokio::select! {
                line = questions.next() => panic!("{line}"),
                answer = asking => answer.unwrap(),
            };
            assert_eq!(answer, FormAnswer::Unanswered);
        }
    }
}
