//! What failed attempts look like on both sides: types that are new or gone, and whether their mix
//! has shifted.
//!
//! A type alone decides nothing: with few errors the total variation of two equal mixes is large
//! (`STATISTICS.md`, 5.2), so a shift needs both a test and a size.

use std::collections::BTreeMap;

use super::evidence::{TestOptions, small};
use super::pairing::{Mode, Pairing};
use crate::evaluate::RunRow;
use crate::metrics::LEVEL;
use crate::stats::{
    Design, bootstrap_tv, g_statistic, jensen_shannon_distance, permute_g, total_variation,
};

/// A shift smaller than this total variation is none, however sure it is.
pub const LEAST_SHIFT: f64 = 0.1;

/// Failed attempts of one error type and tool, on one side alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorSignature {
    /// The error's type.
    pub kind: String,
    /// The tool or node that failed.
    pub tool: Option<String>,
    /// Runs that have it.
    pub runs: u64,
    /// Failed attempts that have it.
    pub attempts: u64,
}

/// How the errors of both sides differ.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ErrorChanges {
    /// Signatures of the candidate that the baseline does not have, those in most runs first.
    pub new: Vec<ErrorSignature>,
    /// Signatures of the baseline that the candidate does not have, those in most runs first.
    pub gone: Vec<ErrorSignature>,
    /// Whether the mix of types has shifted; `None` where a side has no error.
    pub mix: Option<MixShift>,
}

/// How far two mixes of error types are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixShift {
    /// Failed attempts: of the baseline and of the candidate.
    pub errors: (u64, u64),
    /// Total variation: the share of errors that would have to change its type. 0 to 1.
    pub total_variation: f64,
    /// Its 95% interval by tasks; it never reaches 0, since chance alone moves a mix.
    pub interval: Option<(f64, f64)>,
    /// Jensen-Shannon distance, base 2. 0 to 1.
    pub jensen_shannon: f64,
    /// Likelihood-ratio statistic of the table of both mixes.
    pub g: f64,
    /// How probable a G this large is without a shift, by relabelling runs inside tasks, or
    /// whole tasks where they are not paired.
    pub p: f64,
    /// Whether p is at most alpha and the shift at least [`LEAST_SHIFT`].
    pub shifted: bool,
}

/// Error counts of the runs (unpaired: of the tasks) of one stratum by type: of the baseline and of the candidate.
type Stratum = (Vec<Vec<u32>>, Vec<Vec<u32>>);

type Signatures<'r> = BTreeMap<(&'r str, Option<&'r str>), (u64, u64)>;

fn signatures<'r>(rows: impl Iterator<Item = &'r RunRow>) -> Signatures<'r> {
    let mut found = Signatures::new();
    for row in rows {
        for error in &row.errors {
            let entry = found.entry((&*error.kind, error.tool.as_deref())).or_default();
            entry.0 += 1;
            entry.1 += u64::from(error.attempts);
        }
    }
    found
}

fn only(here: &Signatures<'_>, there: &Signatures<'_>) -> Vec<ErrorSignature> {
    let mut only: Vec<ErrorSignature> = here
        .iter()
        .filter(|(signature, _)| !there.contains_key(*signature))
        .map(|((kind, tool), (runs, attempts))| ErrorSignature {
            kind: (*kind).to_owned(),
            tool: tool.map(str::to_owned),
            runs: *runs,
            attempts: *attempts,
        })
        .collect();
    only.sort_by(|a, b| b.runs.cmp(&a.runs).then_with(|| a.cmp(b)));
    only
}

impl ErrorChanges {
    /// Compares the errors of the runs that are compared.
    #[must_use]
    pub fn of(pairing: &Pairing<'_>, options: &TestOptions) -> Self {
        let baseline = signatures(pairing.tasks.iter().flat_map(|t| t.baseline.iter().copied()));
        let candidate = signatures(pairing.tasks.iter().flat_map(|t| t.candidate.iter().copied()));
        Self {
            new: only(&candidate, &baseline),
            gone: only(&baseline, &candidate),
            mix: mix(pairing, options),
        }
    }
}

