//! Sends back answers about files that were not read, because they are made up.
//! The model is asked to read the file first, once for each file.

use ptk_events::EventKind;
use ptk_protocol::{Message, Role};
use ptk_sandbox::Kind;
use ptk_store::{Content, Note};
use ptk_tools::tools::{Glob, ListFiles};
use ptk_tools::{Effect, TypedTool as _};
use serde_json::json;

use crate::engine::TurnConfig;
use crate::render::Renderer;
use crate::turn::{ANSWER_AGAIN, UNREAD};
use crate::{CallRecord, RunError, Session};

/// How many words of a request are looked up in the workspace.
const MAX_PATHS: usize = 8;
/// The longest word that is looked up, in bytes.
const MAX_PATH: usize = 255;
/// Characters that may surround a path in a sentence.
const AROUND: &[char] = &[
    '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '!', '?', '“', '”', '„',
    '«', '»', '‘', '’', '。', '，', '、', '*',
];
/// The mark of a code block: a request with one brings along its content.
const FENCE: &str = "```";

impl Session {
    /// Sends this answer back, if the request names a file and the model
    /// answered without reading it. Returns whether it did.
    pub(crate) async fn send_back_unread(
        &mut self,
        config: &TurnConfig,
        reply: u64,
    ) -> Result<bool, RunError> {
        let Some(path) = self.unread(config) else {
            return Ok(false);
        };
        let message = format!("The model answered without reading {path}, so it is asked again.");
        let note = Note {
            data: Some(json!({ ANSWER_AGAIN: reply, UNREAD: path })),
            ..Note::new(message.clone())
        };
        let advice = format!(
            "You answered without reading {path}. Call a tool that reads it, and answer from its result."
        );
        let entries = vec![
            self.log.entry(note),
            self.log.entry(Message::system(advice)),
        ];
        self.log.append(entries).await?;
        self.publish(EventKind::Note { message });
        Ok(true)
    }

    /// The first file that the request names and the model did not read, if it
    /// could have and was not asked to before.
    ///
    /// Models with a native tool API are trained to decide when to call; those
    /// that are taught in text often answer what they expect to be there.
    fn unread(&self, config: &TurnConfig) -> Option<String> {
        let turn = &self.log.turn;
        let may_call = !config.prompt.is_native
            && turn.must_answer.is_none()
            && turn.iterations < config.options.max_iterations
            && turn.made() < config.options.max_tool_calls
            && self.can_read(config);
        // Any other call may have shown the file without naming it.
        let shows_others = |call: &CallRecord| {
            let mut values = call.arguments.as_map().values();
            lists_names(&call.tool)
                || values.any(|value| value.as_str().and_then(|it| self.file(it)).is_some())
        };
        if !may_call || !turn.records.iter().all(shows_others) {
            return None;
        }
        let prompt = self.log.prompt_message()?;
        // Images, too, are contents that the prompt names.
        if prompt.content.contains(FENCE) || !prompt.images.is_empty() {
            return None;
        }
        let paths = paths(&prompt.content).take(MAX_PATHS);
        let mut files = paths.filter_map(|path| self.file(path));
        files.find(|file| !turn.told_unread.contains(file) && !self.is_known(config, file))
    }

    fn can_read(&self, config: &TurnConfig) -> bool {
        let registry = self.engine.tools.registry();
        let mut offered = config
            .prompt
            .tools
            .names()
            .filter_map(|name| registry.get(name));
        offered.any(|tool| tool.effects().has(Effect::Read))
    }

    /// The path of a file relative to the workspace, if it is one.
    fn file(&self, path: &str) -> Option<String> {
        let place = self.engine.tools.workspace().resolve(path).ok()?;
        let kind = place.metadata().ok()?.kind;
        (kind == Kind::File).then(|| place.to_string())
    }

    /// Whether a call, a system message or a prompt with images that the model
    /// was shown was about this file.
    fn is_known(&self, config: &TurnConfig, path: &str) -> bool {
        let renderer = Renderer::new(config);
        let mut items = self.log.transcript.items().iter();
        items.any(|item| match &item.content {
            Content::Reply(reply) => {
                let mut calls = reply.calls.iter();
                calls
                    .any(|call| !lists_names(&call.name) && call.arguments.to_json().contains(path))
            }
            Content::Message(message) => {
                let shows = message.role == Role::System
                    || !message.images.is_empty() && renderer.shows_images(item);
                shows && message.content.contains(path)
            }
            Content::RanByHand(text) => text.contains(path),
            _ => false,
        })
    }
}

/// Whether a tool shows names of files, and nothing of what is in them.
fn lists_names(tool: &str) -> bool {
    [ListFiles::NAME, Glob::NAME].contains(&tool)
}

/// The words of a text that look like paths of files.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace();
    let bare = words.map(|word| {
        let word = word.trim_start_matches(AROUND);
        word.trim_end_matches(|it| it == '.' || AROUND.contains(&it))
    });
    bare.filter(|word| word.len() <= MAX_PATH && word.contains(['.', '/']))
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn paths_are_found_whatever_stands_around_them() {
        let text = "Read `src/main.rs`, \"Cargo.toml\" and (docs/übersetzung.md). What is in .env, etc.? Or 1.5?";
        let found: Vec<&str> = paths(text).collect();
        assert_eq!(
            found,
            [
                "src/main.rs",
                "Cargo.toml",
                "docs/übersetzung.md",
                ".env",
                "1.5"
            ]
        );
    }
}
