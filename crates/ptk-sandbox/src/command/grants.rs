//! What every program may use without being asked for: the programs and
//! libraries of the system, and the package stores of programmers' tools.
//!
//! A command must not be able to decide what the next one may touch. It can
//! plant links in the workspace, so no link that lies where commands write is
//! ever followed, and folders that are named by variables are taken only if no
//! link at all leads to them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::process::geteuid;

use super::policy::{Ignored, Policy};

/// Folders of the system that hold programs and what these need.
const SYSTEM: [&str; 17] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/var/lib/dpkg",
    "/var/lib/apt",
];

/// What name resolution needs, for programs that may use the network.
pub(super) const NAME_RESOLUTION: [&str; 4] = [
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
    "/run/nscd",
];

/// Parts of a home in which programmers' tools keep programs and packages.
/// Never a folder that also holds configuration: that is where tokens are.
const PACKAGES: [&str; 68] = [
    ".cargo/bin",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".rustup/toolchains",
    ".rustup/settings.toml",
    ".config/git/ignore",
    ".config/git/attributes",
    ".npm/_cacache",
    ".nvm/nvm.sh",
    ".nvm/nvm-exec",
    ".nvm/alias",
    ".nvm/versions",
    ".volta/bin",
    ".volta/tools",
    ".bun/bin",
    ".bun/install/cache",
    ".bun/install/global",
    ".deno/bin",
    ".yarn/bin",
    ".yarn/releases",
    ".yarn/berry/cache",
    ".cache/node/corepack",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".local/bin",
    ".local/lib",
    ".local/pipx/venvs",
    ".local/share/pipx/venvs",
    ".local/share/mise/installs",
    ".local/share/mise/shims",
    ".local/share/pnpm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/virtualenvs",
    ".pyenv/bin",
    ".pyenv/libexec",
    ".pyenv/plugins",
    ".pyenv/pyenv.d",
    ".pyenv/shims",
    ".pyenv/version",
    ".pyenv/versions",
    ".rbenv/bin",
    ".rbenv/libexec",
    ".rbenv/plugins",
    ".rbenv/shims",
    ".rbenv/version",
    ".rbenv/versions",
    ".gem/ruby",
    ".sdkman/bin",
    ".sdkman/candidates",
    ".sdkman/src",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/packs",
    ".dotnet/sdk",
    ".dotnet/shared",
    ".dotnet/tools",
    ".nuget/packages",
    ".ghcup/bin",
    ".ghcup/ghc",
    ".opam",
    ".juliaup",
    "go/pkg",
];

/// Variables that name folders of tools, which are read.
const READ: [&str; 14] = [
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "NVM_DIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "GEM_HOME",
];
/// Variables that name folders of tools, which are written.
const WRITTEN: [&str; 2] = ["CARGO_TARGET_DIR", "GOCACHE"];
/// What is read of the folder that `CARGO_HOME` names. Its configuration and
/// its credentials are not.
const OF_CARGO: [&str; 4] = ["bin", "env", "git", "registry"];

/// Files that only the system itself may read, although they lie where all may.
const SECRET: [&str; 9] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/security/opasswd",
];
/// Where root finds files that no other user may read, and how deep they are
/// looked for.
const PRIVATE: [(&str, usize); 2] = [("/etc", 5), ("/opt", 2)];
/// How many entries are searched for such files, and how many are hidden one by
/// one. With more, the folder itself is not shown.
const MOST_ENTRIES: usize = 20_000;
const MOST_HIDDEN: usize = 300;
/// Links that are followed one after another.
const MAX_LINKS: usize = 40;

impl Policy {
    /// Allows what every program needs.
    pub(super) fn grant_defaults(&mut self, variable: impl Fn(&str) -> Option<OsString>) {
        for folder in SYSTEM.map(Path::new) {
            if let Ok(target) = folder.read_link() {
                self.links.push((folder.to_owned(), target));
            }
            self.read.extend(folder.canonicalize());
        }
        if let Some(home) = self.home.clone() {
            for name in PACKAGES {
                let path = home.join(name);
                if is_free_of_links(&path) && !self.is_written(&path) {
                    self.read.push(path);
                }
            }
        }
        for name in WRITTEN {
            self.grant_named(name, variable(name), |policy| &mut policy.write);
        }
        for name in READ {
            self.grant_named(name, variable(name), |policy| &mut policy.read);
        }
        if let Some(cargo) = variable("CARGO_HOME") {
            for name in OF_CARGO {
                let path = Path::new(&cargo).join(name);
                let path = path.exists().then(|| path.into_os_string());
                self.grant_named("CARGO_HOME", path, |policy| &mut policy.read);
            }
        }
        for folder in std::env::split_paths(&variable("PATH").unwrap_or_default()) {
            // A relative one would mean another folder for each program.
            let folder = folder.is_absolute().then(|| folder.into_os_string());
            self.grant_named("PATH", folder, |policy| &mut policy.read);
        }
        self.hide_secrets();
    }

