//! Layers around calls: they can observe, change, answer or refuse.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptk_protocol::{Arguments, ToolResult};

use crate::{CallContext, Tool};

/// The position of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Around {
    /// Around everything behind the search for the tool: changed arguments are
    /// checked like the model's own.
    #[default]
    Call,
    /// Around the tool alone: the arguments are checked, the call is approved.
    Run,
}

/// A call on its way to the tool.
#[derive(Clone)]
pub struct Passing<'a> {
    /// The tool.
    pub tool: &'a dyn Tool,
    /// The arguments, which a layer may change.
    pub args: Arguments,
    /// The call.
    pub context: &'a CallContext,
}

/// A layer around calls.
///
/// It observes by awaiting `next`, changes by giving it other arguments,
/// answers or refuses by giving back a result without it.
///
/// ```
/// use futures_util::future::BoxFuture;
/// use ptk_protocol::{ErrorType, ToolResult};
/// use ptk_tools::{Middleware, Next, Passing};
///
/// /// No tool reads what has to stay secret.
/// struct NoSecrets;
///
/// impl Middleware for NoSecrets {
///     fn handle<'a>(&'a self, call: Passing<'a>, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
///         let is_secret = call.args.get("path").is_some_and(|path| path == ".env");
///         Box::pin(async move {
///             if is_secret {
///                 return ToolResult::failure(ErrorType::PermissionError, "Secrets are not read");
///             }
///             next.run(call).await
///         })
///     }
/// }
/// ```
pub trait Middleware: Send + Sync {
    /// Handles the call and returns its result.
    fn handle<'a>(&'a self, call: Passing<'a>, next: Next<'a>) -> BoxFuture<'a, ToolResult>;

    /// The position of the layer.
    fn around(&self) -> Around {
        Around::Call
    }

    /// Whether it answers a call that was made before in the same turn. Without
    /// such a layer, one that only reads is refused as redundant.
    fn answers_repeats(&self) -> bool {
        false
    }
}

/// What runs behind the last layer.
pub(crate) type End<'a> = Arc<dyn Fn(Arguments) -> BoxFuture<'a, ToolResult> + Send + Sync + 'a>;

/// The layers that are still to come, and the tool behind them. A layer that
/// passes a call on more than once clones it.
#[derive(Clone)]
pub struct Next<'a> {
    layers: &'a [Arc<dyn Middleware>],
    end: End<'a>,
}

impl<'a> Next<'a> {
    pub(crate) fn new(layers: &'a [Arc<dyn Middleware>], end: End<'a>) -> Self {
        Self { layers, end }
    }

    /// Passes the call on.
    #[must_use]
    pub fn run(self, call: Passing<'a>) -> BoxFuture<'a, ToolResult> {
        match self.layers.split_first() {
            Some((layer, layers)) => layer.handle(
                call,
                Self {
                    layers,
                    end: self.end,
                },
            ),
            None => (self.end)(call.args),
        }
    }
}
