//! What a gate found, one sentence each: what annotations, SARIF and the reasons of the JSON tell.
//!
//! Owns how grave each is. A broken task alone does not fail a gate (one flaky trial makes one), so
//! it is as grave as the verdict of the whole.

use super::change::{Change, p_value, side, size, spoken_p, told};
use super::figures::{plural, threshold_line};
use super::number::count;
use super::report::{ThresholdWire, threshold_wire};
use crate::compare::{
    ErrorSignature, Gate, GatedMetric, HeldThreshold, MoreTrials, Needed, Shows, Verdict,
};
use crate::metrics::Standing;

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    PairingFailed,
    MetricRegression,
    GuardFired,
    ThresholdMissed,
    BrokenTask,
    Inconclusive,
    NewErrorType,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grave {
    Error,
    Warning,
    Note,
}

/// One thing that a gate found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) rule: Rule,
    pub(super) grave: Grave,
    /// The figure, task or error that it is about, as recorded.
    pub(super) subject: String,
    /// A few words.
    pub(super) title: String,
    /// A sentence with the numbers.
    pub(super) message: String,
    /// The task that it is about.
    pub(super) task: Option<String>,
}

/// What the gate found, the gravest kinds first.
pub(super) fn findings(gate: &Gate) -> Vec<Finding> {
    let mut all = Vec::new();
    let failed = gate.pairing.as_ref().filter(|pairing| !pairing.failures.is_empty());
    all.extend(failed.map(|pairing| Finding {
        rule: Rule::PairingFailed,
        grave: Grave::Error,
        subject: "pairing".to_owned(),
        title: "pairing failed".to_owned(),
        message: format!("the runs cannot all be paired: {}", pairing.failures.join("; ")),
        task: None,
    }));
    let of_verdict = |verdict| gate.metrics.iter().filter(move |gated| gated.verdict == verdict);
    all.extend(of_verdict(Verdict::Regression).map(|gated| Finding {
        rule: Rule::MetricRegression,
        grave: Grave::Error,
        subject: gated.metric.name.to_owned(),
        title: format!("{} regressed", gated.metric.name),
        message: sentence(gated, gate),
        task: None,
    }));
    if gate.guard.is_some_and(|guard| guard.fired) {
        all.push(Finding {
            rule: Rule::GuardFired,
            grave: Grave::Error,
            subject: "broken_tasks".to_owned(),
            title: "tasks broke".to_owned(),
            message: guard_sentence(gate),
            task: None,
        });
    }
    let held = |standing| gate.thresholds.iter().filter(move |held| held.standing == standing);
    all.extend(held(Standing::Missed).map(|held| Finding {
        rule: Rule::ThresholdMissed,
        grave: Grave::Error,
        subject: threshold_name(held),
        title: format!("threshold missed: {}", held.metric.name),
        message: threshold_sentence(held),
        task: None,
    }));
    let grave = if gate.verdict == Verdict::Regression { Grave::Error } else { Grave::Warning };
    all.extend(gate.broken_tasks.iter().map(|task| Finding {
        rule: Rule::BrokenTask,
        grave,
        subject: task.task_id.clone(),
        title: "broken task".to_owned(),
        message: format!(
            "task {} was completed in all of its baseline trials ({}/{}) and in none of the candidate's (0/{})",
            task.task_id,
            count(task.baseline),
            count(task.baseline),
            count(task.candidate)
        ),
        task: Some(task.task_id.clone()),
    }));
    all.extend(of_verdict(Verdict::Inconclusive).map(|gated| Finding {
        rule: Rule::Inconclusive,
        grave: Grave::Warning,
        subject: gated.metric.name.to_owned(),
        title: format!("{} is inconclusive", gated.metric.name),
        message: sentence(gated, gate),
        task: None,
    }));
    all.extend(held(Standing::Unknown).map(|held| Finding {
        rule: Rule::Inconclusive,
        grave: Grave::Warning,
        subject: threshold_name(held),
        title: format!("threshold not held: {}", held.metric.name),
        message: threshold_sentence(held),
        task: None,
    }));
    all.extend(gate.errors.new.iter().map(|error| Finding {
        rule: Rule::NewErrorType,
        grave: Grave::Note,
        subject: signature(error),
        title: "new error type".to_owned(),
        message: new_error(error),
        task: None,
    }));
    all
}

/// `tool_timeout@search_kb`.
pub(super) fn signature(error: &ErrorSignature) -> String {
    match &error.tool {
        Some(tool) => format!("{}@{tool}", error.kind),
        None => error.kind.clone(),
    }
}

