//! Imported entries as data: what was said and done is kept, but no settings
//! that would decide how the session goes on.

use serde_json::json;

use crate::{
    CallEnded, Entry, EntryKind, InfoChanged, ModelReplied, NewEntry, Note, SessionInfo, TurnBegan,
};

/// Removes the settings from an imported entry.
///
/// A file may come from anyone. Its author chose the provider, the model, its
/// address, the workspace, tools and limits in it, so none of them may apply
/// here. The match names every kind, so that each new kind has to be
/// considered.
pub(super) fn without_settings(entry: Entry) -> NewEntry {
    let kind = match entry.kind() {
        EntryKind::SessionCreated(info) => EntryKind::SessionCreated(title_of(info)),
        EntryKind::SessionChanged(info) => EntryKind::SessionChanged(InfoChanged(title_of(info.0))),
        EntryKind::TurnBegan(TurnBegan { settings: _ }) => TurnBegan::default().into(),
        // What the tools remembered names files that they need not read again.
        EntryKind::CallEnded(ended) => CallEnded {
            state: None,
            ..ended
        }
        .into(),
        // What a provider wants back is sent to it as it stands.
        EntryKind::ModelReplied(replied) => ModelReplied {
            state: None,
            ..replied
        }
        .into(),
        // A later version may act on what this one does not understand.
        EntryKind::Unknown(body) => Note {
            text: format!("An entry of the kind {} was imported", body.kind()),
            data: Some(json!({
                "kind": body.kind(),
                "version": body.version(),
                "body": body.json(),
            })),
        }
        .into(),
        // A host may act on its values.
        EntryKind::ValueSet(set) => Note {
            text: format!("The value {} was imported", set.key),
            data: Some(set.value),
        }
        .into(),
        EntryKind::SessionForked(_)
        | EntryKind::SessionImported(_)
        | EntryKind::Message(_)
        | EntryKind::RequestBegan(_)
        | EntryKind::ReplyBroken(_)
        | EntryKind::ReplyParsed(_)
        | EntryKind::CallBegan(_)
        | EntryKind::CallHeld(_)
        | EntryKind::CallAllowed(_)
        | EntryKind::CallCut(_)
        | EntryKind::RanByHand(_)
        | EntryKind::HelperAsked(_)
        | EntryKind::HelperReplied(_)
        | EntryKind::ReplyRejected(_)
        | EntryKind::Compacted(_)
        | EntryKind::Cleared(_)
        | EntryKind::TurnEnded(_)
        | EntryKind::Failure(_)
        | EntryKind::Note(_) => return NewEntry::from(entry),
    };
    NewEntry {
        kind: kind.into(),
        ..NewEntry::from(entry)
    }
}

/// Keeps only the title of the session.
fn title_of(info: SessionInfo) -> SessionInfo {
    let SessionInfo {
        title,
        workspace: _,
        provider: _,
        model: _,
        dialect: _,
        settings: _,
    } = info;
    SessionInfo {
        title,
        ..SessionInfo::default()
    }
}
