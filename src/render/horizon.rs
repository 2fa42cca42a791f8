//! How errors add up, as a document and as JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::json::rounded;
use super::number::{count, percent, plain};
use crate::horizon::{Accumulation, Length, Projection, Verdict};

/// Lines of the table of steps that text shows; JSON has all.
const SHOWN: usize = 30;

/// Shares and their interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
struct ValueWire {
    /// The value; null where it is infinite or unknown.
    value: Option<f64>,
    /// Lower end of its 95% interval.
    low: Option<f64>,
    /// Upper end; null where it is infinite.
    high: Option<f64>,
}

fn value(value: f64, ends: Option<(f64, f64)>) -> ValueWire {
    let finite = |number: f64| rounded(Some(number).filter(|n| n.is_finite()), 6);
    ValueWire {
        value: finite(value),
        low: ends.and_then(|(low, _)| finite(low)),
        high: ends.and_then(|(_, high)| finite(high)),
    }
}

/// How errors add up, for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval horizon")]
pub struct HorizonWire {
    /// Always `agenteval.horizon/1`.
    schema: &'static str,
    /// Runs that are followed to their first failed step or their end.
    runs: u64,
    /// Their tasks.
    tasks: u64,
    /// Runs whose order of steps is unknown, or that have none.
    left_out: u64,
    /// Runs with a failed step.
    failed: u64,
    /// Runs without a failed step that are not known to have come to their end: right-censored.
    censored: u64,
    /// The same by why: keys of limits, `unfinished`, `unknown`.
    censored_by: BTreeMap<&'static str, u64>,
    /// The risk per step if every one of them had failed at its last step.
    hazard_if_cut_failed: Option<f64>,
    /// The first step after which at most half of the runs are without a failed one, as seen.
    median: Option<u32>,
    /// Steps taken until then.
    steps_taken: u64,
    /// A constant risk a step: first failures over steps taken.
    hazard: Option<ValueWire>,
    /// The same with the interval of independent steps.
    hazard_naive: Option<ValueWire>,
    /// Steps after which half of the runs have failed a step, by a constant risk; null where that lies
    /// beyond the steps that were taken and the runs do not agree with it.
    half_life: Option<ValueWire>,
    /// Steps after which four fifths are without a failed step, likewise.
    horizon_80: Option<ValueWire>,
    /// Whether the risk is constant.
    constant: ConstantWire,
    /// The risk that changes with the step: `S(n) = q^(n^beta)`.
    weibull: Option<WeibullWire>,
    /// Steps that were asked for.
    projections: Vec<ProjectionWire>,
    /// A line for each step at which a run ends or first fails.
    steps: Vec<StepWire>,
    /// Completion by the number of steps of a run.
    lengths: Vec<LengthWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct ConstantWire {
    /// `not_rejected`, `falling` (or different from task to task), `rising`, or `unknown`.
    verdict: &'static str,
    /// Slope of the logit of the risk on the logarithm of the step; its interval resamples tasks.
    slope: Option<ValueWire>,
    /// Twice the gain in log likelihood over a constant risk.
    lrt: Option<f64>,
    /// Its p-value as if runs of one task were independent.
    naive_p: Option<f64>,
    /// First and last step, first failures and steps taken of each third.
    thirds: Option<Vec<[u64; 4]>>,
    /// The p-value of the thirds, as if independent.
    thirds_naive_p: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
struct WeibullWire {
    q: f64,
    beta: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct ProjectionWire {
    steps: u32,
    /// Share of runs without a failed step, as seen; null beyond the last step that was taken.
    seen: Option<ValueWire>,
    /// By a constant risk; null where withheld.
    geometric: Option<ValueWire>,
    /// By a changing risk; null where withheld.
    weibull: Option<f64>,
    /// Beyond the last step that was taken.
    extrapolated: bool,
    /// Not shown, because the runs reject a constant risk.
    withheld: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct StepWire {
    step: u32,
    at_risk: u64,
    failed: u64,
    censored_or_ended: u64,
    hazard: f64,
    cumulative_hazard: f64,
    survival: ValueWire,
    /// Share of runs that failed a step by then, where ends without one compete.
    failed_by: Option<f64>,
    /// Share that ended by then without a failed step.
    ended_by: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct LengthWire {
    from: u32,
    to: u32,
    runs: u64,
    completed: u64,
    completion: ValueWire,
    /// What a constant risk a step leaves at the median number of steps.
    constant_risk: Option<f64>,
}

fn verdict(accumulation: &Accumulation) -> &'static str {
    match accumulation.constancy.verdict() {
        Verdict::NotRejected => "not_rejected",
        Verdict::Falling => "falling",
        Verdict::Rising => "rising",
        Verdict::Unknown => "unknown",
    }
}

/// The answer for JSON.
#[must_use]
pub fn horizon_wire(found: &Accumulation) -> HorizonWire {
    let survival = &found.survival;
    let risk = found.geometric;
    let constancy = &found.constancy;
    HorizonWire {
        schema: "agenteval.horizon/1",
        runs: survival.runs,
        tasks: survival.tasks,
        left_out: survival.left_out,
        failed: survival.failed,
        censored: found.censored.total(),
        censored_by: censored_by(found),
        hazard_if_cut_failed: rounded(found.if_cut_failed, 6),
        median: survival.median,
        steps_taken: risk.map_or(0, |risk| risk.fit.exposure),
        hazard: risk.map(|risk| value(risk.fit.hazard, risk.interval())),
        hazard_naive: risk.map(|risk| value(risk.fit.hazard, risk.naive)),
        half_life: horizon_at(found, 0.5).map(|(at, ends)| value(at, ends)),
        horizon_80: horizon_at(found, 0.8).map(|(at, ends)| value(at, ends)),
        constant: ConstantWire {
            verdict: verdict(found),
            slope: constancy.trend.map(|trend| value(trend.fit.slope, constancy.slope_interval)),
            lrt: constancy.trend.and_then(|trend| rounded(Some(trend.lrt), 6)),
            naive_p: constancy.trend.and_then(|trend| rounded(Some(trend.p), 9)),
            thirds: constancy.thirds.as_ref().map(|parts| {
                let third = |&(from, to, failed, taken): &(u32, u32, u64, u64)| {
                    [u64::from(from), u64::from(to), failed, taken]
                };
                parts.thirds.iter().map(third).collect()
            }),
            thirds_naive_p: constancy.thirds.as_ref().and_then(|t| rounded(Some(t.p), 9)),
        },
        weibull: found.weibull.and_then(|fit| {
            Some(WeibullWire { q: rounded(Some(fit.q), 9)?, beta: rounded(Some(fit.beta), 6)? })
        }),
        projections: found.projections.iter().map(projection_wire).collect(),
        steps: steps_wire(found),
        lengths: found.lengths.iter().map(length_wire).collect(),
    }
}

/// Why runs without a failed step were not followed to their end.
fn censored_by(found: &Accumulation) -> BTreeMap<&'static str, u64> {
    let mut by = found.censored.limits.clone();
    by.extend([("unfinished", found.censored.unfinished), ("unknown", found.censored.unknown)]);
    by.retain(|_, runs| *runs > 0);
    by
}

type Horizon = (f64, Option<(f64, f64)>);

/// Steps after which a share is left by a constant risk; `None` where that would be projected against
/// what the runs say, or what they cannot say.
fn horizon_at(found: &Accumulation, share: f64) -> Option<Horizon> {
    let (at, ends) = found.geometric?.horizon(share);
    let beyond = at > f64::from(found.survival.last);
    let agrees = found.constancy.verdict() == Verdict::NotRejected;
    (!beyond || agrees).then_some((at, ends))
}

fn projection_wire(at: &Projection) -> ProjectionWire {
    ProjectionWire {
        steps: at.steps,
        seen: at.seen.map(|(share, ends)| value(share, ends)),
        geometric: at.geometric.filter(|_| !at.withheld).map(|(share, ends)| value(share, ends)),
        weibull: rounded(at.weibull.filter(|_| !at.withheld), 6),
        extrapolated: at.extrapolated,
        withheld: at.withheld,
    }
}

fn steps_wire(found: &Accumulation) -> Vec<StepWire> {
    let lines = found.survival.table.iter();
    // Both tables are in the order of the steps.
    let mut incidence = found.incidence.iter().peekable();
    lines
        .map(|line| {
            while incidence.next_if(|by| by.time < line.time).is_some() {}
            let by = incidence.peek().filter(|by| by.time == line.time);
            StepWire {
                step: line.time,
                at_risk: line.at_risk,
                failed: line.events,
                censored_or_ended: line.censored,
                hazard: rounded(Some(line.hazard), 6).unwrap_or_default(),
                cumulative_hazard: rounded(Some(line.cumulative), 6).unwrap_or_default(),
                survival: value(line.survival, line.interval),
                failed_by: by.and_then(|by| rounded(Some(by.failed), 6)),
                ended_by: by.and_then(|by| rounded(Some(by.succeeded), 6)),
            }
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs")]
fn length_wire(length: &Length) -> LengthWire {
    LengthWire {
        from: length.steps.0,
        to: length.steps.1,
        runs: length.runs,
        completed: length.completed,
        completion: value(length.completed as f64 / length.runs as f64, length.interval),
        constant_risk: rounded(length.product, 6),
    }
}

pub(super) fn ends(ends: Option<(f64, f64)>, show: impl Fn(f64) -> String) -> String {
    ends.map_or_else(|| "-".to_owned(), |(low, high)| format!("[{}, {}]", show(low), show(high)))
}

pub(super) fn points(share: f64) -> String {
    plain(share * 100.0, 1)
}

pub(super) fn steps(number: f64) -> String {
    if number.is_finite() { plain(number, 1) } else { "no end".to_owned() }
}

/// The answer for people.
#[must_use]
pub fn horizon_doc(found: &Accumulation) -> Doc {
    let survival = &found.survival;
    let mut doc = Doc::default();
    doc.title(format!(
        "{} runs of {} tasks followed to their first failed step: {} failed one, {} were not followed to their end",
        count(survival.runs),
        count(survival.tasks),
        count(survival.failed),
        count(found.censored.total())
    ));
    if survival.left_out > 0 {
        doc.line(format!(
            "{} runs left out: their steps are unknown, or have no known order",
            count(survival.left_out)
        ));
    }
    let Some(risk) = found.geometric else {
        doc.line("no step was taken: there is nothing to follow");
        return doc;
    };
    let naive = risk.naive.map_or_else(String::new, |naive| {
        format!("; {} if all steps were independent", ends(Some(naive), points))
    });
    doc.line(format!(
        "risk per step     {} {} ({}/{} steps{naive})",
        percent(risk.fit.hazard),
        ends(risk.interval(), points),
        count(risk.fit.events),
        count(risk.fit.exposure)
    ));
    for (name, share) in [("half-life", 0.5), ("80% horizon", 0.8)] {
        doc.line(format!("{name:<17} {}", horizon_line(found, share)));
    }
    let by = censored_by(found);
    if !by.is_empty() {
        let parts: Vec<String> = by.iter().map(|(why, runs)| format!("{why} {runs}")).collect();
        let bound = found.if_cut_failed.map_or_else(String::new, |risk| {
            format!("; had all of them failed there, the risk would be {}", percent(risk))
        });
        doc.line(format!("not to their end  {}{bound}", parts.join(", ")));
    }
    doc.line(format!("constant risk?    {}", constant(found)));
    if !found.projections.is_empty() {
        doc.line("");
        doc.line("runs without a failed step, by step:");
        doc.table(projections(found));
    }
    doc.line("");
    doc.table(table_of_steps(found));
    let more = survival.table.len().saturating_sub(SHOWN);
    if more > 0 {
        doc.line(format!("{} more steps in --output json", count(more as u64)));
    }
    if !found.lengths.is_empty() {
        doc.line("");
        doc.line("completion by the number of steps of a run:");
        doc.table(table_of_lengths(&found.lengths));
    }
    doc
}

pub(super) fn horizon_line(found: &Accumulation, share: f64) -> String {
    let Some((at, interval)) = horizon_at(found, share) else {
        return "withheld: it lies beyond the steps that were taken, and the runs do not agree with a constant risk".to_owned();
    };
    let beyond = if at > f64::from(found.survival.last) { ", extrapolated" } else { "" };
    let rejected = matches!(found.constancy.verdict(), Verdict::Falling | Verdict::Rising);
    let rejected = if rejected { ", by a constant risk, which the runs reject" } else { "" };
    let seen = found.survival.median.filter(|_| share == 0.5);
    let seen = seen.map_or_else(String::new, |step| format!("; seen: {step}"));
    format!("{} steps {}{beyond}{rejected}{seen}", steps(at), ends(interval, steps))
}

pub(super) fn constant(found: &Accumulation) -> String {
    let constancy = &found.constancy;
    let Some(trend) = constancy.trend else {
        return match constancy.verdict() {
            Verdict::Falling | Verdict::Rising => format!(
                "no: first failures lie at one end of the runs (thirds of the steps, p {:.4} as if independent)",
                constancy.thirds.as_ref().map_or(1.0, |thirds| thirds.p)
            ),
            _ => "not told: too few failed steps at different places".to_owned(),
        };
    };
    let word = match constancy.verdict() {
        Verdict::NotRejected => "not rejected",
        Verdict::Falling => "no: it falls, or differs from task to task (the two look alike)",
        Verdict::Rising => "no: it rises",
        Verdict::Unknown => "not told: tasks cannot be resampled",
    };
    let resampled = match constancy.slope_interval {
        Some(interval) => format!(" {} over tasks", ends(Some(interval), |n| plain(n, 2))),
        None => String::new(),
    };
    let naive = if constancy.clustered { ", as if runs of a task were independent" } else { "" };
    format!(
        "{word}; slope {:+.2}{resampled} on ln(step), LRT {:.1} (p {:.4}{naive})",
        trend.fit.slope, trend.lrt, trend.p
    )
}

fn projections(found: &Accumulation) -> Table {
    let columns = [
        Column::right("steps"),
        Column::left("seen"),
        Column::left("constant risk"),
        Column::left("changing risk"),
        Column::left("note"),
    ];
    let share = |(share, interval): (f64, Option<(f64, f64)>)| {
        format!("{} {}", percent(share), ends(interval, points))
    };
    let untold = found.constancy.verdict() == Verdict::Unknown;
    let row = |at: &Projection| {
        let shown = |text: Option<String>| match text {
            _ if at.withheld => "withheld".to_owned(),
            Some(text) => text,
            None => "n/a".to_owned(),
        };
        let note = match (at.extrapolated, at.withheld) {
            (_, true) if untold => "whether the risk is constant is not told",
            (_, true) => "the runs reject a constant risk",
            (true, false) => "extrapolated",
            (false, _) => "",
        };
        vec![
            count(u64::from(at.steps)),
            at.seen.map_or_else(|| "n/a".to_owned(), share),
            shown(at.geometric.map(share)),
            shown(at.weibull.map(percent)),
            note.to_owned(),
        ]
    };
    Table { columns: columns.to_vec(), rows: found.projections.iter().map(row).collect() }
}

fn table_of_steps(found: &Accumulation) -> Table {
    let columns = [
        Column::right("step"),
        Column::right("at risk"),
        Column::right("failed"),
        Column::right("left"),
        Column::right("risk"),
        Column::left("without failure"),
        Column::right("failed by"),
        Column::right("ended by"),
    ];
    let row = |line: StepWire| {
        let share = |share: Option<f64>| share.map_or_else(|| "n/a".to_owned(), percent);
        let survival = line.survival;
        vec![
            count(u64::from(line.step)),
            count(line.at_risk),
            count(line.failed),
            count(line.censored_or_ended),
            percent(line.hazard),
            format!("{} {}", share(survival.value), ends(survival.low.zip(survival.high), points)),
            share(line.failed_by),
            share(line.ended_by),
        ]
    };
    Table {
        columns: columns.to_vec(),
        rows: steps_wire(found).into_iter().take(SHOWN).map(row).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs")]
fn table_of_lengths(lengths: &[Length]) -> Table {
    let columns = [
        Column::right("steps"),
        Column::right("completed"),
        Column::right("share"),
        Column::left("95% CI"),
        Column::right("constant risk"),
    ];
    let row = |length: &Length| {
        let (from, to) = length.steps;
        vec![
            if from == to { count(u64::from(from)) } else { format!("{from}-{to}") },
            format!("{}/{}", count(length.completed), count(length.runs)),
            percent(length.completed as f64 / length.runs as f64),
            ends(length.interval, points),
            length.product.map_or_else(|| "n/a".to_owned(), percent),
        ]
    };
    Table { columns: columns.to_vec(), rows: lengths.iter().map(row).collect() }
}
