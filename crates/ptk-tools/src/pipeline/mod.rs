//! The steps of a call: find · validate · repeated? · allowed? · keep · run ·
//! bound · track · record. Each step is an event, and each failure a result.

mod foresee;
mod keep;
mod spans;
mod watched;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use ptk_events::{Channel, Step, StepOutcome, ToolStep};
use ptk_permission::Signature;
use ptk_protocol::schema::{CheckOptions, Fault, check_with};
use ptk_protocol::{Arguments, ErrorType, ToolResult, Toolset};
use ptk_sandbox::command;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use self::watched::Watched;
use crate::context::panic_message;
use crate::files::Touched;
use crate::middleware::{End, Next, Passing};
use crate::process::{StartError, incomplete};
use crate::repeats::{Repeat, stamps};
use crate::shared::Shared;
use crate::usage::Ending;
use crate::{
    CallContext, CallOutcome, CallRequest, Class, Effects, Failure, Plan, Redirect, SeenFile, Tool,
    ToolError, Unprotected, Witness, bound, preview,
};
use ptk_permission::{
    MissingProtections, PermissionRequest, Permit, Refusal, later_files, later_warnings,
};

pub use foresee::Foreseen;
pub(crate) use foresee::{check, foresee};

/// How long a cancelled tool may take to clean up.
const STOP_GRACE: Duration = Duration::from_secs(3);
/// Faults of arguments that are reported at once.
const MAX_FAULTS: usize = 8;
/// Characters of an argument in an error message.
const MAX_PARAMETER: usize = 60;

/// Runs a call through all steps.
pub(crate) async fn run(shared: &Shared, request: CallRequest) -> CallOutcome {
    let started = Instant::now();
    let registry = shared.registry();
    let name = request.call.name.clone();
    let own = request.tool.clone();
    let tools = match &own {
        Some(tool) => Toolset::new([tool.spec().clone()]).unwrap_or_default(),
        None => registry.toolset().clone(),
    };
    let found = own.or_else(|| registry.get(&name).cloned());
    let channel = match found.as_ref().map(|tool| tool.class()) {
        Some(Class::Background) => Channel::Background,
        Some(Class::Realtime) | None => Channel::Realtime,
    };
    let arguments = serde_json::Value::Object(request.call.args.as_map().clone());
    let open = shared
        .bus
        .call(request.correlation(), channel)
        .start(&name, arguments);
    let span = spans::begun(&name, &request);
    let services = Arc::clone(&shared.services);
    let context = CallContext::new(
        &request,
        open.events().clone(),
        services,
        &shared.conversation,
    );
    let call = Call {
        shared,
        context: &context,
        doubt: request.doubt.as_deref(),
        witness: request.witness.as_deref(),
        tools,
        ending: OnceLock::new(),
        files: OnceLock::new(),
    };
    let steps = match &found {
        Some(tool) => call.steps(tool, request.call.args).left_future(),
        None => std::future::ready(call.unknown(&name, started)).right_future(),
    };
    let steps = AssertUnwindSafe(steps).catch_unwind();
    let result = tracing::Instrument::instrument(steps, span.clone()).await;
    let mut result = result
        .unwrap_or_else(|_| ToolError::system("A layer around the tool broke down").into_result());
    let failure = Failure::of(&result, context.told());
    bound::bound_error(&mut result, context.limit(), context.outputs());
    let ending = match call.ending.get() {
        Some(ending) => *ending,
        None if result.success => Ending::Success,
        None if result.fields.get("timed_out") == Some(&Value::Bool(true)) => Ending::Timeout,
        None => Ending::Failure,
    };
    let duration = started.elapsed();
    shared.statistics.record(&name, ending, duration);
    call.passed(Step::Record, started);
    spans::ended(&span, &result, ending, duration);
    let lines = shared.limits.preview_lines;
    let preview = match &found {
        Some(tool) => tool.preview(&result, lines),
        None => preview::of(&result, lines),
    };
    let duration = open.end(result.clone());
    CallOutcome {
        call_id: request.call_id,
        tool: name,
        failure,
        result,
        preview,
        files: call.files.into_inner().unwrap_or_default(),
        duration,
    }
}

