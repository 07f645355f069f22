//! Calls in a dialect, and replies with words and calls.
//!
//! The text around the arguments is taken from the dialect's own writer, so no
//! dialect describes itself a second time.

use std::sync::Arc;

use serde_json::json;

use super::arguments::ArgumentRules;
use super::rules::Rules;
use super::shape::{CallFrame, CallShape, Several, Shape};
use super::text::{Ends, MarkTree};
use super::{Gbnf, MAX_ARGUMENTS, MAX_SIZE, Outside, Part};
use crate::dialects::{Dialect, Pattern, Registry, Writer};
use crate::parse::{REASONING, reasoning_marks};
use crate::{Grammar, Status, ToolCall, ToolSpec, Toolset, parse};

/// How many calls a reply may have, where a dialect takes several.
pub(super) const MAX_CALLS: u32 = 16;
/// Shorter marks occur in any text.
const MIN_MARK: usize = 3;
/// The arguments that stand for any others while a call is written.
const STAND_IN: &str = r#"{"ptk":0}"#;
/// The reason that stands for any other.
const REASON: &str = "ptk";

/// The rules of calls.
pub(super) struct Calls {
    pub(super) rules: Rules,
    pub(super) outside: Vec<Outside>,
    /// The part for one call.
    pub(super) one: Part,
    /// The part for as many calls as a reply may have.
    pub(super) all: Part,
    /// The calls and how they follow each other, for other notations.
    pub(super) shape: Shape,
}

/// Builds the rules of the calls of these tools in a dialect; `None` if it has
/// none that a grammar can write, or if there are too many.
pub(super) fn calls(tools: &Toolset, dialect: &Arc<dyn Dialect>) -> Option<Calls> {
    let writer = dialect.writer()?;
    let registry = Registry::builtin().register(Arc::clone(dialect));
    // With any arguments, as those that are tried are made up.
    let open = |name: &str| ToolSpec::new(name, "", json!({"type": "object"}));
    let grammar = Grammar::builder()
        .registry(registry)
        .tools(Toolset::new(tools.names().map(open)).ok()?)
        .dialect(dialect.name())
        .alone()
        .build()
        .ok()?;
    let mut rules = Rules::default();
    let mut outside = Vec::new();
    let mut known: Vec<CallShape> = Vec::new();
    for (index, spec) in tools.iter().enumerate() {
        let unknown = |keyword: &str| Outside {
            tool: spec.name.clone(),
            path: String::new(),
            keyword: keyword.to_owned(),
        };
        let Some(frame) = frame(writer, &spec.name, &grammar) else {
            outside.push(unknown("name"));
            continue;
        };
        let left = MAX_ARGUMENTS.saturating_sub(rules.size());
        let limit = rules.size() + left / (tools.len() - index);
        let args = ArgumentRules::new(&mut rules, &mut outside, spec, limit).object();
        known.push(CallShape {
            name: spec.name.clone(),
            frame,
            args,
            reason: Part::text(""),
        });
    }
    let fruitful = rules.fruitful();
    known.retain(|CallShape { name, args, .. }| {
        let fits = matches!(args, Part::Rule(index) if fruitful.get(*index) == Some(&true));
        if !fits {
            outside.push(Outside {
                tool: name.clone(),
                path: String::new(),
                keyword: "false".to_owned(),
            });
        }
        fits
    });
    if known.is_empty() {
        return None;
    }
    let several = several(writer, &known);
    let one = one(&mut rules, &known);
    let all = match &several {
        Several::None => one.clone(),
        Several::Each(join) => {
            let next = Part::all_of([Part::text(join), one.clone()]);
            let next = next.repeated(0, Some(MAX_CALLS - 1));
            Part::all_of([one.clone(), next])
        }
        Several::List(links) => listed(&mut rules, &known, links),
    };
    for call in &mut known {
        call.reason = reasoned(&mut rules, &call.frame);
    }
    (rules.size() <= MAX_SIZE).then_some(Calls {
        rules,
        outside,
        one,
        all,
        shape: Shape {
            calls: known,
            several,
            ..Shape::default()
        },
    })
}

/// The text that the writer writes around the arguments, if the parser reads it
/// back.
fn frame(writer: &dyn Writer, name: &str, grammar: &Grammar) -> Option<CallFrame> {
    let call = stand_in(name);
    let text = writer.call(&call);
    let (before, after) = split(&text)?;
    let reply = parse(&text, grammar);
    let [read] = reply.calls.as_slice() else {
        return None;
    };
    let is_same = read.call.name == name && read.call.args == call.args;
    if !is_same || read.status != Status::Complete || !reply.text.trim().is_empty() {
        return None;
    }
    Some(CallFrame {
        before: before.to_owned(),
        reason: reason(writer, call, after),
        after: after.to_owned(),
    })
}

