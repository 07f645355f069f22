//! The decision about a call: by rules first, then by the approver.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptk_protocol::Arguments;
use ptk_sandbox::Workspace;
use ptk_sandbox::command::Protections;
use tokio::sync::Semaphore;

use crate::call::Call;
use crate::declaration::Mode;
use crate::proposal;
use crate::rules::{Entry, Rules, Verdict, WRITERS};
use crate::signature::Signature;
use crate::{ApprovalRequest, Approver, Decision, Rule};
use crate::{Effects, Plan};

/// How long a question waits for its answer.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(120);
/// How many refused calls are remembered.
const MAX_DENIED: usize = 10_000;
/// What a model may do about a denial.
const INSTEAD: &str =
    "Do not try it again in another way. Say what you wanted to do and why, or go on without it.";

/// Why an edit runs after [`Decision::AllowEdits`].
const ALL_EDITS: &str = "all edits (this session)";

/// Stores what was approved for good.
pub trait RuleStore: Send + Sync {
    /// Stores these rules.
    fn keep(&self, rules: &[Rule]);
}

/// Decides about calls: by rules, by the answers of this session, and by the
/// [`Approver`] where neither decides.
///
/// ```
/// use ptk_permission::{Declaration, Mode, Permissions};
///
/// let declared = Declaration {
///     allow: vec!["bash(cargo test *)".to_owned(), "edit(src/**)".to_owned()],
///     deny: vec!["bash(git push *)".to_owned()],
///     ..Declaration::default()
/// };
/// let permissions = Permissions::new(Mode::Ask).rules(declared.entries("my program")?);
/// # Ok::<(), ptk_permission::RuleError>(())
/// ```
pub struct Permissions {
    mode: Mode,
    patience: Duration,
    keeper: Option<Arc<dyn RuleStore>>,
    guarded: Vec<Guarded>,
    rules: Mutex<Rules>,
    /// What was approved for this session without protections that the machine
    /// does not have. No other rule allows that.
    unprotected: Mutex<Rules>,
    /// Whether all edits are approved for this session.
    has_all_edits: AtomicBool,
    denied: Mutex<HashMap<Signature, String>>,
    /// One question at a time.
    questions: Semaphore,
}

/// Files that no call writes, because they say what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guarded {
    /// A file.
    File(PathBuf),
    /// A folder, with everything in it.
    Folder(PathBuf),
}

/// A call that needs a decision.
#[derive(Clone, Copy)]
pub struct PermissionRequest<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// Its arguments, checked.
    pub args: &'a Arguments,
    /// What the tool may do.
    pub effects: Effects,
    /// What the call is about to touch.
    pub plan: &'a Plan,
    /// The folders in which the tool may work.
    pub workspace: &'a Workspace,
    /// The protections that its programs would lack.
    pub missing: Option<MissingProtections<'a>>,
    /// Whether only a person can approve it, whatever the rules allow.
    pub is_doubted: bool,
}

impl<'a> PermissionRequest<'a> {
    fn call(&self) -> Call<'a> {
        Call {
            tool: self.tool,
            plan: self.plan,
            workspace: self.workspace,
        }
    }
}

/// The incomplete protections of what a call runs, where a person can be asked.
#[derive(Debug, Clone, Copy)]
pub struct MissingProtections<'a> {
    /// The protections that there are.
    pub protections: &'a Protections,
    /// Whether the person may approve it.
    pub is_open: bool,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// It runs, for this reason.
    Allowed(Option<String>),
    /// It does not run.
    Refused(Refusal),
}

/// Why a call does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is denied.
    Denied {
        /// Why.
        reason: String,
        /// What the model may do.
        instead: String,
    },
    /// It would lack protections, and no person can approve that.
    Unprotected(Protections),
}

impl Default for Permissions {
    fn default() -> Self {
        Self::new(Mode::Ask)
    }
}

