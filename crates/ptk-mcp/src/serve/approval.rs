//! Questions about calls that no rule decides, passed on to the user of the
//! client that makes them.
//!
//! The approver never waits: it answers what the client's user has answered
//! already, and otherwise leaves the question behind and denies the call. The
//! caller then puts the question, in the way of the client's revision of the
//! protocol, and makes the call again with the answer. An answer holds only for
//! just this question, so that a call of which anything has changed meanwhile is
//! asked about anew.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use ptk_permission::shell::Word;
use ptk_tools::{ApprovalRequest, Approver, Decision};
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
};
use serde_json::Value;

/// How long a question may be, in bytes.
const MAX_QUESTION: usize = 16 * 1024;

/// The field of the form, and the answers to choose from.
const FIELD: &str = "decision";
const ALLOW: &str = "allow once";
const DENY: &str = "deny";

/// What a client is told where its user said no.
const REFUSED: &str = "the user said no";

tokio::task_local! {
    /// The answers to questions about the call that this task runs.
    static ANSWERS: Arc<Answers>;
}

/// Asks the user of the MCP client that makes a call, where the client can show
/// questions. Denies calls of other clients, and says how to allow them.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientApprover;

impl Approver for ClientApprover {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        let decision = ANSWERS.try_with(|answers| answers.decide(&request));
        let decision = decision.unwrap_or_else(|_| Decision::DenyOnce(how_to_allow(&request)));
        Box::pin(std::future::ready(decision))
    }
}

/// Identifies a question by everything that it is about.
pub(super) type Digest = [u8; 32];

/// A question about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) digest: Digest,
}

/// What is known of the questions about one call.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Whether the client can show questions.
    can_ask: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    given: Vec<(Digest, bool)>,
    open: Option<Question>,
}

impl Answers {
    /// The answers that were given before.
    pub(super) fn new(can_ask: bool, given: Vec<(Digest, bool)>) -> Arc<Self> {
        let state = State { given, open: None };
        Arc::new(Self {
            can_ask,
            state: Mutex::new(state),
        })
    }

    /// Runs a call with these answers.
    pub(super) fn during<F: Future>(
        self: &Arc<Self>,
        call: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        ANSWERS.scope(Arc::clone(self), call)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answers so far.
    pub(super) fn given(&self) -> Vec<(Digest, bool)> {
        self.lock().given.clone()
    }

    /// Takes the question that was left open, if there is one.
    pub(super) fn take_open(&self) -> Option<Question> {
        self.lock().open.take()
    }

    /// Answers a question.
    pub(super) fn give(&self, question: &Question, is_allowed: bool) {
        self.lock().given.push((question.digest, is_allowed));
    }

    fn decide(&self, request: &ApprovalRequest<'_>) -> Decision {
        if !self.can_ask {
            return Decision::DenyOnce(how_to_allow(request));
        }
        let question = match Question::of(request) {
            Ok(question) => question,
            Err(why) => return Decision::DenyOnce(why),
        };
        let mut state = self.lock();
        let given = state.given.iter().find(|(of, _)| *of == question.digest);
        match given {
            Some((_, true)) => Decision::Allow,
            Some((_, false)) => Decision::DenyOnce(REFUSED.to_owned()),
            None => {
                state.open = Some(question);
                Decision::DenyOnce("the client's user has not answered yet".to_owned())
            }
        }
    }
}

impl Question {
    /// The question, or why it cannot be asked.
    fn of(request: &ApprovalRequest<'_>) -> Result<Self, String> {
        let plan = request.plan;
        let args = request.args.to_json();
        let body = match plan.summary.trim_end() {
            "" => &args,
            summary => summary,
        };
        let mut text = format!("{} wants to {}:\n\n", request.tool, request.purpose());
        if body.len() <= MAX_QUESTION {
            text.push_str(body);
        } else if plan.command.is_some() {
            // A part of it would hide what the rest does.
            return Err(format!(
                "the command is longer than {MAX_QUESTION} bytes, too long for a question; {}",
                how_to_allow(request)
            ));
        } else {
            let fits = body
                .char_indices()
                .take_while(|(at, char)| at + char.len_utf8() <= MAX_QUESTION);
            let shown: String = fits.map(|(_, char)| char).collect();
            let _ = write!(text, "{shown}\n… {} more bytes …", body.len() - shown.len());
        }
        if let Some((_, folder)) = &plan.command {
            let _ = write!(text, "\n\nin {}", folder.display());
        }
        for warning in &plan.warnings {
            let _ = write!(text, "\n\n! {warning}");
        }
        if let Some(rule) = request.because {
            let _ = write!(text, "\n\nAsked because of the rule {rule}.");
        }
        let mut hasher = blake3::Hasher::new();
        for part in [request.tool, &args, body, &text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Ok(Self {
            text: visible(&text),
            digest: *hasher.finalize().as_bytes(),
        })
    }

    /// The question as a form with one choice.
    pub(super) fn form(&self) -> Result<ElicitRequestParams, &'static str> {
        let choices = vec![ALLOW.to_owned(), DENY.to_owned()];
        let schema = ElicitationSchema::builder()
            .required_enum_schema(FIELD, EnumSchema::builder(choices).untitled().build())
            .build()?;
        Ok(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.text.clone(),
            requested_schema: schema,
        })
    }
}

/// Whether a form was filled in, and the call allowed in it.
pub(super) fn is_allowed(answer: &ElicitResult) -> bool {
    let chosen = answer.content.as_ref().and_then(|form| form.get(FIELD));
    answer.action == ElicitationAction::Accept && chosen.and_then(Value::as_str) == Some(ALLOW)
}

/// Why a call is denied where no one can be asked, and what would allow it.
fn how_to_allow(request: &ApprovalRequest<'_>) -> String {
    if let Some(rule) = request.because {
        return format!(
            "the rule {rule} asks a person about it, and this client cannot show questions"
        );
    }
    let rules = request.rules.iter().map(ToString::to_string);
    let rules: Vec<String> = rules.map(|rule| Word::quoted(&rule)).collect();
    let way = if rules.is_empty() {
        "start".to_owned()
    } else {
        let rules = rules.join(" ");
        format!("run `ptk permissions allow {rules}`, or start")
    };
    format!(
        "no rule allows it, and this client cannot show questions. To allow it, the user can {way} the server with `--approve auto`"
    )
}

/// A text in which nothing can hide: control characters, and those that change
/// the direction of writing, are written out.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        let is_directing = matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if (char.is_control() && char != '\n' && char != '\t') || is_directing {
            shown.extend(char.escape_unicode());
        } else {
            shown.push(char);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_choice_to_allow_allows() {
        let answer = |action, content: Value| ElicitResult::new(action).with_content(content);
        let allow = serde_json::json!({FIELD: ALLOW});
        assert!(is_allowed(&answer(
            ElicitationAction::Accept,
            allow.clone()
        )));
        assert!(!is_allowed(&answer(ElicitationAction::Decline, allow)));
        for content in [
            serde_json::json!({FIELD: DENY}),
            serde_json::json!({}),
            Value::Null,
        ] {
            assert!(!is_allowed(&answer(ElicitationAction::Accept, content)));
        }
    }

    #[test]
    fn nothing_hides_in_a_question() {
        assert_eq!(
            visible("a\u{202e}b\u{1b}[2K\n\tc"),
            "a\\u{202e}b\\u{1b}[2K\n\tc"
        );
    }
}
