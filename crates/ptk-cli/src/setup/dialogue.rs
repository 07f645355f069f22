//! Questions to a person, line by line.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result};
use ptk::llm::Provider as _;
use ptk::llm::http::{HttpProvider, Key};
use unicode_width::UnicodeWidthStr as _;

use crate::long::Long;
use crate::printer::{self, Style};
use crate::terminal::Terminal;
use crate::view::clean::in_line;
use crate::view::{columns, fitting};

const FAINT: Style = Style::new().dimmed();
/// The most columns of a name in a list.
const MAX_NAME: usize = 40;
/// The fewest columns for a text beside a name.
const NARROW: usize = 24;
/// The most models that are listed at once.
const MAX_LISTED: usize = 20;

/// A person at a terminal.
pub(crate) struct Dialogue {
    terminal: Terminal,
    long: Long,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("no model was chosen, and nothing was changed")]
    EndOfInput,
    #[error("interrupted; nothing was changed")]
    Interrupted,
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// May be the text of a server.
    pub(super) name: String,
    /// What it needs.
    pub(super) needs: String,
}

impl Dialogue {
    /// The person, if stdin and stderr are a terminal.
    pub(crate) fn find() -> Result<Option<Self>> {
        if !io::stdin().is_terminal() || !printer::is_stderr_terminal() {
            return Ok(None);
        }
        let Some(terminal) = Terminal::find() else {
            return Ok(None);
        };
        // An Enter from before is not an answer.
        terminal.forget_typed();
        let long = Long::begin()?;
        Ok(Some(Self { terminal, long }))
    }

    /// Ends it. A request that still waits is dropped.
    pub(crate) fn end(self) {
        self.long.runtime.shutdown_background();
    }

    pub(super) fn say(&self, text: &str) -> Result<()> {
        Ok(self.terminal.say(text)?)
    }

    /// Asks for a line, and returns it without blanks around it.
    fn line(&self, question: &str) -> Result<String> {
        self.say(question)?;
        let line = self.terminal.line(&self.long.is_stopped)?;
        if let Some(line) = line {
            return Ok(line.trim().to_owned());
        }
        self.say("\n")?;
        Err(self.unanswered().into())
    }

    fn unanswered(&self) -> Unanswered {
        if self.long.is_stopped.load(Ordering::Acquire) {
            Unanswered::Interrupted
        } else {
            Unanswered::EndOfInput
        }
    }

    /// Shows these rows and a hint below them, and asks for one; the first by
    /// default.
    pub(super) fn pick(&self, rows: &[Row], hint: &str) -> Result<usize> {
        self.say(&format!("{}{hint}", listed(rows, columns())))?;
        loop {
            let answer = self.line("Which one? [1] ")?;
            match numbered(&answer, rows.len()) {
                Some(at) => return Ok(at),
                None if answer.is_empty() => return Ok(0),
                None => {
                    let (answer, last) = (shown(&answer), rows.len());
                    self.say(&format!(
                        "{answer} is none of them; type a number from 1 to {last}, or Ctrl-D to leave.\n"
                    ))?;
                }
            }
        }
    }

    /// Asks for one of a server's models, by its number, its name or a part of
    /// the name. `is_first_default` says whether the first one is as good as
    /// any other. A list may be cut, so that another name can be typed, too.
    pub(super) fn pick_model(
        &self,
        title: &str,
        models: &[String],
        is_first_default: bool,
    ) -> Result<String> {
        let mut some: Vec<&String> = models.iter().collect();
        self.say(&format!("\n{title} has {} models:\n\n", models.len()))?;
        loop {
            self.say(&listed_models(&some))?;
            let question = if is_first_default {
                "Which one? [1] "
            } else {
                "Which one? "
            };
            let answer = self.line(question)?;
            let at = numbered(&answer, some.len().min(MAX_LISTED));
            let at = at.or((answer.is_empty() && is_first_default).then_some(0));
            let by_number = at.and_then(|at| some.get(at).copied());
            let by_name = || models.iter().find(|name| **name == answer);
            if let Some(model) = by_number.or_else(by_name) {
                return Ok(model.clone());
            }
            let part = answer.to_lowercase();
            let matching = models.iter().filter(|it| it.to_lowercase().contains(&part));
            some = matching.collect();
            let many = some.len();
            let said = match many {
                _ if part.is_empty() => "Type a number, or a part of a name.".to_owned(),
                0 => {
                    let question = format!("{} is not in the list. Use it anyway?", shown(&answer));
                    if self.agrees(&question)? {
                        return Ok(answer);
                    }
                    some = models.iter().collect();
                    "These are listed:".to_owned()
                }
                _ => format!("{many} with {} in the name:", shown(&answer)),
            };
            self.say(&format!("{said}\n\n"))?;
        }
    }

