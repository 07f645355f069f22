//! Prompts and resources of servers, for the chat.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use ptk::Prompt;
use ptk_mcp::{OfferedPart, OfferedPrompt, OfferedResource, Offers};
use ptk_tools::form::{Form, FormAnswer};
use serde_json::{Map, Value, json};

use super::Servers;
use crate::attachments;
use crate::view::clean::in_line;

impl Servers {
    /// Lists the prompts and resources in the background.
    pub(crate) fn look_for_offers(self: &Arc<Self>) {
        if self.all.is_empty() {
            return;
        }
        let servers = Arc::clone(self);
        tokio::spawn(async move {
            servers.offers().await;
        });
    }

    /// The prompts and resources, listed if they were not.
    async fn offers(&self) -> &Offers {
        self.offers.get_or_init(|| self.all.offers()).await
    }

    /// The prompts, each with what it takes and what it is for; none until they
    /// were listed.
    pub(crate) fn prompts(&self) -> Vec<(String, String)> {
        let offers = self.offers.get().into_iter();
        let prompts = offers.flat_map(|it| &it.prompts).map(|prompt| {
            let takes = prompt.arguments.iter().map(|argument| {
                let name = in_line(&argument.name);
                if argument.is_required {
                    name
                } else {
                    format!("[{name}]")
                }
            });
            let takes = takes.collect::<Vec<_>>().join(" ");
            let about = format!("{takes} {}", in_line(&prompt.description));
            (prompt.command.clone(), about.trim().to_owned())
        });
        prompts.collect()
    }

    /// The resources, each with its name; none until they were listed.
    pub(crate) fn resources(&self) -> Vec<(String, String)> {
        let offers = self.offers.get().into_iter();
        let resources = offers.flat_map(|it| &it.resources);
        resources
            .map(|it| (mention(it), in_line(&it.name)))
            .collect()
    }

    /// A prompt of a server, told what stands behind its command, and the rest
    /// in a form.
    pub(crate) async fn prompt(&self, command: &str, rest: &str) -> Result<Prompt> {
        let offers = self.offers().await;
        let prompt = offers.prompts.iter().find(|it| it.command == command);
        let prompt = prompt
            .ok_or_else(|| anyhow!("no MCP server has the prompt {command}; /help lists all"))?;
        let mut arguments = given(prompt, rest)?;
        let is_missing = |name: &str, given: &Map<String, Value>| !given.contains_key(name);
        let needed = prompt.arguments.iter().filter(|it| it.is_required);
        let missing: Vec<&str> = needed
            .map(|it| it.name.as_str())
            .filter(|name| is_missing(name, &arguments))
            .collect();
        if !missing.is_empty() {
            let asked = self.ask_for(prompt, &arguments).await;
            arguments = asked.ok_or_else(|| {
                let missing = in_line(&missing.join(", "));
                anyhow!("/{command} has to be told: {missing}")
            })?;
        }
        let parts = self.all.prompt(prompt, arguments).await?;
        let mut told = Prompt::from("");
        for part in parts {
            add(&mut told, part)?;
        }
        told.text = told.text.trim().to_owned();
        if told.text.is_empty() && told.images.is_empty() {
            bail!("the prompt {command} is empty");
        }
        Ok(told)
    }

    /// Asks the user for all that a prompt has to be told; `None` without an
    /// answer.
    async fn ask_for(
        &self,
        prompt: &OfferedPrompt,
        given: &Map<String, Value>,
    ) -> Option<Map<String, Value>> {
        let needed = prompt.arguments.iter().filter(|it| it.is_required);
        let required: Vec<&str> = needed.map(|it| it.name.as_str()).collect();
        let properties = prompt.arguments.iter().map(|argument| {
            let mut property = json!({"type": "string", "description": argument.description});
            if let (Some(given), Some(property)) =
                (given.get(&argument.name), property.as_object_mut())
            {
                property.insert("default".to_owned(), given.clone());
            }
            (argument.name.clone(), property)
        });
        let properties: Map<String, Value> = properties.collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let from = format!("/{}", prompt.command);
        let form = Form::new(&from, &prompt.description, schema).ok()?;
        match self.asker.as_ref()?.ask(form).await {
            FormAnswer::Filled(values) => Some(values),
            FormAnswer::Declined | FormAnswer::Unanswered => None,
        }
    }