/// A call on its way through the pipeline.
struct Call<'a> {
    shared: &'a Shared,
    context: &'a CallContext,
    /// Why a person has to approve it, if one has to.
    doubt: Option<&'a str>,
    /// Observes the questions about it.
    witness: Option<&'a dyn Witness>,
    /// What its arguments are checked against.
    tools: Toolset,
    /// How it ended, where the result alone does not say.
    ending: OnceLock<Ending>,
    /// What it has shown or written.
    files: OnceLock<Vec<SeenFile>>,
}

impl Call<'_> {
    fn step(&self, step: Step, outcome: StepOutcome, detail: Option<&str>, since: Instant) {
        let mut told = ToolStep::new(step, outcome, since.elapsed());
        if let Some(detail) = detail {
            told = told.with_detail(detail);
        }
        self.context.events().step(told);
    }

    fn passed(&self, step: Step, since: Instant) {
        self.step(step, StepOutcome::Passed, None, since);
    }

    fn refused(&self, step: Step, since: Instant, result: ToolResult) -> ToolResult {
        self.ended(Ending::Refused);
        self.step(step, StepOutcome::Refused, Some(&result.error), since);
        result
    }

    fn ended(&self, ending: Ending) {
        // Only the first ending counts: a layer may answer after it.
        let _ = self.ending.set(ending);
    }

    /// The result if there is no such tool.
    fn unknown(&self, name: &str, since: Instant) -> ToolResult {
        let check = check_with(CheckOptions::default(), &self.tools, name, Arguments::new());
        self.refused(Step::Find, since, invalid(&check.faults))
    }

    /// All steps after the search for the tool.
    async fn steps(&self, tool: &Arc<dyn Tool>, args: Arguments) -> ToolResult {
        self.passed(Step::Find, Instant::now());
        let end: End<'_> = Arc::new(move |args| Box::pin(self.checked(tool, args)));
        let passing = Passing {
            tool: tool.as_ref(),
            args,
            context: self.context,
        };
        let layers = &self.shared.around_call;
        Next::new(layers, end).run(passing).await
    }

    /// Validation, and all steps after it.
    async fn checked(&self, tool: &Arc<dyn Tool>, args: Arguments) -> ToolResult {
        let args = match self.validate(tool, args) {
            Ok(args) => args,
            Err(result) => return *result,
        };
        if !tool.effects().is_read_only() {
            return self.decided(tool, args).await;
        }
        let Some(Redirect { args, told }) = tool.redirect(self.context, &args).await else {
            return self.decided(tool, args).await;
        };
        let mut result = self.decided(tool, args).await;
        if result.success {
            result.fields.extend(told);
        }
        result
    }

    /// All steps after validation: repeated? · allowed? · keep · run · bound ·
    /// track.
    async fn decided(&self, tool: &Arc<dyn Tool>, args: Arguments) -> ToolResult {
        if let Err(result) = self.admit(tool, &args).await {
            return *result;
        }
        let plan = match self.plan(tool, &args).await {
            Ok(mut plan) => {
                let later = later_warnings(&plan, self.context.workspace());
                plan.warnings.extend(later);
                plan.warnings.extend(self.doubt.map(str::to_owned));
                plan
            }
            Err(error) => {
                let result = self.failure(tool.as_ref(), &args, error);
                return self.refused(Step::Validate, Instant::now(), result);
            }
        };
        let services = self.context.services();
        // While a job runs, the workspace may change at any moment.
        let is_still = services.activity.is_still();
        let repeat = (tool.effects() == Effects::READ && is_still).then(|| Repeat {
            signature: Signature::new(&tool.spec().name, &args),
            mutations: services.activity.mutations(),
            files: stamps(&plan.reads),
        });
        if let Some(repeat) = &repeat {
            let since = Instant::now();
            let repeats = self.context.conversation().repeats();
            let is_answered = self.shared.around_run.iter().any(|it| it.answers_repeats());
            if !is_answered && let Err(result) = repeats.check(&tool.spec().name, repeat) {
                return self.refused(Step::Repeat, since, *result);
            }
            self.passed(Step::Repeat, since);
        }
        if let Err(result) = self.permit(tool.as_ref(), &args, &plan).await {
            return *result;
        }
        if let Err(result) = self.keep(tool.as_ref(), &plan).await {
            return *result;
        }
        let reviewed = services.is_reviewed.then(|| args.clone());
        let run = self.run(tool, args);
        let mut result = match &repeat {
            Some(repeat) => {
                let in_flight = self.context.conversation().in_flight();
                in_flight.share(&repeat.signature, run).await
            }
            None => run.await,
        };
        self.settle(tool.as_ref(), reviewed.as_ref(), &mut result)
            .await;
        let is_cut = self.bound(&mut result);
        self.track(&result, is_cut);
        if let Some(repeat) = repeat.filter(|_| result.success) {
            self.context.conversation().repeats().made(repeat);
        }
        result
    }

    fn validate(
        &self,
        tool: &Arc<dyn Tool>,
        args: Arguments,
    ) -> Result<Arguments, Box<ToolResult>> {
        let since = Instant::now();
        let spec = tool.spec();
        let options = CheckOptions::default().with_defaults();
        let check = check_with(options, &self.tools, &spec.name, tool.adapt(args));
        if !check.is_valid() {
            let result = self.refused(Step::Validate, since, invalid(&check.faults));
            return Err(Box::new(result));
        }
        self.passed(Step::Validate, since);
        Ok(check.args)
    }

    /// What the call is about to touch. To know that, a tool may read files.
    async fn plan(&self, tool: &Arc<dyn Tool>, args: &Arguments) -> Result<Plan, ToolError> {
        if !tool.has_plan() {
            return Ok(Plan::unknown(tool.effects()));
        }
        let (tool, context, args) = (Arc::clone(tool), self.context.clone(), args.clone());
        let plan = move || tool.plan(&context, &args);
        self.context.blocking(plan).await
    }

    /// Decides about the files that a call names before any of them is read:
    /// the plan, and its error, may quote them.
    async fn admit(&self, tool: &Arc<dyn Tool>, args: &Arguments) -> Result<(), Box<ToolResult>> {
        let since = Instant::now();
        let name = &tool.spec().name;
        let targets = tool.targets(self.context, args).map_err(|error| {
            let result = self.failure(tool.as_ref(), args, error);
            Box::new(self.refused(Step::Validate, since, result))
        })?;
        if targets.reads.is_empty() && targets.writes.is_empty() {
            return Ok(());
        }
        let asking = PermissionRequest {
            tool: name,
            args,
            effects: tool.effects(),
            plan: &targets,
            workspace: self.context.workspace(),
            missing: None,
            is_doubted: self.doubt.is_some(),
        };
        let approver = self.watched();
        let permit = tokio::select! {
            biased;
            permit = self.shared.permissions.admit(asking, &approver) => permit,
            () = self.context.cancellation().cancelled() => {
                let result = self.refused(Step::Permission, since, not_begun(name));
                return Err(Box::new(result));
            }
        };
        match permit {
            Permit::Allowed(_) => Ok(()),
            Permit::Refused(refusal) => {
                let result = self.turned_away(tool.as_ref(), args, refusal);
                Err(Box::new(self.refused(Step::Permission, since, result)))
            }
        }
    }

    /// The approver of this call, observed.
    fn watched(&self) -> Watched<'_> {
        Watched {
            approver: &*self.shared.approver,
            witness: self.witness,
            events: self.context.events(),
            is_asked: AtomicBool::new(false),
        }
    }

    /// Decides about calls that change something, and about those that a rule
    /// is about.
    async fn permit(
        &self,
        tool: &dyn Tool,
        args: &Arguments,
        plan: &Plan,
    ) -> Result<(), Box<ToolResult>> {
        let since = Instant::now();
        let name = &tool.spec().name;
        if plan.command.is_some() && !command::is_supported() {
            // No approval is requested for what cannot be done.
            let result = self.failure(tool, args, StartError::Unsupported.into());
            return Err(Box::new(self.refused(Step::Permission, since, result)));
        }
        let missing = self.missing(plan).await;
        let asking = PermissionRequest {
            tool: name,
            args,
            effects: tool.effects(),
            plan,
            workspace: self.context.workspace(),
            missing,
            is_doubted: self.doubt.is_some(),
        };
        let approver = self.watched();
        let permit = tokio::select! {
            // What needs no question is not cancelled by one.
            biased;
            permit = self.shared.permissions.decide(asking, &approver) => permit,
            () = self.context.cancellation().cancelled() => {
                let result = self.refused(Step::Permission, since, not_begun(name));
                return Err(Box::new(result));
            }
        };
        match permit {
            Permit::Allowed(because) => {
                if missing.is_some() {
                    self.context.allow_unprotected();
                }
                let later = later_files(plan, self.context.workspace());
                self.context.allow_later(later);
                let is_asked = approver.is_asked.into_inner();
                if because.is_some() || is_asked || tool.effects().needs_approval() {
                    let because = because.as_deref();
                    self.step(Step::Permission, StepOutcome::Passed, because, since);
                }
                Ok(())
            }
            Permit::Refused(refusal) => {
                let result = self.turned_away(tool, args, refusal);
                Err(Box::new(self.refused(Step::Permission, since, result)))
            }
        }
    }

    /// The result of a call that is not allowed.
    fn turned_away(&self, tool: &dyn Tool, args: &Arguments, refusal: Refusal) -> ToolResult {
        let name = &tool.spec().name;
        match refusal {
            Refusal::Denied { reason, instead } => {
                ToolError::permission(format!("{name} was not allowed: {reason}"))
                    .suggest(instead)
                    .into_result()
            }
            Refusal::Unprotected(protections) => {
                let error = StartError::Unprotected(protections);
                self.failure(tool, args, error.into())
            }
        }
    }

    /// The incomplete protections of a call that runs programs, if a person can
    /// be asked about them.
    async fn missing(&self, plan: &Plan) -> Option<MissingProtections<'_>> {
        plan.command.as_ref()?;
        let services = self.context.services();
        if !self.shared.approver.is_person() {
            // There is no person to ask: it is refused when it is started, if
            // at all.
            return None;
        }
        Some(MissingProtections {
            protections: incomplete(services).await?,
            is_open: services.unprotected == Unprotected::Ask,
        })
    }

    /// Runs the tool within its time, behind the layers around it.
    async fn run(&self, tool: &Arc<dyn Tool>, args: Arguments) -> ToolResult {
        let Ok(_permit) = self.shared.running.acquire().await else {
            return ToolError::system("The tools were shut down").into_result();
        };
        let since = Instant::now();
        let limits = self.shared.limits;
        let own = tool.timeout(&args).map(|timeout| timeout + limits.grace);
        let time = own.map_or(limits.deadline, |own| own.max(limits.deadline));
        self.context.allow(time);
        let changes = !tool.effects().is_read_only();
        if changes {
            self.context.services().activity.mutated();
        }
        let end: End<'_> = Arc::new(move |args| Box::pin(self.timed(tool, args, time)));
        let passing = Passing {
            tool: tool.as_ref(),
            args,
            context: self.context,
        };
        let layers = &self.shared.around_run;
        let result = Next::new(layers, end).run(passing).await;
        if changes {
            self.context.services().activity.mutated();
        }
        if result.success {
            self.passed(Step::Run, since);
        } else {
            self.step(Step::Run, StepOutcome::Refused, Some(&result.error), since);
        }
        result
    }

    /// Runs the tool in a task of its own, so that it can break down or be
    /// stopped alone.
    async fn timed(&self, tool: &Arc<dyn Tool>, args: Arguments, time: Duration) -> ToolResult {
        let name = &tool.spec().name;
        let mut task = AbortOnDropHandle::new(tokio::spawn({
            let (tool, context, args) = (Arc::clone(tool), self.context.clone(), args.clone());
            async move { tool.run(&context, args).await }
        }));
        let cancel = self.context.cancellation();
        let stopped = tokio::select! {
            done = &mut task => return self.settled(tool.as_ref(), &args, done),
            () = cancel.cancelled() => cancelled(name),
            // A call that is tried again has no more time than one that is not.
            () = tokio::time::sleep(self.context.remaining()) => {
                self.ended(Ending::Timeout);
                cancel.cancel();
                timed_out(name, time)
            }
        };
        // It may report how far it came.
        match tokio::time::timeout(STOP_GRACE, &mut task).await {
            Ok(Ok(Err(error))) => self.failure(tool.as_ref(), &args, error),
            _ => stopped,
        }
    }

    /// The result of the tool's own task.
    fn settled(
        &self,
        tool: &dyn Tool,
        args: &Arguments,
        done: Result<Result<crate::Fields, ToolError>, tokio::task::JoinError>,
    ) -> ToolResult {
        match done {
            Ok(Ok(fields)) => ToolResult::success(fields),
            Ok(Err(error)) => self.failure(tool, args, error),
            Err(error) => {
                let message = format!("The tool broke down: {}", panic_message(error));
                let error = ToolError::system(message).suggest(
                    "This is a fault of the tool. Try other arguments, or go on without it.",
                );
                self.failure(tool, args, error)
            }
        }
    }

    /// The result of a failed tool. For the model it names the call that
    /// failed.
    fn failure(&self, tool: &dyn Tool, args: &Arguments, error: ToolError) -> ToolResult {
        self.context.tell(Failure::of_error(&error));
        let message = format!("{}: {}", shown(tool, args), error.message);
        ToolError { message, ..error }.into_result()
    }

    /// Cuts a result that is too long, and returns whether something was cut.
    fn bound(&self, result: &mut ToolResult) -> bool {
        let since = Instant::now();
        let most = self.shared.limits.result;
        let cut = bound::bound(result, most, self.context.limit(), self.context.outputs());
        self.step(Step::Bound, StepOutcome::Passed, cut.as_deref(), since);
        cut.is_some()
    }

    /// Remembers the files that were read and written. If a result was cut, it
    /// is not known which lines are still in it.
    fn track(&self, result: &ToolResult, is_cut: bool) {
        let since = Instant::now();
        let mut touched = self.context.take_touched();
        if is_cut {
            touched.iter_mut().for_each(Touched::hide);
        }
        if result.success && !touched.is_empty() {
            let files = self.context.conversation().files().take(touched);
            let _ = self.files.set(files);
            self.passed(Step::Track, since);
        }
    }
}

