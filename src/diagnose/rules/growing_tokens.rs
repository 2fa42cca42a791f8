//! Requests that grow from turn to turn.

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};
use crate::model::Tokens;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "growing_tokens",
    title: "tokens per turn grow along the run",
    about: "The last third of the requests of a run (at least 6 record tokens) uses on average as many times the tokens of the first third as the limit, and each third more than the one before.",
    remedy: "Shorten what is carried from turn to turn: sum up old turns, and leave out large outputs that were used.",
    grade: Grade::Note,
    limit: Some((3.0, "times the tokens of the first third")),
    check: Check::Run(check),
};

/// Requests that are needed.
const LEAST: usize = 6;

#[expect(clippy::cast_precision_loss, reason = "a number of turns")]
fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    // What comes after what is not known there.
    if case.run.order_unknown {
        return;
    }
    let tokens: Vec<f64> = case
        .run
        .attempts
        .iter()
        .filter_map(|attempt| attempt.tokens.filter(Tokens::usable).map(|tokens| tokens.total()))
        .collect();
    if tokens.len() < LEAST {
        return;
    }
    sink.examined(1);
    let third = tokens.len() / 3;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let first = mean(&tokens[..third]);
    let middle = mean(&tokens[third..tokens.len() - third]);
    let last = mean(&tokens[tokens.len() - third..]);
    if first > 0.0 && last >= sink.limit() * first && first < middle && middle < last {
        sink.about(
            Some("tokens"),
            format!("from {first:.0} to {last:.0} tokens a request over {} requests", tokens.len()),
        );
    }
}
