//! Parts of JSON that `gate` and `compare` share: who was compared, intervals, p-values, broken
//! tasks and errors.

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::decimals;
use super::json::rounded;
use super::mask::mask;
use super::report::{better, unit};
use crate::compare::{
    BrokenTask, ErrorChanges, ErrorSignature, Evidence, FallenTask, Mode, PairingSummary,
};
use crate::metrics::{LEVEL, Metric};

/// Who is compared with whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct PairingWire {
    /// paired, or unpaired: as two samples.
    mode: &'static str,
    /// Tasks on both sides.
    paired: usize,
    /// Tasks of the baseline.
    of_baseline: usize,
    /// Tasks without a candidate run.
    baseline_only: Vec<String>,
    /// Tasks that the baseline does not have.
    candidate_only: Vec<String>,
    /// Runs whose task and trial another run of the same side has.
    duplicates: Vec<DuplicateWire>,
    /// Runs without a task id.
    without_task: SidesWire<usize>,
    /// Tasks with fewer candidate runs than `expected_trials`.
    short: Vec<ShortWire>,
    /// Why the pairing failed; empty where it did not.
    failures: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct DuplicateWire {
    side: &'static str,
    task_id: String,
    /// The trial, or the run's id where it has none.
    trial: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct ShortWire {
    task_id: String,
    runs: usize,
    /// Runs that are not there; they count as not completed.
    lost: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct SidesWire<T> {
    pub(super) baseline: T,
    pub(super) candidate: T,
}

impl<T> From<(T, T)> for SidesWire<T> {
    fn from((baseline, candidate): (T, T)) -> Self {
        Self { baseline, candidate }
    }
}

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(super) struct EndsWire {
    level: f64,
    low: f64,
    high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
struct RatioWire {
    value: f64,
    ci: Option<EndsWire>,
}

/// What is compared of a figure, and over how much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(super) struct MeasuredWire {
    unit: &'static str,
    better: Option<&'static str>,
    /// Candidate over baseline (second over first), where geometric means are compared.
    ratio: Option<RatioWire>,
    /// The k of pass^k and pass@k: the largest that every task allows on both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<u64>,
    /// Tasks that are compared.
    tasks: SidesWire<usize>,
    /// Runs that are compared, lost ones among them.
    runs: SidesWire<usize>,
}

/// A task that is broken, or fell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct BrokenWire {
    task_id: String,
    /// Completed of all trials, `3/3`.
    baseline: String,
    /// The same of the candidate, lost runs among all: `0/3`.
    candidate: String,
}

/// Error types on one side alone, those in most runs first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct ErrorTypesWire {
    new: Vec<ErrorWire>,
    gone: Vec<ErrorWire>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct ErrorWire {
    r#type: String,
    /// The tool or node that failed; null where none is recorded.
    tool: Option<String>,
    /// Runs that have it.
    runs: u64,
    /// Failed attempts that have it.
    attempts: u64,
}

/// How far two mixes of error types are apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(super) struct MixWire {
    /// Failed attempts.
    errors: SidesWire<u64>,
    total_variation: Option<f64>,
    ci: Option<EndsWire>,
    jensen_shannon: Option<f64>,
    g: Option<f64>,
    p: Option<f64>,
    /// Whether the shift is sure, and large enough to matter.
    shifted: bool,
}

/// Who is compared with whom, for JSON.
pub(super) fn pairing_wire(pairing: &PairingSummary) -> PairingWire {
    let masked = |ids: &[String]| ids.iter().map(|id| mask(id)).collect::<Vec<String>>();
    PairingWire {
        mode: match pairing.mode {
            Mode::Paired => "paired",
            Mode::Unpaired => "unpaired",
        },
        paired: pairing.paired,
        of_baseline: pairing.of_baseline,
        baseline_only: masked(&pairing.baseline_only),
        candidate_only: masked(&pairing.candidate_only),
        duplicates: pairing
            .duplicates
            .iter()
            .map(|duplicate| DuplicateWire {
                side: duplicate.side.name(),
                task_id: mask(&duplicate.task),
                trial: mask(&duplicate.trial),
            })
            .collect(),
        without_task: pairing.without_task.into(),
        short: pairing
            .short
            .iter()
            .map(|(id, runs, lost)| ShortWire { task_id: mask(id), runs: *runs, lost: *lost })
            .collect(),
        failures: masked(&pairing.failures),
    }
}

