//! The codes of the rules of `diagnose`, so that configs and flags can be checked.

/// Every code, in the order in which findings are shown.
pub const RULE_CODES: &[&str] = &[
    "unsafe_retry",
    "unapproved_risk",
    "repeated_step",
    "identical_retry",
    "retry_storm",
    "oscillation",
    "empty_reflection",
    "ignored_error",
    "no_end_condition",
    "goal_lost",
    "output_shape_changed",
    "output_breaks_schema",
    "contradictory_record",
    "weakest_link",
    "good_steps_bad_end",
    "growing_tokens",
    "failed_cost",
    "missing_fields",
];
