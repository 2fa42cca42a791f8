//! Actions that go round in a circle.

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "oscillation",
    title: "the run goes round in a circle",
    about: "Two to five different actions with the same inputs come again in the same order as often as the limit; needs recorded inputs.",
    remedy: "Stop the run when it comes back to a state that it was in, and put the actions so far into the agent's context.",
    grade: Grade::Warning,
    limit: Some((3.0, "rounds that make a circle")),
    check: Check::Run(check),
};

/// The longest circle, in actions.
const LONGEST: usize = 5;

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    let actions = &case.actions;
    if actions.iter().filter(|action| action.attempt.input.is_some()).count() < 2 {
        return;
    }
    sink.examined(1);
    let rounds = sink.limit().max(2.0);
    let mut from = 0;
    while from < actions.len() {
        let circle = (2..=LONGEST).find_map(|period| {
            let same = (from..actions.len().saturating_sub(period))
                .take_while(|at| actions[*at].same_as(&actions[at + period]))
                .count();
            let turns = same / period + 1;
            let differ = actions.get(from).zip(actions.get(from + 1));
            let differ = differ.is_some_and(|(a, b)| !a.same_as(b));
            #[expect(clippy::cast_precision_loss, reason = "a number of rounds")]
            (differ && turns as f64 >= rounds).then_some((period, turns))
        });
        let Some((period, turns)) = circle else {
            from += 1;
            continue;
        };
        let names: Vec<&str> =
            actions[from..from + period].iter().map(|action| action.label()).collect();
        sink.at(
            &actions[from],
            format!("{} come {turns} times in this order with the same inputs", names.join(", ")),
        );
        from += period * turns;
    }
}
