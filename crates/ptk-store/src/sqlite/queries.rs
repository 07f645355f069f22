//! Queries, which do not change the database.

use rusqlite::{Connection, params};

use super::place::Place;
use super::{derived, failure, rows};
use crate::store::{MAX_STRETCH_BYTES, Stretch};
use crate::words::Words;
use crate::{Checked, Entry, Hit, Listing, Overview, Search, SessionId, StoreError, time};

/// How much damage is listed in detail.
const MAX_DAMAGE: usize = 20;

pub(super) fn read(
    place: &Place,
    connection: &Connection,
    session: &SessionId,
    stretch: Stretch,
) -> Result<Vec<Entry>, StoreError> {
    let failed = |error| failure::of_database(place.path(), &error);
    // The entries and their number, as of one moment.
    let moment = connection.unchecked_transaction().map_err(failed)?;
    let order = if stretch.from_the_end { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT {} FROM log WHERE session = ?1 AND seq > ?2 AND seq < ?3 ORDER BY seq {order} LIMIT ?4",
        rows::COLUMNS
    );
    let mut statement = moment.prepare_cached(&sql).map_err(failed)?;
    let mut rows = statement
        .query(params![
            session.as_str(),
            whole(stretch.after),
            whole(stretch.before),
            whole(stretch.limit as u64),
        ])
        .map_err(failed)?;
    let mut entries = Vec::new();
    let mut bytes = 0;
    while bytes < MAX_STRETCH_BYTES
        && let Some(row) = rows.next().map_err(failed)?
    {
        let entry = rows::entry(place, row)?;
        bytes += entry.size();
        entries.push(entry);
    }
    if stretch.from_the_end {
        entries.reverse();
    }
    let known = derived::get(place, &moment, session)?;
    if let Some(missing) = missing(&entries, stretch, known.map(|known| known.entries)) {
        return Err(place.damaged(format!("entry {missing} of session {session} is missing")));
    }
    Ok(entries)
}

/// The number of an entry that should be there and is not. Numbers have no
/// gaps, so that a damaged index cannot hide an entry.
fn missing(entries: &[Entry], stretch: Stretch, count: Option<u64>) -> Option<u64> {
    let gap = entries.windows(2).find_map(|pair| match pair {
        [one, other] if one.seq + 1 != other.seq => Some(one.seq + 1),
        _ => None,
    });
    if gap.is_some() || stretch.limit == 0 {
        return gap;
    }
    if stretch.from_the_end {
        let due = count?.min(stretch.before.saturating_sub(1));
        let last = entries.last().map_or(0, |entry| entry.seq);
        (last < due).then_some(due)
    } else {
        let due = stretch.after.saturating_add(1);
        let is_there = match entries.first() {
            Some(first) => first.seq == due,
            None => due > count?,
        };
        (!is_there).then_some(due)
    }
}

pub(super) fn sessions(
    place: &Place,
    connection: &Connection,
    listing: &Listing,
) -> Result<Vec<Overview>, StoreError> {
    let failed = |error| failure::of_database(place.path(), &error);
    let mut sql = "SELECT overview FROM sessions WHERE (updated, session) < (?1, ?2)".to_owned();
    if listing.workspace.is_some() {
        sql.push_str(" AND workspace = ?3");
    } else {
        sql.push_str(" AND ?3 IS NULL");
    }
    sql.push_str(" AND substr(session, 1, length(?4)) = ?4");
    sql.push_str(" ORDER BY updated DESC, session DESC LIMIT ?5");
    let (updated, id) = match &listing.after {
        Some((updated, id)) => (time::to_millis(*updated), id.as_str()),
        None => (i64::MAX, ""),
    };
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut rows = statement
        .query(params![
            updated,
            id,
            listing.workspace,
            listing.prefix.as_deref().unwrap_or_default(),
            whole(listing.limit as u64),
        ])
        .map_err(failed)?;
    let mut overviews = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let json: String = row.get(0).map_err(failed)?;
        overviews.push(derived::read(place, &json)?);
    }
    Ok(overviews)
}

pub(super) fn search(
    place: &Place,
    connection: &Connection,
    search: &Search,
) -> Result<Vec<Hit>, StoreError> {
    let Some(words) = Words::new(&search.words) else {
        return Ok(Vec::new());
    };
    let failed = |error| failure::of_database(place.path(), &error);
    let columns: Vec<String> = rows::COLUMNS
        .split(", ")
        .map(|column| format!("log.{column}"))
        .collect();
    let sql = format!(
        "SELECT {} FROM spoken_words JOIN log ON log.position = spoken_words.rowid
         WHERE spoken_words MATCH ?1
         AND (?2 IS NULL OR log.session = ?2)
         AND (?3 IS NULL OR EXISTS (SELECT 1 FROM sessions
              WHERE sessions.session = log.session AND sessions.workspace = ?3))
         ORDER BY spoken_words.rowid DESC LIMIT ?4 OFFSET ?5",
        columns.join(", ")
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut rows = statement
        .query(params![
            words.query(),
            search.session.as_ref().map(SessionId::as_str),
            search.workspace,
            whole(search.limit as u64),
            whole(search.skip as u64),
        ])
        .map_err(failed)?;
    let mut hits = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        hits.push(words.hit(&rows::entry(place, row)?));
    }
    Ok(hits)
}

pub(super) fn check(place: &Place, connection: &Connection) -> Result<Checked, StoreError> {
    let failed = |error| failure::of_database(place.path(), &error);
    let mut checked = Checked::default();
    let mut statement = connection
        .prepare(&format!("PRAGMA integrity_check({MAX_DAMAGE})"))
        .map_err(failed)?;
    let said = statement.query_map([], |row| row.get::<_, String>(0));
    for line in said.map_err(failed)? {
        let line = line.map_err(failed)?;
        if line != "ok" {
            checked.damage.push(line);
        }
    }
    let mut last: Option<(SessionId, u64)> = None;
    let looked = rows::each(place, connection, |entry| {
        let expected = match &last {
            Some((session, seq)) if *session == entry.session => seq + 1,
            _ => {
                checked.sessions += 1;
                1
            }
        };
        checked.entries += 1;
        if entry.seq != expected && checked.damage.len() < MAX_DAMAGE {
            let session = &entry.session;
            checked
                .damage
                .push(format!("entry {expected} of session {session} is missing"));
        }
        last = Some((entry.session, entry.seq));
        Ok(())
    });
    match looked {
        Err(StoreError::Damaged { detail, .. }) => checked.damage.push(detail),
        looked => looked?,
    }
    Ok(checked)
}

/// Converts a number for SQLite, which has no larger ones than `i64`.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
