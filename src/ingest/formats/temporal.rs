//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const TEMPORAL: Format = Format {
    name: "temporal",
    about: "Temporal workflow histories",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
