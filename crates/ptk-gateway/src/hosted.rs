//! Tools that the gateway runs itself, for clients that have none of their own.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptk_protocol::{ErrorType, ToolCall, ToolResult, ToolSpec};
use tokio_util::sync::CancellationToken;

use crate::chat_request::{ChatRequest, Choice};
use crate::offer::Offer;

/// Why tools cannot be hosted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HostedError(String);

/// Runs calls of tools, for each conversation on its own: what the model of one
/// client has read, that of another has not.
pub trait ToolRunner: Debug + Send + Sync {
    /// Begins a conversation.
    fn begin(&self) -> Box<dyn ToolConversation>;
}

/// Runs the calls of one conversation.
pub trait ToolConversation: Send + Sync {
    /// Runs these calls, unless that is cancelled. There is a result for each,
    /// in the same order.
    fn run<'a>(
        &'a self,
        calls: Vec<ToolCall>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Vec<ToolResult>>;
}

/// Tools that the gateway runs itself, for clients that offer none. There is no
/// user to ask for consent.
#[derive(Debug)]
pub struct HostedTools {
    runner: Box<dyn ToolRunner>,
    offer: Arc<Offer>,
}

impl HostedTools {
    /// Creates hosted tools.
    ///
    /// # Errors
    ///
    /// If two of them have the same name, or they are too complex.
    pub fn new(
        tools: impl IntoIterator<Item = ToolSpec>,
        runner: impl ToolRunner + 'static,
    ) -> Result<Self, HostedError> {
        let tools = tools.into_iter().map(|tool| (tool, false));
        let offer = Offer::new(tools.collect());
        Ok(Self {
            offer: Arc::new(offer.map_err(|failure| HostedError(failure.message))?),
            runner: Box::new(runner),
        })
    }

    /// Creates hosted tools from those of these names. All rules of their
    /// manager hold.
    ///
    /// # Errors
    ///
    /// If they are too complex.
    #[cfg(feature = "tools")]
    pub fn of_manager(
        manager: ptk_tools::ToolManager,
        names: &[String],
    ) -> Result<Self, HostedError> {
        let registry = manager.registry();
        let tools = registry.toolset().iter();
        let tools = tools.filter(|tool| names.contains(&tool.name));
        Self::new(tools.cloned().collect::<Vec<_>>(), manager)
    }

    /// Begins the conversation of a request.
    pub(crate) fn begin(&self) -> HostedCalls {
        HostedCalls(self.runner.begin())
    }

    /// Whether they are used for a request: its client offers none.
    pub(crate) fn are_for(chat: &ChatRequest) -> bool {
        chat.contract.offer.tools.is_empty() && chat.contract.choice == Choice::Auto
    }

    /// The tools that the model is offered.
    pub(crate) fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer)
    }
}

/// The calls of one request.
pub(crate) struct HostedCalls(Box<dyn ToolConversation>);

impl HostedCalls {
    /// Runs calls; see [`ToolConversation::run`].
    pub(crate) async fn run(
        &self,
        calls: Vec<ToolCall>,
        cancel: &CancellationToken,
    ) -> Vec<ToolResult> {
        let count = calls.len();
        let mut results = self.0.run(calls, cancel).await;
        // Servers want a result for each call.
        results.resize_with(count, || {
            ToolResult::failure(ErrorType::SystemError, "The tool gave no result")
        });
        results
    }
}

#[cfg(feature = "tools")]
impl ToolRunner for ptk_tools::ToolManager {
    fn begin(&self) -> Box<dyn ToolConversation> {
        Box::new(ManagedConversation {
            tools: self.clone(),
            conversation: ptk_tools::Conversation::new(),
        })
    }
}

/// A conversation with the tools of a manager.
#[cfg(feature = "tools")]
struct ManagedConversation {
    tools: ptk_tools::ToolManager,
    conversation: ptk_tools::Conversation,
}

#[cfg(feature = "tools")]
impl ToolConversation for ManagedConversation {
    fn run<'a>(
        &'a self,
        calls: Vec<ToolCall>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Vec<ToolResult>> {
        let requests = calls.into_iter().map(|call| {
            ptk_tools::CallRequest::new(call)
                .in_conversation(&self.conversation)
                .cancelled_by(cancel)
        });
        let requests = requests.collect();
        Box::pin(async move {
            let outcomes = self.tools.execute_all(requests).await;
            outcomes.into_iter().map(|outcome| outcome.result).collect()
        })
    }
}
