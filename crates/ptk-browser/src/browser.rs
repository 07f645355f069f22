//! The user's Chromium: the executable, its profile, and whether it shows a
//! window.

use std::path::PathBuf;
use std::process::Stdio;

use crate::profile;
use crate::trouble::Trouble;

/// Executable names under which Chromium is looked up in `PATH`.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
];
/// The environment variables that name a display.
const SCREENS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// A Chromium executable and its profile. Logins stay in the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Browser {
    /// The folder of the profile. It is created if missing, and only the user
    /// can read it.
    pub profile: PathBuf,
    /// Whether to run without a window.
    pub headless: bool,
    /// The executable; if `None`, it is looked up in `PATH`.
    pub chromium: Option<PathBuf>,
    /// A file of cookies to load when the browser starts.
    pub cookies: Option<PathBuf>,
}

/// Error of [`Browser::open_window`].
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WindowError(Trouble);

impl Browser {
    /// A headless Chromium with this profile.
    pub fn new(profile: impl Into<PathBuf>) -> Self {
        Self {
            profile: profile.into(),
            headless: true,
            chromium: None,
            cookies: None,
        }
    }

    /// Opens an address in a window with this profile, so that the user can log
    /// in, and waits until it is closed. Only the user controls that window.
    ///
    /// # Errors
    ///
    /// If there is no Chromium, it cannot show a window, or something else uses
    /// the profile.
    pub fn open_window(&self, url: &str) -> Result<(), WindowError> {
        self.window(url).map_err(WindowError)
    }

    fn window(&self, url: &str) -> Result<(), Trouble> {
        let program = self.program()?;
        let has = |name| std::env::var_os(name).is_some_and(|screen| !screen.is_empty());
        if cfg!(target_os = "linux") && !SCREENS.into_iter().any(has) {
            return Err(Trouble::NoScreen);
        }
        self.claim()?;
        let mut command = std::process::Command::new(&program);
        command
            .args(self.arguments())
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let output = command.output().map_err(|source| Trouble::NotRun {
            path: program,
            source,
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Trouble::EndedAtOnce { said: last(&said) })
    }

    /// The path of the executable to start.
    pub(crate) fn program(&self) -> Result<PathBuf, Trouble> {
        if let Some(path) = &self.chromium {
            return Ok(path.clone());
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
        let places = NAMES
            .iter()
            .flat_map(|name| folders.iter().map(move |it| it.join(name)));
        let mut places = places.filter(|path| path.is_file());
        places.next().ok_or(Trouble::NoChromium)
    }

    /// Command-line arguments that every Chromium process gets.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![format!("--user-data-dir={}", self.profile.display())];
        let plain = [
            "--no-first-run",
            "--no-default-browser-check",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-breakpad",
            "--disable-dev-shm-usage",
        ];
        arguments.extend(plain.map(str::to_owned));
        if profile::is_of_root() {
            // Its own sandbox does not work for root.
            arguments.push("--no-sandbox".to_owned());
        }
        arguments
    }

    /// Creates the profile, readable by the user only, and fails if another
    /// process uses it.
    pub(crate) fn claim(&self) -> Result<(), Trouble> {
        profile::claim(&self.profile)
    }
}

/// The last non-empty line of Chromium's stderr, for an error message.
pub(crate) fn last(said: &str) -> String {
    let line = said.lines().rfind(|line| !line.trim().is_empty());
    line.map_or_else(String::new, |line| format!(": {}", line.trim()))
}
