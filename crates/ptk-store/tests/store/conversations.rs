//! Messages by the id of their conversation.

use std::sync::Arc;

use ptk_protocol::{Message, Role, ToolCall};
use ptk_store::{Conversations, DEFAULT_CONVERSATION, SqliteStore};
use serde_json::json;

use super::{Scene, arguments, both, id, log};

#[tokio::test]
async fn a_conversation_holds_what_was_added() {
    for store in both(&Scene::new()) {
        let conversations = Conversations::new(Arc::clone(&store));
        let session = id(DEFAULT_CONVERSATION);
        assert!(conversations.messages(&session).await.unwrap().is_empty());
        conversations.clear(&session).await.unwrap();
        assert!(log(&*store, &session).await.is_empty());

        let call = ToolCall::new("read_file", arguments(&json!({"path": "a"}))).with_id("c1");
        let given = [
            Message::system("Be brief."),
            Message::user("My name is Ada."),
            Message {
                tool_calls: vec![call],
                ..Message::assistant("")
            },
            Message {
                tool_call_id: Some("c1".to_owned()),
                ..Message::new(Role::Tool, "…")
            },
            Message::assistant("Hello, Ada."),
        ];
        for message in &given {
            conversations.add(&session, message.clone()).await.unwrap();
        }
        assert_eq!(conversations.messages(&session).await.unwrap(), given);

        conversations.clear(&session).await.unwrap();
        conversations
            .add(&session, Message::user("Who am I?"))
            .await
            .unwrap();
        let left = conversations.messages(&session).await.unwrap();
        assert_eq!(left, [Message::user("Who am I?")]);
        assert_eq!(log(&*store, &session).await.len(), 7);
    }
}

#[tokio::test]
async fn a_conversation_is_created_once() {
    let scene = Scene::new();
    let conversations = Conversations::new(Arc::new(scene.open()));
    conversations.create(&id("c")).await.unwrap();
    conversations.create(&id("c")).await.unwrap();
    drop(conversations);
    let store = SqliteStore::open_read_only(scene.path()).unwrap();
    assert_eq!(log(&store, &id("c")).await.len(), 1);
}

#[tokio::test]
async fn a_conversation_keeps_values_beside_its_messages() {
    for store in both(&Scene::new()) {
        let conversations = Conversations::new(Arc::clone(&store));
        let (session, other) = (id("values"), id("others"));
        let get = async |key| conversations.get(&session, key).await.unwrap();
        assert_eq!(get("language").await, None);

        conversations.set(&session, "language", "vi").await.unwrap();
        // More entries than are read at once.
        for number in 0..450 {
            let message = Message::user(number.to_string());
            conversations.add(&session, message).await.unwrap();
        }
        conversations
            .set(&session, "tone", json!({"polite": true}))
            .await
            .unwrap();
        assert_eq!(get("language").await, Some(json!("vi")));
        assert_eq!(get("tone").await, Some(json!({"polite": true})));
        assert_eq!(conversations.get(&other, "tone").await.unwrap(), None);
        let messages = conversations.messages(&session).await.unwrap();
        assert_eq!(messages.last(), Some(&Message::user("449")));

        conversations.clear(&session).await.unwrap();
        assert_eq!(get("language").await, Some(json!("vi")));
        conversations
            .set(&session, "language", json!(null))
            .await
            .unwrap();
        assert_eq!(get("language").await, None, "null removes it");
    }
}
