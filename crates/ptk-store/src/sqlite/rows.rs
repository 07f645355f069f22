//! Converts between rows of the log and entries.

use ptk_events::{CallId, Correlation};
use rusqlite::{Connection, Params, Row, params};
use serde_json::value::RawValue;

use super::failure;
use super::place::Place;
use crate::redact::Prepared;
use crate::{Beginning, Body, Entry, SessionId, StoreError, time};

/// The columns, in the order in which they are read.
pub(super) const COLUMNS: &str =
    "session, seq, ts, kind, version, request_id, parent_id, call_id, body, digest";

/// Adds a row and returns its position.
pub(super) fn insert(
    connection: &Connection,
    session: &SessionId,
    seq: u64,
    entry: &Prepared,
) -> rusqlite::Result<i64> {
    let request = entry.correlation.request_id.map(|id| id.to_string());
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let fields = Fields {
        session: session.as_str(),
        seq,
        ts: entry.ts,
        kind: entry.body.kind(),
        version: entry.body.version(),
        ids: [
            request.as_deref(),
            entry.correlation.parent_id.as_deref(),
            entry.correlation.call_id.as_ref().map(CallId::as_str),
        ],
        body: entry.body.json(),
    };
    let [request, parent, call] = fields.ids;
    connection
        .prepare_cached(
            "INSERT INTO log
             (session, seq, ts, kind, version, request_id, parent_id, call_id, body, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .insert(params![
            fields.session,
            fields.seq,
            fields.ts,
            fields.kind,
            fields.version,
            request,
            parent,
            call,
            fields.body,
            fields.digest(),
        ])
}

/// Reads the entry of a row with the [`COLUMNS`], and checks its digest.
pub(super) fn entry(place: &Place, row: &Row<'_>) -> Result<Entry, StoreError> {
    let failed = |error: rusqlite::Error| failure::of_database(place.path(), &error);
    let session: String = row.get(0).map_err(failed)?;
    let seq: i64 = row.get(1).map_err(failed)?;
    let ts: i64 = row.get(2).map_err(failed)?;
    let kind: Box<str> = row.get(3).map_err(failed)?;
    let version: u32 = row.get(4).map_err(failed)?;
    let request: Option<String> = row.get(5).map_err(failed)?;
    let parent: Option<String> = row.get(6).map_err(failed)?;
    let call: Option<String> = row.get(7).map_err(failed)?;
    let body: String = row.get(8).map_err(failed)?;
    let written: i64 = row.get(9).map_err(failed)?;
    let fields = Fields {
        session: &session,
        seq,
        ts,
        kind: &kind,
        version,
        ids: [request.as_deref(), parent.as_deref(), call.as_deref()],
        body: &body,
    };
    let is_intact = written == fields.digest();
    let json = RawValue::from_string(body).ok().filter(|_| is_intact);
    let understood = |json| {
        Some(Entry {
            session: session.parse().ok()?,
            seq: u64::try_from(seq).ok()?,
            ts: time::from_millis(ts),
            correlation: Correlation {
                request_id: request.as_deref().map(str::parse).transpose().ok()?,
                parent_id: parent.clone(),
                call_id: call.as_deref().map(CallId::from),
            },
            body: Body::new(&*kind, version, json),
        })
    };
    json.and_then(understood).ok_or_else(|| {
        place.damaged(format!(
            "entry {seq} of session {session} is not as it was written"
        ))
    })
}

/// Calls a function with every entry of the log, session by session and in order.
pub(super) fn each(
    place: &Place,
    connection: &Connection,
    visit: impl FnMut(Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM log ORDER BY session, seq");
    visit_rows(place, connection, &sql, [], visit)
}

/// Calls a function with the first entries of a session, in order.
pub(super) fn beginning(
    place: &Place,
    connection: &Connection,
    beginning: &Beginning,
    visit: impl FnMut(Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM log WHERE session = ?1 AND seq <= ?2 ORDER BY seq");
    let through = i64::try_from(beginning.through).unwrap_or(i64::MAX);
    let params = params![beginning.session.as_str(), through];
    visit_rows(place, connection, &sql, params, visit)
}

fn visit_rows(
    place: &Place,
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut visit: impl FnMut(Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let failed = |error| failure::of_database(place.path(), &error);
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query(params).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        visit(entry(place, row)?)?;
    }
    Ok(())
}

/// The fields of an entry that its digest covers.
struct Fields<'a> {
    session: &'a str,
    seq: i64,
    ts: i64,
    kind: &'a str,
    version: u32,
    ids: [Option<&'a str>; 3],
    body: &'a str,
}

impl Fields<'_> {
    /// The digest that reveals a flipped bit: SQLite has no checksums.
    fn digest(&self) -> i64 {
        let mut hasher = blake3::Hasher::new();
        for number in [self.seq, self.ts, i64::from(self.version)] {
            hasher.update(&number.to_le_bytes());
        }
        let [request, parent, call] = self.ids;
        let texts = [
            Some(self.session),
            Some(self.kind),
            request,
            parent,
            call,
            Some(self.body),
        ];
        for text in texts {
            // The length marks where a text ends, and separates a missing text
            // from an empty one.
            let length = text.map_or(u64::MAX, |text| text.len() as u64);
            hasher.update(&length.to_le_bytes());
            hasher.update(text.unwrap_or_default().as_bytes());
        }
        let mut first = [0; 8];
        hasher.finalize_xof().fill(&mut first);
        i64::from_le_bytes(first)
    }
}