    /// Allows a folder that a variable names, unless a command could have
    /// decided where it leads.
    fn grant_named(
        &mut self,
        variable: &str,
        named: Option<OsString>,
        list: impl Fn(&mut Self) -> &mut Vec<PathBuf>,
    ) {
        let Some(path) = named.filter(|it| !it.is_empty()).map(PathBuf::from) else {
            return;
        };
        if !path.exists() {
            return;
        }
        match self.named(&path) {
            Ok(Some(path)) => list(self).push(path),
            Ok(None) => {}
            Err(why) => self.ignored.push(Ignored {
                variable: variable.to_owned(),
                path,
                why: why.to_owned(),
            }),
        }
    }

    /// The folder that a variable names; `None` if it is allowed already. The
    /// error says why it is ignored.
    fn named(&self, path: &Path) -> Result<Option<PathBuf>, &'static str> {
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(is_plain) {
            return Err("it is not a plain absolute path");
        }
        let path = below_real_top(path);
        if self.is_written(&path) {
            // Whatever is really in there is allowed with the folder around it.
            return Ok(None);
        }
        if self.read.iter().any(|folder| path.starts_with(folder)) {
            return Ok(None);
        }
        if !is_free_of_links(&path) {
            return Err("a link leads to it");
        }
        let holds = |other: &Path| other.starts_with(&path);
        if path.parent().is_none() || self.home.as_deref().is_some_and(holds) {
            return Err("it holds the home folder");
        }
        Ok(Some(path))
    }

    /// Allows reading a path, if it exists. Links are followed, except for
    /// those that commands could have planted.
    pub fn allow_reading(&mut self, path: impl AsRef<Path>) {
        let path = followed(path.as_ref(), &self.write);
        self.read.extend(path);
    }

    /// Allows reading and writing a path, if it exists. Links are followed as
    /// in [`Policy::allow_reading`].
    pub fn allow_writing(&mut self, path: impl AsRef<Path>) {
        let path = followed(path.as_ref(), &self.write);
        self.write.extend(path);
    }

    /// Hides what only the system may read, and from root's commands what only
    /// root may.
    fn hide_secrets(&mut self) {
        let secrets = SECRET.map(PathBuf::from).into_iter();
        self.hidden.extend(secrets.filter(|path| path.exists()));
        if geteuid().is_root() {
            for (folder, depth) in PRIVATE {
                match private_entries(Path::new(folder), depth) {
                    Some(private) => self.hidden.extend(private),
                    None => self.read.retain(|path| path != Path::new(folder)),
                }
            }
        }
        self.hidden.sort();
        self.hidden.dedup();
    }
}

/// Whether a path exists and no link leads to it.
#[cfg(target_os = "linux")]
fn is_free_of_links(path: &Path) -> bool {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).is_ok()
}

/// The same, folder by folder, where no command is in a sandbox that it could
/// widen in between.
#[cfg(not(target_os = "linux"))]
fn is_free_of_links(path: &Path) -> bool {
    path.exists() && !path.ancestors().any(Path::is_symlink)
}

/// The path with its first folder as it really is: systems have links such as
/// `/home` there, and no command can make one.
fn below_real_top(path: &Path) -> PathBuf {
    let mut parts = path.components();
    let top: PathBuf = parts.by_ref().take(2).collect();
    let top = top.canonicalize().unwrap_or(top);
    parts.fold(top, |path, part| path.join(part))
}

/// Where a path really is. A link that lies in one of the `untrusted` folders is
/// an error: a command could have made it.
fn followed(path: &Path, untrusted: &[PathBuf]) -> io::Result<PathBuf> {
    let names = |path: &Path| -> Vec<OsString> {
        let parts = path.components().filter(|part| *part != Component::RootDir);
        parts
            .rev()
            .map(|part| part.as_os_str().to_owned())
            .collect()
    };
    let mut rest = names(&std::path::absolute(path)?);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(name);
        if !fs::symlink_metadata(&next)?.is_symlink() {
            real = next;
            continue;
        }
        links += 1;
        let is_planted = untrusted.iter().any(|folder| next.starts_with(folder));
        if is_planted || links > MAX_LINKS {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let target = next.read_link()?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        rest.extend(names(&target));
    }
    Ok(real)
}

