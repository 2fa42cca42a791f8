//! Duration, tokens and cost of a run.

use crate::model::{Stamp, Time, Tokens, Trajectory, usable_amount};

use super::judge::Notes;

/// Seconds that a run took: end minus start; else the latest end of an attempt minus the earliest
/// start, where all attempts have a start; else its own duration; else the sum over its attempts.
pub(super) fn duration(run: &Trajectory<'_>, notes: &mut Notes) -> Option<f64> {
    let (mut mixed, mut beyond) = (false, false);
    let recorded = between(&run.started_at, &run.ended_at, &mut mixed)
        .or_else(|| over_attempts(run, &mut mixed))
        .or_else(|| run.duration_ms.map(|ms| ms / 1e3))
        .or_else(|| {
            let all = run.attempts.iter().filter_map(|attempt| attempt.duration_ms);
            let mut sum = None;
            for ms in all {
                match usable_amount(ms) {
                    true => *sum.get_or_insert(0.0) += ms,
                    false => beyond |= ms > 0.0,
                }
            }
            sum.map(|ms: f64| ms / 1e3)
        });
    if mixed {
        notes.add("mixed_time_zones", "", run.place);
    }
    let usable = recorded.filter(|seconds| usable_amount(*seconds));
    if beyond || usable != recorded {
        notes.add("unusable_duration", "", run.place);
    }
    usable
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

/// Tokens of a run: the sum over its attempts, model turns among them; else what the run records.
pub(super) fn tokens(run: &Trajectory<'_>, notes: &mut Notes) -> Option<Tokens> {
    let recorded = || run.attempts.iter().filter_map(|attempt| attempt.tokens);
    if recorded().chain(run.tokens).any(|tokens| !tokens.usable()) {
        notes.add("unusable_tokens", "", run.place);
    }
    let mut sum = None;
    for tokens in recorded().filter(Tokens::usable) {
        *sum.get_or_insert_with(Tokens::default) += tokens;
    }
    sum.or(run.tokens.filter(Tokens::usable))
}

/// Cost of a run in US dollars: the sum over its attempts; else what the run records.
pub(super) fn cost(run: &Trajectory<'_>, notes: &mut Notes) -> Option<f64> {
    let recorded = run.attempts.iter().filter_map(|attempt| attempt.cost_usd).chain(run.cost_usd);
    if recorded.into_iter().any(|cost| !usable_amount(cost)) {
        notes.add("unusable_cost", "", run.place);
    }
    let mut sum = None;
    let usable = |cost: &f64| usable_amount(*cost);
    for cost in run.attempts.iter().filter_map(|attempt| attempt.cost_usd).filter(usable) {
        *sum.get_or_insert(0.0) += cost;
    }
    sum.or(run.cost_usd.filter(usable))
}
