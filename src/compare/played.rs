//! The power of the exact test, by playing it.
//!
//! Tasks have success rates on a Beta law with the mean and the likeness of runs that are given; each
//! is worse by the same share of its rate. The random numbers are fixed, so a plan has the same
//! bytes every time.

use statrs::distribution::{Beta, ContinuousCDF};

use crate::metrics::SEED;
use crate::stats::{SplitMix64, Stratum, stratified_exact};

/// Games; the standard error of a power of .8 is .009.
const GAMES: u64 = 2_000;

/// Runs of a side beyond which the normal formula is good enough, and games would take long.
const MOST_RUNS: u64 = 2_000;

/// How often the test at level `alpha` tells an `effect` on a success rate. `None` for an effect that
/// is not between 0 and the rate, and for more runs than games are worth.
pub(super) fn played_power(
    rate: f64,
    icc: f64,
    effect: f64,
    (tasks, trials): (u64, (u32, u32)),
    alpha: f64,
) -> Option<f64> {
    let playable = u64::from(trials.0.max(trials.1)).saturating_mul(tasks) <= MOST_RUNS;
    if !(effect > 0.0 && effect <= rate && rate < 1.0 && playable) {
        return None;
    }
    let rates = rates(rate, icc, tasks);
    let share = 1.0 - effect / rate;
    let mut told = 0_u64;
    for game in 0..GAMES {
        let mut random = SplitMix64::stream(SEED, game);
        let strata: Vec<Stratum> = rates
            .iter()
            .map(|rate| Stratum {
                baseline_successes: successes(&mut random, trials.0, *rate),
                baseline_runs: trials.0,
                candidate_successes: successes(&mut random, trials.1, rate * share),
                candidate_runs: trials.1,
            })
            .collect();
        told += u64::from(stratified_exact(&strata).mid.less <= alpha);
    }
    #[expect(clippy::cast_precision_loss, reason = "at most the number of games")]
    Some(told as f64 / GAMES as f64)
}

/// The rates of the tasks: quantiles of the Beta law, evenly spread.
#[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
fn rates(mean: f64, icc: f64, tasks: u64) -> Vec<f64> {
    let size = 1.0 / icc.clamp(0.001, 0.999) - 1.0;
    let Ok(law) = Beta::new(mean * size, (1.0 - mean) * size) else {
        return vec![mean; usize::try_from(tasks).unwrap_or_default()];
    };
    (0..tasks).map(|task| law.inverse_cdf((task as f64 + 0.5) / tasks as f64)).collect()
}

/// How many of `trials` succeed.
fn successes(random: &mut SplitMix64, trials: u32, rate: f64) -> u32 {
    // 53 bits of a word are a uniform number below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let succeeds = |word: u64| ((word >> 11) as f64) < rate * (1_u64 << 53) as f64;
    (0..trials).map(|_| u32::from(succeeds(random.next_u64()))).sum()
}
