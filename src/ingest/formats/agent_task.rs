//! To be written.

use super::{Format, Parsed, Reader};

/// To be written.
pub const AGENT_TASK: Format = Format {
    name: "agent-task",
    about: "exported rows of the table agent_task",
    detect: |_| false,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Whole(|_, _| Ok(Parsed::default())),
    archive: None,
    misspelt: None,
};
