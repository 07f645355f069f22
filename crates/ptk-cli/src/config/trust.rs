//! Decides which settings of an untrusted workspace's `ptk.toml` count.
//!
//! The file may have come with someone else's code. So a setting counts at once
//! only if it is harmless or stricter than the default; everything else is
//! withheld until `ptk permissions trust`. Each section is destructured here,
//! field by field and without `..`: a new setting does not compile until it is
//! decided about.

use std::num::NonZero;

use anyhow::Result;
use ptk::PROTOCOL_RETRIES;
use ptk_permission::{DEFAULT_PATIENCE, Mode};
use ptk_protocol::dialects::Registry;
use ptk_tools::tools;
use ptk_tools::tools::get_diagnostics::Diagnostics;
use toml::Spanned;

use super::file::{ConfigFile, Sections};
#[cfg(feature = "mcp")]
use super::mcp::Standing;
use super::sections::{CodeContext, Helper, Limits, MAX_ITERATIONS, MAX_TOOL_CALLS, Run};
use crate::view::clean::in_line;

/// Which settings of the workspace's or named file count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// All: the user has agreed to this exact content.
    Full,
    /// All but what it allows: the user named the file.
    AllButPermissions,
    /// Those that are harmless or stricter.
    StricterOnly,
}

/// A setting that is withheld until the file is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Withheld {
    /// Its name, such as `run.provider`.
    pub(crate) name: String,
    /// The effect that it would have.
    pub(crate) value: String,
}

/// The default timeout of a checker, in seconds.
const CHECKER_TIMEOUT: u64 = 120;

impl Withheld {
    /// Whether it changes the built-in tools: what they run, show and keep.
    pub(crate) fn is_about_tools(&self) -> bool {
        let sections = ["diagnostics.", "code_context.", "undo"];
        sections
            .iter()
            .any(|section| self.name.starts_with(section))
    }
}

fn withhold(withheld: &mut Vec<Withheld>, name: &str, value: &(impl ToString + ?Sized)) {
    withheld.push(Withheld {
        name: name.to_owned(),
        value: value.to_string(),
    });
}

/// Withholds a setting in any case.
fn never<T: ToString>(value: Option<T>, name: &str, withheld: &mut Vec<Withheld>) -> Option<T> {
    if let Some(value) = value {
        withhold(withheld, name, &value);
    }
    None
}

/// Withholds a limit that is higher than the one without the file.
fn at_most<T: Ord + Copy + ToString>(
    value: Option<T>,
    limit: T,
    name: &str,
    withheld: &mut Vec<Withheld>,
) -> Option<T> {
    match value {
        Some(value) if value > limit => never(Some(value), name, withheld),
        value => value,
    }
}

/// The settings of `[run]` that count. `user` is the user's own.
pub(super) fn run(own: Run, user: &Run, withheld: &mut Vec<Withheld>) -> Run {
    let Run {
        provider,
        model,
        dialect,
        tools,
        defer_tools,
        max_iterations,
        max_tool_calls,
        timeout,
        context_window,
        compaction,
        calls,
        corrections,
        prompt_style,
        temperature,
        top_p,
        top_k,
        seed,
    } = own;
    let limit = |user: Option<u32>, default| user.unwrap_or(default);
    Run {
        // Prompts are sent there, and its replies are run.
        provider: never(provider, "run.provider", withheld),
        model: never(model, "run.model", withheld),
        dialect: built_in(dialect, withheld),
        tools: fewer(tools, user, withheld),
        max_iterations: at_most(
            max_iterations,
            limit(user.max_iterations, MAX_ITERATIONS),
            "run.max_iterations",
            withheld,
        ),
        max_tool_calls: at_most(
            max_tool_calls,
            limit(user.max_tool_calls, MAX_TOOL_CALLS),
            "run.max_tool_calls",
            withheld,
        ),
        timeout: match (timeout, user.timeout) {
            (Some(own), Some(user)) if own > user => {
                let own = format!("{} s", own.as_secs());
                withhold(withheld, "run.timeout", &own);
                None
            }
            // Without the user's own there is no limit, so any is stricter.
            (own, _) => own,
        },
        // More is sent, and paid for.
        context_window: never(context_window, "run.context_window", withheld),
        corrections: at_most(
            corrections,
            limit(user.corrections, PROTOCOL_RETRIES),
            "run.corrections",
            withheld,
        ),
        // Harmless: what to do when a conversation no longer fits, how tools
        // are listed, how tokens are sampled.
        defer_tools,
        compaction,
        calls,
        prompt_style,
        temperature,
        top_p,
        top_k,
        seed,
    }
}

