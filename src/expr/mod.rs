//! The only place that names `cel`: expressions, compiled once and evaluated per attempt or run.
//!
//! Owns: compiling ([`Program`]), which fields a program reads ([`FieldPath`]), how recorded JSON
//! becomes a value ([`json_field`]), the verdict ([`Evaluator`]) and what was seen on the way
//! ([`Observations`], [`Finding`]). Refuses: knowing what a trajectory is (callers implement
//! [`Fields`]), reading configs, and printing.
//!
//! The language is CEL with four differences, each of which makes trace data behave as its readers
//! expect (`METRICS.md`, "In an expression"):
//!
//! - a field that the trace lacks reads as null, at any depth and also on the elements of a list;
//! - integers and floats mix in arithmetic, and `/` gives the real quotient where it is not whole,
//!   because JSON does not tell `5500` from `5500.0`; `/` and `%` by zero cannot be evaluated;
//! - what cannot be evaluated makes the whole expression false, and is counted;
//! - what an expression may cost is bounded, in nesting, in length and in elements visited.

mod error;
mod evaluate;
mod field;
mod functions;
mod observe;
mod parse;
mod places;
mod program;
mod rewrite;
mod value;

pub use error::{ExprError, snippet};
pub use evaluate::Evaluator;
pub use field::{
    Field, FieldPath, Fields, RUN_FIELDS, Root, SUBTASK_FIELDS, Segment, json_field, json_keys,
};
pub use observe::{Finding, Observations, PathObservation, Seen, State};
pub use parse::{MAX_BRACKETS, MAX_SOURCE};
pub use program::Program;
