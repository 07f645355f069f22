//! A server that wants a login, and its authorization server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
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
    /// Whether the metadata of the server are where only its challenge says.
    pub(crate) is_elsewhere: bool,
    /// The scope that the server names when it wants a login.
    pub(crate) suggested: Option<String>,
    /// The scope that calls of tools need.
    pub(crate) needed: Option<String>,
    /// What the user has allowed last.
    pub(crate) granted: String,
    /// Who may have tokens, if that is not everybody: an id and a secret.
    pub(crate) client: Option<(String, String)>,
    /// Whether clients can register themselves.
    pub(crate) registers: bool,
}

impl Tokens {
    /// The issuer of the tokens.
    fn issuer(&self) -> String {
        format!("{}/as", self.address)
    }

    /// The header of an answer that wants a login.
    fn challenge(&self, error: &str, scope: Option<&String>) -> String {
        let path = if self.is_elsewhere {
            "elsewhere"
        } else {
            ".well-known/oauth-protected-resource/mcp"
        };
        let scope = scope.map(|scope| format!("scope=\"{scope}\", "));
        format!(
            "Bearer error=\"{error}\", {}resource_metadata=\"{}/{path}\"",
            scope.unwrap_or_default(),
            self.address
        )
    }
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
            .route("/elsewhere", get(resource))
            .route("/.well-known/oauth-authorization-server/as", get(metadata))
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
            state.registers = true;
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
    let refused = |status: StatusCode, challenge: String| {
        (status, [(header::WWW_AUTHENTICATE, challenge)]).into_response()
    };
    {
        let state = state.lock().unwrap();
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
        if state.valid.is_none() || given != state.valid.as_deref() {
            let challenge = state.challenge("invalid_token", state.suggested.as_ref());
            return refused(StatusCode::UNAUTHORIZED, challenge);
        }
        let is_call = message["method"] == "tools/call";
        if let Some(needed) = state.needed.as_ref().filter(|_| is_call)
            && !state.granted.split(' ').any(|scope| scope == needed)
        {
            let challenge = state.challenge("insufficient_scope", Some(needed));
            return refused(StatusCode::FORBIDDEN, challenge);
        }
    }
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "secret", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
        _ if message.get("id").is_none() => return StatusCode::ACCEPTED.into_response(),
        method => {
            let error = json!({"code": -32601, "message": format!("no method {method}")});
            return Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                .into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

async fn resource(State(state): State<Shared>, uri: Uri) -> Response {
    let state = state.lock().unwrap();
    if state.is_elsewhere != (uri.path() == "/elsewhere") {
        return StatusCode::NOT_FOUND.into_response();
    }
    let resource = format!("{}/mcp", state.address);
    Json(json!({"resource": resource, "authorization_servers": [state.issuer()]})).into_response()
}

async fn metadata(State(state): State<Shared>) -> Json<Value> {
    let state = state.lock().unwrap();
    let address = &state.address;
    let method = match state.client {
        Some(_) => "client_secret_basic",
        None => "none",
    };
    let mut metadata = json!({
        "issuer": state.issuer(),
        "authorization_endpoint": format!("{address}/authorize"),
        "token_endpoint": format!("{address}/token"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": [method],
        "authorization_response_iss_parameter_supported": true,
    });
    if state.registers {
        metadata["registration_endpoint"] = json!(format!("{address}/register"));
    }
    Json(metadata)
}

async fn register(State(state): State<Shared>, Json(asked): Json<Value>) -> Json<Value> {
    let mut client = json!({"client_id": "registered", "redirect_uris": asked["redirect_uris"]});
    if let Some((id, secret)) = &state.lock().unwrap().client {
        client["client_id"] = json!(id);
        client["client_secret"] = json!(secret);
    }
    Json(client)
}

async fn authorize(State(state): State<Shared>, uri: Uri) -> Redirect {
    let asked = values(uri.query().unwrap());
    assert_eq!(asked["code_challenge_method"], "S256");
    let mut state = state.lock().unwrap();
    let code = format!("code-{}", state.codes.len());
    state
        .codes
        .insert(code.clone(), asked["code_challenge"].clone());
    state.granted = asked.get("scope").cloned().unwrap_or_default();
    let issuer = state.issuer.clone().unwrap_or_else(|| state.issuer());
    let mut back = reqwest::Url::parse(&asked["redirect_uri"]).unwrap();
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &asked["state"])
        .append_pair("iss", &issuer);
    Redirect::to(back.as_str())
}

async fn token(State(state): State<Shared>, headers: HeaderMap, form: String) -> Response {
    let asked = values(&form);
    let mut state = state.lock().unwrap();
    if let Some((id, secret)) = &state.client {
        let expected = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
        let given = headers.get(header::AUTHORIZATION);
        if given.and_then(|it| it.to_str().ok()) != Some(expected.as_str()) {
            let error = Json(json!({"error": "invalid_client"}));
            return (StatusCode::UNAUTHORIZED, error).into_response();
        }
    }
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
