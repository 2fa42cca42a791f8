//! What runs cost that were not completed.

use super::by_task::ByTask;
use crate::diagnose::{Amount, Check, Facts, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "failed_cost",
    title: "much of the cost goes into runs that are not completed",
    about: "Ended runs that are not completed surely (95% interval over tasks) used more than the limit's share of all dollars, tokens or seconds, whichever most ended runs record; at least 10 must, and no task may hold more than half of it.",
    remedy: "Stop hopeless runs earlier: `agenteval budgets` suggests limits and tells what they would have cut.",
    grade: Grade::Note,
    limit: Some((0.3, "share of the cost that may be lost")),
    check: Check::Set(check),
};

/// Ended runs with an amount that are needed.
const LEAST: u64 = 10;

/// One amount over the ended runs that record it.
struct Used<'r> {
    amount: Amount,
    runs: u64,
    all: f64,
    lost_runs: u64,
    lost: f64,
    tasks: ByTask<'r>,
}

fn used<'r>(facts: &Facts<'r>, amount: Amount) -> Used<'r> {
    let tasks = ByTask::default();
    let mut used = Used { amount, runs: 0, all: 0.0, lost_runs: 0, lost: 0.0, tasks };
    for row in facts.rows.iter().filter(|row| row.counts_as_ended()) {
        let Some(value) = amount.of(row).filter(|value| value.is_finite() && *value >= 0.0) else {
            continue;
        };
        let lost = if row.completed() { 0.0 } else { value };
        used.runs += 1;
        used.all += value;
        used.lost_runs += u64::from(!row.completed());
        used.lost += lost;
        used.tasks.add(row, lost, value);
    }
    used
}

fn check(facts: &Facts<'_>, _: &Settings, sink: &mut Sink<'_>) {
    // A dollar recorded in one run of many says nothing of the others.
    let mut found: Option<Used<'_>> = None;
    for amount in [Amount::Dollars, Amount::Tokens, Amount::Seconds] {
        let here = used(facts, amount);
        let most = found.as_ref().map_or(0, |known| known.runs);
        if here.all > 0.0 && here.runs >= LEAST && here.runs > most {
            found = Some(here);
        }
    }
    let Some(used) = found else { return };
    sink.examined(used.runs);
    let Some((low, high)) = used.tasks.part(0.95).filter(|(low, _)| *low > sink.limit()) else {
        return;
    };
    let name = used.amount.name();
    sink.affected(used.lost_runs);
    sink.about(
        Some(name),
        format!(
            "{} of {} runs are not completed and used {:.1}% of all {name} (95% interval over tasks {:.1}% to {:.1}%)",
            used.lost_runs,
            used.runs,
            used.lost / used.all * 100.0,
            low * 100.0,
            high * 100.0
        ),
    );
}
