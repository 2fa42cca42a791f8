//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const TERMINAL_BENCH: Format = Format {
    name: "terminal-bench",
    about: "Terminal-Bench results",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
