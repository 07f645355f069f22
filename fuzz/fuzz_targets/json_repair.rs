//! Any text: no panic, valid JSON untouched, and what comes out is JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptk_protocol::invariants::check_repair(data));
