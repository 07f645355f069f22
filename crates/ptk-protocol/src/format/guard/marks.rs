//! The marks that the guard knows: those of every dialect, derived from what
//! the dialects declare, so that a new one is guarded automatically.
//!
//! A mark is shortened to what makes it one. `<PTK_CALL>`, `<PTK_CALL >` and
//! `<PTK_CALL|>` are all `<PTK_CALL` and no more letters. Where the name is a
//! plain word, as in `<tool ` or `<function=`, what follows it counts too: a
//! source file may hold `List<Tool>` and `<functional>`.

use super::mark::{Mark, MarkPosition, is_name, overlap, rest};
use crate::dialects::{self, Claim, Pattern, Registry, Trigger};
use crate::parse::reasoning_marks;

/// Roles of a transcript.
const ROLES: &[&str] = &["USER:", "ASSISTANT:", "SYSTEM:"];

/// Words of dialects that begin many an ordinary line: a policy has `Action:`,
/// a list of steps `call:`. They are marks only before what can be a call.
const ORDINARY: &[&str] = &["action", "call"];

/// What counts as white space behind a tag's name.
const SPACE: &str = " \t\r\n";

/// All marks of these dialects, of reasoning and of transcripts.
pub(super) fn of(registry: &Registry) -> Vec<Mark> {
    let mut marks = Vec::new();
    for dialect in registry.all() {
        let triggers = dialect.triggers().into_iter().chain(dialect.silent());
        for trigger in triggers {
            add(&mut marks, of_trigger(&trigger));
        }
        for close in dialect.closers().iter().chain(&dialect.section_ends()) {
            add(&mut marks, shortened(close, MarkPosition::Anywhere));
        }
        for frame in dialect.frames() {
            for mark in frame.open.iter().chain(&frame.close) {
                add(&mut marks, shortened(mark, MarkPosition::Anywhere));
            }
        }
        for word in dialect
            .writer()
            .iter()
            .flat_map(|writer| [writer.result_word(), writer.error_word()])
        {
            add(&mut marks, Some(Mark::new(word, MarkPosition::LineStart)));
        }
    }
    for tag in reasoning_marks() {
        let is_word = tag.starts_with(|c: char| c.is_ascii_alphabetic());
        let place = if is_word {
            MarkPosition::LineStart
        } else {
            MarkPosition::Anywhere
        };
        add(&mut marks, shortened(tag, place));
    }
    let roles = ROLES
        .iter()
        .map(|role| Mark::new(*role, MarkPosition::LineStartExact));
    marks.extend(roles);
    untangled(marks)
}

/// Shortens marks inside which another one can begin to the part from there on:
/// breaking it breaks both.
fn untangled(mut marks: Vec<Mark>) -> Vec<Mark> {
    while let Some((first, _, at)) = overlap(&marks) {
        let tail = marks.get(first).and_then(|mark| {
            let text = mark.text.get(at..).filter(|text| !rest(text).is_empty())?;
            let place = MarkPosition::Anywhere;
            Some(Mark::new(text, place).before(mark.next.as_str()))
        });
        let Some(tail) = tail else {
            // Too short to be broken alone: building the guard reports it.
            return marks;
        };
        marks.remove(first);
        add(&mut marks, Some(tail));
    }
    marks
}

/// The mark with which a call begins, if it begins with one.
fn of_trigger(trigger: &Trigger) -> Option<Mark> {
    let Pattern::Mark(mark) = &trigger.pattern else {
        return None;
    };
    match trigger.place {
        // `{"name"` stands in every other file.
        dialects::TriggerPosition::BehindProse if !mark.starts_with(is_name) => None,
        dialects::TriggerPosition::Anywhere | dialects::TriggerPosition::BehindProse => {
            shortened(mark, MarkPosition::Anywhere)
        }
        // `to=f` has no meaning unless marks follow, and those are broken.
        dialects::TriggerPosition::LineStart if trigger.claim == Claim::Section => None,
        dialects::TriggerPosition::LineStart => {
            let mark = shortened(mark, MarkPosition::LineStart)?;
            let is_ordinary = ORDINARY.contains(&mark.text.to_lowercase().as_str());
            Some(Mark {
                place: if is_ordinary {
                    MarkPosition::LineStartBeforeCall
                } else {
                    mark.place
                },
                ..mark
            })
        }
    }
}

/// Shortens a mark to what makes it one. `None` where it has no letter, such as
/// `{` and `[`: breaking those would break every file.
fn shortened(mark: &str, place: MarkPosition) -> Option<Mark> {
    let name_at = mark.find(is_name)?;
    let (signs, name) = mark.split_at_checked(name_at)?;
    let name_end = name.find(|c| !is_name(c)).unwrap_or(name.len());
    let name = name.get(..name_end)?;
    // `< tool` is a comparison, `< tool call>` is not.
    let goes_on = || {
        let behind = mark.get(name_at + name_end..).unwrap_or_default();
        behind
            .strip_prefix(' ')
            .is_some_and(|behind| behind.starts_with(is_name))
    };
    let is_plain = name.chars().all(|c| c.is_ascii_alphabetic())
        && (matches!(signs, "" | "<" | "</" | "[" | "[/") || goes_on());
    if !is_plain && !signs.is_empty() {
        return Some(Mark::new(format!("{signs}{name}"), place));
    }
    let line = mark.lines().next()?;
    let text = line.trim_end_matches(|c| !is_name(c));
    let follows = mark.get(text.len()..)?.chars().next();
    let next = match follows {
        Some(c) if c.is_whitespace() => SPACE.to_owned(),
        Some(c) => c.to_string(),
        None => String::new(),
    };
    Some(Mark {
        next,
        ..Mark::new(text, place)
    })
}

/// Adds a mark, or what may follow it to a mark that is already there.
fn add(marks: &mut Vec<Mark>, mark: Option<Mark>) {
    let Some(mark) = mark else {
        return;
    };
    let same = marks
        .iter_mut()
        .find(|known| known.place == mark.place && known.text.eq_ignore_ascii_case(&mark.text));
    match same {
        // An empty list means that anything but a letter may follow.
        Some(known) if known.next.is_empty() || mark.next.is_empty() => known.next.clear(),
        Some(known) => {
            let more = mark.next.chars().filter(|c| !known.next.contains(*c));
            let more: String = more.collect();
            known.next.push_str(&more);
        }
        None => marks.push(mark),
    }
}
