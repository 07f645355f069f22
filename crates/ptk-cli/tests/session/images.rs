//! Images beside a prompt.

use std::fs;

use serde_json::{Value, json};
use wiremock::matchers::{body_string_contains, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::models::output;
use crate::scene::Scene;

const GIF: &[u8] = b"GIF89a\x01\0\x01\0";
const URL: &str = "data:image/gif;base64,R0lGODlhAQABAA==";

#[tokio::test(flavor = "multi_thread")]
async fn images_are_sent_beside_the_prompt_in_every_turn() {
    let server = MockServer::start().await;
    let answer = json!({"choices": [{"message": {"content": "A dot."}, "finish_reason": "stop"}]});
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    fs::write(scene.path("my dot.gif"), GIF).unwrap();
    let address = format!("{}/v1", server.uri());
    for args in [
        &["What is this?", "-f", "my dot.gif", "-f", "notes.txt"][..],
        &["And now?", "-c"],
    ] {
        let mut command = scene.command(args);
        command
            .args(["--provider", &address, "--model", "seeing"])
            .env_remove("PTK_PROVIDER");
        let (code, out, err) = output(command).await;
        assert_eq!((code, out.trim()), (0, "A dot."), "{err}");
    }
    let requests = server.received_requests().await.unwrap();
    let posts = requests.iter().filter(|it| it.method == "POST");
    let parts = json!([
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "text", "text": "What is this?\n\nmy dot.gif: image 1\n\nnotes.txt:\n```\nBuy milk.\n```"},
    ]);
    let mut turns = 0;
    for request in posts {
        let body: Value = request.body_json().unwrap();
        let messages = body["messages"].as_array().unwrap();
        let with_parts: Vec<&Value> = messages
            .iter()
            .filter(|it| it["content"].is_array())
            .collect();
        assert_eq!(with_parts.len(), 1, "{body}");
        assert_eq!(with_parts[0]["content"], parts);
        turns += 1;
    }
    assert_eq!(turns, 2);
    let exported = scene.ptk(&["sessions", "list", "--json"]).good().out;
    let session: Value = serde_json::from_str(exported.trim()).unwrap();
    let id = session["id"].as_str().unwrap();
    let shown = scene.ptk(&["sessions", "show", id]).good().out;
    assert!(shown.contains("Images that were sent with it"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_without_images_that_were_refused() {
    let server = MockServer::start().await;
    let refusal = json!({"error": {"message": "m1 is not a multimodal model"}});
    Mock::given(method("POST"))
        .and(body_string_contains("image_url"))
        .respond_with(ResponseTemplate::new(400).set_body_json(refusal))
        .mount(&server)
        .await;
    let answer = json!({"choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}]});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    fs::write(scene.path("dot.gif"), GIF).unwrap();
    let address = format!("{}/v1", server.uri());
    let run = async |args: &[&str]| {
        let mut command = scene.command(args);
        command
            .args(["--provider", &address, "--model", "m1"])
            .env_remove("PTK_PROVIDER");
        output(command).await
    };
    let (code, _, err) = run(&["What is this?", "-f", "dot.gif"]).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("m1 is not a multimodal model"), "{err}");
    assert!(err.contains("leave the images out"), "{err}");
    let (code, out, err) = run(&["Never mind.", "-c"]).await;
    assert_eq!((code, out.trim()), (0, "Fine."), "{err}");
}

#[test]
fn a_model_without_images_is_not_asked() {
    let scene = Scene::new(&[json!("Never said.")]);
    fs::write(scene.path("dot.gif"), GIF).unwrap();
    let ended = scene.ptk(&["What is this?", "-f", "dot.gif", "--json"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let last = ended.lines().pop().unwrap();
    assert_eq!(last["code"], "IMAGES_NOT_TAKEN", "{ended:?}");
    assert!(!ended.out.contains("Never said."), "{ended:?}");
}
