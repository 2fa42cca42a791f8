//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const WHO_AND_WHEN: Format = Format {
    name: "who-and-when",
    about: "failure logs of Who&When",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
