//! Two sets of runs side by side, for people and as `agenteval.compare/1`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::change::{Change, aligned, p_value, side};
use super::doc::{Column, Doc, Table};
use super::figures::{decimals, plural};
use super::finding::signature;
use super::gate::{broken, more, named, twice};
use super::json::rounded;
use super::mask::mask;
use super::number::count;
use super::report::{Ordered, WarningWire};
use super::sides_json::{
    BrokenWire, EndsWire, ErrorTypesWire, MeasuredWire, MixWire, PairingWire, broken_wire, ends,
    errors_wire, measured_wire, mix_wire, p_wire, pairing_wire,
};
use crate::compare::{ComparedMetric, Comparison, ErrorChanges, ErrorSignature, Mode};

/// Errors of one side alone that are shown.
const ERRORS: usize = 5;

/// The report of `compare`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval comparison")]
pub struct ComparisonWire {
    /// Always `agenteval.compare/1`.
    schema: &'static str,
    /// Version of agenteval.
    agenteval: &'static str,
    /// The first set: what is compared against.
    a: String,
    /// The second set.
    b: String,
    /// Who is compared with whom: `baseline` is the first set, `candidate` the second.
    pairing: PairingWire,
    /// Level of the tests.
    alpha: f64,
    /// Figures by name, in order.
    #[schemars(with = "BTreeMap<String, ComparedWire>")]
    metrics: Ordered<ComparedWire>,
    /// Tasks that all completed in the first set, and none in the second.
    broken_tasks: Vec<BrokenWire>,
    /// Error types on one side alone.
    error_types: ErrorTypesWire,
    /// How far the mixes of error types are apart; null where a side has no error.
    mix_shift: Option<MixWire>,
    /// What a reader should know.
    warnings: Vec<WarningWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct ComparedWire {
    /// Over the tasks that are compared; a geometric mean where `ratio` is there.
    a: Option<f64>,
    b: Option<f64>,
    /// Second minus first.
    difference: Option<f64>,
    ci: Option<EndsWire>,
    /// Two-sided.
    p: Option<f64>,
    /// The same, adjusted over all figures (Holm).
    p_adjusted: Option<f64>,
    /// Whether that is at most alpha.
    distinguishable: bool,
    /// The test; null where there is none.
    test: Option<&'static str>,
    /// Why something is missing.
    reason: Option<String>,
    #[serde(flatten)]
    measured: MeasuredWire,
}

/// The comparison for JSON.
#[must_use]
pub fn comparison_wire(
    comparison: &Comparison,
    (a, b): (&str, &str),
    warnings: Vec<WarningWire>,
) -> ComparisonWire {
    ComparisonWire {
        schema: "agenteval.compare/1",
        agenteval: env!("CARGO_PKG_VERSION"),
        a: mask(a),
        b: mask(b),
        pairing: pairing_wire(&comparison.pairing),
        alpha: rounded(Some(comparison.alpha), 6).unwrap_or_default(),
        metrics: Ordered(
            comparison.metrics.iter().map(|one| (one.metric.name, compared_wire(one))).collect(),
        ),
        broken_tasks: broken_wire(&comparison.broken),
        error_types: errors_wire(&comparison.errors),
        mix_shift: mix_wire(&comparison.errors),
        warnings,
    }
}

fn compared_wire(one: &ComparedMetric) -> ComparedWire {
    let evidence = &one.evidence;
    let round = |value| rounded(value, decimals(one.metric));
    let (ci, narrow) = ends(one.metric, evidence);
    ComparedWire {
        a: round(evidence.baseline),
        b: round(evidence.candidate),
        difference: round(evidence.difference),
        ci,
        p: p_wire(one.p),
        p_adjusted: p_wire(one.p_adjusted),
        distinguishable: one.distinguishable,
        test: Some(evidence.test).filter(|test| !test.is_empty()),
        reason: evidence.reason.clone().or(narrow),
        measured: measured_wire(one.metric, evidence),
    }
}

/// The comparison for people.
#[must_use]
pub fn comparison_doc(comparison: &Comparison, (a, b): (&str, &str)) -> Doc {
    let mut doc = Doc::default();
    doc.title(format!("A {a}    B {b}    {}", tasks(comparison)));
    doc.table(table(comparison));
    let tested = comparison.metrics.iter().filter(|one| one.p.is_some()).count() as u64;
    doc.line(format!(
        "~ is no difference that can be told from chance; p(adj) is two-sided, adjusted over {} {} (Holm), told at {}",
        count(tested),
        plural(tested, "figure"),
        comparison.alpha
    ));
    left_out(comparison, &mut doc);
    broken(&comparison.broken, ["broke from A to B", "A", "B"], &mut doc);
    let errors = &comparison.errors;
    for (alone, side) in [(&errors.new, "B"), (&errors.gone, "A")] {
        for error in alone.iter().take(ERRORS) {
            doc.line(format!("errors  {} is in {side} alone ({})", signature(error), runs(error)));
        }
        more(alone.len(), ERRORS, &mut doc);
    }
    doc.blocks.extend(mix_line(errors).map(super::doc::Block::Line));
    doc
}

fn runs(error: &ErrorSignature) -> String {
    format!("{} {}", count(error.runs), plural(error.runs, "run"))
}

/// How far the mixes of error types are apart, in a sentence.
pub(super) fn mix_line(errors: &ErrorChanges) -> Option<String> {
    let mix = errors.mix.as_ref()?;
    let interval =
        mix.interval.map(|(low, high)| format!(" [{low:.2}, {high:.2}]")).unwrap_or_default();
    let says = if mix.shifted { "has shifted" } else { "has no clear shift" };
    Some(format!(
        "errors  the mix of types {says}: total variation {:.2}{interval}, p {} ({} and {} failed attempts)",
        mix.total_variation,
        p_value(Some(mix.p)),
        count(mix.errors.0),
        count(mix.errors.1)
    ))
}

fn tasks(comparison: &Comparison) -> String {
    let pairing = &comparison.pairing;
    let number = pairing.paired as u64;
    match pairing.mode {
        Mode::Paired => format!("{} {} paired", count(number), plural(number, "task")),
        Mode::Unpaired => "no task in both: compared as two samples".to_owned(),
    }
}

fn table(comparison: &Comparison) -> Table {
    let metrics = &comparison.metrics;
    let changes: Vec<Change> = metrics
        .iter()
        .map(|one| match one.p {
            Some(_) => Change::of(one.metric, &one.evidence, one.distinguishable),
            None => Change::of(one.metric, &one.evidence, false),
        })
        .collect();
    let note = |one: &ComparedMetric| {
        let geometric = one.evidence.ratio.map(|_| "geometric means".to_owned());
        let parts = geometric.into_iter().chain(one.evidence.reason.clone());
        parts.collect::<Vec<_>>().join("; ")
    };
    Table {
        columns: vec![
            Column::left("metric"),
            Column::right("A"),
            Column::right("B"),
            Column::left("change (95% CI)"),
            Column::right("p(adj)"),
            Column::note("note"),
        ],
        rows: metrics
            .iter()
            .zip(aligned(&changes))
            .map(|(one, change)| {
                vec![
                    one.metric.name.to_owned(),
                    side(one.metric, one.evidence.baseline),
                    side(one.metric, one.evidence.candidate),
                    change,
                    p_value(one.p_adjusted),
                    note(one),
                ]
            })
            .collect(),
    }
}

fn left_out(comparison: &Comparison, doc: &mut Doc) {
    let pairing = &comparison.pairing;
    if pairing.mode == Mode::Unpaired {
        return;
    }
    for (alone, side) in [(&pairing.baseline_only, "A"), (&pairing.candidate_only, "B")] {
        let number = alone.len() as u64;
        if number > 0 {
            doc.line(format!(
                "left out: {} {} of {side} alone ({})",
                count(number),
                plural(number, "task"),
                named(alone.iter().map(String::as_str))
            ));
        }
    }
    let (before, after) = pairing.without_task;
    if (before, after) != (0, 0) {
        doc.line(format!(
            "left out: runs without a task id, {} of A and {} of B",
            count(before as u64),
            count(after as u64)
        ));
    }
    if !pairing.duplicates.is_empty() {
        doc.line(twice(pairing));
    }
}
