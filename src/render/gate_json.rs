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
use super::report::{Ordered, ThresholdWire, WarningWire};
use super::sides_json::{
    BrokenWire, EndsWire, ErrorTypesWire, MeasuredWire, MixWire, PairingWire, broken_wire, ends,
    errors_wire, fallen_wire, measured_wire, mix_wire, p_wire, pairing_wire,
};
use crate::compare::{Gate, GatedMetric, MoreTrials, Needed, Shows, Verdict};

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
    /// Tasks that completed a smaller share of their trials without being broken, the hardest drop
    /// first.
    fallen_tasks: Vec<BrokenWire>,
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
    #[serde(flatten)]
    measured: MeasuredWire,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
struct BoundWire {
    /// Its confidence: 1 - alpha.
    level: f64,
    value: f64,
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
        fallen_tasks: fallen_wire(&gate.fallen_tasks),
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

fn gated_wire(gated: &GatedMetric, gate: &Gate) -> GatedWire {
    let evidence = &gated.evidence;
    let round = |value| rounded(value, decimals(gated.metric));
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
        measured: measured_wire(gated.metric, evidence),
    }
}

fn needed_wire(needed: &Needed) -> NeededWire {
    let (trials, both_sides) = match needed.trials {
        MoreTrials::Enough { more, both_sides, .. } => (Some(more), both_sides),
        MoreTrials::NoHelp | MoreTrials::Unknown => (None, false),
    };
    NeededWire {
        tasks: needed.tasks,
        trials,
        both_sides,
        shows: match needed.shows {
            Shows::NotWorse => "not_worse",
            Shows::Worse => "worse",
        },
    }
}