fn stand_in(name: &str) -> ToolCall {
    let args = json!({"ptk": 0}).as_object().cloned().unwrap_or_default();
    ToolCall::new(name, args)
}

/// The text before and behind the arguments that stand in it once.
fn split(text: &str) -> Option<(&str, &str)> {
    let (before, after) = text.split_once(STAND_IN)?;
    (!after.contains(STAND_IN)).then_some((before, after))
}

/// The text between the arguments and a reason, if the form has one there.
fn reason(writer: &dyn Writer, call: ToolCall, after: &str) -> Option<String> {
    if writer.reasoning_rule().is_empty() {
        return None;
    }
    let text = writer.call(&call.with_reasoning(REASON));
    let (_, behind) = split(&text)?;
    let lead = behind
        .strip_suffix(after)?
        .strip_suffix(&format!("\"{REASON}\""))?;
    Some(lead.to_owned())
}

/// How the writer puts several calls together.
fn several(writer: &dyn Writer, known: &[CallShape]) -> Several {
    let written = |names: &[&str]| {
        let calls: Vec<ToolCall> = names.iter().map(|name| stand_in(name)).collect();
        let text = writer.calls(&calls);
        let parts = text.split(STAND_IN).map(str::to_owned);
        let parts: Vec<String> = parts.collect();
        (parts.len() == names.len() + 1).then_some(parts)
    };
    let (Some(first), Some(last)) = (known.first(), known.last()) else {
        return Several::None;
    };
    let (head, tail) = (&first.frame, &last.frame);
    if !writer.takes_several() {
        return Several::None;
    }
    let mut links = Vec::new();
    let mut joins = Vec::new();
    for CallShape { name, frame, .. } in known {
        let three = written(&[&first.name, name, name]);
        let (Some(parts), Some(others)) = (three, written(&[&last.name, name])) else {
            return Several::None;
        };
        let [before, link, again, after] = parts.as_slice() else {
            return Several::None;
        };
        if *before != head.before || *after != frame.after {
            return Several::None;
        }
        let join = |link: &str, first: &CallFrame| {
            let behind = link.strip_prefix(first.after.as_str())?;
            behind
                .strip_suffix(frame.before.as_str())
                .map(str::to_owned)
        };
        let between = others.get(1).map_or("", String::as_str);
        let same = [join(link, head), join(again, frame), join(between, tail)];
        match same {
            [Some(one), Some(two), Some(three)] if one == two && two == three => joins.push(one),
            _ if link == again && link == between => links.push(link.clone()),
            _ => return Several::None,
        }
    }
    joins.dedup();
    let has_one_end = known.iter().all(|it| it.frame.after == head.after);
    match joins.as_slice() {
        [join] if links.is_empty() => Several::Each(join.clone()),
        [] if has_one_end => Several::List(links),
        _ => Several::None,
    }
}

/// A part for one call of any tool.
fn one(rules: &mut Rules, known: &[CallShape]) -> Part {
    let heads = heads(known);
    let common = common_prefix(&heads);
    let choices = known.iter().map(|CallShape { frame, args, .. }| {
        let before = frame.before.get(common..).unwrap_or("");
        let reason = reasoned(rules, frame);
        Part::all_of([
            Part::text(before),
            args.clone(),
            reason,
            Part::text(&frame.after),
        ])
    });
    let choices: Vec<Part> = choices.collect();
    let lead = heads.first().and_then(|before| before.get(..common));
    let call = Part::all_of([Part::text(lead.unwrap_or("")), Part::one_of(choices)]);
    rules.add("call", call)
}

/// A part for several calls in a list.
fn listed(rules: &mut Rules, known: &[CallShape], links: &[String]) -> Part {
    let heads = heads(known);
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let mut choice = |heads: &[&str], name: &str| {
        let common = common_prefix(heads);
        let choices = known.iter().zip(heads).map(|(call, head)| {
            let CallShape { frame, args, .. } = call;
            let head = head.get(common..).unwrap_or("");
            Part::all_of([Part::text(head), args.clone(), reasoned(rules, frame)])
        });
        let choices = Part::one_of(choices.collect());
        let lead = heads.first().and_then(|head| head.get(..common));
        rules.add(
            name,
            Part::all_of([Part::text(lead.unwrap_or("")), choices]),
        )
    };
    let first = choice(&heads, "first");
    let next = choice(&links, "next");
    let after = known.first().map_or("", |call| call.frame.after.as_str());
    Part::all_of([
        first,
        next.repeated(0, Some(MAX_CALLS - 1)),
        Part::text(after),
    ])
}

