//! Commands of the chat: `/` and a word.

use std::path::PathBuf;

use ptk_protocol::schema::suggest;

/// A command of the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChatCommand {
    Help,
    New,
    Sessions(Option<String>),
    Resume(String),
    Fork,
    Rename(String),
    Export(Option<PathBuf>),
    Undo(Extent),
    Redo,
    Model(Option<String>),
    Dialect(Option<String>),
    Tools(Option<String>),
    Context,
    Compact,
    Cost,
    Inspect(Option<usize>),
    Copy,
    Mouse,
    Quit,
    /// A prompt of an MCP server, and what stands behind it.
    ServerPrompt(String, String),
}

/// How much an undo reverts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Call,
    Turn,
    Session,
}

/// The syntax and description of a command.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) takes: &'static str,
    pub(crate) about: &'static str,
}

const fn spec(name: &'static str, takes: &'static str, about: &'static str) -> Spec {
    Spec { name, takes, about }
}

/// All commands, in the order of the help.
pub(crate) const ALL: [Spec; 19] = [
    spec("help", "", "keys and commands"),
    spec("new", "", "begin another conversation"),
    spec(
        "sessions",
        "[WORDS]",
        "conversations of this workspace, or those with these words",
    ),
    spec("resume", "ID", "go on with another conversation"),
    spec("fork", "", "go on in a copy of this conversation"),
    spec("rename", "TITLE", "give this conversation a title"),
    spec(
        "export",
        "[FILE]",
        "write this conversation to a Markdown file",
    ),
    spec(
        "undo",
        "[call|turn|session]",
        "take back what tools have changed",
    ),
    spec("redo", "", "have back what was last taken back"),
    spec(
        "model",
        "[NAME]",
        "ask another model from now on; PROVIDER/NAME is one of a provider's",
    ),
    spec("dialect", "[NAME]", "have calls written in another form"),
    spec(
        "tools",
        "[A,B|all|none]",
        "which tools the model is offered",
    ),
    spec("context", "", "what fills the model's window"),
    spec("compact", "", "make room in the model's window now"),
    spec("cost", "", "what this conversation has taken"),
    spec(
        "inspect",
        "[NUMBER]",
        "all that is known of a call, the last one if none is named",
    ),
    spec("copy", "", "put the last answer into the clipboard"),
    spec(
        "mouse",
        "",
        "leave the mouse to the terminal, or take it back",
    ),
    spec("quit", "", "leave; the conversation is kept"),
];

/// Parses a command of the chat. A text that begins with `/` but not with a
/// word, such as a path, is a prompt.
///
/// # Errors
///
/// A message for the user.
pub(crate) fn read(text: &str) -> Option<Result<ChatCommand, String>> {
    let said = text.strip_prefix('/')?;
    let (word, rest) = match said.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (said.trim_end(), ""),
    };
    if is_server_prompt(word) {
        let (word, rest) = (word.to_owned(), rest.to_owned());
        return Some(Ok(ChatCommand::ServerPrompt(word, rest)));
    }
    if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphabetic()) {
        return None;
    }
    Some(command(word, rest))
}

/// Whether a word is how prompts of MCP servers are called: `server__name`.
fn is_server_prompt(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts = word.split_once("__");
    let is_whole = parts.is_some_and(|(server, name)| !server.is_empty() && !name.is_empty());
    is_whole && word.chars().all(is_part)
}

fn command(word: &str, rest: &str) -> Result<ChatCommand, String> {
    let some = (!rest.is_empty()).then(|| rest.to_owned());
    let needed = |what: &str| {
        let missing = || format!("/{word} wants {what}: /{word} {}", takes(word));
        some.clone().ok_or_else(missing)
    };
    let bare = |command: ChatCommand| match rest {
        "" => Ok(command),
        _ => Err(format!("/{word} takes nothing behind it")),
    };
    match word {
        "help" => bare(ChatCommand::Help),
        "new" | "clear" => bare(ChatCommand::New),
        "sessions" => Ok(ChatCommand::Sessions(some)),
        "resume" => Ok(match some {
            Some(id) => ChatCommand::Resume(id),
            None => ChatCommand::Sessions(None),
        }),
        "fork" => bare(ChatCommand::Fork),
        "rename" => needed("a title").map(ChatCommand::Rename),
        "export" => Ok(ChatCommand::Export(some.map(PathBuf::from))),
        "undo" => match rest {
            "" | "call" => Ok(ChatCommand::Undo(Extent::Call)),
            "turn" => Ok(ChatCommand::Undo(Extent::Turn)),
            "session" => Ok(ChatCommand::Undo(Extent::Session)),
            _ => Err("/undo takes back a call, a turn or a session: /undo turn".to_owned()),
        },
        "redo" => bare(ChatCommand::Redo),
        "model" => Ok(ChatCommand::Model(some)),
        "dialect" => Ok(ChatCommand::Dialect(some)),
        "tools" => Ok(ChatCommand::Tools(some)),
        "context" => bare(ChatCommand::Context),
        "compact" => bare(ChatCommand::Compact),
        "cost" => bare(ChatCommand::Cost),
        "inspect" => match some.map(|number| number.parse()) {
            None => Ok(ChatCommand::Inspect(None)),
            Some(Ok(number)) => Ok(ChatCommand::Inspect(Some(number))),
            Some(Err(_)) => Err("/inspect wants the number of a call: /inspect 2".to_owned()),
        },
        "copy" => bare(ChatCommand::Copy),
        "mouse" => bare(ChatCommand::Mouse),
        "quit" | "exit" | "q" => bare(ChatCommand::Quit),
        _ => Err(unknown(word)),
    }
}

fn takes(word: &str) -> &'static str {
    let spec = ALL.iter().find(|spec| spec.name == word);
    spec.map_or("", |spec| spec.takes)
}

fn unknown(word: &str) -> String {
    let near = suggest::nearest(word, ALL.iter().map(|spec| spec.name));
    let near = near.map_or_else(
        || "/help lists them.".to_owned(),
        |near| format!("did you mean /{near}?"),
    );
    format!("Unknown command /{word}; {near} Start with a space to send it to the model.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let good = |text: &str| read(text).unwrap().unwrap();
        assert_eq!(good("/undo turn"), ChatCommand::Undo(Extent::Turn));
        assert_eq!(
            good("/rename  A title "),
            ChatCommand::Rename("A title".to_owned())
        );
        assert_eq!(good("/resume"), ChatCommand::Sessions(None));
        assert_eq!(good("/inspect 2"), ChatCommand::Inspect(Some(2)));
        assert_eq!(good("/q"), ChatCommand::Quit);
        assert_eq!(
            good("/git__review  main x"),
            ChatCommand::ServerPrompt("git__review".to_owned(), "main x".to_owned())
        );
        for spec in &ALL {
            let text = format!("/{} x", spec.name);
            assert!(read(&text).is_some(), "{text}");
            if let Some(Err(error)) = read(&text) {
                assert!(!error.starts_with("There is no"), "{error}");
            }
        }
    }

    #[test]
    fn what_is_no_command_is_for_the_model() {
        for text in [
            "Hello",
            "/etc/passwd is what?",
            "/",
            " /help",
            "/ x",
            "/2",
            "/__init__",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_with_what_helps() {
        let bad = |text: &str| read(text).unwrap().unwrap_err();
        assert!(bad("/modl").contains("/model"), "{}", bad("/modl"));
        assert!(bad("/xyzzy").contains("/help"));
        assert!(bad("/rename").contains("/rename TITLE"));
        assert!(bad("/undo all").contains("/undo turn"));
        assert!(bad("/fork now").contains("nothing"));
    }
}
