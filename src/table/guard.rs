//! How much work SQL may be: pairs of rows, memory, time.
//!
//! Owns the bounds and their words. Refuses to guess: joins whose rows cannot be counted beforehand
//! are bounded by memory and time alone.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use polars::prelude::{DslPlan, Expr, JoinType};

/// The most pairs of rows that a join without an equality may look at.
pub(super) const MOST_PAIRS: u64 = 10_000_000;

/// The most memory that SQL may take beside the tables, in bytes. Where the system does not tell of
/// it (other than Linux), time alone is bounded.
const MOST_MEMORY: u64 = 4 << 30;

/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Why a plan is not run: it pairs too many rows.
pub(super) fn pairs(plan: &DslPlan, filtered: bool) -> Option<String> {
    match plan {
        DslPlan::IR { dsl, .. } => pairs(dsl, filtered),
        // A join whose pairs a WHERE narrows down may become one by an equality.
        DslPlan::Filter { input, .. } => pairs(input, true),
        DslPlan::Cache { input, .. }
        | DslPlan::Select { input, .. }
        | DslPlan::HStack { input, .. }
        | DslPlan::Slice { input, .. }
        | DslPlan::MatchToSchema { input, .. }
        | DslPlan::MapFunction { input, .. }
        | DslPlan::GroupBy { input, .. }
        | DslPlan::Distinct { input, .. }
        | DslPlan::Sort { input, .. } => pairs(input, filtered),
        DslPlan::Join { input_left, input_right, options, .. } => {
            let crossed = matches!(options.args.how, JoinType::Cross) && !filtered;
            let sizes = rows(input_left).zip(rows(input_right)).filter(|_| crossed);
            if let Some((left, right)) = sizes
                && left.saturating_mul(right) > MOST_PAIRS
            {
                return Some(format!(
                    "a join without an equality would pair {left} rows with {right}; at most {MOST_PAIRS} pairs are made: join `ON a.run = b.run`"
                ));
            }
            pairs(input_left, false).or_else(|| pairs(input_right, false))
        }
        DslPlan::Union { inputs, .. } | DslPlan::HConcat { inputs, .. } => {
            inputs.iter().find_map(|input| pairs(input, filtered))
        }
        _ => None,
    }
}

/// The rows of a plan where they can be counted beforehand: of tables, of parts of them, and of their pairs.
fn rows(plan: &DslPlan) -> Option<u64> {
    let plain = |expr: &Expr| {
        let mut inner = expr;
        while let Expr::Alias(of, _) = inner {
            inner = of;
        }
        matches!(inner, Expr::Column(_) | Expr::Selector(_))
    };
    match plan {
        DslPlan::IR { dsl, .. } => rows(dsl),
        DslPlan::DataFrameScan { df, .. } => Some(df.height() as u64),
        DslPlan::Select { input, expr, .. } if expr.iter().all(plain) => rows(input),
        DslPlan::Cache { input, .. }
        | DslPlan::HStack { input, .. }
        | DslPlan::Sort { input, .. } => rows(input),
        DslPlan::Slice { input, len, .. } => Some(rows(input)?.min(u64::from(*len))),
        DslPlan::Join { input_left, input_right, options, .. }
            if matches!(options.args.how, JoinType::Cross) =>
        {
            Some(rows(input_left)?.saturating_mul(rows(input_right)?))
        }
        _ => None,
    }
}

/// Why waiting for a result came to an end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Whoever made it is gone.
    Gone,
    /// A bound was reached: the words for it.
    Bound(String),
}

/// Waits for a result while time and memory are within their bounds. What is at work then goes on:
/// the program is to end.
pub(super) fn wait<T>(result: &Receiver<T>, most: Duration) -> Result<T, Ended> {
    let start = Instant::now();
    let before = resident().unwrap_or_default();
    loop {
        match result.recv_timeout(LOOK) {
            Ok(made) => return Ok(made),
            Err(RecvTimeoutError::Disconnected) => return Err(Ended::Gone),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if start.elapsed() >= most {
            return Err(Ended::Bound(format!(
                "the SQL was not done after {} s; ask for less, or wait longer with --timeout SECONDS",
                most.as_secs()
            )));
        }
        if resident().is_some_and(|now| now.saturating_sub(before) > MOST_MEMORY) {
            return Err(Ended::Bound(format!(
                "the SQL needs more than {} GiB of memory; ask for less: fewer columns, a WHERE, a join by an equality",
                MOST_MEMORY >> 30
            )));
        }
    }
}

/// The memory of this program, in bytes, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{Ended, wait};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_result_is_waited_for_as_long_as_was_asked() {
        let (tell, told) = channel();
        assert!(matches!(
            wait::<u8>(&told, Duration::from_millis(30)),
            Err(Ended::Bound(why)) if why.contains("--timeout")
        ));
        assert!(tell.send(7).is_ok());
        assert_eq!(wait(&told, Duration::from_secs(5)), Ok(7));
        drop(tell);
        assert_eq!(wait(&told, Duration::from_secs(5)), Err(Ended::Gone));
    }
}
