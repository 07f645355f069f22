//! The programs that a policy is for: where they lie, and what they need to be
//! started at all.

use std::path::{Path, PathBuf};

use super::policy::Policy;

/// Links that the system follows one after another.
const MAX_LINKS: usize = 40;

impl Policy {
    /// Lets a program be read by itself and by its interpreter, wherever it is
    /// and whatever links lead to it. Links that lie where commands write are
    /// not followed, since a command could have made them.
    pub fn allow_program(&mut self, program: &Path) {
        let mut next = program.is_absolute().then(|| program.to_owned());
        for _ in 0..MAX_LINKS {
            let Some((path, folder)) = next.as_ref().and_then(|path| Some((path, path.parent()?)))
            else {
                return;
            };
            let is_writable = |folder: PathBuf| self.is_written(&folder);
            if folder.canonicalize().is_ok_and(is_writable) {
                return;
            }
            // A virtual environment of Python is allowed as a whole.
            let home = folder.parent();
            let environment = home.filter(|home| home.join("pyvenv.cfg").exists());
            self.allow_reading(environment.unwrap_or(folder));
            next = path.read_link().ok().map(|target| folder.join(target));
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::Workspace;

    #[test]
    fn a_program_that_a_command_could_have_planted_grants_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["workspace/venv/bin", "home/.ssh", "tools/bin"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let workspace = Workspace::open(root.join("workspace")).unwrap();
        let mut policy = Policy::new(&workspace);
        let granted = policy.read.len();
        fs::write(root.join("workspace/venv/pyvenv.cfg"), "").unwrap();
        fs::write(root.join("tools/bin/check"), "").unwrap();
        let planted = root.join("workspace/venv/bin/python");
        symlink(root.join("home/.ssh/id_rsa"), &planted).unwrap();
        policy.allow_program(&planted);
        assert_eq!(policy.read.len(), granted, "{:?}", policy.read);
        // A link outside is followed: programs are installed that way.
        let installed = root.join("tools/python");
        symlink("bin/check", &installed).unwrap();
        policy.allow_program(&installed);
        assert!(policy.read.contains(&root.join("tools/bin")));
    }
}
