//! The gate's verdict as JSON, `agenteval.gate/1`: its wire form and nothing else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::change::told;
use super::figures::decimals;
use super::finding::{Finding, Grave, Rule, findings, held_wire, sentence};
use super::gate::GateContext;
use super::json::rounded;
use super::mask::mask;
use super::report::{Ordered, ThresholdWire, WarningWire, better, unit};
use crate::compare::{
    BrokenTask, ErrorChanges, ErrorSignature, Evidence, Gate, GatedMetric, Mode, Needed,
    PairingSummary, Shows, Verdict,
};
use crate::metrics::{LEVEL, Metric};

/// The report of `gate`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval gate")]
pub struct GateReport {
    /// Always `agenteval.gate/1`.
    schema: &'static str,
    /// Version of agenteval.
    agenteval: &'static str,
    /// pass, improved, inconclusive or regression.
    verdict: &'static str,
    /// What the verdict rests on where it is not pass: one sentence a finding.
    reasons: Vec<String>,
    /// The baseline; null without one.
    baseline: Option<BaselineWire>,
    /// Who is compared with whom; null without a baseline.
    pairing: Option<PairingWire>,
    /// Levels that adjusted p-values are held against.
    levels: LevelsWire,
    /// Gated figures by name, in order.
    #[schemars(with = "BTreeMap<String, GatedWire>")]
    metrics: Ordered<GatedWire>,
    /// The guard for tasks that broke; null where completion is not gated or tasks are not paired.
    guard: Option<GuardWire>,
    /// The config's bounds.
    thresholds: Vec<ThresholdWire>,
    /// Tasks whose baseline trials were all completed, and no candidate trial.
    broken_tasks: Vec<BrokenWire>,
    /// Error types on one side alone.
    error_types: ErrorTypesWire,
    /// How far the mixes of error types are apart; null where a side has no error.
    mix_shift: Option<MixWire>,
    /// What a reader should know.
    warnings: Vec<WarningWire>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct BaselineWire {
    name: String,
    /// SHA-256 of its file, in hex.
    sha256: String,
}

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

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
struct LevelsWire {
    /// For harm; the guard has the rest of alpha.
    harm: f64,
    /// For gain: alpha.
    gain: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct GatedWire {
    /// Over the tasks that are compared; a geometric mean where `ratio` is there.
    baseline: Option<f64>,
    candidate: Option<f64>,
    /// Candidate minus baseline.
    difference: Option<f64>,
    /// Interval of the difference.
    ci: Option<EndsWire>,
    /// One-sided p of harm.
    p: Option<f64>,
    /// The same, adjusted over all gated figures (Holm).
    p_adjusted: Option<f64>,
    /// One-sided p of gain.
    p_gain: Option<f64>,
    p_gain_adjusted: Option<f64>,
    /// Whether an adjusted p tells the difference from none.
    distinguishable: bool,
    /// How much worse is accepted.
    margin: Option<f64>,
    /// One-sided upper bound of the harm.
    harm_bound: Option<BoundWire>,
    /// pass, improved, inconclusive or regression.
    verdict: &'static str,
    /// Whether it is surely worse, but by less than the margin.
    within_tolerance: bool,
    /// The test; null where there is none.
    test: Option<&'static str>,
    /// Smallest harm that this size would have told in 80% of cases.
    detectable: Option<f64>,
    /// What would decide, where it is inconclusive.
    needed: Option<NeededWire>,
    /// Why something is missing.
    reason: Option<String>,
    unit: &'static str,
    better: Option<&'static str>,
    /// Candidate over baseline, where geometric means are compared.
    ratio: Option<RatioWire>,
    /// Tasks that are compared.
    tasks: SidesWire<usize>,
    /// Runs that are compared, lost ones among them.
    runs: SidesWire<usize>,
}

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(super) struct EndsWire {
    level: f64,
    low: f64,
    high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
struct BoundWire {
    /// Its confidence: 1 - alpha.
    level: f64,
    value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(super) struct RatioWire {
    value: f64,
    ci: Option<EndsWire>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
struct NeededWire {
    /// About so many more tasks; null where that is out of reach.
    tasks: Option<u64>,
    /// About so many more trials of each task; null where more trials do not help.
    trials: Option<u64>,
    /// Whether the trials are needed on both sides, or of the candidate alone.
    both_sides: bool,
    /// `not_worse` or `worse`: what they would likely show.
    shows: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
struct GuardWire {
    p: Option<f64>,
    level: f64,
    fired: bool,
}

/// A broken task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct BrokenWire {
    task_id: String,
    /// Completed of all trials, `3/3`.
    baseline: String,
    /// `0/3`; lost runs among them.
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

/// The verdict for JSON.
#[must_use]
pub fn gate_wire(gate: &Gate, context: &GateContext) -> GateReport {
    GateReport {
        schema: "agenteval.gate/1",
        agenteval: env!("CARGO_PKG_VERSION"),
        verdict: gate.verdict.name(),
        reasons: reasons(gate),
        baseline: context
            .baseline
            .as_ref()
            .map(|(name, sha256)| BaselineWire { name: name.clone(), sha256: sha256.clone() }),
        pairing: gate.pairing.as_ref().map(pairing_wire),
        levels: LevelsWire {
            harm: rounded(Some(gate.levels.harm), 6).unwrap_or_default(),
            gain: rounded(Some(gate.levels.gain), 6).unwrap_or_default(),
        },
        metrics: Ordered(
            gate.metrics.iter().map(|gated| (gated.metric.name, gated_wire(gated, gate))).collect(),
        ),
        guard: gate.guard.map(|guard| GuardWire {
            p: p_wire(Some(guard.p)),
            level: rounded(Some(guard.level), 6).unwrap_or_default(),
            fired: guard.fired,
        }),
        thresholds: gate.thresholds.iter().map(held_wire).collect(),
        broken_tasks: broken_wire(&gate.broken_tasks),
        error_types: errors_wire(&gate.errors),
        mix_shift: mix_wire(&gate.errors),
        warnings: context.warnings.clone(),
    }
}

/// What the verdict rests on; broken tasks alone are no reason, and have a list of their own.
fn reasons(gate: &Gate) -> Vec<String> {
    let of = |rests: &dyn Fn(&Finding) -> bool| -> Vec<String> {
        let all = findings(gate);
        all.iter().filter(|finding| rests(finding)).map(|finding| mask(&finding.message)).collect()
    };
    match gate.verdict {
        Verdict::Pass => Vec::new(),
        Verdict::Improved => {
            let improved = gate.metrics.iter().filter(|one| one.verdict == Verdict::Improved);
            improved.map(|gated| sentence(gated, gate)).collect()
        }
        Verdict::Inconclusive if gate.metrics.is_empty() && gate.thresholds.is_empty() => {
            vec!["nothing was compared".to_owned()]
        }
        Verdict::Inconclusive => of(&|finding| finding.rule == Rule::Inconclusive),
        Verdict::Regression => {
            of(&|finding| finding.grave == Grave::Error && finding.rule != Rule::BrokenTask)
        }
    }
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

fn gated_wire(gated: &GatedMetric, gate: &Gate) -> GatedWire {
    let evidence = &gated.evidence;
    let round = |value| rounded(value, decimals(gated.metric));
    let info = gated.metric.info();
    let (ci, narrow) = ends(gated.metric, evidence);
    GatedWire {
        baseline: round(evidence.baseline),
        candidate: round(evidence.candidate),
        difference: round(evidence.difference),
        ci,
        p: p_wire(gated.harm.p_harm),
        p_adjusted: p_wire(gated.p_adjusted),
        p_gain: p_wire(gated.harm.p_gain),
        p_gain_adjusted: p_wire(gated.gain_adjusted),
        distinguishable: told(gated, gate.levels),
        margin: round(gated.margin),
        harm_bound: round(gated.harm.bound).map(|value| BoundWire {
            level: rounded(Some(1.0 - gate.levels.gain), 6).unwrap_or_default(),
            value,
        }),
        verdict: gated.verdict.name(),
        within_tolerance: gated.within_tolerance,
        test: Some(evidence.test).filter(|test| !test.is_empty()),
        detectable: round(gated.detectable),
        needed: gated.needed.as_ref().map(needed_wire),
        reason: gated.reason.clone().or(narrow),
        unit: unit(info.unit),
        better: better(info.better),
        ratio: ratio_wire(evidence),
        tasks: evidence.tasks.into(),
        runs: evidence.runs.into(),
    }
}

fn needed_wire(needed: &Needed) -> NeededWire {
    NeededWire {
        tasks: needed.tasks,
        trials: needed.trials,
        both_sides: needed.both_sides,
        shows: match needed.shows {
            Shows::NotWorse => "not_worse",
            Shows::Worse => "worse",
        },
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

/// Candidate over baseline, for JSON.
pub(super) fn ratio_wire(evidence: &Evidence) -> Option<RatioWire> {
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
