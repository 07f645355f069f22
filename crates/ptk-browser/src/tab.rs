//! The open page, and the script (`hand.js`) that operates it.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::connection::{CallError, Connection};
use crate::page::{Key, Page};
use crate::tree::Item;
use crate::trouble::Trouble;

/// The script that is run in the page's document, in an isolated world.
const HAND: &str = include_str!("hand.js");
/// The name of the isolated world.
const WORLD: &str = "ptk";
/// Calls a method of the script.
const DO: &str = "function (name, ...words) { return this[name](...words); }";
/// Chromium's error messages for a world whose document is gone.
const LOST: [&str; 5] = [
    "Cannot find context",
    "Could not find object",
    "Execution context was destroyed",
    "Inspected target navigated or closed",
    "Promise was collected",
];

/// An open page.
#[derive(Debug)]
pub(crate) struct Tab {
    connection: Connection,
    session: String,
    frame: String,
    /// The object id of the script, if it was injected into this document.
    hand: Option<String>,
}

/// Whether the page accepts input.
#[derive(Debug, Deserialize)]
pub(crate) struct Ready {
    pub(crate) version: u64,
    pub(crate) is_loaded: bool,
    pub(crate) is_login: bool,
    pub(crate) has_input: bool,
}

/// The visible state of the page.
#[derive(Debug, Deserialize)]
pub(crate) struct Look {
    pub(crate) version: u64,
    pub(crate) is_login: bool,
    pub(crate) is_busy: bool,
    pub(crate) has_answers: bool,
    /// How many characters the input holds.
    pub(crate) held: usize,
    /// The new answer, once there is one.
    pub(crate) items: Option<Vec<Item>>,
}

/// The result of pressing a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Button {
    Missing,
    Disabled,
    Pressed,
}

/// An error of a tab.
#[derive(Debug)]
pub(crate) enum TabError {
    /// The document was replaced.
    Lost,
    /// Any other error.
    Trouble(Trouble),
}

impl From<CallError> for TabError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Gone(why) => Self::Trouble(Trouble::Ended { why }),
            CallError::Refused(why) if LOST.iter().any(|it| why.contains(it)) => Self::Lost,
            CallError::Refused(why) => Self::Trouble(Trouble::Refused(why)),
        }
    }
}

impl From<Trouble> for TabError {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<TabError> for Trouble {
    fn from(error: TabError) -> Self {
        match error {
            TabError::Lost => Self::Reloaded,
            TabError::Trouble(trouble) => trouble,
        }
    }
}

/// A text field of the result of a call.
fn text(value: &Value, name: &str) -> Result<String, CallError> {
    let field = value.get(name).and_then(Value::as_str);
    let missing = || CallError::Refused(format!("it gave back no {name}"));
    field.map(str::to_owned).ok_or_else(missing)
}

impl Tab {
    /// Opens an empty tab.
    pub(crate) async fn open(connection: &Connection) -> Result<Self, TabError> {
        let browser = |method, params| connection.call(None, method, params);
        let crashes = json!({"discover": true});
        browser("Target.setDiscoverTargets", crashes).await?;
        let made = browser("Target.createTarget", json!({"url": "about:blank"})).await?;
        let target = text(&made, "targetId")?;
        let attach = json!({"targetId": target, "flatten": true});
        let attached = browser("Target.attachToTarget", attach).await?;
        let mut tab = Self {
            connection: connection.clone(),
            session: text(&attached, "sessionId")?,
            frame: String::new(),
            hand: None,
        };
        tab.call("Page.enable", json!({})).await?;
        // Without this, a page in a background window does not accept input.
        tab.call(
            "Emulation.setFocusEmulationEnabled",
            json!({"enabled": true}),
        )
        .await?;
        let tree = tab.call("Page.getFrameTree", json!({})).await?;
        let frame = tree
            .pointer("/frameTree/frame")
            .cloned()
            .unwrap_or_default();
        tab.frame = text(&frame, "id")?;
        Ok(tab)
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        self.connection
            .call(Some(&self.session), method, params)
            .await
    }

    /// The message of a dialog that was closed since the last call.
    pub(crate) fn take_dialog(&self) -> Option<String> {
        self.connection.take_dialog()
    }

    /// Navigates to an address.
    pub(crate) async fn visit(&mut self, url: &str) -> Result<(), TabError> {
        self.hand = None;
        let went = self.call("Page.navigate", json!({"url": url})).await?;
        match went.get("errorText").and_then(Value::as_str) {
            None | Some("") => Ok(()),
            Some(why) => Err(TabError::Trouble(Trouble::Unreachable {
                url: url.to_owned(),
                why: why.to_owned(),
            })),
        }
    }

