//! Tools that only read are run again when they fail for a passing reason.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ptk_events::{Step, StepOutcome, ToolStep};
use ptk_protocol::ToolResult;
use serde_json::Value;

use crate::error::TRANSIENT;
use crate::{Around, Effect, Middleware, Next, Passing};

/// How often a tool is run again by default.
pub const TOOL_MAX_RETRIES: u32 = 2;
/// How long to wait before it is run again for the first time; then twice as
/// long each time.
const WAIT: Duration = Duration::from_millis(100);

/// The layer that runs tools again, next to the tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retries {
    most: u32,
}

impl Retries {
    pub(crate) const fn new(most: u32) -> Self {
        Self { most }
    }
}

impl Middleware for Retries {
    fn handle<'a>(&'a self, call: Passing<'a>, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        // A tool that changes something may have done so before it failed.
        let effects = call.tool.effects();
        let changes = effects.has(Effect::Write) || effects.has(Effect::Execute);
        if self.most == 0 || changes {
            return next.run(call);
        }
        Box::pin(async move {
            let mut tries = 0;
            loop {
                let since = Instant::now();
                let result = next.clone().run(call.clone()).await;
                let may_pass = result.fields.get(TRANSIENT) == Some(&Value::Bool(true));
                let wait = WAIT.saturating_mul(2_u32.saturating_pow(tries));
                let has_time = wait < call.context.remaining();
                if result.success || !may_pass || tries >= self.most || !has_time {
                    return result;
                }
                tries += 1;
                let detail = format!("{}; try {} of {}", result.error, tries + 1, self.most + 1);
                let step = ToolStep::new(Step::Retry, StepOutcome::Passed, since.elapsed());
                call.context.events().step(step.with_detail(detail));
                tokio::select! {
                    () = call.context.cancellation().cancelled() => return result,
                    () = tokio::time::sleep(wait) => {}
                }
            }
        })
    }

    fn around(&self) -> Around {
        Around::Run
    }
}
