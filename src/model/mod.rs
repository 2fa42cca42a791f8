//! The one form that every format becomes, and the names of the figures.
//!
//! Owns: [`Trajectory`] and its parts as plain data, the places and reasons of
//! [`Issue`]s, the catalogue of names that configs are checked against, and the masking of
//! secrets, which holds for what is shown and for what is stored.
//! Refuses: input and output, judging (that is `evaluate/`), and serialisation
//! (wire structs live with the format or the renderer that needs them).

mod amount;
mod hash;
mod issue;
mod marked;
mod mask;
mod names;
mod rules;
mod time;
mod trajectory;
mod words;

pub use amount::{MOST_AMOUNT, usable_amount};
pub use hash::input_hash;
pub use issue::{Issue, Place, Severity};
pub use marked::{FLOAT_MARK, marked_float, unmarked};
pub use mask::mask;
pub use names::{Better, METRIC_NAMES, MetricName, Unit, nearest, resolve_metric};
pub use rules::RULE_CODES;
pub use time::{Stamp, Time};
pub use trajectory::{
    Attempt, EndRule, ErrorInfo, ErrorOrigin, Final, RetrySource, Score, ScoreValue, Tags, Tokens,
    Trajectory,
};
pub use words::{AttemptWord, RunWord, is_intervention, is_model_turn};
