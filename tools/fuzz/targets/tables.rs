#![no_main]

use robosieve_fuzz::claims;

libfuzzer_sys::fuzz_target!(|data: &[u8]| claims::tables::check(data));
