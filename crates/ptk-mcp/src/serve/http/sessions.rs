//! Sessions over HTTP, limited in number.

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio::sync::Mutex;

use super::HttpLimits;

/// Sessions in memory, at most so many.
pub(super) struct LimitedSessions {
    inner: LocalSessionManager,
    most: usize,
    /// One session is created at a time, so that they can be counted.
    creating: Mutex<()>,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    /// There are as many as there may be.
    #[error("there are {0} sessions already, and no more can be; try again later")]
    Full(usize),
    /// The session does not exist, or broke down.
    #[error(transparent)]
    Session(#[from] LocalSessionManagerError),
}

impl LimitedSessions {
    pub(super) fn new(limits: &HttpLimits) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(limits.session_idle);
        Self {
            inner,
            most: limits.sessions,
            creating: Mutex::default(),
        }
    }

    /// Whether there are as many sessions as there may be.
    pub(super) async fn is_full(&self) -> bool {
        self.inner.sessions.read().await.len() >= self.most
    }

    /// Ends all sessions.
    pub(super) async fn close_all(&self) {
        let sessions = self.inner.sessions.read().await;
        let ids: Vec<SessionId> = sessions.keys().cloned().collect();
        drop(sessions);
        for id in ids {
            if let Err(error) = self.inner.close_session(&id).await {
                tracing::debug!(%error, "a session could not be closed");
            }
        }
    }
}

impl SessionManager for LimitedSessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        let _one = self.creating.lock().await;
        if self.is_full().await {
            return Err(SessionsError::Full(self.most));
        }
        Ok(self.inner.create_session().await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.resume(id, last_event_id).await?)
    }
}
