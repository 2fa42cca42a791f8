//! Runs as text of another form: the native trace, and ATIF.
//!
//! Owns how a [`Trajectory`](crate::model::Trajectory) is written. Each run is written alone, on one
//! line, so that memory does not grow with their number. Refuses to judge, to open files, and to
//! leave anything out of the native form that a figure reads: what it gives, read again, has the
//! same figures under every config.

mod atif;
mod json;
mod masked;
mod native;

pub use atif::atif;
pub use masked::mask_json;
pub use native::native;
