//! The user's sessions: where they are stored, and how they are found.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use ptk::events::Redaction;
use ptk::store::{Listing, Overview, Retention, SessionId, SqliteStore, Store, StoreError};

/// The file in the state folder.
const FILE: &str = "sessions.db";
/// The prefix of generated ids, which users need not type.
const PREFIX: &str = "session_";
/// The characters of a generated id that identify it: its time, and some random
/// ones.
const SHORT: usize = 16;
/// The most sessions that are listed if a prefix is ambiguous.
const MAX_NAMED: usize = 5;

/// Opens the store, and creates it if there is none.
pub(crate) fn open() -> Result<SqliteStore> {
    let path = path()?;
    if let Some(folder) = path.parent() {
        ptk_sandbox::private_folder(folder).map_err(|error| {
            anyhow!(
                "{} cannot be made: {error}; name another folder with PTK_STATE",
                folder.display()
            )
        })?;
    }
    SqliteStore::open_redacting(path, Redaction::secrets()).map_err(told)
}

/// Opens the store, and rebuilds its index from its log.
pub(crate) fn open_rebuilding() -> Result<SqliteStore> {
    Ok(SqliteStore::open_rebuilding(path()?, Redaction::secrets())?)
}

/// Adds the command that helps to an error, if there is one.
fn told(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::IndexDamaged { place, detail } => anyhow!(
            "the index of the sessions in {place} is damaged ({detail}), but their log is whole; `ptk sessions check --rebuild` makes it anew"
        ),
        error => error.into(),
    }
}

/// Opens the store read-only; `None` if it does not exist.
pub(crate) fn open_to_read() -> Result<Option<SqliteStore>> {
    match SqliteStore::open_read_only(path()?) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing { .. }) => Ok(None),
        // Opening it for writing migrates it.
        Err(StoreError::OlderSchema { .. }) => Ok(Some(open()?)),
        Err(error) => Err(told(error)),
    }
}

fn path() -> Result<PathBuf> {
    let folder = ptk_sandbox::state_folder()
        .ok_or_else(|| anyhow!("no folder for sessions: neither PTK_STATE nor HOME is set"))?;
    Ok(folder.join(FILE))
}

/// Whether the database belongs to another user, who then chose the settings of
/// its sessions.
#[cfg(unix)]
pub(crate) fn is_foreign() -> Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let own = rustix::process::geteuid().as_raw();
    Ok(std::fs::metadata(path()?).is_ok_and(|file| file.uid() != own))
}

#[cfg(not(unix))]
pub(crate) fn is_foreign() -> Result<bool> {
    Ok(false)
}

/// Whether a session has an open turn that may be resumed.
pub(crate) fn is_resumable(session: &Overview) -> bool {
    session.is_open && check_resumable(session).is_ok()
}

/// Checks that a turn may be resumed: not if another user began it, or if it
/// has no workspace.
pub(crate) fn check_resumable(session: &Overview) -> Result<()> {
    let id = short(&session.id);
    if is_foreign()? {
        bail!(
            "session {id} cannot be resumed: {} belongs to another user; `ptk --session {id} \"…\"` goes on with a new prompt",
            path()?.display()
        );
    }
    if session.is_open && session.info.workspace.is_none() {
        bail!(
            "session {id} cannot be resumed: it has no workspace, as if its import was interrupted; remove it with `ptk sessions delete {id}` and import it again"
        );
    }
    Ok(())
}

/// The workspace's path as it is stored in the log.
pub(crate) fn workspace(folder: &Path) -> Result<String> {
    let real = folder.canonicalize();
    let real = real.map_err(|error| anyhow!("the workspace {}: {error}", folder.display()))?;
    Ok(shown(&real))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Finds a session by its id, or by the beginning of a generated id; `None` if
/// there is none.
pub(crate) async fn find(store: &dyn Store, text: &str) -> Result<Option<Overview>> {
    if let Ok(id) = text.parse::<SessionId>()
        && let Some(found) = store.session(&id).await?
    {
        return Ok(Some(found));
    }
    // Names that users chose must match as a whole: `fix-1` is not `fix-12`.
    let fresh = text.strip_prefix(PREFIX).unwrap_or(text);
    let is_hex = fresh.chars().all(|c| c.is_ascii_hexdigit());
    if fresh.is_empty() || !is_hex {
        return Ok(None);
    }
    let listing = Listing::new(MAX_NAMED + 1).prefix(format!("{PREFIX}{fresh}"));
    let found = store.sessions(listing).await?;
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        several => {
            let first = several.iter().take(MAX_NAMED);
            let mut names: Vec<&str> = first.map(|it| it.id.as_str()).collect();
            if several.len() > MAX_NAMED {
                names.push("…");
            }
            bail!(
                "`{text}` may be several sessions: {}; write more of the id",
                names.join(", ")
            )
        }
    }
}

/// Finds a session, or fails.
pub(crate) async fn existing(store: &dyn Store, text: &str) -> Result<Overview> {
    find(store, text).await?.ok_or_else(|| unknown(text))
}

pub(crate) fn unknown(text: &str) -> anyhow::Error {
    anyhow!("session `{text}` not found; `ptk sessions list --all` lists all sessions")
}

/// The last session of a workspace; with `is_interrupted`, the last one that
/// was interrupted and has no writer.
pub(crate) async fn last(
    store: &dyn Store,
    workspace: &str,
    is_interrupted: bool,
) -> Result<Option<Overview>> {
    let first = || Listing::new(50).workspace(workspace);
    let mut listing = first();
    loop {
        let page = store.sessions(listing).await?;
        let Some(end) = page.last() else {
            return Ok(None);
        };
        listing = first().after(end);
        for session in page {
            let is_wanted =
                !is_interrupted || (session.is_open && store.writer(&session.id).await?.is_none());
            if is_wanted {
                return Ok(Some(session));
            }
        }
    }
}

/// Checks that a session belongs to this workspace.
pub(crate) fn check_place(session: &Overview, folder: &Path) -> Result<()> {
    let here = workspace(folder)?;
    match session.info.workspace.as_deref() {
        Some(there) if there != here => bail!(
            "session {} works in {there}; say --workspace {there}, or go there",
            short(&session.id)
        ),
        _ => Ok(()),
    }
}

/// Removes sessions that are not to be retained.
pub(crate) async fn tidy(store: &SqliteStore, retention: Retention) -> Result<(), StoreError> {
    if retention != Retention::forever() {
        retention.apply(store, SystemTime::now()).await?;
    }
    Ok(())
}

/// The short form of an id that users can type.
pub(crate) fn short(id: &SessionId) -> &str {
    match id.as_str().strip_prefix(PREFIX) {
        Some(rest) => rest.get(..SHORT).unwrap_or(rest),
        None => id.as_str(),
    }
}
