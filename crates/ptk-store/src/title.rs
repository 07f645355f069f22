//! Titles of sessions.

use crate::{InfoChanged, MAX_TITLE, NewEntry, SessionId, SessionInfo, Store, StoreError};

/// The change that gives a session this title, on one line. An empty one
/// removes the title: then the session is shown by its first prompt again.
///
/// # Errors
///
/// If it is longer than [`MAX_TITLE`].
pub fn titled(title: &str) -> Result<InfoChanged, StoreError> {
    let words: Vec<&str> = title.split_whitespace().collect();
    let title = words.join(" ");
    let length = title.chars().count();
    if length > MAX_TITLE {
        return Err(StoreError::LongTitle { length });
    }
    Ok(InfoChanged(SessionInfo::new().title(title)))
}

/// Gives a session a title, or removes it if the title is empty. Returns
/// whether the session exists.
///
/// A process that has the session open to run it writes the change itself.
///
/// ```
/// use ptk_protocol::Message;
/// use ptk_store::{MemoryStore, NewEntry, SessionId, Store, rename};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let store = MemoryStore::new();
/// let session = SessionId::new();
/// store.append(&session, vec![NewEntry::new(Message::user("What is due?"))]).await?;
/// assert!(rename(&store, &session, "Errands").await?);
/// assert_eq!(store.session(&session).await?.ok_or("gone")?.name(), "Errands");
/// rename(&store, &session, "").await?;
/// assert_eq!(store.session(&session).await?.ok_or("gone")?.name(), "What is due?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the title is too long, another process writes the session, or the store
/// cannot be written.
pub async fn rename(
    store: &dyn Store,
    session: &SessionId,
    title: &str,
) -> Result<bool, StoreError> {
    let change = titled(title)?;
    if store.session(session).await?.is_none() {
        return Ok(false);
    }
    store.append(session, vec![NewEntry::new(change)]).await?;
    store.release(session).await?;
    Ok(true)
}
