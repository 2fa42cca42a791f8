//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const GEMINI_CLI: Format = Format {
    name: "gemini-cli",
    about: "Gemini CLI sessions",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
