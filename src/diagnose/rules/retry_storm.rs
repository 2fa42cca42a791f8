//! One step tried over and over.

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "retry_storm",
    title: "one step is tried over and over",
    about: "A step has more attempts than the limit, or one tool fails more often in a row than that, whatever its input.",
    remedy: "Cap the retries of a step, wait longer between them, and give up or hand over after the cap (`max_retry_per_step` in the config makes such runs fail).",
    grade: Grade::Warning,
    limit: Some((5.0, "attempts that are still fine")),
    check: Check::Run(check),
};

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    if case.timeline.steps.is_empty() {
        return;
    }
    sink.examined(1);
    let limit = sink.limit();
    let mut told = None;
    for step in &case.timeline.steps {
        let times = step.attempts.iter().map(|attempt| attempt.times);
        let attempts = times.fold(0, u32::saturating_add);
        if f64::from(attempts) > limit {
            told = Some(step.position);
            sink.step(step, format!("{attempts} attempts of one step"));
        }
    }
    // What comes after what is not known there.
    if case.run.order_unknown {
        return;
    }
    let mut row = 0_u32;
    for (at, action) in case.actions.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| case.actions.get(at));
        let same = before.is_some_and(|before| {
            before.label() == action.label() && before.verdict == Verdict::Failed
        });
        row = match action.verdict {
            Verdict::Failed if same => row + 1,
            Verdict::Failed => 1,
            _ => 0,
        };
        let next = case.actions.get(at + 1);
        let goes_on = next
            .is_some_and(|next| next.label() == action.label() && next.verdict == Verdict::Failed);
        if f64::from(row) > limit && !goes_on && told != Some(action.step) {
            sink.at(action, format!("failed {row} times in a row"));
        }
    }
}
