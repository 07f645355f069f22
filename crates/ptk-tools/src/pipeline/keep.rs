//! What is kept before a call runs, and what becomes of its changes after it.

use std::time::Instant;

use ptk_events::Step;
use ptk_permission::Review;
use ptk_protocol::{Arguments, ToolResult};
use ptk_undo::{CallNotes, ChangingCall, KeptCall, Refusal, Writes};

use super::Call;
use crate::{Decision, Effect, Failure, Fields, Plan, Tool, ToolError};

impl Call<'_> {
    /// Keeps what the call is about to change, so that it can be undone.
    pub(super) async fn keep(&self, tool: &dyn Tool, plan: &Plan) -> Result<(), Box<ToolResult>> {
        let since = Instant::now();
        let kept = match self.context.services().undo {
            Some(_) => self.begin(tool, plan).await,
            None => Ok(false),
        };
        let kept = kept.and_then(|is_kept| {
            self.check_review(tool, plan)?;
            Ok(is_kept)
        });
        match kept {
            Ok(true) => self.passed(Step::PreImage, since),
            Ok(false) => {}
            Err(error) => {
                self.context.tell(Failure::of_error(&error));
                let result = self.refused(Step::PreImage, since, error.into_result());
                return Err(Box::new(result));
            }
        }
        Ok(())
    }

    async fn begin(&self, tool: &dyn Tool, plan: &Plan) -> Result<bool, ToolError> {
        let (context, plan) = (self.context.clone(), plan.clone());
        let (name, effects) = (tool.spec().name.clone(), tool.effects());
        if !effects.has(Effect::Write) {
            return Ok(false);
        }
        let keep = move || {
            let Some(undo) = &context.services().undo else {
                return Ok(false);
            };
            let turn = context.correlation().request_id.map(|id| id.to_string());
            let call = ChangingCall {
                id: context.call_id().as_str(),
                turn: turn.as_deref(),
                tool: &name,
                what: &what(&plan),
                writes: match &plan {
                    Plan { writes, .. } if !writes.is_empty() && !effects.has(Effect::Execute) => {
                        Writes::Places(writes)
                    }
                    Plan { command: None, .. } => Writes::Anything,
                    Plan { runs_on, .. } => Writes::Command { runs_on: *runs_on },
                },
            };
            let kept = undo
                .begin(&call)
                .map_err(|error| ToolError::cannot_keep(&name, &error))?;
            context.put_kept(Some(kept));
            Ok(true)
        };
        self.context.blocking(keep).await
    }

    /// Refuses a command whose changes are to be reviewed but cannot be kept
    /// apart.
    fn check_review(&self, tool: &dyn Tool, plan: &Plan) -> Result<(), ToolError> {
        let changes = plan.command.is_some() && tool.effects().has(Effect::Write);
        if !(self.context.services().is_reviewed && changes) || self.context.has_layers() {
            return Ok(());
        }
        let why = if plan.runs_on {
            "in the background that cannot be"
        } else {
            "the system does not keep them apart"
        };
        let message =
            format!("The command was not run: its changes are to be looked at first, and {why}");
        Err(ToolError::permission(message).suggest(
            "Do the work with the other tools, or run the command without run_in_background.",
        ))
    }

    /// Shows the approver what a command has changed, and returns why it is not
    /// to be kept, if it is not.
    async fn review(
        &self,
        tool: &dyn Tool,
        args: &Arguments,
        kept: KeptCall,
    ) -> Result<(KeptCall, Option<Refusal>), ToolError> {
        let show = move || Ok((kept.show(), kept));
        let (shown, kept) = self.context.blocking(show).await?;
        let shown = match shown {
            Ok(Some(shown)) if !(shown.changes.is_empty() && shown.uncovered.is_empty()) => shown,
            Ok(_) => return Ok((kept, None)),
            Err(refusal) => return Ok((kept, Some(refusal))),
        };
        let paths: Vec<_> = shown.changes.iter().map(|it| it.path.clone()).collect();
        let review = Review {
            tool: &tool.spec().name,
            args,
            paths: &paths,
            uncovered: &shown.uncovered,
            diff: &shown.diff,
        };
        if self.shared.approver.is_person() {
            self.context.events().held();
        }
        let decision = tokio::select! {
            decision = self.shared.approver.review(review) => decision,
            () = self.context.cancellation().cancelled() => {
                Decision::DenyOnce("the call was cancelled".to_owned())
            }
        };
        let refusal = match decision {
            Decision::Deny(why) | Decision::DenyOnce(why) => Some(Refusal::by_review(why)),
            Decision::Allow
            | Decision::AllowForSession
            | Decision::AllowEdits
            | Decision::AllowAlways => None,
        };
        Ok((kept, refusal))
    }

    async fn end(
        &self,
        tool: &dyn Tool,
        reviewed: Option<&Arguments>,
        kept: KeptCall,
    ) -> Result<CallNotes, ToolError> {
        let (kept, refusal) = match reviewed {
            Some(args) => self.review(tool, args, kept).await?,
            None => (kept, None),
        };
        let end = move || {
            let settled = match refusal {
                Some(refusal) => kept.refuse(&refusal),
                None => kept.end(),
            };
            Ok(settled.unwrap_or_else(|error| CallNotes::unknown(format!(
                    "What this call changed is not in the journal yet: {error}. It is looked at again before the next call."
                ))))
        };
        self.context.blocking(end).await
    }

    /// Records what the call has changed, unless a job goes on with it.
    pub(super) async fn settle(
        &self,
        tool: &dyn Tool,
        reviewed: Option<&Arguments>,
        result: &mut ToolResult,
    ) {
        let Some(kept) = self.context.take_kept() else {
            return;
        };
        let settled = self.end(tool, reviewed, kept).await;
        let settled = settled.unwrap_or_else(|error| CallNotes::unknown(error.message));
        // What a command has changed is in the workspace only now.
        self.context.services().activity.mutated();
        if let Some(note) = settled.note {
            result.fields.insert("undo".to_owned(), note.into());
        }
        if let Some(why) = settled.dropped {
            *result = without_changes(&why, std::mem::take(&mut result.fields));
        }
    }
}

/// The description of a call: its command, or the files that it writes.
fn what(plan: &Plan) -> String {
    let places = || plan.writes.iter().map(ToString::to_string);
    let command = plan.command.as_ref().map(|(command, _)| command.clone());
    command.unwrap_or_else(|| places().collect::<Vec<_>>().join(", "))
}

/// The result of a command that ran, but whose changes are not in the
/// workspace.
fn without_changes(why: &str, fields: Fields) -> ToolResult {
    let result = ToolError::user(format!("The command ran, but {why}"))
        .suggest("Look at what is there now before you go on.")
        .into_result();
    ToolResult { fields, ..result }
}
