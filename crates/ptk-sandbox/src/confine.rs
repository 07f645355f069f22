//! Threads that can read beneath the roots and nowhere else, for searches that
//! walk by path and know nothing of a jail.

use crate::workspace::Workspace;

/// What a confinement really does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a thread that is not confined needs other protection"]
pub enum Confinement {
    /// The thread can read and list beneath the roots, and no more.
    Full,
    /// The thread can read and list beneath the roots only; what else it may
    /// do, the kernel is too old to restrict in full.
    Partial {
        /// What is missing.
        reason: String,
    },
    /// The thread is as free as before.
    None {
        /// Why it is not confined.
        reason: String,
    },
}

/// Confines the calling thread, and every thread that it starts from now on,
/// to reading and listing beneath the roots of the workspace. Links that lead
/// out are refused by the kernel. Files that are open already stay usable.
///
/// This lasts as long as the thread and cannot be undone: call it on a thread
/// that was started for the purpose, never on one of a pool or of a runtime.
///
/// Nothing outside is left open, so a search that honours ignore files above
/// the workspace or the user's own has to read those beforehand: such files,
/// and what lies beside them, may hold secrets.
///
/// Done by Landlock, as far as the kernel has it. It restricts what is opened,
/// written and run. Whether a file exists outside, and how large it is, can
/// still be asked; the network is not its concern here.
///
/// ```
/// use ptk_sandbox::Workspace;
/// use ptk_sandbox::confine::{self, Confinement};
///
/// # let folder = tempfile::tempdir()?;
/// let workspace = Workspace::open(folder.path())?;
/// let search = std::thread::spawn(move || {
///     if let Confinement::None { reason } = confine::read_only(&workspace) {
///         return Err(reason);
///     }
///     assert!(std::fs::read("/etc/passwd").is_err());
///     Ok(())
/// });
/// # search.join().expect("confined, or not at all").ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_only(workspace: &Workspace) -> Confinement {
    platform::read_only(workspace)
}

#[cfg(target_os = "linux")]
mod platform {
    use landlock::{
        ABI, Access as _, AccessFs, LandlockStatus, PathBeneath, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetError, RulesetStatus,
    };

    use super::Confinement;
    use crate::workspace::Workspace;

    /// The first version that restricts everything that can be done with
    /// files, commands to devices included.
    const WANTED: ABI = ABI::V5;

    pub(super) fn read_only(workspace: &Workspace) -> Confinement {
        match restrict(workspace) {
            Ok(confinement) => confinement,
            Err(error) => Confinement::None {
                reason: format!("Landlock failed: {error}"),
            },
        }
    }

    fn restrict(workspace: &Workspace) -> Result<Confinement, RulesetError> {
        let mut rules = Ruleset::default()
            .handle_access(AccessFs::from_all(WANTED))?
            .create()?;
        for root in workspace.all() {
            let reading = AccessFs::ReadFile | AccessFs::ReadDir;
            rules = rules.add_rule(PathBeneath::new(&*root.dir, reading))?;
        }
        let status = rules.restrict_self()?;
        Ok(match (status.ruleset, status.landlock) {
            (RulesetStatus::FullyEnforced, _) => Confinement::Full,
            (RulesetStatus::PartiallyEnforced, _) => Confinement::Partial {
                reason: "the kernel has an older version of Landlock, which does not restrict \
                         every kind of access to files"
                    .to_owned(),
            },
            (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => Confinement::None {
                reason: "Landlock is not enabled in the kernel".to_owned(),
            },
            (RulesetStatus::NotEnforced, _) => Confinement::None {
                reason: "the kernel has no Landlock".to_owned(),
            },
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::Confinement;
    use crate::workspace::Workspace;

    pub(super) fn read_only(_workspace: &Workspace) -> Confinement {
        Confinement::None {
            reason: "only Linux can confine a thread".to_owned(),
        }
    }
}
