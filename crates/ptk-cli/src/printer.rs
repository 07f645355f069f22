//! All output to a terminal goes through this module.
//!
//! File names, models and tools may contain codes that control a terminal. So
//! everything that is written to stdout or stderr is escaped if that is a
//! terminal, in every command: clippy rejects `io::stdout`, `io::stderr` and
//! the like anywhere else. Codes that ptk itself sends, mainly colours, are
//! sealed: they stand between two marks that are chosen at random when the
//! process starts, so that no text can contain them. If the output is not a
//! terminal, data is written unchanged, byte for byte.

use std::fmt::{self, Write as _};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, IsTerminal as _, Write};
use std::sync::LazyLock;

use anstream::{AutoStream, ColorChoice};
use clap::builder::styling;

use crate::view::clean;

/// The mark around a sealed code: Unicode noncharacters, in an order that is
/// different in each process.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let number = RandomState::new().build_hasher().finish();
    let digits = format!("{number:016x}");
    let digits = digits.chars().filter_map(|digit| digit.to_digit(16));
    let inner = digits.filter_map(|digit| char::from_u32(0xfde0 + digit));
    std::iter::once('\u{fdd0}').chain(inner).collect()
});

/// Seals a code for the terminal.
fn sealed(code: &str) -> String {
    let mark = MARK.as_str();
    format!("{mark}{code}{mark}")
}

/// Seals a code that moves the cursor or clears the line. It is written only to
/// a terminal.
pub(crate) fn control(code: &str) -> String {
    sealed(code)
}

/// Seals a character of an answer that joins or colours others.
pub(crate) fn verbatim(c: char) -> String {
    sealed(c.encode_utf8(&mut [0; 4]))
}

/// A text that links to an address, in terminals that support it. The address
/// has to be percent-encoded.
#[cfg(feature = "search")]
pub(crate) fn link(address: &str, text: &str) -> String {
    let open = sealed(&format!("\u{1b}]8;;{address}\u{1b}\\"));
    let close = sealed("\u{1b}]8;;\u{1b}\\");
    format!("{open}{text}{close}")
}

/// A text style. Displayed, it is sealed: `{style}` begins it, `{style:#}` ends
/// it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Style(styling::Style);

/// The supported colours.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AnsiColor {
    Red,
    Green,
    Yellow,
    Magenta,
    Cyan,
}

impl AnsiColor {
    pub(crate) const fn on_default(self) -> Style {
        Style(match self {
            Self::Red => styling::AnsiColor::Red.on_default(),
            Self::Green => styling::AnsiColor::Green.on_default(),
            Self::Yellow => styling::AnsiColor::Yellow.on_default(),
            Self::Magenta => styling::AnsiColor::Magenta.on_default(),
            Self::Cyan => styling::AnsiColor::Cyan.on_default(),
        })
    }
}

impl Style {
    pub(crate) const fn new() -> Self {
        Self(styling::Style::new())
    }

    pub(crate) const fn bold(self) -> Self {
        Self(self.0.bold())
    }

    pub(crate) const fn dimmed(self) -> Self {
        Self(self.0.dimmed())
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut code = String::new();
        if f.alternate() {
            write!(code, "{:#}", self.0)?;
        } else {
            write!(code, "{}", self.0)?;
        }
        if code.is_empty() {
            return Ok(());
        }
        f.write_str(&sealed(&code))
    }
}

/// The capabilities of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Surface {
    /// Whether it interprets codes, so that text has to be escaped.
    is_terminal: bool,
    has_colours: bool,
    notation: Notation,
}

/// How a control character is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// As `\u{1b}`.
    Text,
    /// As `\u001b`, so that JSON stays JSON.
    Json,
}

impl Surface {
    const fn of(is_terminal: bool, choice: ColorChoice) -> Self {
        Self {
            is_terminal,
            has_colours: !matches!(choice, ColorChoice::Never),
            notation: Notation::Text,
        }
    }

    /// Appends a sealed code, if the output supports it.
    fn push_sealed(self, out: &mut Vec<u8>, code: &[u8]) {
        let is_look =
            (code.starts_with(b"\x1b[") && code.ends_with(b"m")) || code.starts_with(b"\x1b]8;");
        let is_control = code.iter().any(u8::is_ascii_control);
        let is_wanted = match (is_look, is_control) {
            (true, _) => self.has_colours,
            (false, true) => self.is_terminal,
            (false, false) => true,
        };
        if is_wanted {
            out.extend_from_slice(code);
        }
    }

