//! Any reply, cut anywhere: no panic, every byte accounted for, the same
//! outcome however it is split.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptk_protocol::invariants::check_reply(data));
