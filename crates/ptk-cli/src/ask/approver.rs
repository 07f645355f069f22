//! Asks the user at a terminal to approve calls.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::future::BoxFuture;
use ptk_tools::{ApprovalRequest, Approver, Decision, Review};

use crate::printer::{AnsiColor, Style};
use crate::question::{Kind, Question, refused, without_gaps};
use crate::terminal::{Terminal, put};
use crate::view::Screen;

/// How many lines of a diff or a command are shown at once.
const MAX_LINES: usize = 200;
/// How many of them are from the end.
const LAST_LINES: usize = 50;

/// Help for the answer "always".
const ALWAYS: &str =
    "  a  the same from now on, in this workspace; `ptk permissions` takes it back\n";
/// Help for calls that the sandbox cannot fully protect from.
const UNPROTECTED: &str = "
  `ptk doctor` says how to get what the sandbox lacks. To let all commands run
  without it from now on, write [sandbox] and unprotected = \"allow\" into
  ~/.config/ptk/ptk.toml.
";

const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const STRONG: Style = Style::new().bold();

/// The approver for this process. While a question is open, the screen shows
/// nothing else.
pub(crate) fn approver(
    workspace: PathBuf,
    note: Option<String>,
    screen: Screen,
) -> Arc<dyn Approver> {
    match Terminal::find() {
        Some(terminal) => Arc::new(PersonApprover {
            workspace,
            note,
            person: AtTerminal {
                screen,
                terminal: Arc::new(terminal),
            },
        }),
        None => Arc::new(NoTerminal),
    }
}

/// Denies every call because there is no terminal, and says what would help.
pub(crate) struct NoTerminal;

impl Approver for NoTerminal {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        let rules: Vec<String> = request.rules.iter().map(ToString::to_string).collect();
        let mut why = "there is no terminal to ask on; run it on a terminal".to_owned();
        match (request.because, rules.is_empty()) {
            (Some(rule), _) => why = format!("{why}, because of the rule {rule}"),
            (None, true) => why.push_str(", or with --approve auto"),
            (None, false) => {
                let rules = rules.join(", ");
                why = format!(
                    "{why}, with --approve auto, or allow {rules} in ptk's permissions.toml"
                );
            }
        }
        Box::pin(std::future::ready(Decision::DenyOnce(why)))
    }

    fn review<'a>(&'a self, _review: Review<'a>) -> BoxFuture<'a, Decision> {
        let why = "there is no terminal to ask on; run it on a terminal, or without --review";
        Box::pin(std::future::ready(Decision::DenyOnce(why.to_owned())))
    }
}

/// Lets a person decide about calls.
pub(super) struct PersonApprover<P> {
    /// Commands in this folder are shown without it.
    pub(super) workspace: PathBuf,
    /// Shown with each question.
    pub(super) note: Option<String>,
    pub(super) person: P,
}

/// A person, wherever the questions are shown.
pub(super) trait DecisionMaker: Send + Sync {
    /// Asks until there is a decision or the caller is gone.
    fn decide(&self, question: Question) -> BoxFuture<'_, Decision>;
}

impl<P: DecisionMaker> Approver for PersonApprover<P> {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        let question = Question::of(&request, &self.workspace, self.note.as_deref());
        self.person.decide(question)
    }

    fn review<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Decision> {
        self.person.decide(Question::of_changes(&review))
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// The person at the terminal.
struct AtTerminal {
    screen: Screen,
    terminal: Arc<Terminal>,
}

impl DecisionMaker for AtTerminal {
    fn decide(&self, question: Question) -> BoxFuture<'_, Decision> {
        Box::pin(async move {
            let sheet = Sheet::of(question);
            let answer = put(&self.terminal, &self.screen, move |terminal, gone| {
                sheet.ask(terminal, gone)
            });
            answer.await.unwrap_or_else(|error| {
                Decision::DenyOnce(format!("the question could not be asked: {error}"))
            })
        })
    }
}

/// The text of a question.
struct Sheet {
    text: String,
    /// The full text, if it was cut.
    rest: Option<String>,
    question: Question,
}