    /// Asks for a text that is not empty.
    pub(super) fn text(&self, question: &str) -> Result<String> {
        loop {
            let answer = self.line(question)?;
            if !answer.is_empty() {
                return Ok(answer);
            }
            self.say("Nothing was typed; Ctrl-D leaves.\n")?;
        }
    }

    /// Asks whether to do something; not by default.
    pub(crate) fn agrees(&self, question: &str) -> Result<bool> {
        let answer = self.line(&format!("{question} y yes, N no: "))?;
        Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks for the key of a service, without showing it.
    pub(super) fn key(&self, title: &str) -> Result<Key> {
        loop {
            let typed = match rpassword::prompt_password(format!("Key for {title}: ")) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    return Err(Unanswered::Interrupted.into());
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(Unanswered::EndOfInput.into());
                }
                typed => typed.context("the key cannot be read from the terminal")?,
            };
            if let Some(key) = Key::new(typed) {
                return Ok(key);
            }
            self.say("No key was typed; Ctrl-D leaves.\n")?;
        }
    }

    /// The models of a server, if it lists them.
    pub(super) fn models(&self, provider: &HttpProvider) -> Result<Option<Vec<String>>> {
        let stopped = self.long.stop.cancelled();
        self.long.runtime.block_on(async {
            tokio::select! {
                models = provider.models() => Ok(models),
                () = stopped => Err(Unanswered::Interrupted.into()),
            }
        })
    }
}

/// A person's answer in a message.
fn shown(answer: &str) -> String {
    format!("`{}`", fitting(&in_line(answer), MAX_NAME))
}

/// The position that a number from 1 means, in a list of this length.
fn numbered(answer: &str, length: usize) -> Option<usize> {
    let number: usize = answer.parse().ok()?;
    number.checked_sub(1).filter(|at| *at < length)
}

/// A numbered list for a terminal of this many columns.
fn listed(rows: &[Row], columns: usize) -> String {
    let names = rows.iter();
    let names = names.map(|row| fitting(&in_line(&row.name), MAX_NAME));
    let names: Vec<String> = names.collect();
    let widest = names.iter().map(|name| name.width()).max();
    let widest = widest.unwrap_or_default();
    let digits = rows.len().to_string().len();
    let (below, beside) = (digits + 4, digits + 4 + widest + 2);
    let is_beside = columns >= beside + NARROW;
    let indent = if is_beside { beside } else { below };
    let mut text = String::new();
    for ((row, name), number) in rows.iter().zip(&names).zip(1..) {
        let needs = broken(&in_line(&row.needs), columns.saturating_sub(indent));
        let gap = if is_beside {
            // Names may have characters of two columns.
            " ".repeat(widest.saturating_sub(name.width()) + 2)
        } else {
            format!("\n{}", " ".repeat(below))
        };
        let needs = needs.join(&format!("\n{}", " ".repeat(indent)));
        text.push_str(&format!(
            "  {number:>digits$}  {name}{gap}{FAINT}{needs}{FAINT:#}\n"
        ));
    }
    text.push('\n');
    text
}

/// A text in lines of at most this many columns, broken between words.
fn broken(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A numbered list of models, up to a limit.
fn listed_models(models: &[&String]) -> String {
    let digits = models.len().min(MAX_LISTED).to_string().len();
    let mut text = String::new();
    for (model, number) in models.iter().zip(1..).take(MAX_LISTED) {
        let model = fitting(&in_line(model), columns());
        text.push_str(&format!("  {number:>digits$}  {model}\n"));
    }
    let more = models.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        text.push_str(&format!(
            "  … and {more} more: type a part of a name to see those with it\n"
        ));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_fits_the_terminal() {
        let row = |name: &str, needs: &str| Row {
            name: name.to_owned(),
            needs: needs.to_owned(),
        };
        let rows = [
            row("qwen3 by Ollama", "running here; nothing else needed"),
            row("模型", "needs a key\nand a forged line"),
        ];
        let shown = |columns| printer::plain(&listed(&rows, columns));
        assert_eq!(
            shown(80),
            "  1  qwen3 by Ollama  running here; nothing else needed\n  \
               2  模型             needs a key\\nand a forged line\n\n"
        );
        assert_eq!(
            shown(50),
            "  1  qwen3 by Ollama  running here; nothing else\n                      needed\n  \
               2  模型             needs a key\\nand a forged\n                      line\n\n"
        );
        assert_eq!(
            shown(30),
            "  1  qwen3 by Ollama\n     running here; nothing\n     else needed\n  \
               2  模型\n     needs a key\\nand a forged\n     line\n\n"
        );
    }
}
