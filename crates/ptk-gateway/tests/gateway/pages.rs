//! Pages about the gateway itself.

use ptk_gateway::Keys;
use ptk_llm::Script;
use ptk_model::Model;

use crate::scene::Scene;

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[tokio::test]
async fn a_page_says_what_is_served_and_how_to_get_there() {
    let scene = Scene::new(["Hello."]).await;
    let page = scene.get("/", BROWSER).await;
    assert_eq!(
        (page.status, page.kind()),
        (200, "text/html; charset=utf-8")
    );
    let text = scene.get("/", "*/*").await;
    assert_eq!(
        (text.status, text.kind()),
        (200, "text/plain; charset=utf-8")
    );
    let openai = format!("OPENAI_BASE_URL={}/v1", scene.base);
    let anthropic = format!("ANTHROPIC_BASE_URL={}", scene.base);
    let ollama = format!("OLLAMA_HOST={}", scene.base);
    for said in [
        "tiny",
        "/v1/messages",
        "/api/chat",
        &openai,
        &anthropic,
        &ollama,
    ] {
        assert!(page.text.contains(said), "{said} is not on the page");
        assert!(text.text.contains(said), "{said} is not in the text");
    }
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'"));
    for foreign in ["<script", "<link", "<img", "src="] {
        assert!(!page.text.contains(foreign), "{foreign}");
    }
}

#[tokio::test]
async fn nothing_on_the_page_is_more_than_a_name() {
    let name = "<script>alert(\"1\")</script>&amp;";
    let more = |builder: ptk_gateway::GatewayBuilder| {
        builder.model(name, [Model::new(Script::new(["Hello."]))])
    };
    let scene = Scene::with(Script::new(["Hello."]), more).await;
    let page = scene.get("/", BROWSER).await;
    assert!(!page.text.contains("<script"));
    assert!(
        page.text
            .contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;")
    );
    assert!(scene.get("/", "text/plain").await.text.contains(name));
}

#[tokio::test]
async fn whoever_has_no_key_does_not_learn_the_models() {
    let keys = Keys::one("a-secret-key-of-some-length");
    let scene = Scene::with(Script::new(["Hello."]), |builder| builder.keys(Some(keys))).await;
    for accept in [BROWSER, "*/*"] {
        let page = scene.get("/", accept).await;
        assert_eq!(page.status, 200);
        assert!(!page.text.contains("tiny"));
        assert!(page.text.contains("YOUR-KEY"));
    }
    for open in ["/openapi.json", "/api/version", "/healthz"] {
        assert_eq!(scene.get(open, "*/*").await.status, 200, "{open}");
    }
    for closed in ["/api/tags", "/v1/models"] {
        assert_eq!(scene.get(closed, "*/*").await.status, 401, "{closed}");
    }
}

#[tokio::test]
async fn the_document_is_served() {
    let scene = Scene::new(["Hello."]).await;
    let document = scene.get("/openapi.json", "*/*").await;
    assert_eq!(
        (document.status, document.kind()),
        (200, "application/json")
    );
    assert_eq!(document.json()["openapi"], "3.1.0");
}