/// A part for the model's reason behind the arguments, or none.
fn reasoned(rules: &mut Rules, frame: &CallFrame) -> Part {
    match &frame.reason {
        None => Part::text(""),
        Some(lead) => Part::all_of([Part::text(lead), rules.string()]).optional(),
    }
}

/// The texts before the arguments of these calls.
pub(super) fn heads(calls: &[CallShape]) -> Vec<&str> {
    let heads = calls.iter().map(|call| call.frame.before.as_str());
    heads.collect()
}

/// How many bytes all of these texts share at their start, cut between
/// characters.
pub(super) fn common_prefix(texts: &[&str]) -> usize {
    let Some((first, others)) = texts.split_first() else {
        return 0;
    };
    let shares = |end: usize| {
        let start = first.get(..end);
        others
            .iter()
            .all(|other| start.is_some() && other.get(..end) == start)
    };
    let ends = first.char_indices().map(|(at, _)| at);
    ends.take_while(|end| shares(*end)).last().unwrap_or(0)
}

/// Builds a grammar of replies: words, or calls with words before them.
pub(super) fn reply(tools: &Toolset, dialect: &Arc<dyn Dialect>) -> Option<Gbnf> {
    let marks = marks(&**dialect)?;
    let (mut rules, outside, mut shape, calls) = match calls(tools, dialect) {
        Some(calls) => (calls.rules, calls.outside, calls.shape, Some(calls.all)),
        None if tools.is_empty() => (Rules::default(), Vec::new(), Shape::default(), None),
        None => return None,
    };
    let kept_out = || marks.iter().map(String::as_str).chain(reasoning_marks());
    let all = MarkTree::new(kept_out());
    let words = all.words(&mut rules, "words", Ends::Anywhere);
    let mut thoughts = thinking(Some(&words.any()));
    let answer = words.some(&mut rules, "answer");
    let mut says = vec![answer.clone()];
    shape.answer = Some(answer);
    if let Some(calls) = calls {
        // A fence that stays open would quote the calls.
        let fences = ["```", "~~~"].into_iter();
        let all = MarkTree::new(kept_out().chain(fences));
        let lead = all.words(&mut rules, "lead", Ends::AtLineStart).any();
        // Where the prompt opened the thoughts, they are only closed.
        thoughts.push(Part::all_of([lead.clone(), Part::one_of(thinking(None))]));
        says.push(Part::all_of([lead.clone(), calls]));
        shape.lead = Some(lead);
    }
    let blank = rules.blank();
    let thoughts = Part::all_of([Part::one_of(thoughts), blank.clone()]);
    let thoughts = rules.add("thoughts", thoughts).optional();
    shape.opening = Some(Part::all_of([blank.clone(), thoughts.clone()]));
    let root = Part::all_of([blank, thoughts, Part::one_of(says)]);
    Some(Gbnf::finished(rules, root, shape, outside))
}

/// Parts for these words between the tags around reasoning, or for the closing
/// tags alone.
fn thinking(words: Option<&Part>) -> Vec<Part> {
    let tags = REASONING.iter().filter(|row| !row.open.contains('|'));
    let tags = tags.map(|row| {
        let close = Part::text(row.close.first().copied().unwrap_or_default());
        match words {
            Some(words) => Part::all_of([Part::text(row.open), words.clone(), close]),
            None => close,
        }
    });
    tags.collect()
}

/// All marks of a dialect; `None` if some of its calls begin without one, or if
/// words need markup of their own in it.
fn marks(dialect: &dyn Dialect) -> Option<Vec<String>> {
    if !dialect.silent().is_empty() {
        return None;
    }
    let mut marks = dialect.closers();
    marks.extend(dialect.section_ends());
    for trigger in dialect.triggers() {
        match trigger.pattern {
            Pattern::Mark(mark) => marks.push(mark),
            Pattern::ToolName { .. } => return None,
        }
    }
    marks
        .iter()
        .all(|mark| mark.chars().count() >= MIN_MARK)
        .then_some(marks)
}
