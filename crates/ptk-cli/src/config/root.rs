//! The root of the project that a folder belongs to.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder with one of these is the root of a project.
const MARKS: [&str; 2] = [".git", "ptk.toml"];
/// A folder with this is one if there is no other.
const WEAK_MARK: &str = "AGENTS.md";
/// Marks a folder whose content can be made anew, such as a build folder. It
/// belongs to no project.
const CACHE: &str = "CACHEDIR.TAG";

/// The root of the project that the folder belongs to: the nearest folder
/// upward with a repository or a `ptk.toml`, or else with an `AGENTS.md`. The
/// home folder is none, nor is what lies above it or belongs to another user.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok()?;
    let home = std::env::home_dir().and_then(|home| fs::canonicalize(home).ok());
    let is_project = |folder: &&Path| {
        let is_above_home = home.as_ref().is_some_and(|home| home.starts_with(folder));
        folder.parent().is_some()
            && !is_above_home
            && !folder.join(CACHE).exists()
            && is_own(folder)
    };
    let folders: Vec<&Path> = folder.ancestors().take_while(is_project).collect();
    let with = |marks: &[&str]| {
        let is_marked = |folder: &&&Path| marks.iter().any(|mark| folder.join(mark).exists());
        folders
            .iter()
            .find(is_marked)
            .map(|folder| folder.to_path_buf())
    };
    with(&MARKS).or_else(|| with(&[WEAK_MARK]))
}

/// Whether a folder belongs to the user: others could have put a mark there.
#[cfg(unix)]
fn is_own(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(folder).is_ok_and(|folder| folder.uid() == own)
}

#[cfg(not(unix))]
fn is_own(_folder: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_or_a_configuration_is_found_upward() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("shop/src/deep")).unwrap();
        fs::create_dir_all(at("shop/target/build")).unwrap();
        assert_eq!(find(&at("shop/src/deep")), None);
        fs::write(at("shop/AGENTS.md"), "").unwrap();
        assert_eq!(find(&at("shop/src/deep")), Some(at("shop")));
        fs::write(at("shop/src/AGENTS.md"), "").unwrap();
        assert_eq!(find(&at("shop/src/deep")), Some(at("shop/src")));
        fs::create_dir(at("shop/.git")).unwrap();
        assert_eq!(find(&at("shop/src/deep")), Some(at("shop")));
        fs::write(at("shop/src/ptk.toml"), "").unwrap();
        assert_eq!(find(&at("shop/src/deep")), Some(at("shop/src")));
        assert_eq!(find(&at("shop")), Some(at("shop")));
        assert_eq!(find(&at("shop/target/build")), Some(at("shop")));
        fs::write(at("shop/target/CACHEDIR.TAG"), "").unwrap();
        assert_eq!(find(&at("shop/target/build")), None);
        assert_eq!(find(Path::new("/")), None);
    }
}