impl Permissions {
    /// Permissions without rules.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            patience: DEFAULT_PATIENCE,
            keeper: None,
            guarded: Vec::new(),
            rules: Mutex::default(),
            unprotected: Mutex::default(),
            has_all_edits: AtomicBool::new(false),
            denied: Mutex::default(),
            questions: Semaphore::new(1),
        }
    }

    /// Sets the rules.
    #[must_use]
    pub fn rules(mut self, entries: Vec<Entry>) -> Self {
        self.rules = Mutex::new(Rules::new(entries));
        self
    }

    /// Sets how long a question waits for its answer.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets where rules are stored that were approved for good.
    #[must_use]
    pub fn kept_by(mut self, keeper: impl RuleStore + 'static) -> Self {
        self.keeper = Some(Arc::new(keeper));
        self
    }

    /// Guards a file that no call writes, such as one with rules.
    #[must_use]
    pub fn guarding(mut self, file: PathBuf) -> Self {
        self.guarded.push(Guarded::File(file));
        self
    }

    /// Guards a folder in which no call writes. In a workspace it is created
    /// where it is missing, so that no command creates it.
    #[must_use]
    pub fn guarding_folder(mut self, folder: PathBuf) -> Self {
        self.guarded.push(Guarded::Folder(folder));
        self
    }

    /// The files and folders that no call writes.
    pub fn guarded(&self) -> &[Guarded] {
        &self.guarded
    }

    /// The rules in force, those of this session included.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries().to_vec()
    }

    /// Makes the effects of a tool known: rules about the paths of tools that
    /// read or write files hold for every call that does so. Those of a tool
    /// that is not known hold for both.
    pub fn know(&self, tool: &str, effects: Effects) {
        self.lock().know(tool, effects);
    }

    /// The rules that forbid to show files.
    pub fn withheld(&self) -> Vec<Rule> {
        self.lock().withheld()
    }

    fn lock(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules that can allow a call.
    fn allowing(&self, request: &PermissionRequest<'_>) -> MutexGuard<'_, Rules> {
        match request.missing {
            None => self.lock(),
            Some(_) => self
                .unprotected
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn judge(&self, request: &PermissionRequest<'_>, call: &Call<'_>) -> Verdict {
        let verdict = self.lock().judge(call);
        match verdict {
            Verdict::Allowed(_) | Verdict::Open if request.missing.is_some() => {
                let allowed = self.allowing(request).allowed(call);
                allowed.map_or(Verdict::Open, Verdict::Allowed)
            }
            verdict => verdict,
        }
    }

    /// Decides about a call. Waits where the approver has to be asked.
    pub async fn decide(&self, request: PermissionRequest<'_>, approver: &dyn Approver) -> Permit {
        let call = request.call();
        if let Some(permit) = self.guard(&call) {
            return permit;
        }
        if let Some(permit) = self.decided(&request, &call) {
            return permit;
        }
        let Ok(_turn) = self.questions.acquire().await else {
            return denied("the session has ended");
        };
        if request.is_doubted && !approver.is_person() {
            return denied("a person has to agree to it, and there is none");
        }
        // The answer before may have settled this one, too.
        if let Some(permit) = self.decided(&request, &call) {
            return permit;
        }
        self.ask(request, &call, approver).await
    }

    /// Decides whether the files that a call names may be looked into, before
    /// its plan does. Whether it may go on from there is decided later.
    pub async fn admit(&self, request: PermissionRequest<'_>, approver: &dyn Approver) -> Permit {
        let call = request.call();
        if let Some(permit) = self.admitted(&request, &call) {
            return permit;
        }
        let Ok(_turn) = self.questions.acquire().await else {
            return denied("the session has ended");
        };
        if let Some(permit) = self.denied_before(&request) {
            return permit;
        }
        let named: Vec<String> = call.plan.reads.iter().map(ToString::to_string).collect();
        let plan = Plan {
            reads: call.plan.reads.clone(),
            summary: format!("Read {}, before it changes anything", named.join(", ")),
            ..Plan::default()
        };
        let request = PermissionRequest {
            plan: &plan,
            effects: Effects::READ,
            ..request
        };
        self.ask(request, &request.call(), approver).await
    }

    /// The decision of [`Permissions::admit`] where it needs no question;
    /// `None` if the approver has to be asked.
    pub fn admitted_without_question(&self, request: &PermissionRequest<'_>) -> Option<Permit> {
        self.admitted(request, &request.call())
    }

    fn admitted(&self, request: &PermissionRequest<'_>, call: &Call<'_>) -> Option<Permit> {
        if let Some(permit) = self.guard(call) {
            return Some(permit);
        }
        if let Verdict::Denied(entry) = self.lock().judge(call) {
            return Some(denied(&format!("the rule {entry} forbids it")));
        }
        if self.mode == Mode::Deny && request.effects.needs_approval() {
            return Some(denied("calls that change something are refused here"));
        }
        let reads = Plan {
            reads: call.plan.reads.clone(),
            ..Plan::default()
        };
        let reading = Call {
            plan: &reads,
            ..*call
        };
        let is_open = match self.lock().judge(&reading) {
            Verdict::Asked(_) | Verdict::Doubted(_) => reads.reads.is_empty(),
            Verdict::Denied(_) | Verdict::Allowed(_) | Verdict::Open => true,
        };
        is_open.then_some(Permit::Allowed(None))
    }

    /// The decision without a question; `None` if the approver has to be asked.
    pub fn foreseen(&self, request: &PermissionRequest<'_>) -> Option<Permit> {
        let call = request.call();
        self.guard(&call).or_else(|| self.decided(request, &call))
    }

    fn guard(&self, call: &Call<'_>) -> Option<Permit> {
        let guarded = self.guarded.iter().map(|it| match it {
            Guarded::File(path) | Guarded::Folder(path) => real(path),
        });
        let guarded: Vec<PathBuf> = guarded.collect();
        let paths = call.plan.writes.iter().map(|place| {
            let place = place.real().unwrap_or_else(|_| place.clone());
            real(&place.absolute())
        });
        let is_guarded = |path: &PathBuf| guarded.iter().any(|it| path.starts_with(it));
        let path = paths.into_iter().find(is_guarded)?;
        let why = format!(
            "{} says what is allowed, and only a person changes it",
            path.display()
        );
        Some(denied(&why))
    }

    /// The decision, where it needs no question.
    fn decided(&self, request: &PermissionRequest<'_>, call: &Call<'_>) -> Option<Permit> {
        let verdict = self.judge(request, call);
        let changes = request.effects.needs_approval();
        match (verdict, request.missing) {
            (Verdict::Denied(entry), _) => Some(denied(&format!("the rule {entry} forbids it"))),
            _ if changes && self.mode == Mode::Deny => {
                Some(denied("calls that change something are refused here"))
            }
            _ if call.plan.changes_nothing => Some(Permit::Allowed(None)),
            (_, Some(missing)) if !missing.is_open || self.mode != Mode::Ask => Some(
                Permit::Refused(Refusal::Unprotected(missing.protections.clone())),
            ),
            _ if request.is_doubted => self.denied_before(request),
            (Verdict::Allowed(entries), _) => Some(Permit::Allowed(Some(told(&entries)))),
            (Verdict::Open, None) if !changes => Some(Permit::Allowed(None)),
            (Verdict::Open, None) if self.covers_edit(call) => {
                Some(Permit::Allowed(Some(ALL_EDITS.to_owned())))
            }
            (Verdict::Open, None) if self.mode == Mode::Auto => {
                let unnamed = self.lock().unnamed_for_later(call);
                Some(unnamed.map_or(Permit::Allowed(None), |(path, known)| {
                    let path = path.display().to_string();
                    denied(&format!(
                        "{}; without a question, only a rule that names {path} allows that",
                        known.warning(&path)
                    ))
                }))
            }
            _ => self.denied_before(request),
        }
    }

    /// Whether the call is an edit, and all edits are approved.
    fn covers_edit(&self, call: &Call<'_>) -> bool {
        self.has_all_edits.load(Ordering::Relaxed) && self.is_edit(call)
    }

    /// Whether [`Decision::AllowEdits`] covers the call: a call of a tool that
    /// writes what it is told into a file, with nothing to be warned of.
    fn is_edit(&self, call: &Call<'_>) -> bool {
        let plan = call.plan;
        WRITERS.contains(&call.tool)
            && plan.command.is_none()
            && plan.warnings.is_empty()
            && !plan.writes.is_empty()
            && self.lock().unnamed_for_later(call).is_none()
    }

    fn denied_before(&self, request: &PermissionRequest<'_>) -> Option<Permit> {
        let denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = denied.get(&Signature::new(request.tool, request.args))?;
        Some(Permit::Refused(Refusal::Denied {
            reason: format!("{reason}; this very call was refused before"),
            instead: "It will not be asked about again in this session. Go on without it, or say what you need it for.".to_owned(),
        }))
    }

    async fn ask(
        &self,
        request: PermissionRequest<'_>,
        call: &Call<'_>,
        approver: &dyn Approver,
    ) -> Permit {
        let because = match self.judge(&request, call) {
            Verdict::Asked(entry) => Some(entry),
            Verdict::Doubted(entry) if self.mode == Mode::Auto => Some(entry),
            _ => None,
        };
        let rules = proposal::of(call, &self.allowing(&request));
        // A rule that asks would ask again: no other one can prevent that.
        // And a doubt is about one call.
        let may_last = because.is_none() && !request.is_doubted;
        let rules = if may_last { rules } else { Vec::new() };
        let is_edit = may_last && self.is_edit(call);
        let question = ApprovalRequest {
            tool: request.tool,
            args: request.args,
            effects: request.effects,
            plan: request.plan,
            rules: &rules,
            is_edit,
            because: because.as_ref(),
            unprotected: request.missing.map(|missing| missing.protections),
        };
        let answer = tokio::time::timeout(self.patience, approver.decide(question)).await;
        match answer {
            Err(_) => denied(&format!(
                "there was no answer within {} s",
                self.patience.as_secs()
            )),
            Ok(Decision::AllowForSession) => self.agreed(&request, &rules),
            Ok(Decision::AllowEdits) if is_edit => {
                self.has_all_edits.store(true, Ordering::Relaxed);
                Permit::Allowed(Some(ALL_EDITS.to_owned()))
            }
            Ok(Decision::Allow | Decision::AllowEdits) => Permit::Allowed(None),
            Ok(Decision::AllowAlways) => {
                let is_kept = !rules.is_empty() && request.missing.is_none();
                if let Some(keeper) = self.keeper.as_ref().filter(|_| is_kept) {
                    keeper.keep(&rules);
                }
                self.agreed(&request, &rules)
            }
            Ok(Decision::DenyOnce(reason)) => denied(&reason),
            Ok(Decision::Deny(reason)) => {
                self.remember(request, &reason);
                denied(&reason)
            }
        }
    }

    fn agreed(&self, request: &PermissionRequest<'_>, rules: &[Rule]) -> Permit {
        self.allowing(request).allow(rules);
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        Permit::Allowed((!rules.is_empty()).then(|| rules.join(", ")))
    }

    fn remember(&self, request: PermissionRequest<'_>, reason: &str) {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        if denied.len() < MAX_DENIED {
            denied.insert(
                Signature::new(request.tool, request.args),
                reason.to_owned(),
            );
        }
    }
}

impl std::fmt::Debug for Permissions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permissions")
            .field("mode", &self.mode)
            .field("patience", &self.patience)
            .field("rules", &self.entries())
            .finish_non_exhaustive()
    }
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|folder| {
        let rest = path.strip_prefix(folder).ok()?;
        Some(folder.canonicalize().ok()?.join(rest))
    });
    let known = known.unwrap_or_else(|| path.to_owned());
    // Joining nothing leaves a `/` behind the name of a file.
    known.components().collect()
}

fn denied(reason: &str) -> Permit {
    Permit::Refused(Refusal::Denied {
        reason: reason.to_owned(),
        instead: INSTEAD.to_owned(),
    })
}

/// The text of the rules that allow a call.
fn told(entries: &[Entry]) -> String {
    let mut rules: Vec<String> = entries.iter().map(ToString::to_string).collect();
    rules.dedup();
    rules.join(", ")
}
