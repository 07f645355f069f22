//! Removes secrets before anything is written.

use std::borrow::Cow;
use std::sync::Arc;

use ptk_events::{Correlation, Redaction};
use ptk_protocol::Image;
use serde_json::value::RawValue;

use crate::{Body, Entry, EntryKind, MAX_ENTRY, NewEntry, StoreError};

/// Prepares an entry for writing. Every string of it but the names of fields is
/// passed through the redaction.
pub(crate) fn prepare(redaction: &Redaction, new: NewEntry) -> Result<Prepared, StoreError> {
    let mut body = new.kind.to_body().map_err(unwritable)?;
    let mut is_as_given = !matches!(*new.kind, EntryKind::Unknown(_));
    if !redaction.is_nothing()
        && let Some(json) = redact_json(body.json(), redaction).map_err(unwritable)?
    {
        let json = RawValue::from_string(json).map_err(unwritable)?;
        body = Body::new(body.kind(), body.version(), json);
        is_as_given = false;
    }
    if body.json().len() > MAX_ENTRY {
        let size = body.json().len();
        return Err(StoreError::TooLarge { size });
    }
    Ok(Prepared {
        ts: crate::time::to_millis(new.ts),
        correlation: new.correlation,
        kind: if is_as_given {
            new.kind
        } else {
            Arc::new(EntryKind::of_body(&body))
        },
        body,
    })
}

/// An entry from which secrets are removed.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) ts: i64,
    pub(crate) correlation: Correlation,
    pub(crate) body: Body,
    pub(crate) kind: Arc<EntryKind>,
}

/// An entry that was written before.
impl From<Entry> for Prepared {
    fn from(entry: Entry) -> Self {
        Self {
            ts: crate::time::to_millis(entry.ts),
            correlation: entry.correlation,
            kind: Arc::new(EntryKind::of_body(&entry.body)),
            body: entry.body,
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "what `map_err` hands over")]
fn unwritable(error: serde_json::Error) -> StoreError {
    let reason = error.to_string();
    StoreError::Unwritable { reason }
}

/// The text with every string value passed through the redaction; `None` if that
/// changed nothing. It works on the text and not on parsed values, because
/// these would not keep every digit of a number.
fn redact_json(json: &str, redaction: &Redaction) -> Result<Option<String>, serde_json::Error> {
    let mut written = String::new();
    let mut done = 0;
    let mut rest = 0;
    while let Some((start, end)) = next_string(json, rest) {
        rest = end;
        let part = |from, to| json.get(from..to).unwrap_or_default();
        let is_name = part(end, json.len()).trim_start().starts_with(':');
        if is_name {
            continue;
        }
        let quoted = part(start, end);
        let text: Cow<'_, str> = if quoted.contains('\\') {
            serde_json::from_str::<String>(quoted)?.into()
        } else {
            quoted.trim_matches('"').into()
        };
        let redacted = redaction.apply(&text);
        // The bytes of an image may look like a secret by chance.
        if redacted != text && Image::from_url(&text).is_none() {
            written.push_str(part(done, start));
            written.push_str(&serde_json::to_string(&redacted)?);
            done = end;
        }
    }
    written.push_str(json.get(done..).unwrap_or_default());
    Ok((done > 0).then_some(written))
}

/// Finds where the next string begins and ends, its quotation marks included.
fn next_string(json: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = json.as_bytes();
    let start = from + json.get(from..)?.find('"')?;
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some((start, at + 1)),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_redacted_and_all_else_stays_as_it_is() {
        let redact = &Redaction::new(|text| text.replace("se\"cret", "[…]").into());
        let json = r#"{"se\"cret": "a se\"cret", "n": 123456789012345678901234567890, "l": ["x\\", "se\"cret"]}"#;
        assert_eq!(
            redact_json(json, redact).unwrap().as_deref(),
            Some(
                r#"{"se\"cret": "a […]", "n": 123456789012345678901234567890, "l": ["x\\", "[…]"]}"#
            ),
        );
        assert_eq!(
            redact_json(r#"{"a":"b","c":[1,"d"]}"#, redact).unwrap(),
            None
        );
    }

    #[test]
    fn images_are_kept_as_they_are() {
        let redact = &Redaction::new(|text| text.replace("AIza", "[…]").into());
        let image = r#"{"images":["data:image/gif;base64,R0lGODlhAIza"]}"#;
        assert_eq!(redact_json(image, redact).unwrap(), None);
        let text = r#"{"images":["data:image/gif;base64,AIza"]}"#;
        assert!(redact_json(text, redact).unwrap().is_some());
    }
}
