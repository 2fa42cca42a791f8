//! An analysis as a document, and its figures as lines for CSV and NDJSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::json::rounded;
use super::mask::mask;
use super::number::{count, percent, plain};
use super::report::ThresholdWire;
use super::safe::shorten;
use crate::evaluate::{Limit, Outcome};
use crate::metrics::{Analysis, Counts, Figure, Group, Measured, Metric, Shape, metric};
use crate::model::Unit;

/// One figure of one group, for CSV and NDJSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureLine {
    /// `KEY=VALUE` of the group; null for all runs.
    pub group: Option<String>,
    /// The figure's name.
    pub metric: &'static str,
    /// Its value.
    pub value: Option<f64>,
    /// Its numerator.
    pub numerator: Option<f64>,
    /// Its denominator.
    pub denominator: Option<f64>,
    /// Lower end of the 95% interval.
    pub low: Option<f64>,
    /// Upper end of the 95% interval.
    pub high: Option<f64>,
}

/// Decimals to which a figure is rounded: 9 for money, else 6.
pub(super) fn decimals(metric: &Metric) -> usize {
    if metric.info().unit == Unit::Usd { 9 } else { 6 }
}

/// The figures of an analysis and of its groups, a line each.
#[must_use]
pub fn figure_lines(analysis: &Analysis) -> Vec<FigureLine> {
    let all = analysis.figures.iter().map(|figure| line(None, figure));
    let groups = analysis.groups.iter().flat_map(|group| {
        let name = group_name(group);
        group.analysis.figures.iter().map(move |figure| line(Some(name.clone()), figure))
    });
    all.chain(groups).collect()
}

fn line(group: Option<String>, (metric, figure): &Measured) -> FigureLine {
    let digits = decimals(metric);
    let interval = figure.interval.as_ref();
    FigureLine {
        group,
        metric: metric.name,
        value: rounded(figure.value, digits),
        numerator: rounded(figure.numerator, digits),
        denominator: rounded(figure.denominator, digits),
        low: rounded(interval.map(|ci| ci.low), digits),
        high: rounded(interval.map(|ci| ci.high), digits),
    }
}

fn group_name(group: &Group) -> String {
    format!("{}={}", group.by, group.value.as_deref().map_or("(none)".to_owned(), mask))
}

/// The analysis as people read it. `rejected` is the number of records that could not be read.
#[must_use]
pub fn analysis_doc(analysis: &Analysis, title: Option<&str>, rejected: u64) -> Doc {
    let mut doc = Doc::default();
    doc.title(head(analysis, title, rejected));
    body(&mut doc, analysis);
    for group in &analysis.groups {
        doc.line("");
        doc.title(head(&group.analysis, Some(&group_name(group)), 0));
        body(&mut doc, &group.analysis);
    }
    doc
}

/// The figures of a set or of a group.
fn body(doc: &mut Doc, analysis: &Analysis) {
    figures_table(doc, analysis);
    let shown = |name: &str| analysis.figures.iter().any(|(metric, _)| metric.name == name);
    let distributions = &analysis.distributions;
    if shown("step_type_distribution") && !distributions.step_type.is_empty() {
        doc.line(format!("steps    {}", shares(&distributions.step_type)));
    }
    if !distributions.error_type.is_empty() {
        doc.line(format!("errors   {}", shares(&distributions.error_type)));
    }
    if let Some(step) = analysis.riskiest {
        doc.line(format!(
            "riskiest step: {} ({} of the {} runs that reach it have a failed attempt there)",
            step.step,
            count(step.failed),
            count(step.reached)
        ));
    }
}

