//! Prints the words that replies about tools are made of, as a dictionary for
//! libFuzzer.
//!
//! ```text
//! cargo run --package ptk-protocol --example words > words.dict
//! ```

use std::io::{self, Write as _};

use ptk_protocol::invariants::vocabulary;

/// libFuzzer takes no longer words.
const MAX_WORD: usize = 64;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for word in vocabulary().iter().filter(|word| word.len() <= MAX_WORD) {
        write!(out, "\"")?;
        for byte in word.bytes() {
            match byte {
                b'"' | b'\\' => write!(out, "\\{}", char::from(byte))?,
                b' '..=b'~' => out.write_all(&[byte])?,
                _ => write!(out, "\\x{byte:02x}")?,
            }
        }
        writeln!(out, "\"")?;
    }
    Ok(())
}