impl Sheet {
    fn of(question: Question) -> Self {
        let (shown, rest) = cut(&question.body);
        let mut text = match question.kind {
            Kind::Call => format!(
                "{STRONG}{}{STRONG:#} wants to {}:\n\n{shown}\n",
                question.tool, question.purpose
            ),
            Kind::Changes => format!(
                "\n{STRONG}{}{STRONG:#} {}:\n\n{shown}\n",
                question.tool, question.purpose
            ),
        };
        if let Some(folder) = &question.folder {
            let _ = write!(text, "\nin {folder}\n");
        }
        if !question.warnings.is_empty() {
            text.push('\n');
        }
        for warning in &question.warnings {
            let _ = writeln!(text, "{WARNING}!{WARNING:#} {warning}");
        }
        for remark in &question.remarks {
            let _ = write!(text, "\n{remark}\n");
        }
        Self {
            text,
            rest,
            question,
        }
    }

    /// Asks until there is an answer.
    fn ask(&self, terminal: &Terminal, gone: &AtomicBool) -> io::Result<Decision> {
        terminal.forget_typed();
        terminal.say(&self.text)?;
        let question = &self.question;
        loop {
            terminal.say(&self.choices())?;
            let Some(answer) = terminal.line(gone)? else {
                return Ok(Decision::DenyOnce("there was no answer".to_owned()));
            };
            match answer.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(Decision::Allow),
                "s" | "session" if question.has_session() => return Ok(Decision::AllowForSession),
                "a" | "always" if question.has_always() => return Ok(Decision::AllowAlways),
                "n" | "no" => return Ok(refused("")),
                // Changes are kept or dropped only by an explicit answer.
                "" if question.kind == Kind::Call => return Ok(refused("")),
                "d" => terminal.say(self.rest.as_deref().unwrap_or_default())?,
                _ if question.kind == Kind::Call => terminal.say(&self.help())?,
                _ => {}
            }
        }
    }

    fn choices(&self) -> String {
        let question = &self.question;
        if question.kind == Kind::Changes {
            let more = match self.rest {
                Some(_) => ", d the rest",
                None => "",
            };
            return format!("\nKeep this? y yes, n no, as if it had not run{more}: ");
        }
        let more = match self.rest {
            Some(_) => ", d all of it",
            None => "",
        };
        if !question.has_session() {
            return format!("\nAllow? y once, n no{more}, ? help: ");
        }
        let rules = &question.rules;
        let (always, are) = if question.has_always() {
            (", a always", "s and a are")
        } else {
            ("", "s is")
        };
        format!(
            "\nAllow? y once, s this session{always}, n no{more}, ? help\n\
             {are} for {STRONG}{rules}{STRONG:#}: "
        )
    }

    fn help(&self) -> String {
        let question = &self.question;
        let mut help = "\n  y  it runs, this once\n".to_owned();
        if question.has_session() {
            let rules = &question.rules;
            let _ = writeln!(help, "  s  it runs, and so does {rules} until ptk ends");
            if question.has_always() {
                help.push_str(ALWAYS);
            }
        } else {
            help.push_str("     There is no rule for it: it is dangerous, or may be anything.\n");
        }
        if self.rest.is_some() {
            help.push_str("  d  shows all of it\n");
        }
        help.push_str("  n  it does not run, nor does the same call until ptk ends\n");
        if question.is_unprotected {
            help.push_str(UNPROTECTED);
        }
        help
    }
}

/// Cuts a text to its first and last lines, and returns the full text if it was
/// cut. Neither gaps nor long lines can hide a part of it.
fn cut(text: &str) -> (String, Option<String>) {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = without_gaps(&lines);
    if shown.len() > MAX_LINES {
        let last = shown.split_off(shown.len() - LAST_LINES);
        let rest = shown.split_off(MAX_LINES - LAST_LINES);
        shown.push(format!("… {} more lines …", rest.len()));
        shown.extend(last);
    }
    let shown = shown.join("\n");
    let rest = (shown != text).then(|| format!("\n{text}\n"));
    (shown, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_long_text_are_shown() {
        let lines: Vec<String> = (0..1000).map(|number| format!("line {number}")).collect();
        let (shown, rest) = cut(&lines.join("\n"));
        assert!(shown.starts_with("line 0\n") && shown.ends_with("\nline 999"));
        assert!(shown.contains("… 800 more lines …"), "{shown}");
        assert!(rest.is_some_and(|rest| rest.contains("line 500")));
        let hidden = format!("git status{}rm -rf x{}", "\n".repeat(500), "\n".repeat(500));
        let (shown, _) = cut(&hidden);
        assert!(shown.contains("\nrm -rf x"), "{shown}");
        let (shown, _) = cut(&format!("true{};touch x", " ".repeat(9000)));
        assert!(shown.ends_with(";touch x"));
        assert_eq!(cut("a\n\nb").1, None);
    }
}
