//! The system prompt: tools, form, rules and examples in one template.

use super::scene::{self, Scene, Story};
use super::{Formatter, PtkFormatter, SnippetInstructions};
use crate::dialects::Writer;
use crate::{Message, ToolCall, ToolResult, Toolset, snippet};

/// The system prompt with its slots. A template of your own may leave out
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

/// The system prompt of a model without tools, which does not mention tools.
const WITHOUT_TOOLS: &str = "You are an AI assistant.";

/// The system prompt, with the examples in it.
pub(super) fn system_prompt(formatter: &PtkFormatter, tools: &Toolset) -> String {
    filled(formatter, tools, |turns| {
        let turns = turns.iter().map(|turn| formatter.conversation(turn));
        let turns: Vec<String> = turns.collect();
        format!("EXAMPLES:\n\n{}", turns.join("\n\n"))
    })
}

/// The system prompt for a conversation that begins with the examples.
pub(super) fn instructions(formatter: &PtkFormatter, tools: &Toolset) -> String {
    let stories = scene::stories(tools).len();
    // A turn that says so would be answered again, behind results.
    filled(formatter, tools, |turns| {
        let count = turns.len() + stories;
        format!(
            "The first {count} questions of the conversation and their replies are examples. What the person asks comes after them."
        )
    })
}

/// The examples as turns of a conversation.
pub(super) fn examples(formatter: &PtkFormatter, tools: &Toolset) -> Vec<Message> {
    if tools.is_empty() || !template(formatter).contains("[EXAMPLES]") {
        return Vec::new();
    }
    let scenes = scene::pick(tools, formatter.writer().shows_long_text());
    let turns = turns(formatter, &scenes).into_iter().flatten();
    let stories = scene::stories(tools);
    let stories = stories
        .into_iter()
        .flat_map(|story| whole(formatter, story));
    turns.chain(stories).collect()
}

fn template(formatter: &PtkFormatter) -> &str {
    formatter.template.as_deref().unwrap_or(DEFAULT_TEMPLATE)
}

/// The template with all its slots filled, the examples in the given way.
fn filled(
    formatter: &PtkFormatter,
    tools: &Toolset,
    examples: impl Fn(&[Vec<Message>]) -> String,
) -> String {
    let mut prompt = if tools.is_empty() {
        WITHOUT_TOOLS.to_owned()
    } else {
        let writer = formatter.writer();
        let scenes = scene::pick(tools, writer.shows_long_text());
        let form = scenes.first().map(|scene| scene.form.clone());
        fill(template(formatter), |slot| match slot {
            "TOOL_DEFINITIONS" => Some(formatter.tool_definitions(tools)),
            "CALL_EXAMPLE" => Some(form.iter().map(|call| writer.call(call)).collect()),
            "RULES" => Some(rules(writer, form.as_ref())),
            "EXAMPLES" => Some(examples(&turns(formatter, &scenes))),
            "RESULT_WORD" => Some(writer.result_word()),
            "ERROR_WORD" => Some(writer.error_word()),
            _ => None,
        })
    };
    if formatter.snippets == SnippetInstructions::Include {
        prompt.push_str("\n\n");
        prompt.push_str(snippet::INSTRUCTIONS);
    }
    prompt
}

/// Replaces the slots of a template in one pass, so that the content of a slot
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

/// The rules, with the dialect's own. The words before results are not in them:
/// models that read them write them.
fn rules(writer: &dyn Writer, form: Option<&ToolCall>) -> String {
    let mut rules = vec![
        "What only a tool can find out, such as what is in files, you do not know. Never guess it: call the tool first.".to_owned(),
        "If no tool is needed, answer at once, without one.".to_owned(),
    ];
    rules.push(if writer.takes_several() {
        "You may make several tool calls in one response. Then stop: the results come in the next message.".to_owned()
    } else {
        "ONE tool call per response. Then stop: its result comes in the next message.".to_owned()
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
    rules.push("After a result, call another tool or give the final answer.".to_owned());
    rules.push("After an error, correct your call or tell the user what went wrong.".to_owned());
    let numbered: Vec<String> = rules
        .iter()
        .enumerate()
        .map(|(index, rule)| format!("{}. {rule}", index + 1))
        .collect();
    numbered.join("\n")
}

/// Questions that are answered without a tool.
const WITHOUT_CALLS: [(&str, &str); 3] = [
    ("What is 12 + 30?", "12 + 30 = 42."),
    ("Who wrote Hamlet?", "William Shakespeare wrote Hamlet."),
    ("Thank you!", "You are welcome."),
];

/// Example turns: calls, and between them questions that need none. They have
/// no results: in a prompt, models take them for something to write.
/// docs/models.md has the measurements.
fn turns(formatter: &PtkFormatter, scenes: &[Scene]) -> Vec<Vec<Message>> {
    let several = formatter.writer().takes_several();
    let mut turns: Vec<Vec<Message>> = Vec::new();
    let mut without = WITHOUT_CALLS
        .iter()
        .map(|(asked, said)| vec![Message::user(*asked), Message::assistant(*said)]);
    for (number, scene) in scenes.iter().enumerate() {
        turns.push(turn(formatter, &[scene]));
        // After the first, the third, and so on.
        if number % 2 == 0 {
            turns.extend(without.next());
        }
    }
    turns.extend(without);
    if let [first, second, ..] = scenes
        && several
    {
        turns.push(turn(formatter, &[first, second]));
    }
    turns
}

/// Example messages of a question, its calls with their results, and the
/// answer. As turns of a conversation these show when to go on and when to
/// answer.
fn whole(formatter: &PtkFormatter, story: Story) -> Vec<Message> {
    let mut turn = vec![Message::user(story.question)];
    for (call, result) in story.calls {
        turn.push(Message::assistant(formatter.tool_calls(&[call])));
        let result = formatter.tool_result(&ToolResult::success(result), None);
        turn.push(Message::tool(result));
    }
    turn.push(Message::assistant(story.answer));
    turn
}

/// Example messages of a question and its calls.
fn turn(formatter: &PtkFormatter, scenes: &[&Scene]) -> Vec<Message> {
    // A question may quote a tool's description, which comes from outside.
    let question: Vec<_> = scenes
        .iter()
        .map(|scene| formatter.guard.neutralise(&scene.question))
        .collect();
    let calls: Vec<ToolCall> = scenes.iter().map(|scene| scene.call.clone()).collect();
    vec![
        Message::user(question.join(" ")),
        Message::assistant(formatter.tool_calls(&calls)),
    ]
}
