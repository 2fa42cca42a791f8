//! What runs cost that were not completed.

use crate::diagnose::{Amount, Check, Facts, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "failed_cost",
    title: "much of the cost goes into runs that are not completed",
    about: "Ended runs that are not completed used more than the limit's share of all dollars, else tokens, else seconds.",
    remedy: "Stop hopeless runs earlier: `agenteval budgets` suggests limits and tells what they would have cut.",
    grade: Grade::Note,
    limit: Some((0.3, "share of the cost that may be lost")),
    check: Check::Set(check),
};

fn check(facts: &Facts<'_>, _: &Settings, sink: &mut Sink<'_>) {
    for amount in [Amount::Dollars, Amount::Tokens, Amount::Seconds] {
        let ended = facts.rows.iter().filter(|row| row.counts_as_ended());
        let (mut runs, mut lost_runs, mut all, mut lost) = (0, 0, 0.0, 0.0);
        for row in ended {
            let Some(value) = amount.of(row).filter(|value| value.is_finite()) else { continue };
            runs += 1;
            all += value;
            if !row.completed() {
                lost_runs += 1;
                lost += value;
            }
        }
        if all <= 0.0 {
            continue;
        }
        sink.examined(runs);
        let share = lost / all;
        if share > sink.limit() {
            sink.affected(lost_runs);
            sink.about(
                Some(amount.name()),
                format!(
                    "{lost_runs} of {runs} runs, {:.1}% of all {}",
                    share * 100.0,
                    amount.name()
                ),
            );
        }
        return;
    }
}