    /// Injects the script into the current document.
    pub(crate) async fn reach_in(&mut self) -> Result<(), TabError> {
        let world = json!({"frameId": self.frame, "worldName": WORLD});
        let world = self.call("Page.createIsolatedWorld", world).await?;
        let world = world.get("executionContextId").cloned();
        let evaluate = json!({"expression": HAND, "contextId": world});
        let hand = self.call("Runtime.evaluate", evaluate).await?;
        let hand = hand.get("result").cloned().unwrap_or_default();
        self.hand = Some(text(&hand, "objectId")?);
        Ok(())
    }

    /// Whether the document is still the one with the script.
    pub(crate) async fn is_same(&self) -> Result<bool, Trouble> {
        match self.handle::<bool>("here", &[]).await {
            Ok(is_here) => Ok(is_here),
            Err(TabError::Lost) => Ok(false),
            Err(TabError::Trouble(trouble)) => Err(trouble),
        }
    }

    /// Calls a method of the script with these arguments.
    async fn handle<T: DeserializeOwned>(
        &self,
        name: &str,
        words: &[Value],
    ) -> Result<T, TabError> {
        let hand = self.hand.as_deref().ok_or(TabError::Lost)?;
        let words = std::iter::once(json!(name)).chain(words.iter().cloned());
        let words: Vec<Value> = words.map(|word| json!({"value": word})).collect();
        let call = json!({
            "objectId": hand,
            "functionDeclaration": DO,
            "arguments": words,
            "returnByValue": true,
            "awaitPromise": true,
        });
        let mut done = self.call("Runtime.callFunctionOn", call).await?;
        if let Some(thrown) = done.pointer("/exceptionDetails/exception/description") {
            let thrown = thrown.as_str().unwrap_or("something was thrown").to_owned();
            return Err(TabError::Trouble(Trouble::Refused(thrown)));
        }
        let value = done.pointer_mut("/result/value").map(Value::take);
        let read = serde_json::from_value(value.unwrap_or_default());
        read.map_err(|error| TabError::Trouble(Trouble::Refused(error.to_string())))
    }

    /// Checks that all selectors of the description are valid.
    pub(crate) async fn check(&self, page: &Page) -> Result<(), TabError> {
        let unsound: Vec<(String, String)> =
            self.handle("unsound", &[json!(page.selectors())]).await?;
        match unsound.into_iter().next() {
            None => Ok(()),
            Some((key, selector)) => Err(Trouble::NoSelector { key, selector }.into()),
        }
    }

    pub(crate) async fn ready(&self, page: &Page) -> Result<Ready, TabError> {
        let words =
            json!({"input": page.input, "login": page.login, "login_urls": page.login_urls});
        self.handle("ready", &[words]).await
    }

    /// Waits until the document has changed since this version.
    pub(crate) async fn changed(&self, version: u64) -> Result<(), TabError> {
        self.handle("changed", &[json!(version)]).await
    }

    /// Types into the input, and returns the text that it holds then; `None` if
    /// there is no input.
    pub(crate) async fn fill(&self, page: &Page, prompt: &str) -> Result<Option<String>, TabError> {
        self.handle("type", &[json!(page.input), json!(prompt)])
            .await
    }

    /// Remembers the current answers, so that a new one can be recognised.
    pub(crate) async fn remember(&self, page: &Page) -> Result<(), TabError> {
        self.handle("remember", &[json!(page.answer)]).await
    }

    pub(crate) async fn press(&self, selector: &str) -> Result<Button, TabError> {
        self.handle("press", &[json!(selector)]).await
    }

    /// Presses a key in the input.
    pub(crate) async fn strike(&self, page: &Page, key: Key) -> Result<(), TabError> {
        let _: bool = self.handle("focus", &[json!(page.input)]).await?;
        let modifiers = match key {
            Key::Enter => 0,
            Key::ControlEnter => 2,
        };
        let stroke = |kind: &str| {
            json!({
                "type": kind, "key": "Enter", "code": "Enter", "text": "\r",
                "windowsVirtualKeyCode": 13, "modifiers": modifiers,
            })
        };
        self.call("Input.dispatchKeyEvent", stroke("keyDown"))
            .await?;
        self.call("Input.dispatchKeyEvent", stroke("keyUp")).await?;
        Ok(())
    }

    pub(crate) async fn look(&self, page: &Page) -> Result<Look, TabError> {
        let words = json!({
            "input": page.input,
            "answer": page.answer,
            "busy": page.busy,
            "login": page.login,
            "login_urls": page.login_urls,
            "ignore": page.ignore,
        });
        self.handle("look", &[words]).await
    }
}
