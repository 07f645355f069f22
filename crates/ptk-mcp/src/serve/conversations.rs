//! The conversations of clients that have no session: since the revision
//! 2026-07-28, each request over HTTP stands for itself.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ptk_tools::Conversation;

/// How many conversations are kept. Of the one that was used least recently, it
/// is forgotten which files were read.
const MAX_CONVERSATIONS: usize = 64;

/// The name and version of a client, if it says them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct ClientIdentity(pub(super) Option<(String, String)>);

/// Conversations by client.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_client: HashMap<ClientIdentity, (Conversation, u64)>,
    /// How often any was used.
    uses: u64,
}

impl Conversations {
    /// The conversation of a client, a new one at its first request.
    pub(super) fn of(&self, client: &ClientIdentity) -> Conversation {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.uses += 1;
        let now = known.uses;
        if let Some((conversation, used)) = known.by_client.get_mut(client) {
            *used = now;
            return conversation.clone();
        }
        if known.by_client.len() >= MAX_CONVERSATIONS {
            let oldest = known.by_client.iter().min_by_key(|(_, (_, used))| *used);
            let oldest = oldest.map(|(client, _)| client.clone());
            if let Some(oldest) = oldest {
                known.by_client.remove(&oldest);
            }
        }
        let conversation = Conversation::new();
        known
            .by_client
            .insert(client.clone(), (conversation.clone(), now));
        conversation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: usize) -> ClientIdentity {
        ClientIdentity(Some(("client".to_owned(), number.to_string())))
    }

    #[test]
    fn many_clients_make_the_least_recent_one_forgotten() {
        let conversations = Conversations::default();
        conversations.of(&client(0));
        for number in 1..MAX_CONVERSATIONS {
            conversations.of(&client(number));
        }
        conversations.of(&client(0));
        conversations.of(&client(MAX_CONVERSATIONS));
        let known = conversations.known.lock().unwrap();
        assert_eq!(known.by_client.len(), MAX_CONVERSATIONS);
        assert!(known.by_client.contains_key(&client(0)));
        assert!(!known.by_client.contains_key(&client(1)));
    }
}
