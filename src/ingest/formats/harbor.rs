//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const HARBOR: Format = Format {
    name: "harbor",
    about: "results of Harbor trials",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
