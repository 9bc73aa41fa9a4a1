//! The decoder of opencode on any rows of its database.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heirloom_fuzz::decode_rows("opencode", data));