    /// Appends text, escaped if the output is a terminal.
    fn push_text(self, out: &mut Vec<u8>, text: &[u8]) {
        if !self.is_terminal {
            out.extend_from_slice(text);
            return;
        }
        for chunk in text.utf8_chunks() {
            let mut chars = chunk.valid().chars().peekable();
            while let Some(c) = chars.next() {
                // A CRLF line ending.
                let is_break = c == '\r' && chars.peek() == Some(&'\n');
                if clean::is_seen(c) {
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                } else if !is_break {
                    out.extend_from_slice(self.written_out(c).as_bytes());
                }
            }
            for byte in chunk.invalid() {
                out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
            }
        }
    }

    fn written_out(self, c: char) -> String {
        match self.notation {
            Notation::Text => c.escape_unicode().to_string(),
            Notation::Json => {
                let mut text = String::new();
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
                text
            }
        }
    }

    /// Renders a whole text for this output.
    fn render(self, text: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        for (number, part) in text.split(MARK.as_str()).enumerate() {
            if number % 2 == 0 {
                self.push_text(&mut out, part.as_bytes());
            } else {
                self.push_sealed(&mut out, part.as_bytes());
            }
        }
        out
    }
}

/// A writer that escapes text for its output.
#[derive(Debug)]
pub(crate) struct Printer<W: Write> {
    to: W,
    surface: Surface,
    /// Bytes that are not decided yet: the beginning of a mark, of a character
    /// or of a sealed code.
    pending: Vec<u8>,
    is_sealed: bool,
}

impl<W: Write> Printer<W> {
    pub(crate) const fn new(to: W, surface: Surface) -> Self {
        Self {
            to,
            surface,
            pending: Vec::new(),
            is_sealed: false,
        }
    }

    /// Sets the notation of escaped characters.
    pub(crate) fn notation(mut self, notation: Notation) -> Self {
        self.surface.notation = notation;
        self
    }

    /// Writes all bytes that are decided.
    fn advance(&mut self) -> io::Result<()> {
        let mark = MARK.as_bytes();
        let mut out = Vec::with_capacity(self.pending.len());
        let mut rest = self.pending.as_slice();
        while let Some(at) = rest.windows(mark.len()).position(|part| part == mark) {
            let (part, after) = rest.split_at(at);
            if self.is_sealed {
                self.surface.push_sealed(&mut out, part);
            } else {
                self.surface.push_text(&mut out, part);
            }
            self.is_sealed = !self.is_sealed;
            rest = after.get(mark.len()..).unwrap_or_default();
        }
        if !self.is_sealed {
            let held = rest.len() - undecided(rest, mark, self.surface.is_terminal);
            let (part, after) = rest.split_at(held);
            self.surface.push_text(&mut out, part);
            rest = after;
        }
        self.pending = rest.to_vec();
        self.to.write_all(&out)
    }
}

/// How many bytes at the end are not decided yet.
fn undecided(text: &[u8], mark: &[u8], is_terminal: bool) -> usize {
    let most = mark.len().min(text.len());
    let partial = (1..=most).rev().find(|length| {
        mark.get(..*length)
            .is_some_and(|start| text.ends_with(start))
    });
    if let Some(length) = partial {
        return length;
    }
    if !is_terminal {
        return 0;
    }
    if text.ends_with(b"\r") {
        return 1;
    }
    match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() => text.len() - error.valid_up_to(),
        // After an invalid byte, another character may begin.
        Err(_) => {
            let tail = text.get(text.len().saturating_sub(3)..).unwrap_or_default();
            let starts = tail.iter().rposition(|byte| *byte >= 0xc0);
            let incomplete = starts.and_then(|at| tail.get(at..)).filter(|rest| {
                std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none())
            });
            incomplete.map_or(0, <[u8]>::len)
        }
        Ok(_) => 0,
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        self.advance()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Writes everything at once: others may write to the same terminal.
    fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }
}

impl<W: Write> Drop for Printer<W> {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.pending);
        if rest.is_empty() || self.is_sealed {
            return;
        }
        let mut out = Vec::new();
        self.surface.push_text(&mut out, &rest);
        // There is nowhere to report an error.
        drop(self.to.write_all(&out));
        drop(self.to.flush());
    }
}

/// The only place where the streams of the process are used.
#[expect(
    clippy::disallowed_methods,
    reason = "what is written goes through the printer that is made of it"
)]
mod streams {
    use super::{AutoStream, Surface, io};
    use std::io::IsTerminal as _;

    pub(super) fn stdout() -> (io::Stdout, Surface) {
        let stdout = io::stdout();
        let surface = Surface::of(stdout.is_terminal(), AutoStream::choice(&stdout));
        (stdout, surface)
    }

    pub(super) fn stderr() -> (io::Stderr, Surface) {
        let stderr = io::stderr();
        let surface = Surface::of(stderr.is_terminal(), AutoStream::choice(&stderr));
        (stderr, surface)
    }
}

