//! The variables that a program sees: a short list of the caller's own, none
//! of which is a secret, and those that keep programs from asking and paging.

use std::ffi::{OsStr, OsString};

/// What programs need to find their files, tools and language.
const INHERITED: [&str; 39] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "NVM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "GEM_HOME",
    "BUNDLE_PATH",
    "PKG_CONFIG_PATH",
];
/// Inherited unless they hold a user and a password.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];
/// Variables that keep programs from prompts, pagers and colours.
const FIXED: [(&str, &str); 10] = [
    ("TERM", "dumb"),
    ("CI", "1"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Empty, it also overrules what git's configuration says.
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];
/// Parts of names that no inherited variable has.
const SECRET: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"];

/// The variables of this process that every program may see, and those that keep
/// programs from asking and paging.
#[must_use]
pub fn inherited() -> Vec<(OsString, OsString)> {
    variables(std::env::vars_os())
}

/// The variables for a program, of those that there are.
fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<_> = all
        .filter(|(name, value)| is_harmless(name, value))
        .collect();
    kept.extend(FIXED.map(|(name, value)| (name.into(), value.into())));
    kept
}

fn is_harmless(name: &OsStr, value: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    if PROXIES.contains(&name) {
        return !value.to_string_lossy().contains('@');
    }
    let is_wanted = INHERITED.contains(&name) || name.starts_with("LC_");
    is_wanted && !SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, value: &str) -> bool {
        variables([(name.into(), value.into())].into_iter()).len() > FIXED.len()
    }

    #[test]
    fn no_secret_passes() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "LC_API_KEY",
        ] {
            assert!(!kept(name, "x"), "{name}");
        }
        assert!(!kept("https_proxy", "http://user:word@proxy:1"));
        assert!(kept("https_proxy", "http://proxy:1"));
        assert!(kept("LC_ALL", "C.UTF-8"));
        assert!(kept("PATH", "/bin"));
    }
}