/// The call as an error message shows it. Default values are left out.
fn shown(tool: &dyn Tool, args: &Arguments) -> String {
    let properties = tool.spec().parameters.get("properties");
    let parameters = args.as_map().iter().filter_map(|(name, value)| {
        let default = properties.and_then(|all| all.get(name)?.get("default"));
        let is_empty = match value {
            value if default == Some(value) => true,
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        (!is_empty).then(|| format!("{name}={}", shortened(&value.to_string())))
    });
    let parameters: Vec<String> = parameters.collect();
    format!("{}({})", tool.spec().name, parameters.join(", "))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_PARAMETER) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// The result for invalid arguments, with all faults at once.
fn invalid(faults: &[Fault]) -> ToolResult {
    let messages: Vec<&str> = faults
        .iter()
        .take(MAX_FAULTS)
        .map(|fault| fault.message.as_str())
        .collect();
    let result = ToolResult::failure(ErrorType::ValidationError, messages.join("; "));
    match faults.iter().find_map(Fault::suggestion) {
        Some(suggestion) => result.with_suggestion(suggestion),
        None => result,
    }
}

fn cancelled(name: &str) -> ToolResult {
    ToolError::system(format!("{name} was cancelled"))
        .suggest("It did not finish. Look at what it left before you go on.")
        .with("cancelled", true)
        .into_result()
}

/// The result of a call that was cancelled during the question.
fn not_begun(name: &str) -> ToolResult {
    ToolError::permission(format!(
        "{name} was not allowed: it was cancelled while a person was being asked"
    ))
    .suggest("It did nothing yet.")
    .with("cancelled", true)
    .into_result()
}

fn timed_out(name: &str, time: Duration) -> ToolResult {
    ToolError::system(format!("{name} was stopped after {} s", time.as_secs()))
        .suggest("Ask for less at once, or give it more time where it has a timeout.")
        .with("timed_out", true)
        .into_result()
}
