//! A Chromium process: started, controlled through pipes, and ended with all of
//! its child processes.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStderr};
use tokio::time::timeout;

use crate::browser::{Browser, last};
use crate::connection::Connection;
use crate::cookies;
use crate::trouble::Trouble;

/// The file descriptors on which Chromium reads commands and writes answers.
const COMMANDS: i32 = 3;
const ANSWERS: i32 = 4;
/// How long Chromium may take to start.
const START: Duration = Duration::from_secs(30);
/// How long Chromium may take to exit by itself.
const END: Duration = Duration::from_secs(5);
/// The most bytes of Chromium's stderr that are kept.
const MAX_SAID: usize = 4 * 1024;
/// Part of Chromium's error, in all versions, about a profile that is in use.
const TAKEN: &str = "ProcessSingleton";

/// A running browser. Dropping it kills it; [`Chromium::close`] lets it save
/// its profile first.
#[derive(Debug)]
pub(crate) struct Chromium {
    pub(crate) connection: Connection,
    child: Child,
    group: Option<Pid>,
}

impl Chromium {
    /// Starts Chromium, and sets the user's cookies.
    pub(crate) async fn start(browser: &Browser) -> Result<Self, Trouble> {
        let program = browser.program()?;
        let cookies = match &browser.cookies {
            Some(file) => cookies::read(file)?,
            None => Vec::new(),
        };
        browser.claim()?;
        let mut command = std::process::Command::new(&program);
        command
            .args(browser.arguments())
            .args([
                "--remote-debugging-pipe",
                "--disable-background-timer-throttling",
                "--disable-renderer-backgrounding",
                "--disable-backgrounding-occluded-windows",
            ])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if browser.headless {
            command.args(["--headless=new", "--disable-gpu"]);
        }
        command.arg("about:blank");
        let started = spawn(command);
        let (mut child, sender, receiver) = started.map_err(|source| Trouble::NotRun {
            path: program,
            source,
        })?;
        let said = child.stderr.take().map(overhear).unwrap_or_default();
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (connection, _) = Connection::on(sender, receiver);
        let mut chromium = Self {
            connection,
            child,
            group,
        };
        if let Err(trouble) = chromium.greet(&said).await {
            chromium.kill().await;
            let is_taken = said
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(TAKEN);
            if is_taken && let Err(in_use) = browser.claim() {
                return Err(in_use);
            }
            return Err(trouble);
        }
        if !cookies.is_empty() {
            let cookies: Vec<_> = cookies.iter().map(cookies::Cookie::to_value).collect();
            let set =
                chromium
                    .connection
                    .call(None, "Storage.setCookies", json!({"cookies": cookies}));
            if set.await.is_err() {
                chromium.close().await;
                return Err(Trouble::Refused("it did not take the cookies".to_owned()));
            }
        }
        Ok(chromium)
    }

    /// Waits until Chromium answers its first call.
    async fn greet(&mut self, said: &Mutex<String>) -> Result<(), Trouble> {
        let told = || last(&said.lock().unwrap_or_else(PoisonError::into_inner));
        let hello = self.connection.call(None, "Browser.getVersion", json!({}));
        tokio::select! {
            hello = timeout(START, hello) => match hello {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(_)) => {
                    // The last lines of stderr arrive when the process exits.
                    let _ = timeout(END, self.child.wait()).await;
                    Err(Trouble::EndedAtOnce { said: told() })
                }
                Err(_) => Err(Trouble::EndedAtOnce { said: ": it does not answer".to_owned() }),
            },
            _ = self.child.wait() => Err(Trouble::EndedAtOnce { said: told() }),
        }
    }

    /// Closes the browser in an orderly way, or kills it if that takes too
    /// long.
    pub(crate) async fn close(mut self) {
        let close = async {
            let _ = self.connection.call(None, "Browser.close", json!({})).await;
            self.child.wait().await
        };
        if timeout(END, close).await.is_err() {
            self.kill().await;
        }
    }

    /// Kills the browser and all of its child processes.
    async fn kill(&mut self) {
        // The process id is valid only until the child has been reaped.
        if let (Some(group), Ok(None)) = (self.group, self.child.try_wait()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait().await;
    }
}

/// Spawns a program with two pipes on the descriptors that Chromium uses.
fn spawn(mut command: std::process::Command) -> io::Result<(Child, pipe::Sender, pipe::Receiver)> {
    let (commands, sender) = io::pipe()?;
    let (receiver, answers) = io::pipe()?;
    let mappings = vec![
        FdMapping {
            parent_fd: OwnedFd::from(commands),
            child_fd: COMMANDS,
        },
        FdMapping {
            parent_fd: OwnedFd::from(answers),
            child_fd: ANSWERS,
        },
    ];
    command.fd_mappings(mappings).map_err(io::Error::other)?;
    let sender = pipe::Sender::from_file(File::from(OwnedFd::from(sender)))?;
    let receiver = pipe::Receiver::from_file(File::from(OwnedFd::from(receiver)))?;
    let mut command = tokio::process::Command::from(command);
    let child = command.kill_on_drop(true).spawn()?;
    // The command still holds Chromium's ends of the pipes.
    drop(command);
    Ok((child, sender, receiver))
}

/// Keeps the end of stderr, so that Chromium never blocks on writing to it.
fn overhear(mut stderr: ChildStderr) -> Arc<Mutex<String>> {
    let said = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&said);
    tokio::spawn(async move {
        let mut piece = [0; 1024];
        while let Ok(length @ 1..) = stderr.read(&mut piece).await {
            let text = String::from_utf8_lossy(piece.get(..length).unwrap_or_default());
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() > MAX_SAID {
                kept.clear();
            }
            kept.push_str(&text);
        }
    });
    said
}
