//! Actions that go round in a circle.

use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "oscillation",
    title: "the run goes round in a circle",
    about: "Two to five different actions with the same inputs come in the same order as often as the limit, and give the same outputs where these are recorded; needs recorded inputs.",
    remedy: "Stop the run when it comes back to a state that it was in, and put the actions so far into the agent's context.",
    grade: Grade::Warning,
    limit: Some((3.0, "rounds that make a circle")),
    check: Check::Run(check),
};

/// The longest circle, in actions.
const LONGEST: usize = 5;

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    // What comes after what is not known there.
    if case.run.order_unknown {
        return;
    }
    let actions = &case.actions;
    if actions.iter().filter(|action| action.attempt.input.is_some()).count() < 2 {
        return;
    }
    sink.examined(1);
    let rounds = sink.limit().max(2.0);
    let rows: Vec<Vec<u32>> = (2..=LONGEST).map(|period| equal_rows(actions, period)).collect();
    let mut from = 0;
    while from < actions.len() {
        let circle = (2..=LONGEST).zip(&rows).find_map(|(period, rows)| {
            let turns = *rows.get(from)? as usize / period + 1;
            let round = actions.get(from..from + period)?;
            // One action over and over is no circle.
            let differ = round.windows(2).any(|pair| !comes_back(&pair[0], &pair[1]));
            #[expect(clippy::cast_precision_loss, reason = "a number of rounds")]
            (differ && turns as f64 >= rounds).then_some((period, turns, round))
        });
        let Some((period, turns, round)) = circle else {
            from += 1;
            continue;
        };
        let names: Vec<&str> = round.iter().map(|action| action.label()).collect();
        sink.at(
            &round[0],
            format!("{} come {turns} times in this order with the same inputs", names.join(", ")),
        );
        from += period * turns;
    }
}

/// From each action on, how many in a row equal the action `period` later. One pass from the end, so
/// that a long run costs no more than its length.
fn equal_rows(actions: &[Action<'_>], period: usize) -> Vec<u32> {
    let mut rows = vec![0_u32; actions.len()];
    for at in (0..actions.len().saturating_sub(period)).rev() {
        if comes_back(&actions[at], &actions[at + period]) {
            rows[at] = rows[at + 1].saturating_add(1);
        }
    }
    rows
}

/// Whether the run is where it was: the same action, and the same answer where both are recorded. An
/// answer that changes is one that is waited for.
fn comes_back(before: &Action<'_>, after: &Action<'_>) -> bool {
    let answers = before.output.zip(after.output);
    before.same_as(after) && answers.is_none_or(|(before, after)| before == after)
}
