//! Command lines of a model: reading one neither panics nor takes without end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptk_tools::shell::CommandLine;

fuzz_target!(|text: &str| {
    let line = CommandLine::read(text);
    for command in line.commands() {
        let _ = (command.program(), command.is_known());
    }
    let _ = line.is_certain();
});
