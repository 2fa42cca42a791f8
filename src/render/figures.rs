//! An analysis as a document, and its figures as lines for CSV and NDJSON.

use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::json::rounded;
use super::number::{count, percent, plain};
use super::safe::shorten;
use crate::evaluate::{Limit, Outcome};
use crate::metrics::{Analysis, Figure, Group, Measured, Metric};
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
        group.figures.iter().map(move |figure| line(Some(group_name(group)), figure))
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
    format!("{}={}", group.by, group.value.as_deref().unwrap_or("(none)"))
}

/// The analysis as people read it. `rejected` is the number of records that could not be read.
#[must_use]
pub fn analysis_doc(analysis: &Analysis, title: Option<&str>, rejected: u64) -> Doc {
    let mut doc = Doc::default();
    doc.title(head(analysis, title, rejected));
    doc.table(table(&analysis.figures, analysis));
    let errors = errors_line(analysis);
    if !errors.is_empty() {
        doc.line(errors);
    }
    for group in &analysis.groups {
        doc.line("");
        let runs = group.runs.total();
        doc.title(format!("{}   {} {}", group_name(group), count(runs), plural(runs, "run")));
        doc.table(table(&group.figures, analysis));
    }
    doc
}

fn plural(number: u64, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

fn head(analysis: &Analysis, title: Option<&str>, rejected: u64) -> String {
    let runs = analysis.runs.total();
    let mut parts: Vec<String> = title.map(|title| shorten(title, 60)).into_iter().collect();
    let runs_part = format!("{} {}", count(runs), plural(runs, "run"));
    let tasks = analysis.recorded_tasks;
    parts.push(match analysis.trials {
        Some((least, most)) if least == most && tasks * least == runs => format!(
            "{} {} x {} {} = {runs_part}",
            count(tasks),
            plural(tasks, "task"),
            count(least),
            plural(least, "trial")
        ),
        Some((least, most)) => format!(
            "{} {} x {}-{} trials, {runs_part}",
            count(tasks),
            plural(tasks, "task"),
            count(least),
            count(most)
        ),
        None => format!("{runs_part} (no task ids)"),
    });
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

fn table(figures: &[Measured], analysis: &Analysis) -> Table {
    let columns = vec![
        Column::left("metric"),
        Column::right("value"),
        Column::left("95% CI"),
        Column::right("counts"),
        Column::elastic("note"),
    ];
    let rows = figures
        .iter()
        .map(|(metric, figure)| {
            vec![
                metric.name.to_owned(),
                value(metric, figure.value),
                interval(metric, figure),
                counts(figure),
                note(metric, figure, analysis),
            ]
        })
        .collect();
    Table { columns, rows }
}

/// A value in the figure's own unit.
pub(super) fn value(metric: &Metric, value: Option<f64>) -> String {
    let Some(value) = value else { return "n/a".to_owned() };
    match metric.info().unit {
        Unit::Ratio => percent(value),
        Unit::Count | Unit::Steps => plain(value, 2),
        Unit::Seconds => format!("{} s", plain(value, if value < 100.0 { 2 } else { 1 })),
        Unit::Tokens => plain(value, 0),
        Unit::Usd => format!("${}", plain(value, 4)),
    }
}

fn interval(metric: &Metric, figure: &Figure) -> String {
    let Some(ci) = &figure.interval else { return "-".to_owned() };
    let end = |end: f64| match metric.info().unit {
        Unit::Ratio => format!("{:.1}", end * 100.0),
        Unit::Count | Unit::Steps => plain(end, 2),
        Unit::Seconds => plain(end, if end < 100.0 { 2 } else { 1 }),
        Unit::Tokens => plain(end, 0),
        Unit::Usd => plain(end, 4),
    };
    format!("[{}, {}]", end(ci.low), end(ci.high))
}

/// Numerator and denominator; or the number that the figure is taken over.
fn counts(figure: &Figure) -> String {
    let show = |number: f64| plain(number, if number.fract() == 0.0 { 0 } else { 2 });
    match (figure.numerator, figure.denominator) {
        (Some(numerator), Some(denominator)) => {
            format!("{}/{}", show(numerator), show(denominator))
        }
        (None, Some(denominator)) => format!("n={}", show(denominator)),
        _ => "-".to_owned(),
    }
}

fn note(metric: &Metric, figure: &Figure, analysis: &Analysis) -> String {
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
        let show = |amount| value(metric, Some(amount));
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
    notes.extend(figure.reason.clone());
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

/// The most frequent error types, and the riskiest step.
fn errors_line(analysis: &Analysis) -> String {
    let total: u64 = analysis.distributions.error_type.values().sum();
    let mut parts = Vec::new();
    if total > 0 {
        let mut types: Vec<(&str, u64)> =
            analysis.distributions.error_type.iter().map(|(kind, n)| (&**kind, *n)).collect();
        types.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let other: u64 = types.iter().skip(5).map(|(_, n)| n).sum();
        let mut shown: Vec<String> =
            types.iter().take(5).map(|(kind, n)| share(&shorten(kind, 30), *n, total)).collect();
        if other > 0 {
            shown.push(share("other", other, total));
        }
        parts.push(format!("errors   {}", shown.join("  ")));
    }
    if let Some(step) = analysis.riskiest {
        parts.push(format!(
            "riskiest step: {} ({} of the {} runs that reach it fail there at least once)",
            step.step,
            count(step.failed),
            count(step.reached)
        ));
    }
    parts.join("   ")
}

#[expect(clippy::cast_precision_loss, reason = "shown as a percentage")]
fn share(name: &str, part: u64, total: u64) -> String {
    format!("{name} {:.0}% ({}/{})", part as f64 / total as f64 * 100.0, count(part), count(total))
}
