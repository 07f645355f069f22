//! Conversations by id: for callers that want messages without a log.

use std::sync::Arc;

use ptk_protocol::{Message, ToolResult};

use serde_json::Value;

use crate::kind::{Cleared, ValueSet};
use crate::{
    EntryKind, NewEntry, SessionId, SessionInfo, Store, StoreError, Stretch, Window, resume,
};

/// How many entries are read at once to find a value.
const PAGE: usize = 200;

/// The id of the conversation where none is named.
pub const DEFAULT_CONVERSATION: &str = "ptkHistory";

/// Conversations by id, on top of any store.
///
/// ```
/// use std::sync::Arc;
///
/// use ptk_protocol::Message;
/// use ptk_store::{Conversations, DEFAULT_CONVERSATION, MemoryStore};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let conversations = Conversations::new(Arc::new(MemoryStore::new()));
/// let id = DEFAULT_CONVERSATION.parse()?;
/// conversations.add(&id, Message::user("My name is Ada.")).await?;
/// assert_eq!(conversations.messages(&id).await?, [Message::user("My name is Ada.")]);
///
/// conversations.set(&id, "language", "vi").await?;
/// assert_eq!(conversations.get(&id, "language").await?, Some("vi".into()));
///
/// conversations.clear(&id).await?;
/// assert_eq!(conversations.messages(&id).await?, []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Conversations {
    store: Arc<dyn Store>,
    window: Window,
}

impl Conversations {
    /// The conversations of a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            window: Window::default(),
        }
    }

    /// Begins a conversation. If there is one already, it goes on.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written.
    pub async fn create(&self, id: &SessionId) -> Result<(), StoreError> {
        if self.store.session(id).await?.is_none() {
            let created = NewEntry::new(SessionInfo::new());
            self.store.append(id, vec![created]).await?;
        }
        Ok(())
    }

    /// Adds a message. A conversation that does not exist begins with it.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub async fn add(&self, id: &SessionId, message: Message) -> Result<(), StoreError> {
        self.store.append(id, vec![NewEntry::new(message)]).await?;
        Ok(())
    }

    /// The messages, in order; none if there is no such conversation. Of a
    /// very long one, these are the last ones.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn messages(&self, id: &SessionId) -> Result<Vec<Message>, StoreError> {
        let transcript = resume(&*self.store, id, self.window).await?;
        let transcript = transcript.unwrap_or_default();
        Ok(transcript.messages(|result: &ToolResult| result.payload().to_string()))
    }

    /// Forgets the messages. The log keeps them;
    /// [`delete`](Store::delete) removes them from there, too.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub async fn clear(&self, id: &SessionId) -> Result<(), StoreError> {
        if self.store.session(id).await?.is_some() {
            self.store
                .append(id, vec![NewEntry::new(Cleared {})])
                .await?;
        }
        Ok(())
    }
    /// Keeps a value with the conversation, which the model does not see. Null
    /// removes it. A conversation that does not exist begins with it.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub async fn set(
        &self,
        id: &SessionId,
        key: impl Into<String>,
        value: impl Into<Value>,
    ) -> Result<(), StoreError> {
        let (key, value) = (key.into(), value.into());
        let set = NewEntry::new(ValueSet { key, value });
        self.store.append(id, vec![set]).await?;
        Ok(())
    }

    /// The value that was last set under this key, if any. It is looked for
    /// from the end of the log, so an old value of a long conversation takes
    /// longer.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn get(&self, id: &SessionId, key: &str) -> Result<Option<Value>, StoreError> {
        let mut before = u64::MAX;
        loop {
            let page = self.store.read(id, Stretch::before(before, PAGE)).await?;
            let Some(first) = page.first() else {
                return Ok(None);
            };
            before = first.seq;
            let value = page.iter().rev().find_map(|entry| match entry.kind() {
                EntryKind::ValueSet(set) if set.key == key => Some(set.value),
                _ => None,
            });
            if let Some(value) = value {
                return Ok(Some(value).filter(|value| !value.is_null()));
            }
        }
    }
}
