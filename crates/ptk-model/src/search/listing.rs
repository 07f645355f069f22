//! The list of deferred tools in the prompt: as much of it as fits, from a line
//! for each tool down to the numbers of tools in groups.

use ptk_protocol::{ToolSpec, Toolset};

use super::PREFIX;
use crate::TokenCounter;

/// How many words of a description are listed, as long as all tools fit.
const WORDS: [usize; 3] = [10, 6, 4];
/// The most bytes of a description that are listed.
const MAX_ABOUT: usize = 100;
/// The most groups that a result names.
const MAX_GROUPS: usize = 40;

/// Tools whose names have the same prefix, or none.
pub(super) struct Group<'t> {
    prefix: Option<&'t str>,
    tools: Vec<&'t ToolSpec>,
}

/// The groups of tools, in the order of their first tools.
pub(super) fn groups(tools: &Toolset) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for tool in tools.iter() {
        let prefix = tool.name.split_once(PREFIX).map(|(prefix, _)| prefix);
        let prefix = prefix.filter(|prefix| !prefix.is_empty());
        match groups.iter_mut().find(|group| group.prefix == prefix) {
            Some(group) => group.tools.push(tool),
            None => groups.push(Group {
                prefix,
                tools: vec![tool],
            }),
        }
    }
    groups
}

/// Lists the tools in at most so many tokens, if that is possible.
pub(super) fn list(tools: &Toolset, budget: u64, tokens: &dyn TokenCounter) -> String {
    let groups = groups(tools);
    // No token has less than a byte.
    let fits = |text: &str| text.len() as u64 <= budget || tokens.count(text) <= budget;
    let lines = WORDS.iter().map(|count| lines(&groups, *count));
    let fitting = lines.chain([names(&groups)]).find(|text| fits(text));
    fitting.unwrap_or_else(|| counts(&groups, budget, tokens))
}

/// A line for each tool, with this many words of its description.
fn lines(groups: &[Group<'_>], words: usize) -> String {
    let tools = groups.iter().flat_map(|group| &group.tools);
    let lines = tools.map(|tool| match about(tool, words) {
        about if about.is_empty() => format!("- {}", tool.name),
        about => format!("- {}: {about}", tool.name),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The first words of a description.
fn about(tool: &ToolSpec, words: usize) -> String {
    let first = tool.description.trim().lines().next().unwrap_or_default();
    let first = first.split(". ").next().unwrap_or_default();
    let mut about = String::new();
    for word in first.split_whitespace().take(words) {
        if about.len() + word.len() > MAX_ABOUT {
            break;
        }
        if !about.is_empty() {
            about.push(' ');
        }
        about.push_str(word);
    }
    about.trim_end_matches(['.', ',', ';', ':']).to_owned()
}

/// A line for each group, with the names behind its prefix.
fn names(groups: &[Group<'_>]) -> String {
    let lines = groups.iter().map(|group| {
        let names = group.tools.iter().map(|tool| group.own_name(tool));
        let names: Vec<&str> = names.collect();
        match group.prefix {
            Some(prefix) => format!("- {prefix}{PREFIX}: {}", names.join(", ")),
            None => format!("- {}", names.join(", ")),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// As many groups as fit, each with the number of its tools.
fn counts(groups: &[Group<'_>], budget: u64, tokens: &dyn TokenCounter) -> String {
    let mut text = String::new();
    for (number, group) in groups.iter().enumerate() {
        let line = format!("- {}\n", group.counted());
        if number > 0 && tokens.count(&text) + tokens.count(&line) > budget {
            let left: usize = groups.iter().skip(number).map(|it| it.tools.len()).sum();
            text.push_str(&format!("- {left} others"));
            break;
        }
        text.push_str(&line);
    }
    text.trim_end().to_owned()
}

/// The groups with the numbers of their tools, for a result.
pub(super) fn told(tools: &Toolset) -> Vec<String> {
    let groups = groups(tools);
    let shown = groups.iter().take(MAX_GROUPS).map(Group::counted);
    let left: usize = groups
        .iter()
        .skip(MAX_GROUPS)
        .map(|it| it.tools.len())
        .sum();
    let others = (left > 0).then(|| format!("{left} others"));
    shown.chain(others).collect()
}

impl Group<'_> {
    fn own_name<'t>(&self, tool: &'t ToolSpec) -> &'t str {
        let own = |prefix: &str| tool.name.strip_prefix(prefix)?.strip_prefix(PREFIX);
        self.prefix.and_then(own).unwrap_or(&tool.name)
    }

    fn counted(&self) -> String {
        let count = self.tools.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        match self.prefix {
            Some(prefix) => format!("{prefix}{PREFIX} ({count} {tools})"),
            None => format!("{count} {tools} without a prefix"),
        }
    }
}
