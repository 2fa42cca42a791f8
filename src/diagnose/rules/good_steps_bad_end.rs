//! Steps that pass, and runs that are not completed all the same.

use super::by_task::ByTask;
use crate::diagnose::{Check, Facts, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "good_steps_bad_end",
    title: "steps pass, but runs are not completed",
    about: "At least as large a share of attempts passes as the limit, and the completion of at least 10 ended runs is surely (95% interval over tasks) under 70%.",
    remedy: "Errors of tools are not the reason: read failed runs for wrong decisions (`agenteval show`), check what the result is held against, and judge steps by what they should give (`subtask_passed`).",
    grade: Grade::Warning,
    limit: Some((0.9, "share of passed attempts that counts as good")),
    check: Check::Set(check),
};

/// Ended runs that are needed, and the completion that is bad.
const LEAST: u64 = 10;
const BAD: f64 = 0.7;

#[expect(clippy::cast_precision_loss, reason = "numbers of runs and attempts")]
fn check(facts: &Facts<'_>, _: &Settings, sink: &mut Sink<'_>) {
    let ended: Vec<_> =
        facts.rows.iter().filter(|row| row.counts_as_ended() && !row.steps_unknown).collect();
    let judged: u64 = ended.iter().map(|row| u64::from(row.judged)).sum();
    if (ended.len() as u64) < LEAST || judged == 0 {
        return;
    }
    sink.examined(ended.len() as u64);
    let failed: u64 = ended.iter().map(|row| u64::from(row.failed)).sum();
    let passed = 1.0 - failed as f64 / judged as f64;
    let completed = ended.iter().filter(|row| row.completed()).count();
    let mut tasks = ByTask::default();
    for row in &ended {
        tasks.add(row, f64::from(u8::from(row.completed())), 1.0);
    }
    let high = tasks.share(0.95).map_or(1.0, |ci| ci.high);
    if passed >= sink.limit() && high < BAD {
        sink.affected((ended.len() - completed) as u64);
        sink.about(
            None,
            format!(
                "{:.1}% of {judged} attempts pass, but {completed} of {} runs ({:.1}%) are completed",
                passed * 100.0,
                ended.len(),
                completed as f64 / ended.len() as f64 * 100.0
            ),
        );
    }
}
