//! Dialects that are declared as data, such as in `ptk.toml`: marks, the shape
//! of the body, keys. A new model needs no new release.
//!
//! A [`Declaration`] is checked and then read by the same engines as PTK's own
//! dialects. Where it comes from is the caller's concern; it is
//! [`Deserialize`](serde::Deserialize).
//!
//! ```
//! use ptk_protocol::dialects::Registry;
//! use ptk_protocol::dialects::declared::{Declaration, register};
//! use ptk_protocol::{Grammar, parse};
//! use serde_json::json;
//!
//! let declaration: Declaration = serde_json::from_value(json!({
//!     "name": "acme",
//!     "open": ["<acme_call>"],
//!     "close": ["</acme_call>"],
//!     "name_keys": ["fn"],
//!     "args_keys": ["kwargs"],
//! }))?;
//! let registry = register(Registry::builtin(), &[declaration])?;
//! let grammar = Grammar::builder().registry(registry).build()?;
//!
//! let reply = parse("<acme_call>{\"fn\": \"now\", \"kwargs\": {}}</acme_call>", &grammar);
//! assert_eq!(reply.calls[0].call.name, "now");
//! assert_eq!(reply.calls[0].dialect, "acme");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod declaration;
mod dialect;
mod template;

use std::sync::Arc;

use self::dialect::Declared;
use super::{Dialect, Registry};

pub use declaration::{Body, Declaration, DeclarationFault};
pub(super) use declaration::{check_distinct, check_mark};
pub(super) use template::param;

/// The error for a declaration that no dialect can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("dialect `{dialect}`: {fault}")]
pub struct DeclarationError {
    /// The dialect's name, as declared.
    pub dialect: String,
    /// The index of the declaration in the list.
    pub index: usize,
    /// What is wrong.
    pub fault: DeclarationFault,
}

/// Adds declared dialects. They are tried before the dialects of the registry,
/// as they were declared on purpose.
///
/// # Errors
///
/// If a declaration is invalid, or a name or alias is taken.
pub fn register(
    registry: Registry,
    declarations: &[Declaration],
) -> Result<Registry, DeclarationError> {
    let mut declared: Vec<Arc<dyn Dialect>> = Vec::new();
    for (index, declaration) in declarations.iter().enumerate() {
        let error = |fault| DeclarationError {
            dialect: declaration.name.clone(),
            index,
            fault,
        };
        let dialect = declaration.build().map_err(error)?;
        let known = || registry.all().iter().chain(&declared);
        for name in std::iter::once(&declaration.name).chain(&declaration.aliases) {
            let taken = known()
                .any(|known| known.name() == name || known.aliases().contains(&name.as_str()));
            if taken {
                return Err(error(DeclarationFault::TakenName(name.clone())));
            }
        }
        declared.push(dialect);
    }
    Ok(registry.preceded_by(declared))
}

impl Declaration {
    /// Builds the declared dialect.
    ///
    /// # Errors
    ///
    /// If the declaration is invalid.
    pub fn build(&self) -> Result<Arc<dyn Dialect>, DeclarationFault> {
        self.check_names()?;
        self.check_fields()?;
        let dialect = Declared::new(self)?;
        dialect.check()?;
        Ok(Arc::new(dialect))
    }
}
