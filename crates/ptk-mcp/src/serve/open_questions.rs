//! The questions that clients answer with another request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ptk_events::RequestId;

use super::approval::{Answers, Digest, Question};
use super::conversations::ClientIdentity;

/// How many questions are open at the same time.
const MAX_OPEN: usize = 256;
/// How long they are.
const OPEN_FOR: Duration = Duration::from_secs(600);

/// The questions that clients answer with another request.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    open: Mutex<HashMap<String, OpenQuestion>>,
}

#[derive(Debug)]
struct OpenQuestion {
    client: ClientIdentity,
    given: Vec<(Digest, bool)>,
    asked: Digest,
    since: Instant,
}

impl OpenQuestions {
    /// Keeps a question, with the answers to those before it. Returns what the
    /// client has to send along with its answer.
    pub(super) fn keep(
        &self,
        client: ClientIdentity,
        answers: &Answers,
        question: &Question,
    ) -> String {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, question| question.since.elapsed() < OPEN_FOR);
        if open.len() >= MAX_OPEN {
            let oldest = open.iter().min_by_key(|(_, question)| question.since);
            let oldest = oldest.map(|(state, _)| state.clone());
            if let Some(oldest) = oldest {
                open.remove(&oldest);
            }
        }
        let state = RequestId::new().as_uuid().simple().to_string();
        let kept = OpenQuestion {
            client,
            given: answers.given(),
            asked: question.digest,
            since: Instant::now(),
        };
        open.insert(state.clone(), kept);
        state
    }

    /// The answers of a client so far, with that to the last question if there
    /// is one. `None` if the question was another client's, was answered before,
    /// or waited for too long.
    pub(super) fn answered(
        &self,
        client: &ClientIdentity,
        state: &str,
        is_allowed: Option<bool>,
    ) -> Option<Vec<(Digest, bool)>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = |question: &OpenQuestion| {
            question.client == *client && question.since.elapsed() < OPEN_FOR
        };
        if !open.get(state).is_some_and(is_own) {
            return None;
        }
        let mut question = open.remove(state)?;
        let answer = is_allowed.map(|is_allowed| (question.asked, is_allowed));
        question.given.extend(answer);
        Some(question.given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str) -> ClientIdentity {
        ClientIdentity(Some((name.to_owned(), "1".to_owned())))
    }

    #[test]
    fn an_answer_counts_once_and_only_from_the_client_that_was_asked() {
        let questions = OpenQuestions::default();
        let question = Question {
            text: "Allow?".to_owned(),
            digest: [7; 32],
        };
        let answers = Answers::new(true, vec![([1; 32], true)]);
        let state = questions.keep(client("ann"), &answers, &question);
        let yes = Some(true);
        assert_eq!(questions.answered(&client("bob"), &state, yes), None);
        let given = questions.answered(&client("ann"), &state, yes).unwrap();
        assert_eq!(given, [([1; 32], true), ([7; 32], true)]);
        assert_eq!(questions.answered(&client("ann"), &state, yes), None);
        assert_eq!(questions.answered(&client("ann"), "made up", yes), None);
    }

    #[test]
    fn questions_that_are_not_answered_make_room_for_others() {
        let questions = OpenQuestions::default();
        let answers = Answers::new(true, Vec::new());
        let question = Question {
            text: String::new(),
            digest: [0; 32],
        };
        for _ in 0..MAX_OPEN + 10 {
            questions.keep(client("ann"), &answers, &question);
        }
        assert_eq!(questions.open.lock().unwrap().len(), MAX_OPEN);
    }
}
