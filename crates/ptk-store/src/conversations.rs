//! Conversations by id: for callers that want messages without a log.

use std::sync::Arc;

use ptk_protocol::{Message, ToolResult};

use crate::kind::Cleared;
use crate::{NewEntry, SessionId, SessionInfo, Store, StoreError, Window, resume};

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
}
