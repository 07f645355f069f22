//! The system prompt: tools, form, rules and examples in one template.

use super::scene::{self, Scene};
use super::{Formatter, PtkFormatter, SnippetInstructions};
use crate::dialects::Writer;
use crate::{Message, ToolCall, Toolset, snippet};

/// The system prompt with its slots (R55). A template of your own may leave out
/// any slot.
pub const DEFAULT_TEMPLATE: &str = "\
You are an AI assistant with access to these tools:

[TOOL_DEFINITIONS]

PROTOCOL: PTK (Protokol - Prompt-based Tool Kalling)
When you need to use a tool, respond with EXACTLY this format:

[CALL_EXAMPLE]

RULES:
[RULES]

When done, respond normally, without a tool call.

[EXAMPLES]";

/// What a model without tools is told: nothing about tools (R59).
const WITHOUT_TOOLS: &str = "You are an AI assistant.";

pub(super) fn system_prompt(formatter: &PtkFormatter, tools: &Toolset) -> String {
    let mut prompt = if tools.is_empty() {
        WITHOUT_TOOLS.to_owned()
    } else {
        let writer = formatter.writer();
        let scenes = scene::pick(tools, writer.shows_long_text());
        let form = scenes.first().map(|scene| scene.form.clone());
        fill(
            formatter.template.as_deref().unwrap_or(DEFAULT_TEMPLATE),
            |slot| match slot {
                "TOOL_DEFINITIONS" => Some(formatter.tool_definitions(tools)),
                "CALL_EXAMPLE" => Some(form.iter().map(|call| writer.call(call)).collect()),
                "RULES" => Some(rules(writer, form.as_ref())),
                "EXAMPLES" => Some(examples(formatter, &scenes)),
                "RESULT_WORD" => Some(writer.result_word()),
                "ERROR_WORD" => Some(writer.error_word()),
                _ => None,
            },
        )
    };
    if formatter.snippets == SnippetInstructions::Include {
        prompt.push_str("\n\n");
        prompt.push_str(snippet::INSTRUCTIONS);
    }
    prompt
}

/// Replaces the slots of a template in one pass, so that what stands in a slot
/// is never taken for another slot.
fn fill(template: &str, content: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('[') {
        out.push_str(before);
        let filled = behind
            .split_once(']')
            .and_then(|(slot, after)| Some((content(slot)?, after)));
        if let Some((content, after)) = filled {
            out.push_str(&content);
            rest = after;
        } else {
            out.push('[');
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

/// The rules of the three seeds, merged (R27–R29), with the dialect's own.
fn rules(writer: &dyn Writer, form: Option<&ToolCall>) -> String {
    let (result, error) = (writer.result_word(), writer.error_word());
    let mut rules = vec![
        "Use a tool only when you need something you do not have. If you can answer, answer."
            .to_owned(),
    ];
    rules.push(if writer.takes_several() {
        format!("You may make several tool calls in one response. Then stop and wait: never write {result} yourself.")
    } else {
        format!("ONE tool call per response. Then stop and wait: never write {result} yourself.")
    });
    rules.extend(writer.rules());
    rules.push(
        "Use exact tool names. Include all required parameters, and others only if you need them."
            .to_owned(),
    );
    let reasoning = form.and_then(|call| Some((call.reasoning.as_ref()?, writer.call(call))));
    if reasoning.is_some_and(|(reasoning, text)| text.contains(reasoning)) {
        rules.extend(Some(writer.reasoning_rule()).filter(|rule| !rule.is_empty()));
    }
    rules.push(format!(
        "After {result}, call another tool or give the final answer."
    ));
    rules.push(format!(
        "After {error}, correct your call or tell the user what went wrong."
    ));
    let numbered: Vec<String> = rules
        .iter()
        .enumerate()
        .map(|(index, rule)| format!("{}. {rule}", index + 1))
        .collect();
    numbered.join("\n")
}

/// What is answered without a tool.
const WITHOUT_CALLS: [(&str, &str); 4] = [
    ("What is 12 + 30?", "12 + 30 = 42."),
    ("Who wrote Hamlet?", "William Shakespeare wrote Hamlet."),
    ("Thank you!", "You are welcome."),
    (
        "What does the status code 301 mean?",
        "The page has moved to another address for good.",
    ),
];

/// Example turns, rendered as the real conversation will be: questions answered
/// without a tool, one complete turn, and calls. Small models call the tools they
/// see called, and call more often if calls come last; docs/models.md has the
/// measurements.
fn examples(formatter: &PtkFormatter, scenes: &[Scene]) -> String {
    let several = formatter.writer().takes_several();
    let without = WITHOUT_CALLS.iter();
    let mut turns: Vec<Vec<Message>> = without
        .map(|(asked, said)| vec![Message::user(*asked), Message::assistant(*said)])
        .collect();
    if let [first, others @ ..] = scenes {
        turns.push(turn(formatter, &[first]));
        if let Some(second) = others.first().filter(|_| several) {
            turns.push(turn(formatter, &[first, second]));
        }
        turns.extend(others.iter().map(|other| {
            let mut turn = turn(formatter, &[other]);
            turn.truncate(2);
            turn
        }));
    }
    let turns = turns.iter().map(|turn| formatter.conversation(turn));
    let turns: Vec<String> = turns.collect();
    format!("EXAMPLES:\n\n{}", turns.join("\n\n"))
}

/// A question, its calls, their results and the answer.
fn turn(formatter: &PtkFormatter, scenes: &[&Scene]) -> Vec<Message> {
    // A question may quote a tool's description, which comes from outside.
    let question: Vec<_> = scenes
        .iter()
        .map(|scene| formatter.guard.neutralise(&scene.question))
        .collect();
    let answer: Vec<&str> = scenes.iter().map(|scene| scene.answer.as_str()).collect();
    let calls: Vec<ToolCall> = scenes.iter().map(|scene| scene.call.clone()).collect();
    let several = scenes.len() > 1;
    let mut turn = vec![
        Message::user(question.join(" ")),
        Message::assistant(formatter.tool_calls(&calls)),
    ];
    turn.extend(scenes.iter().enumerate().map(|(index, scene)| {
        let id = several.then(|| format!("call_{}", index + 1));
        Message::tool(formatter.tool_result(&scene.result, id.as_deref()))
    }));
    turn.push(Message::assistant(answer.join(" ")));
    turn
}
