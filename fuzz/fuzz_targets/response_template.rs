//! Any response template, as a file and as a pattern: no panic, and the same
//! outcome however a reply is split.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptk_protocol::invariants::check_template(data));