/// The settings of `[limits]` that count: what is stricter than `user`, the
/// limits without the file.
pub(super) fn limits(own: Limits, user: &Limits, withheld: &mut Vec<Withheld>) -> Limits {
    let usual = user.of_tools();
    let Limits {
        call_timeout,
        result_bytes,
        concurrent_calls,
        call_retries,
        cached_results,
    } = own;
    let size = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX);
    let seconds = call_timeout.map(|time| time.as_secs());
    let seconds = at_most(
        seconds,
        usual.deadline.as_secs(),
        "limits.call_timeout",
        withheld,
    );
    Limits {
        call_timeout: call_timeout.filter(|_| seconds.is_some()),
        result_bytes: at_most(
            result_bytes,
            size(usual.result),
            "limits.result_bytes",
            withheld,
        ),
        concurrent_calls: at_most(
            concurrent_calls,
            size(usual.concurrency),
            "limits.concurrent_calls",
            withheld,
        ),
        call_retries: at_most(call_retries, usual.retries, "limits.call_retries", withheld),
        // A result that is kept may no longer be what the call would give.
        cached_results: at_most(
            cached_results,
            user.cached_results.unwrap_or(0),
            "limits.cached_results",
            withheld,
        ),
    }
}

/// Keeps a built-in dialect, which only decides how calls are written. One that
/// the file declares counts only with its declaration.
fn built_in(dialect: Option<String>, withheld: &mut Vec<Withheld>) -> Option<String> {
    let dialect = dialect?;
    if dialect == "auto" || Registry::builtin().get(&dialect).is_ok() {
        return Some(dialect);
    }
    never(Some(dialect), "run.dialect", withheld)
}

/// Keeps the tools that would be offered without the file, or fewer.
fn fewer(
    tools: Option<Vec<String>>,
    user: &Run,
    withheld: &mut Vec<Withheld>,
) -> Option<Vec<String>> {
    let is_offered = |name: &String| match &user.tools {
        Some(own) => own.contains(name),
        None => tools::DEFAULT.contains(&name.as_str()),
    };
    let (offered, more): (Vec<_>, Vec<_>) = tools?.into_iter().partition(is_offered);
    if !more.is_empty() {
        withhold(withheld, "run.tools", &more.join(", "));
    }
    Some(offered)
}

/// The settings of `[diagnostics]` that count.
pub(super) fn diagnostics(own: Diagnostics, withheld: &mut Vec<Withheld>) -> Diagnostics {
    let Diagnostics {
        command,
        format,
        disable,
        timeout,
        servers,
    } = own;
    // Both are run as commands.
    if !command.is_empty() {
        let line = format!("runs {}", command.join(" "));
        withhold(withheld, "diagnostics.command", &line);
    }
    for server in servers {
        let line = format!("runs {}", server.command.join(" "));
        withhold(
            withheld,
            &format!("diagnostics.servers.{}", server.name),
            &line,
        );
    }
    Diagnostics {
        command: Vec::new(),
        // Has no effect without a command.
        format,
        // Fewer checkers are run.
        disable,
        timeout: at_most(timeout, CHECKER_TIMEOUT, "diagnostics.timeout", withheld),
        servers: Vec::new(),
    }
}

/// Whether more code would be given to a model than by default.
#[cfg(feature = "search")]
const fn is_over_default(limit: NonZero<u64>) -> bool {
    limit.get() > ptk_search::tool::TOKEN_LIMIT
}

/// No code is given to a model: there is no index.
#[cfg(not(feature = "search"))]
const fn is_over_default(_: NonZero<u64>) -> bool {
    false
}

/// The settings of `[code_context]` that count.
pub(super) fn code_context(own: &CodeContext, withheld: &mut Vec<Withheld>) -> CodeContext {
    let CodeContext { token_limit } = *own;
    let token_limit = token_limit.filter(|limit| {
        let is_more = is_over_default(*limit);
        if is_more {
            withhold(withheld, "code_context.token_limit", limit);
        }
        !is_more
    });
    CodeContext { token_limit }
}