/// The interval of a difference; or why it is not shown.
pub(super) fn ends(metric: &Metric, evidence: &Evidence) -> (Option<EndsWire>, Option<String>) {
    let digits = decimals(metric);
    let Some(interval) = evidence.interval else { return (None, None) };
    match interval_wire(interval, digits) {
        Some(ends) => (Some(ends), None),
        // Rounding must not leave an interval without width.
        None => (None, Some(format!("no interval: {digits} decimals do not show its width"))),
    }
}

fn interval_wire((low, high): (f64, f64), digits: usize) -> Option<EndsWire> {
    let (low, high) = (rounded(Some(low), digits)?, rounded(Some(high), digits)?);
    (low < high).then_some(EndsWire { level: LEVEL, low, high })
}

/// What is compared of a figure, for JSON.
pub(super) fn measured_wire(metric: &Metric, evidence: &Evidence) -> MeasuredWire {
    let info = metric.info();
    MeasuredWire {
        unit: unit(info.unit),
        better: better(info.better),
        ratio: ratio_wire(evidence),
        k: evidence.k,
        tasks: evidence.tasks.into(),
        runs: evidence.runs.into(),
    }
}

/// Candidate over baseline, for JSON.
fn ratio_wire(evidence: &Evidence) -> Option<RatioWire> {
    let (ratio, interval) = evidence.ratio?;
    let ci = interval.and_then(|interval| interval_wire(interval, 6));
    Some(RatioWire { value: rounded(Some(ratio), 6)?, ci })
}

/// A p-value to 6 decimals, a smaller one to 3 digits: one that is not 0 does not become 0.
pub(super) fn p_wire(p: Option<f64>) -> Option<f64> {
    let value = p.filter(|p| p.is_finite())?;
    let zeros = (0..330).find(|zeros| value >= 10_f64.powi(-(zeros + 1))).unwrap_or(330);
    let digits = usize::try_from(zeros).unwrap_or_default() + 3;
    rounded(Some(value), if value > 0.0 { digits.max(6) } else { 6 })
}

/// Broken tasks, for JSON.
pub(super) fn broken_wire(tasks: &[BrokenTask]) -> Vec<BrokenWire> {
    let wire = |task: &BrokenTask| BrokenWire {
        task_id: mask(&task.task_id),
        baseline: format!("{}/{}", task.baseline, task.baseline),
        candidate: format!("0/{}", task.candidate),
    };
    tasks.iter().map(wire).collect()
}

/// Fallen tasks, for JSON.
pub(super) fn fallen_wire(tasks: &[FallenTask]) -> Vec<BrokenWire> {
    let share = |(passed, of): (u64, u64)| format!("{passed}/{of}");
    let wire = |task: &FallenTask| BrokenWire {
        task_id: mask(&task.task_id),
        baseline: share(task.baseline),
        candidate: share(task.candidate),
    };
    tasks.iter().map(wire).collect()
}

/// Error types on one side alone, for JSON.
pub(super) fn errors_wire(errors: &ErrorChanges) -> ErrorTypesWire {
    let wire = |error: &ErrorSignature| ErrorWire {
        r#type: mask(&error.kind),
        tool: error.tool.as_deref().map(mask),
        runs: error.runs,
        attempts: error.attempts,
    };
    ErrorTypesWire {
        new: errors.new.iter().map(wire).collect(),
        gone: errors.gone.iter().map(wire).collect(),
    }
}

/// How far the mixes of error types are apart, for JSON.
pub(super) fn mix_wire(errors: &ErrorChanges) -> Option<MixWire> {
    errors.mix.as_ref().map(|mix| MixWire {
        errors: mix.errors.into(),
        total_variation: rounded(Some(mix.total_variation), 6),
        ci: mix.interval.and_then(|interval| interval_wire(interval, 6)),
        jensen_shannon: rounded(Some(mix.jensen_shannon), 6),
        g: rounded(Some(mix.g), 6),
        p: p_wire(Some(mix.p)),
        shifted: mix.shifted,
    })
}

#[cfg(test)]
mod tests {
    use super::{interval_wire, p_wire};

    #[test]
    fn a_small_p_stays_above_0_and_an_interval_keeps_its_width() {
        assert_eq!(p_wire(Some(0.012_345_678)), Some(0.012_346));
        assert_eq!(p_wire(Some(1.234_56e-12)), Some(1.23e-12));
        assert!(p_wire(Some(f64::MIN_POSITIVE)).is_some_and(|p| p > 0.0));
        assert_eq!([p_wire(Some(0.0)), p_wire(Some(f64::NAN))], [Some(0.0), None]);
        assert!(interval_wire((0.1, 0.100_000_1), 6).is_none());
    }
}
