//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const MINI_SWE_AGENT: Format = Format {
    name: "mini-swe-agent",
    about: "mini-swe-agent trajectories",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
