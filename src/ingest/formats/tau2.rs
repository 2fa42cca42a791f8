//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const TAU2: Format = Format {
    name: "tau2",
    about: "tau2-bench results",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
