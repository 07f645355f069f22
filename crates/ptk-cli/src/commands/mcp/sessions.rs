//! The sessions of a workspace as MCP resources.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use anyhow::{Result, anyhow};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ptk::store::export::{self, Thoughts};
use ptk::store::{Listing, Overview, SessionId, Store as _};
use ptk_mcp::serve::{ResourceError, ResourceItem, ResourcePage, ResourceSource, ResourceText};

use crate::sessions;

/// What the address of a session begins with.
const SCHEME: &str = "ptk-session://";
/// The characters of an id that are not written as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// How many sessions a page has.
const PAGE: usize = 100;
/// The most characters of a title.
const MAX_TITLE: usize = 70;
/// The most bytes of a session that are read.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// The media type of a session.
const MARKDOWN: &str = "text/markdown";

/// The sessions of one workspace.
pub(super) struct Sessions {
    /// Its path, as it is stored.
    workspace: String,
}

impl Sessions {
    pub(super) const fn of(workspace: String) -> Self {
        Self { workspace }
    }

    async fn page(&self, cursor: Option<&str>) -> Result<ResourcePage, ResourceError> {
        let mut listing = Listing::new(PAGE).workspace(&self.workspace);
        if let Some(cursor) = cursor {
            listing = listing.after(&position(cursor).ok_or(ResourceError::Cursor)?);
        }
        let Some(store) = sessions::open_to_read().map_err(unreadable)? else {
            return Ok(ResourcePage::default());
        };
        let found = store.sessions(listing).await.map_err(unreadable)?;
        let is_full = found.len() == PAGE;
        Ok(ResourcePage {
            next: found.last().filter(|_| is_full).map(cursor_of),
            items: found.iter().map(item).collect(),
        })
    }

    async fn text(&self, uri: &str) -> Result<ResourceText, ResourceError> {
        let unknown = || ResourceError::Unknown(uri.to_owned());
        let id = id_of(uri).ok_or_else(unknown)?;
        let store = sessions::open_to_read().map_err(unreadable)?;
        let store = store.ok_or_else(unknown)?;
        let session = store.session(&id).await.map_err(unreadable)?;
        // Sessions of other workspaces are none of the client's business.
        let is_here = |session: &Overview| session.info.workspace.as_ref() == Some(&self.workspace);
        let session = session.filter(is_here).ok_or_else(unknown)?;
        let mut text = LimitedText::default();
        let written =
            export::write_markdown(&store, &session.id, Thoughts::LeftOut, &mut text).await;
        match written {
            Err(error) if !text.is_full => return Err(unreadable(error)),
            _ => {}
        }
        Ok(ResourceText {
            text: text.finish(&session.id),
            mime_type: MARKDOWN.to_owned(),
        })
    }
}

impl ResourceSource for Sessions {
    fn templates(&self) -> Vec<ResourceItem> {
        vec![ResourceItem {
            uri: format!("{SCHEME}{{id}}"),
            name: "session".to_owned(),
            title: Some("A session of this workspace".to_owned()),
            description: Some(
                "A conversation of ptk with a model in this workspace, with its calls and their \
                 results. The id is the one that `ptk sessions list` shows in full with --json"
                    .to_owned(),
            ),
            mime_type: Some(MARKDOWN.to_owned()),
        }]
    }

    fn list<'a>(
        &'a self,
        cursor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ResourcePage, ResourceError>> {
        self.page(cursor).boxed()
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<ResourceText, ResourceError>> {
        self.text(uri).boxed()
    }
}

fn unreadable(error: impl std::fmt::Display) -> ResourceError {
    ResourceError::Unreadable(format!("the sessions cannot be read: {error:#}"))
}

/// A session in the list.
fn item(session: &Overview) -> ResourceItem {
    let title = session.name().lines().next().unwrap_or_default();
    let title: String = title.chars().take(MAX_TITLE).collect();
    let updated = humantime::format_rfc3339_seconds(session.updated);
    let turns = match session.turns {
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    ResourceItem {
        uri: format!(
            "{SCHEME}{}",
            utf8_percent_encode(session.id.as_str(), ESCAPED)
        ),
        name: session.id.as_str().to_owned(),
        title: Some(title).filter(|title| !title.is_empty()),
        description: Some(format!("{turns}, last used {updated}")),
        mime_type: Some(MARKDOWN.to_owned()),
    }
}

/// The session at an address.
fn id_of(uri: &str) -> Option<SessionId> {
    let id = percent_decode_str(uri.strip_prefix(SCHEME)?);
    id.decode_utf8().ok()?.parse().ok()
}

/// What continues a list behind a session: when it was used last, and its id.
fn cursor_of(last: &Overview) -> String {
    let updated = last.updated.duration_since(SystemTime::UNIX_EPOCH);
    format!("{}.{}", updated.unwrap_or_default().as_nanos(), last.id)
}

/// The session that a cursor is about, as far as a list needs it.
fn position(cursor: &str) -> Option<Overview> {
    let (updated, id) = cursor.split_once('.')?;
    let mut last = Overview::new(id.parse().ok()?);
    let updated = Duration::from_nanos(updated.parse().ok()?);
    last.updated = SystemTime::UNIX_EPOCH.checked_add(updated)?;
    Some(last)
}

/// A text that takes no more than so many bytes.
#[derive(Default)]
struct LimitedText {
    bytes: Vec<u8>,
    is_full: bool,
}

impl Write for LimitedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_TEXT - self.bytes.len();
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.bytes.extend_from_slice(taken);
        if taken.len() < bytes.len() {
            self.is_full = true;
            return Err(io::Error::other(anyhow!("the session is too long")));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LimitedText {
    /// The text, with a note where it was cut.
    fn finish(self, id: &SessionId) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if self.is_full {
            text.push_str(&format!(
                "\n\n[Cut after {MAX_TEXT} bytes; `ptk sessions export {id}` writes all of it.]\n"
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_session() {
        for id in ["session_0199c2", "fix the tests", "a/b?c#d%20", "größer"] {
            let mut session = Overview::new(id.parse().unwrap());
            session.updated = SystemTime::now();
            assert_eq!(id_of(&item(&session).uri), Some(session.id.clone()));
            let position = position(&cursor_of(&session)).unwrap();
            assert_eq!(position.id, session.id);
            assert_eq!(position.updated, session.updated);
        }
        for wrong in [
            "",
            "file:///etc/passwd",
            "ptk-session://",
            "ptk-session://%ff",
        ] {
            assert_eq!(id_of(wrong), None, "{wrong}");
        }
        for wrong in ["", "x", ".", "1.", "x.a", "99999999999999999999999999.a"] {
            assert!(position(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_session_that_is_too_long_is_cut() {
        let mut text = LimitedText::default();
        text.write_all(&vec![b'a'; MAX_TEXT]).unwrap();
        assert!(!text.is_full);
        text.write_all(b"b").unwrap_err();
        let text = text.finish(&"one".parse().unwrap());
        assert!(text.len() < MAX_TEXT + 200);
        assert!(text.ends_with("`ptk sessions export one` writes all of it.]\n"));
    }
}
