//! What the rules say about a call. Deny beats ask, and ask beats allow.

use std::path::{Path, PathBuf};

use ptk_sandbox::Place;
use serde::Serialize;

use crate::Effects;
use crate::call::{Call, Target};
use crate::file_tools::FileTools;
use crate::neutral::{has_neutral_variables, is_neutral, is_neutral_variable};
use crate::rule::{Fit, Rule};
use crate::runs_later::RunsLater;
use crate::shell::{CommandLine, Role, ShellCommand};
use crate::stopping::stops;

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The call runs.
    Allow,
    /// The approver is asked.
    Ask,
    /// The call is refused.
    Deny,
}

impl Action {
    /// The name of the action, as in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A rule in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which calls it is about.
    pub rule: Rule,
    /// What it does.
    pub action: Action,
    /// Where it stands, for people: a file, or "this session".
    pub source: String,
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} ({})",
            self.action.as_str(),
            self.rule,
            self.source
        )
    }
}

/// What the rules decide about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Denied(Entry),
    Asked(Entry),
    Allowed(Vec<Entry>),
    /// A rule may stop it, depending on what is only known when it runs.
    Doubted(Entry),
    /// No rule decides.
    Open,
}

/// Tools that write whatever they are told into a file: a rule that allows them
/// allows a command to write there, too. Another tool may well be allowed to
/// change a file only in its own way.
pub(super) const WRITERS: [&str; 2] = ["write_file", "edit"];

/// All rules in force.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    entries: Vec<Entry>,
    tools: FileTools,
}

impl Rules {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            tools: FileTools::default(),
        }
    }

    /// Makes the effects of a tool known.
    pub(super) fn know(&mut self, tool: &str, effects: Effects) {
        self.tools.add(tool, effects);
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Allows these rules for the rest of the session.
    pub(super) fn allow(&mut self, rules: &[Rule]) {
        let entries = rules.iter().map(|rule| Entry {
            rule: rule.clone(),
            action: Action::Allow,
            source: "this session".to_owned(),
        });
        self.entries.extend(entries);
    }

    fn of(&self, action: Action) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |it| it.action == action)
    }

    pub(super) fn judge(&self, call: &Call<'_>) -> Verdict {
        let mut doubt = None;
        for entry in self.of(Action::Deny) {
            match stops(&entry.rule, &self.tools, call) {
                Fit::Yes => return Verdict::Denied(entry.clone()),
                Fit::Maybe => doubt = Some(entry.clone()),
                Fit::No => {}
            }
        }
        for entry in self.of(Action::Ask) {
            match stops(&entry.rule, &self.tools, call) {
                Fit::Yes => return Verdict::Asked(entry.clone()),
                Fit::Maybe => doubt = Some(entry.clone()),
                Fit::No => {}
            }
        }
        if let Some(entry) = doubt {
            return Verdict::Doubted(entry);
        }
        self.allowed(call).map_or(Verdict::Open, Verdict::Allowed)
    }

    /// The first file that the call writes, that takes effect later outside
    /// the sandbox, and that no rule allows by its name.
    pub(super) fn unnamed_for_later(
        &self,
        call: &Call<'_>,
    ) -> Option<(PathBuf, &'static RunsLater)> {
        let is_named = |path: &Path| {
            self.of(Action::Allow).any(|it| {
                let is_own = match call.plan.script {
                    Some(_) => WRITERS.contains(&it.rule.tool()),
                    None => it.rule.tool() == call.tool,
                };
                is_own && it.rule.names(path)
            })
        };
        let mut files = call.written_for_later().into_iter();
        files.find(|(path, _)| !is_named(path))
    }

    /// The rules that allow the call together.
    pub(super) fn allowed(&self, call: &Call<'_>) -> Option<Vec<Entry>> {
        if self.unnamed_for_later(call).is_some() {
            return None;
        }
        if let Some(script) = &call.plan.script {
            return self.allowed_script(script, call);
        }
        let own = || {
            self.of(Action::Allow)
                .filter(|it| it.rule.tool() == call.tool)
        };
        let declared = call.plan.declared.as_deref();
        if let Some(entry) = own().find(|it| it.rule.fits_declared(declared)) {
            return Some(vec![entry.clone()]);
        }
        let places = if call.plan.writes.is_empty() {
            &call.plan.reads
        } else {
            &call.plan.writes
        };
        let fitting = |place: &Place| {
            let path = call.path_of(place)?;
            own().find(|it| it.rule.fits_path(&path)).cloned()
        };
        let entries: Option<Vec<Entry>> = places.iter().map(fitting).collect();
        entries.filter(|entries| !entries.is_empty())
    }

    /// The rules that allow every command of a line.
    pub(super) fn allowed_script(
        &self,
        script: &CommandLine,
        call: &Call<'_>,
    ) -> Option<Vec<Entry>> {
        let is_set = script.assigned().iter().all(is_neutral_variable);
        if !script.is_certain() || !script.is_whole() || script.is_evaluated() || !is_set {
            return None;
        }
        let mut entries = Vec::new();
        for command in script.commands() {
            if !has_neutral_variables(command) || !self.allows_redirects(command, call) {
                return None;
            }
            match self.allow_command(command, call) {
                Some(entry) => entries.push(entry.clone()),
                None if is_neutral(command) && call.stays(command) => {}
                None if is_plain_wrapper(command) => {}
                None => return None,
            }
        }
        // A rule is about what runs in the workspace, unless it is about all.
        let is_here = call.is_inside() || entries.iter().all(|it| it.rule.is_for_all());
        (is_here && !entries.is_empty()).then_some(entries)
    }

    /// The rule that allows one command, its redirections aside.
    pub(super) fn allow_command(&self, command: &ShellCommand, call: &Call<'_>) -> Option<&Entry> {
        if !command.is_known() || command.words().is_empty() {
            return None;
        }
        self.of(Action::Allow).find(|it| {
            it.rule.tool() == call.tool
                && (!command.is_dangerous || it.rule.is_spelled_out())
                && it.rule.allows(command)
                && it.rule.covers_options(command)
        })
    }

    /// Whether rules for writing allow every file that a command is redirected
    /// to.
    fn allows_redirects(&self, command: &ShellCommand, call: &Call<'_>) -> bool {
        call.redirected_to(command)
            .iter()
            .all(|target| match target {
                Target::Path(path) => {
                    let mut rules = self.of(Action::Allow).map(|it| &it.rule);
                    rules.any(|rule| WRITERS.contains(&rule.tool()) && rule.fits_path(path))
                }
                Target::Outside(_) | Target::Unknown => false,
            })
    }

    /// The rules that forbid to show files.
    pub(super) fn withheld(&self) -> Vec<Rule> {
        let rules = self.entries.iter().filter(|it| it.action != Action::Allow);
        let rules = rules.map(|it| &it.rule).filter(|it| !it.is_for_all());
        let rules = rules.filter(|it| self.tools.may_read(it.tool()));
        rules.cloned().collect()
    }
}

/// Whether a command only runs another one, which is judged on its own. One
/// that lies in some folder may be anything.
pub(super) fn is_plain_wrapper(command: &ShellCommand) -> bool {
    command.role == Role::Wrapper && command.is_known() && command.program() == command.name()
}
