//! Sessions of the workspace as resources.

use serde_json::{Value, json};

use crate::space::Space;
use crate::stdio::Client;

fn list(client: &mut Client, params: Value) -> Value {
    client.request("resources/list", params)["result"].clone()
}

#[test]
fn sessions_of_the_workspace_can_be_read() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    assert_eq!(list(&mut client, json!({}))["resources"], json!([]));
    let id = space.session_in(&space.path(""), "It is a folder.");
    let listed = list(&mut client, json!({}));
    let resource = &listed["resources"][0];
    let uri = format!("ptk-session://{id}");
    assert_eq!(resource["uri"], uri);
    assert_eq!(resource["title"], "Hello?");
    assert_eq!(resource["mimeType"], "text/markdown");
    let read = client.request("resources/read", json!({"uri": uri}));
    let content = &read["result"]["contents"][0];
    assert_eq!(content["uri"], uri);
    let exported = space.ptk(&["sessions", "export", &id, "--format", "markdown"]);
    let exported = String::from_utf8(exported.stdout).unwrap();
    assert_eq!(content["text"], exported);
    assert!(exported.contains("It is a folder."));
    let templates = client.request("resources/templates/list", json!({}));
    let template = &templates["result"]["resourceTemplates"][0];
    assert_eq!(template["uriTemplate"], "ptk-session://{id}");
}

#[test]
fn sessions_of_other_workspaces_cannot_be_read() {
    let space = Space::new();
    let other = space.beside("other");
    std::fs::create_dir(&other).unwrap();
    let id = space.session_in(&other, "A secret.");
    let mut client = Client::new(&space, &[]);
    assert_eq!(list(&mut client, json!({}))["resources"], json!([]));
    for uri in [
        &format!("ptk-session://{id}"),
        "ptk-session://nothing",
        "ptk-session://",
        "file:///etc/passwd",
        "",
    ] {
        let error = client.request("resources/read", json!({"uri": uri}))["error"].clone();
        assert_eq!(error["code"], -32002, "{uri}: {error}");
        assert!(!error.to_string().contains("secret"));
    }
    let mut modern = Client::modern(&space, &[], json!({}));
    let error = modern.request("resources/read", json!({"uri": "ptk-session://nothing"}));
    assert_eq!(
        error["error"]["code"], -32602,
        "as the newer revision has it"
    );
}

#[test]
fn a_long_list_comes_in_pages() {
    let space = Space::new();
    let id = space.session_in(&space.path(""), "One of many.");
    let exported = space.ptk(&["sessions", "export", &id]);
    assert!(exported.status.success());
    let exported = String::from_utf8(exported.stdout).unwrap();
    let many: String = (0..120)
        .map(|number| exported.replace(&id, &format!("session_{number:032x}")))
        .collect();
    space.write("many.jsonl", &many);
    let imported = space.ptk(&["sessions", "import", "many.jsonl"]);
    assert!(imported.status.success(), "{imported:?}");
    let mut client = Client::new(&space, &[]);
    let first = list(&mut client, json!({}));
    let second = list(&mut client, json!({"cursor": first["nextCursor"]}));
    let uris = [&first, &second].map(|page| {
        let resources = page["resources"].as_array().unwrap();
        let uris = resources.iter().map(|it| it["uri"].to_string());
        uris.collect::<Vec<_>>()
    });
    assert_eq!([uris[0].len(), uris[1].len()], [100, 21]);
    let mut all = uris.concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 121, "none twice");
    assert!(second.get("nextCursor").is_none());
    for cursor in ["x", "", "1.", "99999999999999999999999.a"] {
        let error = client.request("resources/list", json!({"cursor": cursor}));
        assert_eq!(error["error"]["code"], -32602, "{cursor}: {error}");
    }
}
