//! A call that is to be run, and its outcome.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ptk_events::{CallId, Correlation, RequestId};
use ptk_protocol::{Arguments, ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use crate::{Conversation, Failure, ResultLimit, SeenFile, Tool, Witness};

/// A call that is to be run.
///
/// ```
/// use ptk_protocol::{Arguments, ToolCall};
/// use ptk_tools::CallRequest;
///
/// let args = Arguments::from_json(r#"{"path": "a.txt"}"#)?;
/// let request = CallRequest::new(ToolCall::new("read_file", args));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct CallRequest {
    pub(crate) call: ToolCall,
    pub(crate) call_id: CallId,
    pub(crate) request_id: Option<RequestId>,
    pub(crate) parent_id: Option<String>,
    pub(crate) cancel: CancellationToken,
    pub(crate) doubt: Option<String>,
    pub(crate) witness: Option<Arc<dyn Witness>>,
    pub(crate) tool: Option<Arc<dyn Tool>>,
    pub(crate) prompt: Option<Arc<str>>,
    pub(crate) conversation: Option<Conversation>,
    pub(crate) limit: Option<ResultLimit>,
}

impl CallRequest {
    /// The call under its own id, or a new one where it has none.
    #[must_use]
    pub fn new(call: ToolCall) -> Self {
        let call_id = call.id.as_deref().map_or_else(CallId::new, CallId::from);
        Self {
            call,
            call_id,
            request_id: None,
            parent_id: None,
            cancel: CancellationToken::new(),
            doubt: None,
            witness: None,
            tool: None,
            prompt: None,
            conversation: None,
            limit: None,
        }
    }

    /// A call of this tool, whether the model is offered it or not. All rules
    /// hold for it.
    #[must_use]
    pub fn of_tool(tool: Arc<dyn Tool>, args: Arguments) -> Self {
        let call = ToolCall::new(tool.spec().name.clone(), args);
        Self {
            tool: Some(tool),
            ..Self::new(call)
        }
    }

    /// The same call, run by this tool, whether it is registered or not. All
    /// rules hold for it.
    #[must_use]
    pub fn run_by(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tool = Some(tool);
        self
    }

    /// The same call as part of a request.
    #[must_use]
    pub fn in_request(mut self, request: RequestId) -> Self {
        self.request_id = Some(request);
        self
    }

    /// The same call, caused by the call or request with this id.
    #[must_use]
    pub fn caused_by(mut self, parent: impl Into<String>) -> Self {
        self.parent_id = Some(parent.into());
        self
    }

    /// The same call, made while a model works on this prompt.
    #[must_use]
    pub fn prompted_by(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// The same call as part of a conversation. Without one, it is part of the
    /// [manager's own](crate::ToolManager::conversation).
    #[must_use]
    pub fn in_conversation(mut self, conversation: &Conversation) -> Self {
        self.conversation = Some(conversation.clone());
        self
    }

    /// The same call, whose result has at most these tokens. What is cut can be
    /// read in parts, and does not count as seen.
    #[must_use]
    pub fn with_limit(mut self, limit: ResultLimit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The same call, which ends when `token` is cancelled.
    #[must_use]
    pub fn cancelled_by(mut self, token: &CancellationToken) -> Self {
        self.cancel = token.child_token();
        self
    }

    /// The same call, which runs only if a person approves it, whatever the
    /// rules allow: there is a doubt about it, which stands among the warnings.
    #[must_use]
    pub fn doubted(mut self, doubt: impl Into<String>) -> Self {
        self.doubt = Some(doubt.into());
        self
    }

    /// The same call, with a witness of the questions about it.
    #[must_use]
    pub fn witnessed(mut self, witness: impl Witness + 'static) -> Self {
        self.witness = Some(Arc::new(witness));
        self
    }

    /// The id that its events carry.
    #[must_use]
    pub const fn call_id(&self) -> &CallId {
        &self.call_id
    }

    pub(crate) fn correlation(&self) -> Correlation {
        Correlation {
            request_id: self.request_id,
            parent_id: self.parent_id.clone(),
            call_id: Some(self.call_id.clone()),
        }
    }
}

impl fmt::Debug for CallRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRequest")
            .field("call", &self.call)
            .field("correlation", &self.correlation())
            .finish_non_exhaustive()
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    /// The id that its events carried.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The result for the model.
    pub result: ToolResult,
    /// A preview for a person, in a few lines.
    pub preview: Vec<String>,
    /// The failure for a person, if it failed.
    pub failure: Option<Failure>,
    /// The files that it has shown or written.
    pub files: Vec<SeenFile>,
    /// How long it took.
    pub duration: Duration,
}
