//! The decoder of openclaw on any lines, which are rows of its database where they have that form.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heirloom_fuzz::decode_rows("openclaw", data));