    /// A prompt with the content of the resources that it mentions with `@`.
    pub(crate) async fn with_mentioned(&self, text: String) -> Result<Prompt> {
        let mut prompt = Prompt::from(text);
        if !prompt.text.contains('@') || self.all.is_empty() {
            return Ok(prompt);
        }
        let offered = self.offers().await.resources.iter();
        let mentioned: Vec<&OfferedResource> = offered
            .filter(|it| mentions(&prompt.text, &mention(it)))
            .collect();
        for resource in mentioned {
            let name = mention(resource);
            let parts = self.all.resource(resource).await;
            let parts = parts.map_err(|error| anyhow!("@{name} cannot be read: {error}"))?;
            for part in parts {
                add(&mut prompt, part)?;
            }
        }
        Ok(prompt)
    }
}

/// The name of a resource behind `@`.
fn mention(resource: &OfferedResource) -> String {
    format!("{}:{}", resource.server, resource.uri)
}

/// Whether a prompt names this behind `@`, as a word or in quotes.
fn mentions(prompt: &str, name: &str) -> bool {
    if prompt.contains(&format!("@\"{name}\"")) {
        return true;
    }
    let marked = format!("@{name}");
    let mut found = prompt.match_indices(&marked);
    found.any(|(at, _)| {
        let before = prompt.get(..at).and_then(|it| it.chars().next_back());
        let after = prompt.get(at + marked.len()..);
        let mut after = after.unwrap_or_default().chars();
        // A sentence may end behind it.
        let ends = match after.next() {
            None => true,
            Some(c) if c.is_whitespace() => true,
            Some(c) if ".,;:!?)]}\"'".contains(c) => after.next().is_none_or(char::is_whitespace),
            Some(_) => false,
        };
        before.is_none_or(|c| c.is_whitespace() || "([{\"'".contains(c)) && ends
    })
}

/// What stands behind the command of a prompt: `name=value`, or values in the
/// order of the names. The only thing that a prompt is told is all of it.
fn given(prompt: &OfferedPrompt, rest: &str) -> Result<Map<String, Value>> {
    let mut given = Map::new();
    let rest = rest.trim();
    let is_named = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| prompt.arguments.iter().any(|it| it.name == name))
    };
    if let [only] = prompt.arguments.as_slice()
        && !rest.is_empty()
        && !is_named(rest)
    {
        given.insert(only.name.clone(), Value::from(rest));
        return Ok(given);
    }
    for word in words(rest) {
        let (name, value) = if is_named(&word) {
            let (name, value) = word.split_once('=').unwrap_or_default();
            (name.to_owned(), value.to_owned())
        } else {
            let mut names = prompt.arguments.iter().map(|it| &it.name);
            let next = names.find(|name| !given.contains_key(*name));
            let next = next.ok_or_else(|| {
                let takes = prompt.arguments.len();
                anyhow!(
                    "/{} is told {takes} things; put what has spaces into quotes",
                    prompt.command
                )
            })?;
            (next.clone(), word)
        };
        given.insert(name, Value::from(value));
    }
    Ok(given)
}

/// The words of a text. Quotes hold several together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for c in text.chars() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Adds a part to a prompt.
fn add(prompt: &mut Prompt, part: OfferedPart) -> Result<()> {
    match part {
        OfferedPart::Said { by_model, text } => {
            let who = if by_model { "You have answered: " } else { "" };
            prompt.text.push_str("\n\n");
            prompt.text.push_str(who);
            prompt.text.push_str(&text);
            Ok(())
        }
        OfferedPart::Text { uri, text } => {
            attachments::add_content(prompt, &uri, text.into_bytes())
        }
        OfferedPart::Bytes { uri, bytes } => attachments::add_content(prompt, &uri, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_quotes_stay_together() {
        assert_eq!(words(r#"a "b c" d="e f" "#), ["a", "b c", "d=e f"]);
        assert_eq!(words(r#""" x"#), ["", "x"]);
        assert_eq!(words("  "), [""; 0]);
    }

    #[test]
    fn resources_are_mentioned_by_whole_words() {
        let name = "docs:file:///a.md";
        for prompt in [
            "@docs:file:///a.md",
            "See @docs:file:///a.md.",
            "(@docs:file:///a.md)",
            "@\"docs:file:///a.md\"x",
        ] {
            assert!(mentions(prompt, name), "{prompt}");
        }
        for prompt in [
            "x@docs:file:///a.md",
            "@docs:file:///a.md.txt",
            "docs:file:///a.md",
        ] {
            assert!(!mentions(prompt, name), "{prompt}");
        }
    }
}
