//! Duration, tokens and cost of a run.

use crate::model::{Stamp, Time, Tokens, Trajectory};

use super::judge::Notes;

/// Seconds that a run took: end minus start; else the latest end of an attempt minus the earliest
/// start, where all attempts have a start; else its own duration; else the sum over its attempts.
pub(super) fn duration(run: &Trajectory<'_>, notes: &mut Notes) -> Option<f64> {
    let mut mixed = false;
    let recorded = between(&run.started_at, &run.ended_at, &mut mixed)
        .or_else(|| over_attempts(run, &mut mixed))
        .or_else(|| run.duration_ms.map(|ms| ms / 1e3))
        .or_else(|| {
            let known =
                || run.attempts.iter().filter_map(|attempt| attempt.duration_ms).filter(usable);
            known().next().map(|_| known().sum::<f64>() / 1e3)
        });
    if mixed {
        notes.add("mixed_time_zones", "", run.place);
    }
    match recorded {
        Some(seconds) if seconds.is_finite() && seconds >= 0.0 => Some(seconds),
        Some(_) => {
            notes.add("unusable_duration", "", run.place);
            None
        }
        None => None,
    }
}

fn between(start: &Option<Stamp<'_>>, end: &Option<Stamp<'_>>, mixed: &mut bool) -> Option<f64> {
    let (start, end) = (start.as_ref()?.time()?, end.as_ref()?.time()?);
    *mixed |= start.zoned != end.zoned;
    end.seconds_since(start)
}

fn over_attempts(run: &Trajectory<'_>, mixed: &mut bool) -> Option<f64> {
    let (mut first, mut last): (Option<Time>, Option<Time>) = (None, None);
    for attempt in &run.attempts {
        let start = attempt.started_at.as_ref()?.time()?;
        let end = attempt.ended_at.as_ref().and_then(Stamp::time).or_else(|| {
            let micros = attempt.duration_ms.filter(|ms| ms.is_finite())? * 1e3;
            Some(Time { micros: start.micros.saturating_add(rounded(micros)), ..start })
        });
        let zones = [Some(start), end, first, last];
        if zones.iter().flatten().any(|time| time.zoned != start.zoned) {
            *mixed = true;
            return None;
        }
        first = Some(first.map_or(start, |first| first.min(start)));
        last = last.max(end);
    }
    last?.seconds_since(first?)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float cast saturates, which is what is wanted"
)]
fn rounded(number: f64) -> i64 {
    number.round() as i64
}

/// Whether an amount can be summed: writers use negative ones and NaN for what they do not know.
fn usable(amount: &f64) -> bool {
    amount.is_finite() && *amount >= 0.0
}

/// Tokens of a run: the sum over its attempts, model turns among them; else what the run records.
pub(super) fn tokens(run: &Trajectory<'_>) -> Option<Tokens> {
    let mut sum = None;
    for tokens in run.attempts.iter().filter_map(|attempt| attempt.tokens) {
        *sum.get_or_insert_with(Tokens::default) += tokens;
    }
    sum.or(run.tokens)
}

/// Cost of a run in US dollars: the sum over its attempts; else what the run records.
pub(super) fn cost(run: &Trajectory<'_>, notes: &mut Notes) -> Option<f64> {
    let recorded = run.attempts.iter().filter_map(|attempt| attempt.cost_usd).chain(run.cost_usd);
    if recorded.into_iter().any(|cost| !usable(&cost)) {
        notes.add("unusable_cost", "", run.place);
    }
    let mut sum = None;
    for cost in run.attempts.iter().filter_map(|attempt| attempt.cost_usd).filter(usable) {
        *sum.get_or_insert(0.0) += cost;
    }
    sum.or(run.cost_usd.filter(usable))
}
