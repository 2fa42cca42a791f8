//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const ATIF: Format = Format {
    name: "atif",
    about: "agent trajectories in the interchange format ATIF",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
