//! Files that rules forbid to see.

use std::path::PathBuf;

use bstr::ByteSlice as _;
use ptk_permission::Rule;
use ptk_sandbox::Place;

use crate::CallContext;

/// What rules forbid to see, by the path where it really is.
pub(crate) struct Withheld {
    rules: Vec<Rule>,
    /// Where the search begins, and where that really is.
    from: PathBuf,
    to: Option<PathBuf>,
    root: PathBuf,
}

impl Withheld {
    /// The rules for a search that begins at a place.
    pub(crate) fn new(context: &CallContext, place: &Place) -> Self {
        Self {
            rules: context.services().withheld.clone(),
            from: place.absolute(),
            to: place.real().ok().map(|place| place.absolute()),
            root: context.workspace().root().to_owned(),
        }
    }

    /// Whether a file is not to be seen, by its path as it is shown.
    pub(crate) fn holds(&self, shown: &[u8]) -> bool {
        if self.rules.is_empty() {
            return false;
        }
        let Some(to) = &self.to else {
            return true;
        };
        let path = self.root.join(shown.to_path_lossy());
        let path = path.strip_prefix(&self.from).map(|rest| to.join(rest));
        let Ok(path) = path else {
            return true;
        };
        // Joining nothing leaves a `/` behind the name of a file.
        let path: PathBuf = path.components().collect();
        let path = path.strip_prefix(&self.root).unwrap_or(&path);
        self.rules.iter().any(|rule| rule.fits_path(path))
    }
}
