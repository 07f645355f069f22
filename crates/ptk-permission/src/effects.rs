//! What a tool does to the world. Whether it needs approval, may run beside
//! others, may be cached and counts as repeated follows from it.

use std::fmt;
use std::ops::BitOr;

use serde::{Deserialize, Serialize};

/// One thing a tool may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It reads files.
    Read,
    /// It writes, moves or deletes files.
    Write,
    /// It runs programs.
    Execute,
    /// It talks to other machines.
    Network,
}

impl Effect {
    const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Execute, Self::Network];

    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Its name, as in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Network => "network",
        }
    }
}

/// Everything a tool may do.
///
/// ```
/// use ptk_permission::Effects;
///
/// let edit = Effects::READ | Effects::WRITE;
/// assert!(edit.needs_approval());
/// assert!(!edit.is_read_only());
/// assert_eq!(edit.to_string(), "read, write");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Effects(u8);

impl Effects {
    /// No effect: nothing is read or changed.
    pub const NONE: Self = Self(0);
    /// Reads files.
    pub const READ: Self = Self(Effect::Read.bit());
    /// Writes files.
    pub const WRITE: Self = Self(Effect::Write.bit());
    /// Runs programs.
    pub const EXECUTE: Self = Self(Effect::Execute.bit());
    /// Talks to other machines.
    pub const NETWORK: Self = Self(Effect::Network.bit());
    /// All effects: whatever a program can do.
    pub const ALL: Self = Self(Self::READ.0 | Self::WRITE.0 | Self::EXECUTE.0 | Self::NETWORK.0);

    /// The union of both, where `|` cannot be used: in a constant.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `effect` is among them.
    #[must_use]
    pub const fn has(self, effect: Effect) -> bool {
        self.0 & effect.bit() != 0
    }

    /// Whether it changes nothing anywhere. Such calls may run side by side,
    /// be cached, and are pointless to repeat.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        self.0 & !Self::READ.0 == 0
    }

    /// The effects on files.
    #[must_use]
    pub const fn on_files(self) -> Self {
        Self(self.0 & (Self::READ.0 | Self::WRITE.0))
    }

    /// Whether a call has to be approved before it runs.
    #[must_use]
    pub const fn needs_approval(self) -> bool {
        !self.is_read_only()
    }

    /// The effects one by one.
    pub fn iter(self) -> impl Iterator<Item = Effect> {
        Effect::ALL
            .into_iter()
            .filter(move |effect| self.has(*effect))
    }
}

impl BitOr for Effects {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl FromIterator<Effect> for Effects {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        Self(
            effects
                .into_iter()
                .fold(0, |all, effect| all | effect.bit()),
        )
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Effect::as_str).collect();
        f.write_str(&names.join(", "))
    }
}