/// Standard output, for data.
pub(crate) fn stdout() -> Printer<io::BufWriter<io::Stdout>> {
    let (stdout, surface) = streams::stdout();
    Printer::new(io::BufWriter::new(stdout), surface)
}

/// Standard error, for everything else. Each write is sent at once.
pub(crate) fn stderr() -> Printer<io::Stderr> {
    let (stderr, surface) = streams::stderr();
    Printer::new(stderr, surface)
}

/// The raw terminal, for code that draws the whole screen and escapes all text
/// itself.
pub(crate) fn full_screen() -> io::Stdout {
    streams::stdout().0
}

pub(crate) fn is_stdout_terminal() -> bool {
    streams::stdout().1.is_terminal
}

pub(crate) fn is_stderr_terminal() -> bool {
    streams::stderr().1.is_terminal
}

/// Whether stdout supports colours.
pub(crate) fn has_colours() -> bool {
    streams::stdout().1.has_colours
}

/// The handle of standard error, to get its size.
#[cfg(unix)]
pub(crate) fn stderr_handle() -> io::Stderr {
    streams::stderr().0
}

/// Renders a text for a terminal that was opened by its path.
pub(crate) fn for_terminal(terminal: &std::fs::File, text: &str) -> Vec<u8> {
    Surface::of(terminal.is_terminal(), AutoStream::choice(terminal)).render(text)
}

/// A text without sealed codes, escaped as for a terminal.
pub(crate) fn plain(text: &str) -> String {
    let mut surface = Surface::of(true, ColorChoice::Never);
    let parts = text.split(MARK.as_str()).enumerate();
    let mut out = Vec::new();
    for (number, part) in parts {
        if number % 2 == 0 {
            surface.push_text(&mut out, part.as_bytes());
        } else {
            surface.is_terminal = false;
            surface.push_sealed(&mut out, part.as_bytes());
            surface.is_terminal = true;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
pub(crate) fn ansi(text: &str) -> String {
    let surface = Surface::of(true, ColorChoice::Always);
    String::from_utf8_lossy(&surface.render(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOLD: Style = Style::new().bold();
    const TERMINAL: Surface = Surface::of(true, ColorChoice::Always);
    const FILE: Surface = Surface::of(false, ColorChoice::Never);

    fn printed(surface: Surface, chunks: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, surface);
        for chunk in chunks {
            printer.write_all(chunk).unwrap();
        }
        drop(printer);
        out
    }

    #[test]
    fn only_what_was_sealed_is_obeyed() {
        let hostile = "\u{1b}[31m\u{9b}2J\u{7}\u{8}\r\u{7f}\u{202e}\u{200b}\u{1b}]52;c;eA==\u{7}";
        let text = format!("{BOLD}a{BOLD:#}{hostile}\r\nb\t{}", verbatim('\u{200d}'));
        let shown = String::from_utf8(printed(TERMINAL, &[text.as_bytes()])).unwrap();
        let rest = shown.strip_prefix("\u{1b}[1ma\u{1b}[0m").unwrap();
        assert_eq!(
            rest,
            "\\u{1b}[31m\\u{9b}2J\\u{7}\\u{8}\\u{d}\\u{7f}\\u{202e}\\u{200b}\\u{1b}]52;c;eA==\\u{7}\nb\t\u{200d}"
        );
        let forged = text.replace(MARK.as_str(), "\u{fdd0}");
        let shown = String::from_utf8(printed(TERMINAL, &[forged.as_bytes()])).unwrap();
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn data_in_a_file_stays_as_it_is() {
        let bytes = b"\x1b[31m\xff\xfe\x9b\r\n\x00\xef\xb7\x90";
        assert_eq!(printed(FILE, &[bytes]), bytes);
        let styled = format!("{BOLD}a{BOLD:#}");
        assert_eq!(printed(FILE, &[styled.as_bytes()]), b"a");
    }

    #[test]
    fn any_split_is_printed_alike() {
        let text = format!("{BOLD}ä{BOLD:#}\r\n\u{9b}x\r漢").into_bytes();
        let text = [text.as_slice(), b"\xff\xc3", "ä".as_bytes(), b"\xe6"].concat();
        for surface in [TERMINAL, FILE] {
            let whole = printed(surface, &[&text]);
            for at in 0..=text.len() {
                let (first, second) = text.split_at(at);
                assert_eq!(printed(surface, &[first, second]), whole, "{at}");
            }
        }
    }

    #[test]
    fn json_stays_json() {
        let json = serde_json::json!({"a": "\u{1b}\u{7f}\u{9b}\u{202e}\u{e0001}ä"}).to_string();
        let surface = Surface {
            notation: Notation::Json,
            ..TERMINAL
        };
        let shown = printed(surface, &[json.as_bytes()]);
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.chars().all(clean::is_seen), "{shown}");
        let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(value.to_string(), json);
    }
}