/// `tool_timeout@search_kb is new (11 runs)`.
pub(super) fn new_error(error: &ErrorSignature) -> String {
    format!("{} is new ({} {})", signature(error), count(error.runs), plural(error.runs, "run"))
}

/// `final_completion_rate min`: a figure may have both bounds.
pub(super) fn threshold_name(held: &HeldThreshold) -> String {
    format!("{} {}", held.metric.name, held.bound.name())
}

/// What became of a bound.
pub(super) fn threshold_sentence(held: &HeldThreshold) -> String {
    threshold_line(&held_wire(held))
}

/// What became of a bound, for JSON.
pub(super) fn held_wire(held: &HeldThreshold) -> ThresholdWire {
    threshold_wire(held.metric, held.bound, held.limit, &held.figure, (held.standing, held.certain))
}

/// What the guard for broken tasks says.
pub(super) fn guard_sentence(gate: &Gate) -> String {
    let Some(guard) = gate.guard else { return String::new() };
    let says = if guard.fired { "more completions than" } else { "no more completions than" };
    format!(
        "single tasks lost {says} chance and what others won explain (p {}, fails at {})",
        p_value(Some(guard.p)),
        p_value(Some(guard.level))
    )
}

/// The numbers of a gated figure in a sentence.
pub(super) fn sentence(gated: &GatedMetric, gate: &Gate) -> String {
    let metric = gated.metric;
    let change = Change::of(metric, &gated.evidence, told(gated, gate.levels)).line();
    let numbers = format!(
        "{}: {}, from {} to {}, change {change} (95% CI), adjusted p {}",
        metric.name,
        gated.verdict.name(),
        side(metric, gated.evidence.baseline),
        side(metric, gated.evidence.candidate),
        p_value(spoken_p(gated)),
    );
    std::iter::once(numbers).chain(notes(gated)).chain(open(gated)).collect::<Vec<_>>().join("; ")
}

/// What is missing for a verdict: what these runs can tell, what would decide, and why not.
pub(super) fn open(gated: &GatedMetric) -> Vec<String> {
    let mut open = Vec::new();
    if gated.verdict == Verdict::Inconclusive {
        let shown = |harm: f64| size(gated.metric, &gated.evidence, harm);
        open.extend(gated.detectable.map(|size| format!("can detect >= {}", shown(size))));
        open.extend(gated.needed.as_ref().map(needed));
    }
    open.extend(gated.reason.clone());
    open
}

/// What stands beside the numbers of a gated figure.
pub(super) fn notes(gated: &GatedMetric) -> Vec<String> {
    let mut notes = Vec::new();
    let shown = |harm: f64| size(gated.metric, &gated.evidence, harm);
    if let Some(margin) = gated.margin.filter(|_| gated.verdict != Verdict::Improved) {
        notes.push(if gated.within_tolerance {
            format!("within tolerance: worse, by less than the margin {}", shown(margin))
        } else {
            format!("margin {}", shown(margin))
        });
    }
    notes.extend(gated.evidence.k.map(|k| format!("k = {k}")));
    if gated.evidence.ratio.is_some() {
        notes.push("geometric means".to_owned());
    }
    notes
}

/// What would decide.
fn needed(needed: &Needed) -> String {
    let tasks = needed.tasks.map(|more| format!("{} more {}", count(more), plural(more, "task")));
    let trials = match needed.trials {
        MoreTrials::Enough { more, both_sides, assumed } => {
            let sides = if both_sides { "on both sides" } else { "of the candidate" };
            let assumed = if assumed { " (if half of the spread lies between trials)" } else { "" };
            let trials = plural(more, "trial");
            Some(format!("{} more {trials} a task {sides}{assumed}", count(more)))
        }
        MoreTrials::NoHelp | MoreTrials::Unknown => None,
    };
    let what = match needed.shows {
        Shows::NotWorse => "for a pass",
        Shows::Worse => "to be sure that it is worse",
    };
    match (tasks, trials) {
        (Some(tasks), Some(trials)) => format!("{what} about {tasks}, or {trials}"),
        (Some(tasks), None) if needed.trials == MoreTrials::NoHelp => {
            format!("{what} about {tasks}; more trials alone do not help")
        }
        (Some(tasks), None) => format!("{what} about {tasks}"),
        (None, Some(trials)) => format!("{what} about {trials}"),
        (None, None) => "no size within reach would decide".to_owned(),
    }
}
