//! The list of rules, in the order in which they are shown.

mod by_task;
mod contradictory_record;
mod empty_reflection;
mod failed_cost;
mod goal_lost;
mod good_steps_bad_end;
mod growing_tokens;
mod identical_retry;
mod ignored_error;
mod missing_fields;
mod no_end_condition;
mod oscillation;
mod output_breaks_schema;
mod output_shape;
mod repeated_step;
mod retry_storm;
mod unapproved_risk;
mod unsafe_retry;
mod weakest_link;

use super::Rule;

/// Every rule.
pub static RULES: &[Rule] = &[
    unsafe_retry::RULE,
    unapproved_risk::RULE,
    repeated_step::RULE,
    identical_retry::RULE,
    retry_storm::RULE,
    oscillation::RULE,
    empty_reflection::RULE,
    ignored_error::RULE,
    no_end_condition::RULE,
    goal_lost::RULE,
    output_shape::RULE,
    output_breaks_schema::RULE,
    contradictory_record::RULE,
    weakest_link::RULE,
    good_steps_bad_end::RULE,
    growing_tokens::RULE,
    failed_cost::RULE,
    missing_fields::RULE,
];