/// The entries of a folder, to a depth, that other users may not read. `None`
/// if there are too many entries to look at.
fn private_entries(folder: &Path, depth: usize) -> Option<Vec<PathBuf>> {
    let mut private = Vec::new();
    let mut looked_at = 0;
    let mut folders = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MOST_ENTRIES || private.len() > MOST_HIDDEN {
                return None;
            }
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let (path, kind) = (entry.path(), metadata.file_type());
            if kind.is_symlink() {
                continue;
            }
            let needed = if kind.is_dir() { 0o005 } else { 0o004 };
            if metadata.mode() & needed != needed {
                private.push(path);
            } else if kind.is_dir() && depth > 1 {
                folders.push((path, depth - 1));
            }
        }
    }
    Some(private)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::Workspace;

    struct Scene {
        folder: tempfile::TempDir,
        policy: Policy,
    }

    /// A workspace, and a home outside of it.
    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["workspace", "home/.ssh", "home/tools"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let workspace = Workspace::open(root.join("workspace")).unwrap();
        let mut policy = Policy::new(&workspace);
        policy.home = Some(root.join("home"));
        policy.read.clear();
        Scene { folder, policy }
    }

    impl Scene {
        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(name)
        }

        fn with(&mut self, name: &str, value: &str) {
            let value = self.path(value).into_os_string();
            self.policy
                .grant_defaults(|asked| (asked == name).then(|| value.clone()));
        }

        fn grants(&self, name: &str) -> bool {
            let path = self.path(name);
            let policy = &self.policy;
            let granted = policy.read.iter().chain(policy.write.iter().skip(1));
            granted.into_iter().any(|folder| path.starts_with(folder))
        }
    }

    #[test]
    fn a_variable_that_names_a_plain_folder_grants_it() {
        for name in ["VIRTUAL_ENV", "PATH", "CARGO_TARGET_DIR", "GOCACHE"] {
            let mut scene = scene();
            scene.with(name, "home/tools");
            assert!(scene.grants("home/tools"), "{name}");
            assert!(!scene.grants("home/.ssh"), "{name}");
        }
    }

    #[test]
    fn a_variable_grants_nothing_through_a_link() {
        for name in ["VIRTUAL_ENV", "PATH", "CARGO_TARGET_DIR", "GOCACHE"] {
            for at in ["workspace/link", "home/link", "home/tools/link"] {
                let mut scene = scene();
                symlink(scene.path("home"), scene.path(at)).unwrap();
                scene.with(name, at);
                assert!(!scene.grants("home/.ssh"), "{name} {at}");
                scene.with(name, &format!("{at}/.ssh"));
                assert!(!scene.grants("home/.ssh"), "{name} {at}");
            }
        }
    }

    #[test]
    fn a_variable_that_names_the_home_or_what_is_above_grants_nothing() {
        for at in ["home", "", "home/../home"] {
            let mut scene = scene();
            scene.with("GOPATH", at);
            assert!(!scene.grants("home/.ssh"), "{at}");
            assert_eq!(scene.policy.ignored.len(), 1, "{at}");
        }
    }

    #[test]
    fn configured_folders_follow_links_but_none_from_where_commands_write() {
        let mut scene = scene();
        symlink("tools", scene.path("home/link")).unwrap();
        symlink(scene.path("home"), scene.path("workspace/planted")).unwrap();
        let [trusted, planted] = ["home/link", "workspace/planted/.ssh"].map(|it| scene.path(it));
        scene.policy.allow_reading(&trusted);
        assert!(scene.grants("home/tools"));
        scene.policy.allow_reading(&planted);
        scene.policy.allow_writing(&planted);
        assert!(!scene.grants("home/.ssh"));
    }

    #[test]
    fn what_others_may_not_read_is_found() {
        let scene = scene();
        let mode = |name: &str, mode| {
            let path = scene.path(name);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        fs::write(scene.path("home/tools/key"), "").unwrap();
        fs::write(scene.path("home/tools/open"), "").unwrap();
        mode("home/tools/key", 0o640);
        mode("home/tools/open", 0o644);
        mode("home/.ssh", 0o700);
        mode("home/tools", 0o755);
        let mut found = private_entries(&scene.path("home"), 2).unwrap();
        found.sort();
        assert_eq!(
            found,
            [scene.path("home/.ssh"), scene.path("home/tools/key")]
        );
    }
}