/// The table of figures; a reason that most intervals lack stands once below it.
fn figures_table(doc: &mut Doc, analysis: &Analysis) {
    let figures = &analysis.figures;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, figure) in figures.iter().filter(|(_, figure)| figure.value.is_some()) {
        if let Some(reason) = &figure.reason {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let common = reasons.into_iter().find(|(_, times)| *times > 2).map(|(reason, _)| reason);
    doc.table(table(figures, analysis, common));
    if let Some(reason) = common {
        doc.line(format!("\"-\" in 95% CI: {reason}"));
    }
}

pub(super) fn plural(number: u64, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

fn head(analysis: &Analysis, title: Option<&str>, rejected: u64) -> String {
    let mut parts: Vec<String> = title.map(|title| shorten(title, 60)).into_iter().collect();
    parts.push(runs_and_tasks(analysis));
    parts.push(format!("{} {}", count(analysis.attempts), plural(analysis.attempts, "attempt")));
    for outcome in [Outcome::Unfinished, Outcome::Unknown] {
        let number = analysis.runs.get(outcome);
        if number > 0 {
            parts.push(format!("{} {}", count(number), outcome.name()));
        }
    }
    if rejected > 0 {
        parts.push(format!(
            "{} {} rejected (agenteval inspect)",
            count(rejected),
            plural(rejected, "record")
        ));
    }
    parts.join("   ")
}

/// `50 tasks x 4 trials = 200 runs`, or as far as that holds.
pub(super) fn runs_and_tasks(analysis: &Analysis) -> String {
    let runs = analysis.runs.total();
    let runs_part = format!("{} {}", count(runs), plural(runs, "run"));
    let tasks = analysis.recorded_tasks;
    let product =
        analysis.trials.is_some_and(|(least, most)| least == most && tasks * least == runs);
    match tasks_phrase(tasks, analysis.trials) {
        Some(tasks) if product => format!("{tasks} = {runs_part}"),
        Some(tasks) => {
            let alone = u64::from(analysis.tasks).saturating_sub(analysis.recorded_tasks);
            match alone {
                0 => format!("{tasks}, {runs_part}"),
                _ => format!("{tasks}, {runs_part} ({} without a task id)", count(alone)),
            }
        }
        None => format!("{runs_part} (no task ids)"),
    }
}

/// `50 tasks x 4 trials`; `None` where no task id is recorded.
pub(super) fn tasks_phrase(tasks: u64, trials: Option<(u64, u64)>) -> Option<String> {
    let (least, most) = trials?;
    let trials = if least == most {
        format!("{} {}", count(least), plural(least, "trial"))
    } else {
        format!("{}-{} trials", count(least), count(most))
    };
    Some(format!("{} {} x {trials}", count(tasks), plural(tasks, "task")))
}

fn table(figures: &[Measured], analysis: &Analysis, common: Option<&str>) -> Table {
    let columns = vec![
        Column::left("metric"),
        Column::right("value"),
        Column::left("95% CI"),
        Column::right("counts"),
        Column::note("note"),
    ];
    let single = |(metric, _): &&Measured| !matches!(metric.shape, Shape::Distribution(_));
    let rows = figures
        .iter()
        .filter(single)
        .map(|(metric, figure)| {
            vec![
                metric.name.to_owned(),
                figure_value(metric, figure.value),
                interval(metric, figure),
                counts(figure),
                note(metric, figure, analysis, common),
            ]
        })
        .collect();
    Table { columns, rows }
}

/// A value in the figure's own unit.
#[must_use]
pub fn figure_value(metric: &Metric, value: Option<f64>) -> String {
    let Some(value) = value else { return "n/a".to_owned() };
    match metric.info().unit {
        Unit::Ratio => percent(value),
        Unit::Count | Unit::Steps => plain(value, 2),
        Unit::Seconds => {
            format!("{} s", if value == 0.0 { plain(value, 2) } else { amount(value) })
        }
        Unit::Tokens => plain(value, 0),
        Unit::Usd => format!("${}", plain(value, 4)),
    }
}

/// What became of a bound, in a sentence.
#[must_use]
pub fn threshold_line(threshold: &ThresholdWire) -> String {
    let show = |value: Option<f64>| match metric(threshold.metric) {
        Some(entry) => figure_value(entry, value),
        None => value.map_or("n/a".to_owned(), |value| plain(value, 2)),
    };
    let certain = match (threshold.verdict, threshold.certain, threshold.interval) {
        ("unknown", ..) => "",
        (_, true, _) => ", and so is its whole interval",
        (_, false, true) => ", but its interval does not settle it",
        (_, false, false) => ", with no interval to settle it",
    };
    format!(
        "threshold {} {} {}: {} ({}{certain})",
        threshold.metric,
        threshold.bound,
        show(Some(threshold.limit)),
        threshold.verdict,
        show(threshold.value),
    )
}

pub(super) fn interval(metric: &Metric, figure: &Figure) -> String {
    let Some(ci) = &figure.interval else { return "-".to_owned() };
    // As many decimals as it takes to tell the ends apart: a width that is there must show.
    let ends = |more: usize| {
        let end = |end: f64| match metric.info().unit {
            Unit::Ratio => format!("{:.*}", 1 + more, end * 100.0),
            Unit::Count | Unit::Steps => plain(end, 2 + more),
            Unit::Seconds => plain(end, if end < 100.0 { 2 + more } else { 1 + more }),
            Unit::Tokens => plain(end, more),
            Unit::Usd => plain(end, 4 + more),
        };
        (end(ci.low), end(ci.high))
    };
    let tried = (0..6).map(ends).find(|(low, high)| low != high);
    let (low, high) = tried.unwrap_or_else(|| ends(6));
    format!("[{low}, {high}]")
}

/// An amount with decimals enough for three digits, so that parts of a small sum can be told apart.
fn amount(number: f64) -> String {
    let decimals = [100.0, 1.0, 0.1, 0.01, 0.001, 0.0001].iter().position(|at| number.abs() >= *at);
    plain(number, decimals.map_or(6, |at| at + 1))
}

/// Numerator and denominator; or the number that the figure is taken over.
pub(super) fn counts(figure: &Figure) -> String {
    let show = |number: f64| if number.fract() == 0.0 { plain(number, 0) } else { amount(number) };
    match (figure.numerator, figure.denominator) {
        (Some(numerator), Some(denominator)) => {
            format!("{}/{}", show(numerator), show(denominator))
        }
        (None, Some(denominator)) => format!("n={}", show(denominator)),
        _ => "-".to_owned(),
    }
}

pub(super) fn note(
    metric: &Metric,
    figure: &Figure,
    analysis: &Analysis,
    common: Option<&str>,
) -> String {
    let mut notes: Vec<String> = Vec::new();
    notes.extend(figure.note.clone());
    match metric.name {
        "final_completion_rate" => notes.extend(completion_notes(analysis)),
        "avg_retry_count" => {
            notes.push(format!("retries: {}", analysis.retries.name()));
            let (identical, revised) = analysis.inferred_retries;
            if identical + revised > 0 {
                notes.push(format!("{} identical, {} revised", count(identical), count(revised)));
            }
            if analysis.lost > 0 {
                notes.push(format!("{} lost", count(analysis.lost)));
            }
        }
        "step_error_rate" => {
            if analysis.implied > 0 {
                notes.push(format!("{} implied by counts", count(analysis.implied)));
            }
            if analysis.infra.0 > 0 {
                notes.push(format!("{} infra left out", count(analysis.infra.0)));
            }
        }
        _ => {}
    }
    if let Some((p50, p95)) = figure.quantiles {
        let show = |amount| figure_value(metric, Some(amount));
        notes.push(format!("p50 {}, p95 {}", show(p50), show(p95)));
    }
    if let Some(by_k) = figure.by_k.as_ref().filter(|by_k| by_k.len() > 1) {
        let shown = by_k.iter().take(4).map(|(k, at)| match at.value {
            Some(value) => format!("k={k} {}", percent(value)),
            None => format!("k={k} n/a"),
        });
        notes.push(shown.collect::<Vec<_>>().join(", "));
    }
    if figure.runs_as_clusters {
        notes.push("runs as clusters".to_owned());
    }
    notes.extend(figure.reason.clone().filter(|reason| Some(reason.as_str()) != common));
    notes.join("; ")
}

fn completion_notes(analysis: &Analysis) -> Vec<String> {
    let mut notes = Vec::new();
    let over = analysis.runs.get(Outcome::OverLimit);
    if over > 0 {
        let named: Vec<&str> = Limit::ALL
            .iter()
            .filter(|limit| analysis.distributions.limit.get(limit).is_some_and(|n| *n > 0))
            .map(|limit| limit.name())
            .collect();
        notes.push(format!("over limit: {} ({})", count(over), named.join(", ")));
    }
    for outcome in [Outcome::Cancelled, Outcome::Unfinished, Outcome::Unknown] {
        let number = analysis.runs.get(outcome);
        if number > 0 {
            notes.push(format!("{} {}", count(number), outcome.name()));
        }
    }
    if analysis.infra.1 > 0 {
        notes.push(format!("{} left out as infra", count(analysis.infra.1)));
    }
    notes
}

/// The most frequent names of a distribution, with their shares.
fn shares(counts: &Counts) -> String {
    let total: u64 = counts.values().sum();
    let mut names: Vec<(&str, u64)> = counts.iter().map(|(name, n)| (&**name, *n)).collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let other: u64 = names.iter().skip(5).map(|(_, n)| n).sum();
    let first = names.iter().take(5).map(|(name, n)| share(&shorten(name, 30), *n, total));
    let rest = (other > 0).then(|| share("other", other, total));
    first.chain(rest).collect::<Vec<_>>().join("  ")
}

#[expect(clippy::cast_precision_loss, reason = "shown as a percentage")]
fn share(name: &str, part: u64, total: u64) -> String {
    format!("{name} {:.0}% {}/{}", part as f64 / total as f64 * 100.0, count(part), count(total))
}
