//! The executable as a helper: the name it was run by says which stage it is.

use std::env;
use std::ffi::OsStr;
use std::process;

use super::inner::{self, INNER};
use super::{KEEPER, descriptors, keeper};

/// Runs the stage that the executable was run as, and does not return then.
pub(super) fn run_if_asked() {
    let mut words = env::args_os();
    let name = words.next();
    let code = match name.as_deref().and_then(OsStr::to_str) {
        Some(KEEPER) => keeper::run(words),
        Some(INNER) => inner::run(words),
        _ => {
            descriptors::keep_inherited_from_children();
            return;
        }
    };
    #[expect(
        clippy::exit,
        reason = "the helper has done its work, and `main` must not go on with another"
    )]
    process::exit(code)
}
