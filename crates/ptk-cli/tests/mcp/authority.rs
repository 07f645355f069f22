//! A server that wants a login, and its authorization server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Both servers, at one address.
pub(crate) struct Authority {
    pub(crate) url: String,
    pub(crate) state: Arc<Mutex<Tokens>>,
    _runtime: tokio::runtime::Runtime,
}

/// What the authorization server has given out, and how it behaves.
#[derive(Default)]
pub(crate) struct Tokens {
    address: String,
    /// The challenges by code.
    codes: HashMap<String, String>,
    /// The access token that is valid.
    pub(crate) valid: Option<String>,
    /// How many tokens were given out.
    pub(crate) given: usize,
    /// How many of them for a refresh token.
    pub(crate) refreshed: usize,
    /// Seconds that a token is valid.
    pub(crate) lifetime: u64,
    /// Another issuer than its own, in answers to the browser.
    pub(crate) issuer: Option<String>,
}

type Shared = Arc<Mutex<Tokens>>;

/// The values of a query or a form.
fn values(query: &str) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://localhost/?{query}")).unwrap();
    url.query_pairs().into_owned().collect()
}

impl Authority {
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let state = Shared::default();
        let app = Router::new()
            .route("/mcp", post(mcp))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(Arc::clone(&state));
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        {
            let mut state = state.lock().unwrap();
            state.address.clone_from(&address);
            state.lifetime = 3600;
        }
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            url: format!("{address}/mcp"),
            state,
            _runtime: runtime,
        }
    }
}

async fn mcp(
    State(state): State<Shared>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Response {
    let (valid, address) = {
        let state = state.lock().unwrap();
        (state.valid.clone(), state.address.clone())
    };
    let given = headers.get(header::AUTHORIZATION);
    let given = given.and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
    if valid.is_none() || given != valid.as_deref() {
        let challenge = format!(
            "Bearer resource_metadata=\"{address}/.well-known/oauth-protected-resource/mcp\""
        );
        return (
            StatusCode::UNAUTHORIZED,
            [(header::WWW_AUTHENTICATE, challenge)],
        )
            .into_response();
    }
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "secret", "inputSchema": {"type": "object"}}]}),
        _ if message.get("id").is_none() => return StatusCode::ACCEPTED.into_response(),
        method => {
            let error = json!({"code": -32601, "message": format!("no method {method}")});
            return Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                .into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

async fn resource(State(state): State<Shared>) -> Json<Value> {
    let address = state.lock().unwrap().address.clone();
    Json(json!({"resource": format!("{address}/mcp"), "authorization_servers": [address]}))
}

async fn metadata(State(state): State<Shared>) -> Json<Value> {
    let address = state.lock().unwrap().address.clone();
    Json(json!({
        "issuer": address,
        "authorization_endpoint": format!("{address}/authorize"),
        "token_endpoint": format!("{address}/token"),
        "registration_endpoint": format!("{address}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    }))
}

async fn register(Json(asked): Json<Value>) -> Json<Value> {
    Json(json!({"client_id": "registered", "redirect_uris": asked["redirect_uris"]}))
}

async fn authorize(State(state): State<Shared>, uri: Uri) -> Redirect {
    let asked = values(uri.query().unwrap());
    assert_eq!(asked["code_challenge_method"], "S256");
    let mut state = state.lock().unwrap();
    let code = format!("code-{}", state.codes.len());
    state
        .codes
        .insert(code.clone(), asked["code_challenge"].clone());
    let issuer = state
        .issuer
        .clone()
        .unwrap_or_else(|| state.address.clone());
    let mut back = reqwest::Url::parse(&asked["redirect_uri"]).unwrap();
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &asked["state"])
        .append_pair("iss", &issuer);
    Redirect::to(back.as_str())
}

async fn token(State(state): State<Shared>, form: String) -> Response {
    let asked = values(&form);
    let mut state = state.lock().unwrap();
    let refused = (
        StatusCode::BAD_REQUEST,
        Json(json!({"error": "invalid_grant"})),
    );
    if asked["grant_type"] == "authorization_code" {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(asked["code_verifier"].as_bytes()));
        if state.codes.remove(&asked["code"]) != Some(hash) {
            return refused.into_response();
        }
    } else {
        let last = format!("refresh-{}", state.given);
        if asked.get("refresh_token") != Some(&last) {
            return refused.into_response();
        }
        state.refreshed += 1;
    }
    state.given += 1;
    let access = format!("access-{}", state.given);
    state.valid = Some(access.clone());
    Json(json!({
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": state.lifetime,
        "refresh_token": format!("refresh-{}", state.given),
    }))
    .into_response()
}
