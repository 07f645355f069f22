//! What a server may ask of PTK while it is connected, and what it reports.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptk_tools::CallContext;
use ptk_tools::form::{Form, FormAnswer, FormAsker};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::watch;

use crate::text::{cleaned, in_line};

/// The longest question of a server, in characters.
const MAX_QUESTION: usize = 2_000;
/// The longest message about progress, in characters.
const MAX_PROGRESS: usize = 200;

/// What a connection knows, shared with its handler.
#[derive(Default)]
pub(crate) struct Shared {
    /// Whether the server's tools have changed since they were listed.
    pub(crate) has_changed: AtomicBool,
    /// How many questions the user is being asked.
    asking: AtomicUsize,
    calls: Mutex<HashMap<ProgressToken, Watched>>,
}

/// A call whose progress is shown.
struct Watched {
    call: CallContext,
    stir: watch::Sender<()>,
}

impl Shared {
    /// Shows the progress of a call until the returned value is dropped.
    pub(crate) fn watch(self: &Arc<Self>, token: ProgressToken, call: &CallContext) -> Watch {
        let (stir, stirred) = watch::channel(());
        let call = call.clone();
        self.lock().insert(token.clone(), Watched { call, stir });
        Watch {
            shared: Arc::clone(self),
            token,
            stirred,
        }
    }

    /// Whether the user is being asked something.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }

    /// Notes that the user is asked until the returned value is dropped.
    fn asking(self: &Arc<Self>) -> Asking {
        self.asking.fetch_add(1, Ordering::AcqRel);
        self.stir_all();
        Asking(Arc::clone(self))
    }

    fn stir_all(&self) {
        self.lock().values().for_each(|it| it.stir.send_replace(()));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, Watched>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question to the user.
struct Asking(Arc<Shared>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.asking.fetch_sub(1, Ordering::AcqRel);
        self.0.stir_all();
    }
}

/// The progress of a call.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    token: ProgressToken,
    stirred: watch::Receiver<()>,
}

impl Watch {
    /// Waits until the server has reported progress, or the user was asked
    /// something.
    pub(crate) async fn stirred(&mut self) {
        if self.stirred.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.lock().remove(&self.token);
    }
}

/// Answers a server.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) server: String,
    pub(crate) shared: Arc<Shared>,
    pub(crate) asker: Option<Arc<dyn FormAsker>>,
}

impl Handler {
    /// Asks the user what the server wants to know. Secrets are never asked for:
    /// such questions are declined.
    pub(crate) async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = request
        else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let Some(asker) = &self.asker else {
            return ElicitResult::new(ElicitationAction::Cancel);
        };
        let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
        if asks_for_secret(&message, &schema) {
            return ElicitResult::new(ElicitationAction::Decline);
        }
        let Ok(form) = Form::new(&self.server, &cleaned(&message, MAX_QUESTION), schema) else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let _asking = self.shared.asking();
        match asker.ask(form).await {
            FormAnswer::Filled(values) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(values))
            }
            FormAnswer::Declined => ElicitResult::new(ElicitationAction::Decline),
            FormAnswer::Unanswered => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

/// Whether a question is about something that no server may ask for this way.
fn asks_for_secret(message: &str, schema: &Value) -> bool {
    const SECRETS: [&str; 8] = [
        "password",
        "passwort",
        "passphrase",
        "api key",
        "apikey",
        "secret",
        "access token",
        "private key",
    ];
    let is_secret = |text: &str| {
        let text = text.to_lowercase().replace(['_', '-'], " ");
        SECRETS.iter().any(|secret| text.contains(secret))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let asked = properties.into_iter().flatten().any(|(name, property)| {
        let text = |key: &str| {
            property
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        is_secret(name) || is_secret(text("title")) || is_secret(text("description"))
    });
    asked || is_secret(message)
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.asker.is_some() {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = Some(FormElicitationCapability::default());
            capabilities.elicitation = Some(elicitation);
        }
        let about = Implementation::new("ptk", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, about)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(request).await)
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Some(watched) = self.shared.lock().get(&progress.progress_token) {
            watched.call.progress(&told(&progress));
            watched.stir.send_replace(());
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.shared.has_changed.store(true, Ordering::Release);
    }
}

/// The progress of a call, for people.
fn told(progress: &ProgressNotificationParam) -> String {
    let far = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    match progress.message.as_deref().map(str::trim) {
        None | Some("") => far,
        Some(message) => format!("{} ({far})", in_line(message, MAX_PROGRESS)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_do_not_ask_for_secrets() {
        let schema = |name: &str| json!({"properties": {name: {"type": "string"}}});
        assert!(asks_for_secret("Log in", &schema("api_key")));
        assert!(asks_for_secret("Your Password, please", &schema("x")));
        assert!(!asks_for_secret("Which city?", &schema("city")));
    }
}
