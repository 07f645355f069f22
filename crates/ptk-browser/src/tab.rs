//! The page in the browser, and the hand that works it.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::connection::{CallError, Connection};
use crate::page::{Key, Page};
use crate::tree::Item;
use crate::trouble::Trouble;

/// What is put into the page's document, in a world of its own.
const HAND: &str = include_str!("hand.js");
/// The name of that world.
const WORLD: &str = "ptk";
/// Has the hand do something.
const DO: &str = "function (name, ...words) { return this[name](...words); }";
/// What Chromium says of a world that went with its document.
const LOST: [&str; 5] = [
    "Cannot find context",
    "Could not find object",
    "Execution context was destroyed",
    "Inspected target navigated or closed",
    "Promise was collected",
];

/// A page that is open.
#[derive(Debug)]
pub(crate) struct Tab {
    connection: Connection,
    session: String,
    frame: String,
    /// The hand, if it was put into this document.
    hand: Option<String>,
}

/// Whether one can type.
#[derive(Debug, Deserialize)]
pub(crate) struct Ready {
    pub(crate) version: u64,
    pub(crate) is_loaded: bool,
    pub(crate) is_login: bool,
    pub(crate) has_input: bool,
}

/// What the page shows.
#[derive(Debug, Deserialize)]
pub(crate) struct Look {
    pub(crate) version: u64,
    pub(crate) is_login: bool,
    pub(crate) is_busy: bool,
    pub(crate) has_answers: bool,
    /// How many characters stand in the input.
    pub(crate) held: usize,
    /// The new answer, once there is one.
    pub(crate) items: Option<Vec<Item>>,
}

/// What came of pressing a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Button {
    Missing,
    Disabled,
    Pressed,
}

/// What goes wrong with a tab.
#[derive(Debug)]
pub(crate) enum TabError {
    /// The document is another one.
    Lost,
    /// Something else.
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

/// A field of what a call gave back.
fn text(value: &Value, name: &str) -> Result<String, CallError> {
    let field = value.get(name).and_then(Value::as_str);
    let missing = || CallError::Refused(format!("it gave back no {name}"));
    field.map(str::to_owned).ok_or_else(missing)
}

impl Tab {
    /// Opens a tab, with nothing in it.
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
        // Otherwise a page in a window behind others cannot be typed into.
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

    /// What a dialog said that was closed meanwhile.
    pub(crate) fn take_dialog(&self) -> Option<String> {
        self.connection.take_dialog()
    }

    /// Opens an address.
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

    /// Puts the hand into the document that is there now.
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

    /// Whether the document is still the one that the hand is in.
    pub(crate) async fn is_same(&self) -> Result<bool, Trouble> {
        match self.handle::<bool>("here", &[]).await {
            Ok(is_here) => Ok(is_here),
            Err(TabError::Lost) => Ok(false),
            Err(TabError::Trouble(trouble)) => Err(trouble),
        }
    }

    /// Has the hand do something with these words.
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

    /// Refuses a description whose selectors are none.
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

    /// Waits until the document is another one than that of this version.
    pub(crate) async fn changed(&self, version: u64) -> Result<(), TabError> {
        self.handle("changed", &[json!(version)]).await
    }

    /// Types into the input, and gives back what stands there then; nothing if
    /// there is no input.
    pub(crate) async fn fill(&self, page: &Page, prompt: &str) -> Result<Option<String>, TabError> {
        self.handle("type", &[json!(page.input), json!(prompt)])
            .await
    }

    /// Remembers the answers that are there.
    pub(crate) async fn remember(&self, page: &Page) -> Result<(), TabError> {
        self.handle("remember", &[json!(page.answer)]).await
    }

    pub(crate) async fn press(&self, selector: &str) -> Result<Button, TabError> {
        self.handle("press", &[json!(selector)]).await
    }

    /// Presses a key in the input, as a person would.
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
