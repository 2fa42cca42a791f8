//! The list of rules, in the order in which they are shown.

mod identical_retry;
mod repeated_step;

use super::Rule;

/// Every rule.
pub static RULES: &[Rule] = &[repeated_step::RULE, identical_retry::RULE];
