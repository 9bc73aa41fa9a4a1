//! The decoder of codex on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heirloom_fuzz::decode("codex", data));
