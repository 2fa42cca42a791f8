//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const SWE_AGENT: Format = Format {
    name: "swe-agent",
    about: "SWE-agent trajectories",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
