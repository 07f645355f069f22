//! Forms at the terminal, one line for each value.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::future::BoxFuture;
use ptk_tools::form::{Field, FieldKind, Form, FormAnswer, FormAsker};
use serde_json::{Map, Value};

use crate::printer::{AnsiColor, Style};
use crate::terminal::{Terminal, put};
use crate::view::Screen;
use crate::view::clean::{in_line, visible};

const STRONG: Style = Style::new().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const FAINT: Style = Style::new().dimmed();

/// Asks on the terminal, if there is one.
pub(crate) fn asker(screen: Screen) -> Option<Arc<dyn FormAsker>> {
    let terminal = Arc::new(Terminal::find()?);
    Some(Arc::new(TerminalAsker { terminal, screen }))
}

struct TerminalAsker {
    terminal: Arc<Terminal>,
    screen: Screen,
}

impl FormAsker for TerminalAsker {
    fn ask(&self, form: Form) -> BoxFuture<'_, FormAnswer> {
        Box::pin(async move {
            let answer = put(&self.terminal, &self.screen, move |terminal, gone| {
                fill_in(&form, terminal, gone)
            });
            // What cannot be asked, or not to its end, is not answered.
            answer.await.unwrap_or(FormAnswer::Unanswered)
        })
    }
}

/// Asks for all values, until they are sent or declined.
fn fill_in(form: &Form, terminal: &Terminal, gone: &AtomicBool) -> io::Result<FormAnswer> {
    terminal.forget_typed();
    let (from, message) = (in_line(&form.from), visible(form.message.trim()));
    terminal.say(&format!(
        "\n{STRONG}{from}{STRONG:#} asks:\n\n{message}\n\n"
    ))?;
    loop {
        terminal.say("Answer? y yes, n no: ")?;
        match answer(terminal, gone)?.as_str() {
            "y" | "yes" => break,
            "n" | "no" | "" => return Ok(FormAnswer::Declined),
            _ => {}
        }
    }
    loop {
        let mut values = Map::new();
        let mut shown = "\n".to_owned();
        for field in &form.fields {
            if let Some(value) = value(field, terminal, gone)? {
                let (title, typed) = (in_line(&field.title), in_line(&field.typed(&value)));
                let _ = writeln!(shown, "  {title}: {typed}");
                values.insert(field.name.clone(), value);
            }
        }
        let from = in_line(&form.from);
        terminal.say(&shown)?;
        loop {
            terminal.say(&format!("Send this to {from}? y yes, e once more, n no: "))?;
            match answer(terminal, gone)?.as_str() {
                "y" | "yes" => return Ok(FormAnswer::Filled(values)),
                "n" | "no" => return Ok(FormAnswer::Declined),
                "e" => break,
                _ => {}
            }
        }
    }
}

/// The next line.
fn line(terminal: &Terminal, gone: &AtomicBool) -> io::Result<String> {
    terminal
        .line(gone)?
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The next line, in small letters.
fn answer(terminal: &Terminal, gone: &AtomicBool) -> io::Result<String> {
    Ok(line(terminal, gone)?.trim().to_lowercase())
}

/// Asks for a value until it fits.
fn value(field: &Field, terminal: &Terminal, gone: &AtomicBool) -> io::Result<Option<Value>> {
    terminal.say(&about(field))?;
    loop {
        terminal.say(&format!("{}: ", in_line(&field.title)))?;
        match field.read(&line(terminal, gone)?) {
            Ok(value) => return Ok(value),
            Err(error) => {
                let error = in_line(&error);
                terminal.say(&format!("{WARNING}!{WARNING:#} {error}\n"))?;
            }
        }
    }
}

/// What a value is for, and what it can be.
fn about(field: &Field) -> String {
    let mut about = String::new();
    if !field.description.is_empty() {
        let _ = writeln!(about, "{FAINT}{}{FAINT:#}", in_line(&field.description));
    }
    let mut wanted = match &field.kind {
        FieldKind::OneOf(choices) | FieldKind::SomeOf(choices) => {
            for (number, choice) in choices.iter().enumerate() {
                let label = in_line(&choice.label);
                let _ = writeln!(about, "{FAINT}  {}  {label}{FAINT:#}", number + 1);
            }
            match field.kind {
                FieldKind::SomeOf(_) => "some of these, separated by commas".to_owned(),
                _ => "one of these".to_owned(),
            }
        }
        _ => field.wanted(),
    };
    match &field.default {
        Some(default) => {
            let _ = write!(wanted, "; Enter for {}", field.typed(default));
        }
        None if !field.is_required => wanted.push_str("; Enter for none"),
        None => {}
    }
    let _ = writeln!(about, "{FAINT}{}{FAINT:#}", in_line(&wanted));
    about
}
