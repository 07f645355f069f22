//! What would become of a call that is not run.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ptk_events::{Bus, Channel};
use ptk_permission::{PermissionRequest, Permit};
use ptk_protocol::schema::{CheckOptions, check_with};
use ptk_protocol::{ToolCall, ToolResult};

use super::{Call, invalid};
use crate::shared::Shared;
use crate::{CallContext, CallRequest};

/// The foreseen outcome of a call if it were made now.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Foreseen {
    /// It would run.
    Runs,
    /// The approver would be asked first.
    Asks,
    /// It would be refused, with this result.
    Refused(ToolResult),
    /// It is not a call of an existing tool with arguments that the tool takes.
    Unfit(ToolResult),
    /// It would fail before it ran, with this result: what it is about is not
    /// there, or not as it has to be.
    Fails(ToolResult),
}

/// Whether a call is one of an existing tool, with arguments that the tool
/// takes; otherwise what is wrong with it.
pub(crate) fn check(shared: &Shared, call: &ToolCall) -> Result<(), String> {
    let registry = shared.registry();
    let Some(tool) = registry.get(&call.name) else {
        return Err(format!("Unknown tool: {}", call.name));
    };
    let args = tool.adapt(call.args.clone());
    let options = CheckOptions::default().with_defaults();
    let check = check_with(options, registry.toolset(), &tool.spec().name, args);
    if check.is_valid() {
        return Ok(());
    }
    Err(invalid(&check.faults).error)
}

/// Takes a call as far as possible without consequences. No events are sent.
pub(crate) async fn foresee(shared: &Shared, call: ToolCall) -> Foreseen {
    let registry = shared.registry();
    let request = CallRequest::new(call);
    let scope = Bus::new().call(request.correlation(), Channel::Realtime);
    let open = scope.start(&request.call.name, serde_json::Value::Null);
    let services = Arc::clone(&shared.services);
    let context = CallContext::new(
        &request,
        open.events().clone(),
        services,
        &shared.conversation,
    );
    let on_its_way = Call {
        shared,
        context: &context,
        ending: OnceLock::new(),
        files: OnceLock::new(),
        doubt: None,
        witness: None,
        tools: registry.toolset().clone(),
    };
    let Some(tool) = registry.get(&request.call.name) else {
        let result = on_its_way.unknown(&request.call.name, Instant::now());
        return Foreseen::Unfit(result);
    };
    let args = match on_its_way.validate(tool, request.call.args) {
        Ok(args) => args,
        Err(result) => return Foreseen::Unfit(*result),
    };
    let targets = match tool.targets(&context, &args) {
        Ok(targets) => targets,
        Err(error) => {
            return Foreseen::Fails(on_its_way.failure(tool.as_ref(), &args, error));
        }
    };
    let naming = PermissionRequest {
        tool: &tool.spec().name,
        args: &args,
        effects: tool.effects(),
        plan: &targets,
        workspace: context.workspace(),
        missing: None,
        is_doubted: false,
    };
    if !targets.reads.is_empty() || !targets.writes.is_empty() {
        match shared.permissions.admitted_without_question(&naming) {
            None => return Foreseen::Asks,
            Some(Permit::Allowed(_)) => {}
            Some(Permit::Refused(refusal)) => {
                let result = on_its_way.turned_away(tool.as_ref(), &args, refusal);
                return Foreseen::Refused(result);
            }
        }
    }
    let plan = match on_its_way.plan(tool, &args).await {
        Ok(plan) => plan,
        Err(error) => {
            return Foreseen::Fails(on_its_way.failure(tool.as_ref(), &args, error));
        }
    };
    let asking = PermissionRequest {
        tool: &tool.spec().name,
        args: &args,
        effects: tool.effects(),
        plan: &plan,
        workspace: context.workspace(),
        missing: None,
        is_doubted: false,
    };
    match shared.permissions.foreseen(&asking) {
        None => Foreseen::Asks,
        Some(Permit::Allowed(_)) => Foreseen::Runs,
        Some(Permit::Refused(refusal)) => {
            Foreseen::Refused(on_its_way.turned_away(tool.as_ref(), &args, refusal))
        }
    }
}
