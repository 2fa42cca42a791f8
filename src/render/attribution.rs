//! Where runs part and turn, and how that meets labels, as parts of a diagnosis.

use schemars::JsonSchema;
use serde::Serialize;

use super::diagnose::DiagnosisPage;
use super::doc::{Column, Doc, Table};
use super::figures::plural;
use super::json::rounded;
use super::mask::mask;
use super::number::{count, percent, plain};
use crate::diagnose::{Accuracy, LabelScore, Parting, Share, Turn, TurnSign};

/// Actions that text shows; JSON has [`KEPT`].
const SHOWN: usize = 5;

/// Actions that JSON has.
const KEPT: usize = 50;

/// Turning points that text shows; JSON has all.
const SHOWN_TURNS: usize = 10;

/// The level at which an action is said to part the runs.
pub(super) const LEVEL: f64 = 0.05;

/// The published accuracy of the best model judges on the whole set of Who&When, which they score with
/// the task and all texts at hand (Zhang et al. 2025): agent and step.
const PUBLISHED: (f64, f64) = (0.535, 0.142);

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct AttributionWire {
    /// Tasks with a completed run and one that was not.
    tasks: u64,
    /// Their ended runs.
    runs: u64,
    /// Actions tested.
    tested: u64,
    /// Whether any of them could have been told from chance with so many runs.
    could_tell: bool,
    /// The actions with the smallest p-values.
    partings: Vec<PartingWire>,
    /// The step at which each run that ended without being completed most likely turned.
    turns: Vec<TurnWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct PartingWire {
    /// The step; null for anywhere in the run.
    step: Option<u32>,
    action: String,
    /// Runs that were not completed, of tasks in which the action is there: those with it.
    failed_with: u64,
    /// The same runs, with it or without, as far as they got to the step, or to the first at which a
    /// run of their task has the action.
    failed_runs: u64,
    /// The same of completed runs.
    completed_with: u64,
    completed_runs: u64,
    p: f64,
    /// Corrected over all that were tested (Holm).
    p_adjusted: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct TurnWire {
    run: String,
    step: u32,
    action: String,
    /// failed_step, failure_in_text, parts_from_completed or first_action.
    sign: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct LabelsWire {
    runs: u64,
    named: AccuracyWire,
    /// The first action of each run, which knows nothing.
    naive: AccuracyWire,
    /// The best model judges published for the whole set of Who&When: not a score of these runs.
    published: PublishedWire,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct PublishedWire {
    agent: f64,
    exact: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct AccuracyWire {
    exact: ShareWire,
    within_one: ShareWire,
    agent: ShareWire,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct ShareWire {
    met: u64,
    of: u64,
    low: Option<f64>,
    high: Option<f64>,
}

pub(super) fn attribution_wire(page: &DiagnosisPage<'_>) -> AttributionWire {
    let found = &page.diagnosis.attribution;
    let parting = |one: &Parting| PartingWire {
        step: one.step,
        action: mask(&one.action),
        failed_with: one.failed.0,
        failed_runs: one.failed.1,
        completed_with: one.completed.0,
        completed_runs: one.completed.1,
        p: rounded(Some(one.p), 9).unwrap_or(1.0),
        p_adjusted: rounded(Some(one.p_adjusted), 9).unwrap_or(1.0),
    };
    let turn = |turn: &Turn| TurnWire {
        run: mask(&(page.name)(turn.run).label),
        step: turn.step,
        action: mask(&turn.action),
        sign: turn.sign.name(),
    };
    AttributionWire {
        tasks: found.tasks,
        runs: found.runs,
        tested: found.tested,
        could_tell: found.could_tell,
        partings: found.partings.iter().take(KEPT).map(parting).collect(),
        turns: found.turns.iter().map(turn).collect(),
    }
}

pub(super) fn labels_wire(score: &LabelScore) -> LabelsWire {
    let share = |share: Share| ShareWire {
        met: share.met,
        of: share.of,
        low: rounded(share.interval.map(|ci| ci.0), 6),
        high: rounded(share.interval.map(|ci| ci.1), 6),
    };
    let accuracy = |accuracy: Accuracy| AccuracyWire {
        exact: share(accuracy.exact),
        within_one: share(accuracy.within_one),
        agent: share(accuracy.agent),
    };
    LabelsWire {
        runs: score.runs.len() as u64,
        named: accuracy(score.named),
        naive: accuracy(score.naive),
        published: PublishedWire { agent: PUBLISHED.0, exact: PUBLISHED.1 },
    }
}

pub(super) fn attribution_doc(page: &DiagnosisPage<'_>, doc: &mut Doc) {
    let found = &page.diagnosis.attribution;
    if found.tasks > 0 {
        doc.line("");
        doc.line(format!(
            "where runs part: {} {} of {} {} that some runs completed and some did not; {} {} tested within tasks, among the runs that got that far",
            count(found.runs),
            plural(found.runs, "run"),
            count(found.tasks),
            plural(found.tasks, "task"),
            count(found.tested),
            plural(found.tested, "action")
        ));
        let part = found.partings.iter().take_while(|one| one.p_adjusted <= LEVEL).count();
        if found.tested == 0 {
            doc.line("  no action is in enough of these runs, and missing in enough, to be tested");
        } else if !found.could_tell {
            doc.line(
                "  with so few runs no action could be told from chance, whatever they do; the nearest:",
            );
        } else if part == 0 {
            doc.line(
                "  no action is told from chance, corrected for how many were tested; the nearest:",
            );
        }
        if !found.partings.is_empty() {
            let shown = part.clamp(1, SHOWN.max(part)).max(SHOWN.min(3));
            let share = |(with, of): (u64, u64)| format!("{}/{}", count(with), count(of));
            doc.table(Table {
                columns: vec![
                    Column::right("step"),
                    Column::elastic("action"),
                    Column::right("not completed"),
                    Column::right("completed"),
                    Column::right("p"),
                    Column::right("p (Holm)"),
                ],
                rows: found
                    .partings
                    .iter()
                    .take(shown.min(KEPT))
                    .map(|one| {
                        vec![
                            one.step.map_or_else(|| "any".to_owned(), |step| step.to_string()),
                            // In front, since long names are cut at their end.
                            match one.action.strip_suffix(" failed") {
                                Some(action) => format!("failed: {action}"),
                                None => one.action.clone(),
                            },
                            share(one.failed),
                            share(one.completed),
                            plain(one.p, 4),
                            plain(one.p_adjusted, 3),
                        ]
                    })
                    .collect(),
            });
        }
    }
    if !found.turns.is_empty() {
        doc.line("");
        doc.line("where to look first in runs that were not completed:");
        let told = || found.turns.iter().filter(|turn| turn.sign != TurnSign::FirstAction);
        for turn in told().take(SHOWN_TURNS) {
            let sign = turn.sign.told();
            let run = (page.name)(turn.run).label;
            doc.line(format!("  run {run}  step {}  {}  ({sign})", turn.step, turn.action));
        }
        let more = told().count().saturating_sub(SHOWN_TURNS);
        if more > 0 {
            doc.line(format!("  {} more in --output json", count(more as u64)));
        }
        let without = found.turns.len() - told().count();
        if without > 0 {
            doc.line(format!(
                "  {} show no sign (JSON names their first action)",
                count(without as u64)
            ));
        }
    }
}

pub(super) fn labels_doc(score: &LabelScore, doc: &mut Doc) {
    doc.line("");
    doc.line(format!("turning points of {} labelled runs:", count(score.runs.len() as u64)));
    let share = |share: Share| {
        let ends = share.interval.map_or_else(String::new, |(low, high)| {
            format!(" [{}, {}]", plain(low * 100.0, 1), plain(high * 100.0, 1))
        });
        format!("{}/{}{ends}", count(share.met), count(share.of))
    };
    let row = |name: &str, accuracy: &Accuracy| {
        vec![
            name.to_owned(),
            share(accuracy.exact),
            share(accuracy.within_one),
            share(accuracy.agent),
        ]
    };
    doc.table(Table {
        columns: vec![
            Column::left("by"),
            Column::left("the step"),
            Column::left("it or one beside"),
            Column::left("the agent"),
        ],
        rows: vec![row("diagnose", &score.named), row("first action", &score.naive)],
    });
    doc.line(format!(
        "model judges at their best, published for all 184 runs of Who&When: step {}, agent {}",
        percent(PUBLISHED.1),
        percent(PUBLISHED.0)
    ));
}
