//! The codes of the rules of `diagnose`, so that configs and flags can be checked.

/// Every code, in the order in which findings are shown.
pub const RULE_CODES: &[&str] = &["repeated_step", "identical_retry"];
