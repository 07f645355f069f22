//! Writes a grammar as a structural tag, as XGrammar reads it: a tag for each
//! call, and the rules where there is no better format.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::reply::{common_prefix, heads};
use super::rules::needed;
use super::shape::{CallShape, Several};
use super::write::write_rule;
use super::{Gbnf, MAX_SIZE, Part};

impl Gbnf {
    /// Writes the grammar as a structural tag, as servers with XGrammar take it
    /// (vLLM and SGLang): `{"type": "structural_tag", "format": …}`. It has a
    /// `tag` for each tool; arguments and words are grammars in it.
    ///
    /// It allows the same texts, but any number of calls, where the grammar
    /// allows sixteen. `None` if the dialect puts calls into a list that no
    /// format describes, or if the tag takes more than [`MAX_SIZE`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ptk_protocol::dialects::{Dialect, Ptk};
    /// use ptk_protocol::gbnf::Gbnf;
    /// use ptk_protocol::{ToolSpec, Toolset};
    /// use serde_json::json;
    ///
    /// let tools = Toolset::new([ToolSpec::new("now", "Show the time", json!({
    ///     "type": "object", "properties": {}, "additionalProperties": false,
    /// }))])?;
    /// let dialect: Arc<dyn Dialect> = Arc::new(Ptk::default());
    /// let tag = Gbnf::of_call(&tools, &dialect).unwrap().structural_tag().unwrap();
    /// assert_eq!(tag["format"]["begin"], "<PTK_CALL>\n{\"tool\":\"now\",\"args\":");
    /// assert_eq!(tag["format"]["content"]["type"], "grammar");
    /// assert_eq!(tag["format"]["end"], "}\n</PTK_CALL>");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn structural_tag(&self) -> Option<Value> {
        let shape = &self.shape;
        let mut writer = TagWriter {
            grammar: self,
            size: 0,
        };
        let calls = if shape.calls.is_empty() {
            None
        } else {
            Some(writer.calls()?)
        };
        let format = match (&shape.opening, &shape.answer) {
            (Some(opening), Some(answer)) => {
                let mut says = vec![writer.rules(answer)?];
                if let (Some(lead), Some(calls)) = (&shape.lead, calls) {
                    says.push(sequence(&[writer.rules(lead)?, calls]));
                }
                sequence(&[writer.rules(opening)?, any_of(says)])
            }
            _ => match calls {
                Some(calls) => calls,
                None => writer.rules(&self.rules.first()?.part)?,
            },
        };
        Some(json!({"type": "structural_tag", "format": format}))
    }
}

/// Writes the formats of a structural tag.
struct TagWriter<'g> {
    grammar: &'g Gbnf,
    /// How many bytes were written.
    size: usize,
}

impl TagWriter<'_> {
    /// A grammar of this part, with the rules that it needs.
    fn rules(&mut self, part: &Part) -> Option<Value> {
        let all = &self.grammar.rules;
        let mut kept = BTreeSet::new();
        let mut waiting = Vec::new();
        needed(part, &mut waiting);
        while let Some(index) = waiting.pop() {
            if kept.insert(index)
                && let Some(rule) = all.get(index)
            {
                needed(&rule.part, &mut waiting);
            }
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write_rule(&mut text, all, "root", part);
        for rule in kept.iter().filter_map(|index| all.get(*index)) {
            let _ = write_rule(&mut text, all, &rule.name, &rule.part);
        }
        self.size += text.len();
        let grammar = json!({"type": "grammar", "grammar": text});
        (self.size <= MAX_SIZE).then_some(grammar)
    }

    /// A tag for a call.
    fn tag(&mut self, begin: &str, call: &CallShape, end: &str) -> Option<Value> {
        self.size += begin.len() + end.len();
        let content = Part::all_of([call.args.clone(), call.reason.clone()]);
        let content = self.rules(&content)?;
        Some(json!({"type": "tag", "begin": begin, "content": content, "end": end}))
    }

    /// As many calls as there may be.
    fn calls(&mut self) -> Option<Value> {
        let shape = &self.grammar.shape;
        if let Several::List(links) = &shape.several {
            let list = List::of(&shape.calls, links)?;
            let tags = shape.calls.iter().zip(&list.heads);
            let tags = tags.map(|(call, head)| self.tag(head, call, list.end));
            let tags: Vec<Value> = tags.collect::<Option<_>>()?;
            let mut list_of_calls = vec![text(list.open)];
            list_of_calls.push(with_separator(&tags, list.separator));
            if !list.close.is_empty() {
                list_of_calls.push(text(list.close));
            }
            return Some(sequence(&list_of_calls));
        }
        let tags = shape.calls.iter().map(|call| {
            let frame = &call.frame;
            self.tag(&frame.before, call, &frame.after)
        });
        let tags: Vec<Value> = tags.collect::<Option<_>>()?;
        Some(match &shape.several {
            Several::Each(separator) => with_separator(&tags, separator),
            Several::None | Several::List(_) => any_of(tags),
        })
    }
}

/// What surrounds the calls of a list: `open`, then calls, each between its
/// head and `end`, with separators, and at last `close`.
struct List<'s> {
    open: &'s str,
    heads: Vec<&'s str>,
    end: &'s str,
    separator: &'s str,
    close: &'s str,
}

impl<'s> List<'s> {
    /// Divides the texts around the arguments. `None` if that is not possible
    /// in the same way for all calls.
    fn of(calls: &'s [CallShape], links: &'s [String]) -> Option<Self> {
        let after = calls.first()?.frame.after.as_str();
        let mut ends: Vec<&str> = links.iter().map(String::as_str).collect();
        ends.push(after);
        let (end, close) = after.split_at_checked(common_prefix(&ends))?;
        let mut frame: Option<(&str, &str)> = None;
        let mut all = Vec::new();
        for (before, link) in heads(calls).into_iter().zip(links) {
            let link = link.strip_prefix(end)?;
            let shared = common_suffix(before, link);
            let (open, head) = before.split_at_checked(before.len() - shared)?;
            let separator = link.strip_suffix(head)?;
            if *frame.get_or_insert((open, separator)) != (open, separator) {
                return None;
            }
            all.push(head);
        }
        let (open, separator) = frame?;
        Some(Self {
            open,
            heads: all,
            end,
            separator,
            close,
        })
    }
}

/// How many bytes two texts share at their end, cut between characters.
fn common_suffix(one: &str, other: &str) -> usize {
    let pairs = one.chars().rev().zip(other.chars().rev());
    let same = pairs.take_while(|(one, other)| one == other);
    same.map(|(c, _)| c.len_utf8()).sum()
}

fn text(text: &str) -> Value {
    json!({"type": "const_string", "value": text})
}

fn sequence(elements: &[Value]) -> Value {
    json!({"type": "sequence", "elements": elements})
}

/// A choice of these formats, or the format itself if there is only one.
fn any_of(mut formats: Vec<Value>) -> Value {
    match formats.pop() {
        Some(only) if formats.is_empty() => only,
        last => {
            formats.extend(last);
            json!({"type": "or", "elements": formats})
        }
    }
}

fn with_separator(tags: &[Value], separator: &str) -> Value {
    json!({
        "type": "tags_with_separator",
        "tags": tags,
        "separator": separator,
        "at_least_one": true,
    })
}
