//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const AUTOGEN: Format = Format {
    name: "autogen",
    about: "AutoGen messages",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