/// Counts of one run by error type.
fn counted(row: &RunRow, types: &BTreeMap<&str, usize>) -> Vec<u32> {
    let mut counts = vec![0_u32; types.len().min(MOST_TYPES + 1)];
    for error in &row.errors {
        if let Some(count) = types.get(&*error.kind).and_then(|at| counts.get_mut(*at)) {
            *count = count.saturating_add(error.attempts);
        }
    }
    counts
}

/// Types beyond these, the rarest, are one: a table of a million types tells nothing.
const MOST_TYPES: usize = 50;

/// Draws of the interval of the total variation.
const BOOTSTRAPS: u32 = 2_000;

fn mix(pairing: &Pairing<'_>, options: &TestOptions) -> Option<MixShift> {
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for row in pairing.tasks.iter().flat_map(|task| task.baseline.iter().chain(&task.candidate)) {
        for error in &row.errors {
            *totals.entry(&error.kind).or_default() += u64::from(error.attempts);
        }
    }
    let mut ranked: Vec<(&str, u64)> = totals.into_iter().collect();
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let types: BTreeMap<&str, usize> =
        ranked.iter().enumerate().map(|(at, (kind, _))| (*kind, at.min(MOST_TYPES))).collect();
    let width = types.len().min(MOST_TYPES + 1);
    // Runs by stratum, which is a task; or all tasks where they are not paired.
    let mut strata: Vec<Stratum> = Vec::new();
    let of = |rows: &[&RunRow]| -> Vec<Vec<u32>> {
        let mut counts: Vec<Vec<u32>> = rows.iter().map(|row| counted(row, &types)).collect();
        // The order of files must not matter to random relabelling.
        counts.sort();
        counts
    };
    match pairing.mode {
        Mode::Paired => {
            let both =
                pairing.tasks.iter().filter(|t| !t.baseline.is_empty() && !t.candidate.is_empty());
            strata.extend(both.map(|task| (of(&task.baseline), of(&task.candidate))));
        }
        // Tasks change sides as a whole: errors of one task are alike.
        Mode::Unpaired => {
            let whole = |runs: Vec<Vec<u32>>| {
                let add = |mut sum: Vec<u32>, run: Vec<u32>| {
                    sum.iter_mut().zip(run).for_each(|(sum, n)| *sum = sum.saturating_add(n));
                    sum
                };
                runs.into_iter().reduce(add)
            };
            let (mut baseline, mut candidate) = (Vec::new(), Vec::new());
            for task in &pairing.tasks {
                baseline.extend(whole(of(&task.baseline)));
                candidate.extend(whole(of(&task.candidate)));
            }
            baseline.sort();
            candidate.sort();
            strata.push((baseline, candidate));
        }
    }
    let sum = |runs: &[Vec<u32>]| {
        let mut sum = vec![0.0; width];
        for counts in runs {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += f64::from(*count));
        }
        sum
    };
    let by_task: (Vec<Vec<f64>>, Vec<Vec<f64>>) =
        strata.iter().map(|(b, c)| (sum(b), sum(c))).unzip();
    let total = |tasks: &[Vec<f64>]| {
        let mut total = vec![0.0; width];
        for counts in tasks {
            total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        total
    };
    let (baseline, candidate) = (total(&by_task.0), total(&by_task.1));
    let design = Design::new(strata.iter().map(|(b, c)| (small(b.len()), small(c.len()))))?;
    let runs: Vec<&Vec<u32>> = strata.iter().flat_map(|(b, c)| b.iter().chain(c)).collect();
    let draws = options.bounded(runs.len()).draws;
    let p = permute_g(&design, &runs, draws)?.p.greater;
    // There is none where a side has no error.
    let tv = total_variation(&candidate, &baseline)?;
    let interval = bootstrap_tv(&by_task.1, &by_task.0, BOOTSTRAPS, options.draws.seed, LEVEL).ok();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sums of counts")]
    let errors = |counts: &[f64]| counts.iter().sum::<f64>() as u64;
    Some(MixShift {
        errors: (errors(&baseline), errors(&candidate)),
        total_variation: tv,
        interval: interval.map(|interval| (interval.low, interval.high)),
        jensen_shannon: jensen_shannon_distance(&candidate, &baseline)?,
        g: g_statistic(&candidate, &baseline),
        p,
        shifted: p <= options.alpha && tv >= LEAST_SHIFT,
    })
}