/// The settings of `[permissions]` that count: what is stricter.
pub(super) fn permissions(
    own: ptk_permission::Declaration,
    withheld: &mut Vec<Withheld>,
) -> ptk_permission::Declaration {
    let ptk_permission::Declaration {
        mode,
        allow,
        ask,
        deny,
        patience,
    } = own;
    for rule in allow {
        withhold(withheld, "permissions.allow", &rule);
    }
    let mode = mode.filter(|mode| {
        let is_looser = *mode == Mode::Auto;
        if is_looser {
            withhold(withheld, "permissions.mode", "auto: what fits no rule runs");
        }
        !is_looser
    });
    ptk_permission::Declaration {
        mode,
        allow: Vec::new(),
        ask,
        deny,
        patience: at_most(
            patience,
            DEFAULT_PATIENCE.as_secs(),
            "permissions.patience",
            withheld,
        ),
    }
}

fn helper(own: Helper, withheld: &mut Vec<Withheld>) {
    let Helper {
        model,
        choose_files: _,
        shorten_above: _,
        timeout: _,
    } = own;
    withhold(withheld, "helper", &format!("asks the model {model}"));
}

fn undo(own: ptk_undo::Options, withheld: &mut Vec<Withheld>) {
    // All of it affects whether the user can undo a change.
    let ptk_undo::Options {
        enabled,
        folder,
        max_mb,
        max_days,
        max_file_mb,
        max_files: _,
        max_workspace_mb: _,
    } = own;
    let what = match (enabled, folder) {
        (false, _) => "keeps nothing, so that no change can be undone".to_owned(),
        (true, Some(folder)) => format!("keeps changes in {}", folder.display()),
        (true, None) => {
            format!("keeps at most {max_mb} MB for {max_days} days, files up to {max_file_mb} MB")
        }
    };
    withhold(withheld, "undo", &what);
}

/// All settings of an untrusted file that are withheld. `user` and
/// `user_limits` are the user's own settings.
pub(super) fn withheld(
    file: &ConfigFile,
    user: &Run,
    user_limits: &Limits,
) -> Result<Vec<Withheld>> {
    let Sections {
        run: own,
        limits: own_limits,
        models: _,
        helper: small,
        dialects,
        tools,
        #[cfg(feature = "mcp")]
            mcp: _,
        diagnostics: checkers,
        // Harmless: how code is shown.
        snippet_format: _,
        code_context: context,
        undo: kept,
        permissions: _,
        // Refused by the commands that need them.
        sandbox: _,
        sessions: _,
        #[cfg(feature = "browser")]
            pages: _,
        #[cfg(feature = "browser")]
            browser: _,
    } = &file.sections;
    let mut withheld = withheld_permissions(file)?;
    run(own.get_or_default()?, user, &mut withheld);
    limits(own_limits.get_or_default()?, user_limits, &mut withheld);
    for (name, value) in file.models()?.described() {
        withhold(&mut withheld, &format!("models.{name}"), &value);
    }
    if let Some(own) = small.get()? {
        helper(own, &mut withheld);
    }
    for declared in dialects.get_or_default()? {
        let name = &declared.get_ref().name;
        let value = "reads replies in a form of its own";
        withhold(&mut withheld, &format!("dialects.{name}"), value);
    }
    for tool in tools.get_or_default()?.into_iter().map(Spanned::into_inner) {
        withhold(&mut withheld, &format!("tools.{}", tool.name), &tool.told());
    }
    #[cfg(feature = "mcp")]
    for server in file.servers()? {
        if let Standing::Unusable(reason) = &server.standing {
            let value = format!("cannot be used: {reason}");
            withhold(
                &mut withheld,
                &format!("mcp.servers.{}", server.name),
                &value,
            );
            continue;
        }
        let value = format!(
            "{} ({})",
            server.declared.summary(),
            server.declared.grants()
        );
        withhold(
            &mut withheld,
            &format!("mcp.servers.{}", server.name),
            &value,
        );
    }
    diagnostics(checkers.get_or_default()?, &mut withheld);
    code_context(&context.get_or_default()?, &mut withheld);
    if let Some(own) = kept.get()? {
        undo(own, &mut withheld);
    }
    Ok(withheld)
}

/// The permissions of an untrusted file that are withheld.
pub(super) fn withheld_permissions(file: &ConfigFile) -> Result<Vec<Withheld>> {
    let mut withheld = Vec::new();
    permissions(file.permissions()?, &mut withheld);
    Ok(withheld)
}

/// The note about withheld settings.
pub(super) fn note(file: &str, withheld: &[Withheld]) -> Option<String> {
    if withheld.is_empty() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for setting in withheld {
        let name = in_line(&setting.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(format!(
        "{} is not trusted, so these settings are ignored: {}. `ptk permissions trust` shows what \
         they would allow, and asks.",
        in_line(file),
        names.join(", ")
    ))
}
