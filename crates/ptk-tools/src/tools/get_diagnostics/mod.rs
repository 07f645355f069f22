//! `get_diagnostics`: what is wrong in the project, according to the checkers
//! that it uses.
//!
//! The files of the workspace decide which checkers run; `ptk.toml` can name
//! another one, and language servers. That problems were found is a success:
//! finding them is the task. A checker that is missing or fails is reported
//! beside what the others found, and an error only if none could run.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `args` | the arguments of a call |
//! | `config` | the section in `ptk.toml` |
//! | `project` | what there is to check |
//! | `checkers` | which programs check it, one file each |
//! | `check` | the run of one of them |
//! | `formats` | the formats of their output, one file each |
//! | `server` | the dialogue with a language server |
//! | `places` | paths and columns as a result shows them |
//! | `report` | the result |

mod args;
mod check;
mod checkers;
mod config;
mod diagnostic;
mod formats;
mod places;
mod programs;
mod project;
mod report;
mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, try_join_all};
use ptk_protocol::ToolResult;

pub use args::DiagnosticsArgs;
pub use check::{Checked, Status};
pub use config::{Builtin, Diagnostics, Server};
pub use diagnostic::{Diagnostic, Severity};
pub use formats::Format;
pub use report::Report;

use self::check::CheckOutcome;
use self::checkers::Checker;
use self::places::Places;
use self::programs::SearchPath;
use self::project::Scope;
use self::server::Visit;
use crate::signature::in_short;
use crate::{CallContext, Class, Effects, Plan, ToolError, TypedTool};

/// The tool `get_diagnostics`.
///
/// ```
/// use ptk_tools::tools::get_diagnostics::GetDiagnostics;
/// use ptk_tools::{Registry, Typed};
///
/// let mut registry = Registry::new();
/// registry.register(Typed::new(GetDiagnostics::default()))?;
/// # Ok::<(), ptk_tools::RegistryError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct GetDiagnostics {
    declared: Diagnostics,
    search: SearchPath,
}

impl GetDiagnostics {
    /// The tool with the configuration of `ptk.toml`.
    #[must_use]
    pub fn new(declared: Diagnostics) -> Self {
        Self {
            declared,
            search: SearchPath::default(),
        }
    }

    /// Looks for checkers in these folders instead of those of the `PATH`,
    /// behind the project's own ones.
    #[must_use]
    pub fn search(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.search = SearchPath::only(folders.into_iter().collect());
        self
    }

    async fn work(&self, context: &CallContext, args: &DiagnosticsArgs) -> Result<Work, ToolError> {
        let (declared, inner) = (self.declared.clone(), context.clone());
        let file = args.file.clone();
        let look = move || Work::new(&declared, &inner, file.as_deref());
        context.blocking(look).await
    }
}

/// The checkers and language servers that are going to run.
struct Work {
    scope: Scope,
    checkers: Vec<Checker>,
    visits: Vec<Visit>,
}

impl Work {
    /// Finds out which checkers and language servers are to run.
    fn new(
        declared: &Diagnostics,
        context: &CallContext,
        file: Option<&str>,
    ) -> Result<Self, ToolError> {
        let scope = Scope::new(context, file)?;
        let checkers = checkers::all(declared, &scope);
        let servers = declared.servers.iter();
        let visits: Vec<_> = servers
            .filter_map(|server| Visit::new(server, &scope))
            .collect();
        if checkers.is_empty() && visits.is_empty() {
            let what = file.unwrap_or("the workspace");
            return Err(ToolError::user(format!("No checker is known for {what}"))
                .suggest("Projects are known by Cargo.toml, tsconfig.json, pyproject.toml, go.mod, or .ts and .py files. For others, ask the user to name a checker in ptk.toml, for example [diagnostics] command = [\"make\", \"check\"], or run it with bash.")
                .advise("Projects are known by Cargo.toml, tsconfig.json, pyproject.toml, go.mod, or .ts and .py files. For others, name a checker in ptk.toml: [diagnostics] command = [\"make\", \"check\"]."));
        }
        Ok(Self {
            scope,
            checkers,
            visits,
        })
    }
}

