//! Forks a session: begins another one with the same first entries.

use crate::copying::PAGE;
use crate::{Beginning, Fork, NewEntry, SessionId, SessionImported, Store, StoreError, Stretch};

/// How many turns of a session a fork takes along.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Turns {
    /// Every turn that has ended.
    #[default]
    All,
    /// The first so many turns.
    First(u64),
}

/// The result of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    /// The id of the new session.
    pub session: SessionId,
    /// How many entries the new session has.
    pub entries: u64,
    /// How many turns the new session has.
    pub turns: u64,
    /// Whether the original has an open turn, which was not taken along.
    pub is_open_turn_left: bool,
}

/// Begins a session with the entries of another one, word for word, and records
/// where they come from; `None` if there is no such session. The original stays
/// as it is, and may be written meanwhile.
///
/// A turn that is open is not taken along: how it ends belongs to the original
/// session, and so does whatever its calls have changed.
///
/// ```
/// use ptk_protocol::Message;
/// use ptk_store::{
///     MemoryStore, NewEntry, SessionId, Store, TurnBegan, TurnEnded, TurnOutcome, Turns, Window,
///     fork, resume,
/// };
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let store = MemoryStore::new();
/// let session = SessionId::new();
/// for prompt in ["My name is Ada.", "Forget that."] {
///     store.append(&session, vec![
///         NewEntry::new(TurnBegan::default()),
///         NewEntry::new(Message::user(prompt)),
///         NewEntry::new(TurnEnded::new(TurnOutcome::Answered)),
///     ]).await?;
/// }
///
/// let forked = fork(&store, &session, Turns::First(1)).await?.ok_or("no session")?;
/// let transcript = resume(&store, &forked.session, Window::default()).await?.ok_or("no fork")?;
/// assert_eq!(transcript.messages(|_| String::new()), [Message::user("My name is Ada.")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If not so many turns have ended, or the store cannot be read or written.
/// Then there is no new session.
pub async fn fork(
    store: &dyn Store,
    session: &SessionId,
    turns: Turns,
) -> Result<Option<Forked>, StoreError> {
    let Some(cut) = find_cut(store, session, turns).await? else {
        return Ok(None);
    };
    // Entries name each other by their numbers, which stay the same. So the
    // entry that says where they come from stands behind them.
    let fork = NewEntry::new(Fork {
        session: session.clone(),
        through: cut.through,
        turns: cut.turns,
    });
    // The mark stands at the end of what was imported, and may not be copied
    // along.
    let imported = store.session(session).await?.and_then(|it| it.imported);
    let imported = imported.map(|it| {
        let through = it.through.min(cut.through);
        NewEntry::new(SessionImported { through })
    });
    let behind = imported.into_iter().chain([fork]).collect();
    let beginning = Beginning {
        session: session.clone(),
        through: cut.through,
    };
    let into = SessionId::new();
    let copied = store.copy(beginning, &into, behind).await?;
    store.release(&into).await?;
    Ok(Some(Forked {
        session: into,
        entries: copied.last,
        turns: cut.turns,
        is_open_turn_left: cut.is_open_behind,
    }))
}

/// Where the common beginning ends.
#[derive(Debug, Default)]
struct Cut {
    /// The number of its last entry.
    through: u64,
    turns: u64,
    is_open_behind: bool,
}

/// Finds the end of the turns that are wanted; `None` if the session does not
/// exist.
async fn find_cut(
    store: &dyn Store,
    session: &SessionId,
    turns: Turns,
) -> Result<Option<Cut>, StoreError> {
    let most = match turns {
        Turns::All => u64::MAX,
        Turns::First(most) => most,
    };
    let (mut last, mut began) = (0, 0);
    // The number of the entry with which the open turn begins.
    let mut open = None;
    loop {
        let page = store.read(session, Stretch::after(last, PAGE)).await?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        for entry in &page {
            match entry.body.kind() {
                "turn_began" if began == most => {
                    return Ok(Some(Cut {
                        through: entry.seq.saturating_sub(1),
                        turns: began,
                        is_open_behind: false,
                    }));
                }
                "turn_began" => {
                    began += 1;
                    open = Some(entry.seq);
                }
                "turn_ended" | "cleared" => open = None,
                _ => {}
            }
        }
    }
    let ended = began - u64::from(open.is_some());
    let refuse = |reason: String| {
        Err(StoreError::NotForked {
            session: session.clone(),
            reason,
        })
    };
    match turns {
        _ if last == 0 => Ok(None),
        Turns::All if ended == 0 && open.is_some() => refuse(
            "none of its turns has ended; resume the one that is open, or go on with another prompt"
                .to_owned(),
        ),
        Turns::First(most) if ended < most => refuse(format!(
            "it has {ended} turns that have ended, and not {most}; take fewer"
        )),
        _ => Ok(Some(Cut {
            through: open.map_or(last, |began| began.saturating_sub(1)),
            turns: ended,
            is_open_behind: open.is_some(),
        })),
    }
}
