//! A pseudo-terminal with `ptk chat` in it.

use std::error::Error;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rexpect::process::PtyProcess;
use rustix::termios::{Winsize, tcsetwinsize};

/// The timeout of any wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The size of the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) rows: NonZero<u16>,
    pub(crate) columns: NonZero<u16>,
}

/// A terminal with a program in it.
pub(crate) struct Terminal {
    /// The process, which is ended on drop.
    _process: PtyProcess,
    pub(crate) keyboard: File,
    output: Receiver<Vec<u8>>,
    pub(crate) screen: vt100::Parser,
}

impl Terminal {
    pub(crate) fn new(command: Command, size: Size) -> Result<Self, Box<dyn Error>> {
        let process = PtyProcess::new(command)?;
        let mut reader = process.get_file_handle()?;
        tcsetwinsize(
            &reader,
            Winsize {
                ws_row: size.rows.get(),
                ws_col: size.columns.get(),
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )?;
        let (tell, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = vec![0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let read = bytes.get(..count).unwrap_or_default().to_vec();
                if tell.send(read).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            keyboard: process.get_file_handle()?,
            _process: process,
            output,
            screen: vt100::Parser::new(size.rows, size.columns, 0),
        })
    }

    pub(crate) fn types(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        Ok(self.keyboard.write_all(text.as_bytes())?)
    }

    /// Processes output until the screen meets a condition; false on timeout.
    pub(crate) fn until(
        &mut self,
        most: Duration,
        is_so: impl Fn(&str) -> bool,
    ) -> Result<bool, Box<dyn Error>> {
        let end = Instant::now() + most;
        while !is_so(&self.screen.screen().contents()) {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.output.recv_timeout(left) else {
                return Ok(false);
            };
            // Answers the device attributes query, as a terminal does.
            let has = |part: &[u8]| bytes.windows(part.len()).any(|it| it == part);
            if has(b"\x1b[c") {
                self.keyboard.write_all(b"\x1b[?62c")?;
            }
            self.screen.process(&bytes);
        }
        Ok(true)
    }

    pub(crate) fn shows(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        if self.until(PATIENCE, |screen| screen.contains(text))? {
            return Ok(());
        }
        Err(format!("never shown: {text}\n{}", self.screen.screen().contents()).into())
    }
}
