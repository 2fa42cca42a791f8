//! What failures cost with the limits that runs suggest, and which nodes are ready, as documents and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::json::rounded;
use super::mask::mask;
use super::number::{count, percent, plain, seconds};
use crate::diagnose::{Advice, Amount, Budget, LEAST, NodeReadiness};

/// Budgets for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval budgets")]
pub struct BudgetsWire {
    /// Always `agenteval.budgets/1`.
    schema: &'static str,
    /// The share of completed runs that keep each limit.
    quantile: f64,
    /// Each amount that runs record.
    budgets: Vec<BudgetWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct BudgetWire {
    /// steps, retries, tokens, seconds or usd.
    amount: &'static str,
    /// Where the limit stands in an eval config.
    key: &'static str,
    /// Ended runs that record it.
    runs: u64,
    completed: u64,
    total: Option<f64>,
    /// Used by runs that were not completed.
    by_failed: Option<f64>,
    /// Their share of all.
    failed_share: Option<f64>,
    median_completed: Option<f64>,
    median_failed: Option<f64>,
    /// Null with fewer than ten completed runs.
    limit: Option<f64>,
    /// Runs beyond it that were not completed.
    cut_right: Option<u64>,
    /// Completed runs beyond it.
    cut_wrong: Option<u64>,
    /// Completed runs beyond a limit from other tasks, and the 95% interval of their share; null where
    /// other tasks have too few completed runs.
    cut_wrong_elsewhere: Option<u64>,
    wrong_share_low: Option<f64>,
    wrong_share_high: Option<f64>,
    /// What runs that were not completed used beyond the limit.
    saved: Option<f64>,
}

/// The answer for JSON.
#[must_use]
pub fn budgets_wire(budgets: &[Budget], quantile: f64) -> BudgetsWire {
    let digits = |amount| if amount == Amount::Dollars { 9 } else { 6 };
    let one = |budget: &Budget| {
        let round = |value: Option<f64>| rounded(value, digits(budget.amount));
        let cut = budget.limit;
        BudgetWire {
            amount: budget.amount.name(),
            key: budget.amount.key(),
            runs: budget.runs,
            completed: budget.completed,
            total: round(Some(budget.total)),
            by_failed: round(Some(budget.by_failed)),
            failed_share: share(budget).and_then(|share| rounded(Some(share), 6)),
            median_completed: round(budget.median.0),
            median_failed: round(budget.median.1),
            limit: round(cut.map(|cut| cut.limit)),
            cut_right: cut.map(|cut| cut.right),
            cut_wrong: cut.map(|cut| cut.wrong),
            cut_wrong_elsewhere: cut.and_then(|cut| cut.wrong_elsewhere),
            wrong_share_low: rounded(cut.and_then(|cut| cut.wrong_share).map(|ci| ci.0), 6),
            wrong_share_high: rounded(cut.and_then(|cut| cut.wrong_share).map(|ci| ci.1), 6),
            saved: round(cut.map(|cut| cut.saved)),
        }
    };
    BudgetsWire {
        schema: "agenteval.budgets/1",
        quantile,
        budgets: budgets.iter().map(one).collect(),
    }
}

pub(super) fn share(budget: &Budget) -> Option<f64> {
    (budget.total > 0.0).then(|| budget.by_failed / budget.total)
}

pub(super) fn amount(of: Amount, value: f64) -> String {
    match of {
        Amount::Steps | Amount::Retries => plain(value, if value.fract() == 0.0 { 0 } else { 1 }),
        Amount::Tokens => plain(value, 0),
        Amount::Seconds => seconds(value),
        Amount::Dollars => format!("${}", plain(value, if value >= 1.0 { 2 } else { 4 })),
    }
}

/// The answer for people.
#[must_use]
pub fn budgets_doc(budgets: &[Budget], quantile: f64) -> Doc {
    let mut doc = Doc::default();
    doc.title("what runs that were not completed used, and limits that completed runs keep");
    doc.table(Table {
        columns: vec![
            Column::left("amount"),
            Column::right("runs"),
            Column::right("median completed"),
            Column::right("median not"),
            Column::right("used by failed runs"),
            Column::right("share"),
        ],
        rows: budgets
            .iter()
            .map(|budget| {
                let show = |value: Option<f64>| {
                    value.map_or_else(|| "n/a".to_owned(), |value| amount(budget.amount, value))
                };
                vec![
                    budget.amount.name().to_owned(),
                    format!("{}/{}", count(budget.completed), count(budget.runs)),
                    show(budget.median.0),
                    show(budget.median.1),
                    amount(budget.amount, budget.by_failed),
                    share(budget).map_or_else(|| "n/a".to_owned(), percent),
                ]
            })
            .collect(),
    });
    let with: Vec<&Budget> = budgets.iter().filter(|budget| budget.limit.is_some()).collect();
    doc.line("");
    if with.is_empty() {
        doc.line(format!("no limit: fewer than {LEAST} completed runs record an amount"));
        return doc;
    }
    doc.line(format!("limits that {} of completed runs keep:", percent(quantile)));
    doc.table(Table {
        columns: vec![
            Column::elastic("in the config"),
            Column::right("limit"),
            Column::right("cut rightly"),
            Column::right("saved"),
            Column::right("cut wrongly"),
            Column::right("by other tasks"),
            Column::left("95% CI"),
        ],
        rows: with.iter().filter_map(|budget| limit_row(budget)).collect(),
    });
    doc.line("cut wrongly: completed runs beyond the limit; by other tasks: beyond one that is read from other tasks only");
    doc
}

pub(super) fn limit_row(budget: &Budget) -> Option<Vec<String>> {
    let cut = budget.limit?;
    let failed = budget.runs - budget.completed;
    let ends = cut.wrong_share.map_or_else(
        || "-".to_owned(),
        |(low, high)| format!("[{}, {}]", plain(low * 100.0, 1), plain(high * 100.0, 1)),
    );
    Some(vec![
        budget.amount.key().to_owned(),
        amount(budget.amount, cut.limit),
        format!("{}/{}", count(cut.right), count(failed)),
        amount(budget.amount, cut.saved),
        format!("{}/{}", count(cut.wrong), count(budget.completed)),
        cut.wrong_elsewhere.map_or_else(
            || "n/a".to_owned(),
            |wrong| format!("{}/{}", count(wrong), count(budget.completed)),
        ),
        ends,
    ])
}

/// Readiness for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval readiness")]
pub struct ReadinessWire {
    /// Always `agenteval.readiness/1`.
    schema: &'static str,
    /// The success that a node needs.
    target: f64,
    /// Whether steps count by their first attempt.
    first_attempt: bool,
    nodes: Vec<NodeWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct NodeWire {
    node: String,
    runs: u64,
    tasks: u64,
    steps: u64,
    /// Steps that passed in the end.
    passed: u64,
    /// Steps whose first attempt passed.
    passed_at_once: u64,
    /// One-sided 95% bounds over tasks.
    lower: Option<f64>,
    upper: Option<f64>,
    /// `automate`, `keep_approval`, `not_enough` or `one_task`.
    advice: &'static str,
    /// About so many more runs of further tasks would decide; null where known or beyond a million.
    more_runs: Option<u64>,
}

/// The answer for JSON.
#[must_use]
pub fn readiness_wire(nodes: &[NodeReadiness], target: f64, first: bool) -> ReadinessWire {
    let one = |node: &NodeReadiness| {
        let (advice, more_runs) = match node.advice {
            Advice::Automate => ("automate", None),
            Advice::KeepApproval => ("keep_approval", None),
            Advice::OneTask => ("one_task", None),
            Advice::NotEnough(more) => ("not_enough", more),
        };
        NodeWire {
            node: mask(&node.node),
            runs: node.runs,
            tasks: node.tasks,
            steps: node.steps,
            passed: node.passed,
            passed_at_once: node.passed_at_once,
            lower: rounded(node.bounds.map(|bounds| bounds.0), 6),
            upper: rounded(node.bounds.map(|bounds| bounds.1), 6),
            advice,
            more_runs,
        }
    };
    ReadinessWire {
        schema: "agenteval.readiness/1",
        target,
        first_attempt: first,
        nodes: nodes.iter().map(one).collect(),
    }
}

/// The answer for people.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of steps")]
pub fn readiness_doc(nodes: &[NodeReadiness], target: f64, first: bool) -> Doc {
    let mut doc = Doc::default();
    let by = if first { "at the first attempt" } else { "in the end" };
    doc.title(format!("nodes whose steps pass {by}, against a target of {}", percent(target)));
    let row = |node: &NodeReadiness| {
        let passed = if first { node.passed_at_once } else { node.passed };
        let bound = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), percent);
        vec![
            node.node.clone(),
            count(node.runs),
            count(node.tasks),
            format!("{}/{}", count(passed), count(node.steps)),
            percent(passed as f64 / node.steps.max(1) as f64),
            bound(node.bounds.map(|bounds| bounds.0)),
            bound(node.bounds.map(|bounds| bounds.1)),
            match node.advice {
                Advice::Automate => "automate".to_owned(),
                Advice::KeepApproval => "keep the approval".to_owned(),
                Advice::NotEnough(Some(more)) => {
                    format!("not enough runs yet: about {} more, of further tasks", count(more))
                }
                Advice::OneTask => "not enough runs yet: all are of one task".to_owned(),
                Advice::NotEnough(None) => {
                    "not enough runs yet: the success is too near the target to tell".to_owned()
                }
            },
        ]
    };
    doc.table(Table {
        columns: vec![
            Column::elastic("node"),
            Column::right("runs"),
            Column::right("tasks"),
            Column::right("passed"),
            Column::right("share"),
            Column::right("at least"),
            Column::right("at most"),
            Column::note("advice"),
        ],
        rows: nodes.iter().map(row).collect(),
    });
    doc.line("at least, at most: one-sided 95% bounds over tasks");
    doc
}
