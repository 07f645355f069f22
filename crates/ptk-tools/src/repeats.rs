//! Calls that were made before in the same turn, with nothing changed since.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ptk_permission::Signature;
use ptk_protocol::{ErrorCode, ErrorType, ToolResult};
use ptk_sandbox::{Place, Stamp};
use serde_json::json;

/// How often the same call is refused before the loop is given up.
pub const MAX_REPEATS: u32 = 3;
/// How many calls of a turn are remembered.
const MAX_CALLS: usize = 10_000;

/// The calls of a turn that succeeded.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    calls: Mutex<HashMap<Signature, PastCall>>,
}

/// A call that was made.
#[derive(Debug)]
struct PastCall {
    /// The number of changes by then.
    mutations: u64,
    /// The files that it read, as they were.
    files: Vec<Option<Stamp>>,
    /// How often it was refused since.
    refused: u32,
}

/// A call that could be a repetition.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(crate) signature: Signature,
    /// The number of changes by now.
    pub(crate) mutations: u64,
    /// The files that it reads, as they are now.
    pub(crate) files: Vec<Option<Stamp>>,
}

/// The files that a call reads, as they are now.
pub(crate) fn stamps(reads: &[Place]) -> Vec<Option<Stamp>> {
    let stamp = |place: &Place| Some(place.metadata().ok()?.stamp);
    reads.iter().map(stamp).collect()
}

impl Repeats {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Signature, PastCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a call whose result is known: nothing has changed since.
    pub(crate) fn check(&self, tool: &str, call: &Repeat) -> Result<(), Box<ToolResult>> {
        let mut calls = self.lock();
        let Some(made) = calls.get_mut(&call.signature) else {
            return Ok(());
        };
        if made.mutations != call.mutations || made.files != call.files {
            calls.remove(&call.signature);
            return Ok(());
        }
        made.refused += 1;
        let mut result = ToolResult::failure(
            ErrorType::ValidationError,
            format!(
                "Redundant tool call detected: {tool} was already called with the same \
                 arguments in this turn"
            ),
        )
        .with_suggestion(
            "Its result stands above, and nothing has changed since. Use it, call with other \
             arguments, or answer.",
        );
        result
            .fields
            .insert("repeated".to_owned(), json!(made.refused));
        if made.refused >= MAX_REPEATS {
            let code = ErrorCode::DuplicateToolCall.to_string();
            result.fields.insert("code".to_owned(), json!(code));
        }
        Err(Box::new(result))
    }

    /// Remembers a call that succeeded.
    pub(crate) fn made(&self, call: Repeat) {
        let mut calls = self.lock();
        if calls.len() < MAX_CALLS {
            let made = PastCall {
                mutations: call.mutations,
                files: call.files,
                refused: 0,
            };
            calls.insert(call.signature, made);
        }
    }

    /// Forgets all calls when a new turn begins.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }
}