impl TypedTool for GetDiagnostics {
    type Args = DiagnosticsArgs;
    type Output = Report;

    const NAME: &'static str = "get_diagnostics";
    const DESCRIPTION: &'static str = "Get the errors and warnings of the project, or of one file, from its \
        own checkers: cargo check, tsc, ruff, pyright, go vet, or what the user has configured. \
        Use it after changes, before you say that they are done.";
    const EFFECTS: Effects = Effects::READ.union(Effects::EXECUTE);
    const CLASS: Class = Class::Background;

    fn timeout(&self, _args: &DiagnosticsArgs) -> Option<Duration> {
        Some(self.declared.time())
    }

    fn plan(&self, context: &CallContext, args: &DiagnosticsArgs) -> Result<Plan, ToolError> {
        let work = Work::new(&self.declared, context, args.file.as_deref())?;
        let commands = work.checkers.iter().map(Checker::command);
        let commands: Vec<String> = commands
            .chain(work.visits.iter().map(Visit::command))
            .collect();
        let folder = work.checkers.first().map(|checker| checker.folder.clone());
        Ok(Plan {
            summary: format!("Run {}", commands.join(", ")),
            command: Some((commands.join("; "), folder.unwrap_or(work.scope.root))),
            declared: Some(in_short(&self.declared)),
            ..Plan::default()
        })
    }

    async fn run(&self, context: &CallContext, args: DiagnosticsArgs) -> Result<Report, ToolError> {
        let Work {
            scope,
            checkers,
            visits,
        } = self.work(context, &args).await?;
        let time = self.declared.time();
        let mut runs: Vec<BoxFuture<'_, Result<CheckOutcome, ToolError>>> = Vec::new();
        runs.extend(
            checkers
                .iter()
                .map(|one| one.run(context, &self.search, time).boxed()),
        );
        runs.extend(
            visits
                .iter()
                .map(|one| one.run(context, &self.search, time).boxed()),
        );
        let outcomes = try_join_all(runs).await?;
        let is_vain = |outcome: &CheckOutcome| {
            outcome.checked.status != Status::Ok && outcome.found.is_empty()
        };
        if outcomes.iter().all(is_vain) {
            return Err(report::failure(outcomes));
        }
        let own = context.clone();
        context
            .blocking(move || Ok(reported(&own, &scope, outcomes, &args)))
            .await
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        report::preview(result, max_lines)
    }
}

/// The report of all outcomes.
fn reported(
    context: &CallContext,
    scope: &Scope,
    outcomes: Vec<CheckOutcome>,
    args: &DiagnosticsArgs,
) -> Report {
    let mut places = Places::new(&scope.workspace);
    let mut all = Vec::new();
    let mut checkers = Vec::new();
    for outcome in outcomes {
        let (source, folder) = (&outcome.source, &outcome.folder);
        let found = outcome.found.into_iter();
        all.extend(found.map(|found| places.diagnostic(found, source, folder)));
        checkers.push(outcome.checked);
    }
    // A diagnostic may quote the file that it is about.
    let before = all.len();
    all.retain(|one| !context.is_withheld(Path::new(&one.file)));
    let not_allowed = Some(before - all.len()).filter(|count| *count > 0);
    // Checkers that look at a file twice, as part of two targets, report twice.
    all.sort();
    all.dedup();
    let mut elsewhere = 0;
    if let Some(only) = &scope.only {
        let only = only.to_string();
        let is_within = |file: &str| {
            let rest = file.strip_prefix(only.as_str());
            only == "." || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let (within, others) = all
            .into_iter()
            .partition::<Vec<Diagnostic>, _>(|one| is_within(&one.file));
        let errors = others.iter().filter(|one| one.severity == Severity::Error);
        elsewhere = errors.count();
        all = within;
    }
    let mut report = Report::new(all, elsewhere, checkers, args);
    report.not_allowed = not_allowed;
    report
}
