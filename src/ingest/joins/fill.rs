//! What a file beside a run says, written into the run.
//!
//! Owns that nothing is overwritten which the run records itself. Refuses to choose the file.

use crate::ingest::formats::sidecars::Head;
use crate::model::{EndRule, Final, Trajectory};

/// Fills what the run does not say itself.
pub(super) fn fill(head: &Head, run: &mut Trajectory<'_>) {
    let adds = &head.adds;
    if run.success.is_none() && run.scores.is_empty() {
        run.success = adds.success;
        run.scores.extend(adds.scores.iter().cloned());
        // What was evaluated did end, whatever the trajectory forgot to say.
        if head.verdict().is_some() && run.end_rule == Some(EndRule::Unfinished) {
            run.end_rule = None;
        }
        deliver(&head.delivers, run);
    }
    macro_rules! fill {
        ($($field:ident),+) => {
            $(if run.$field.is_none() { run.$field.clone_from(&adds.$field); })+
        };
    }
    fill!(task_id, trial, agent, model, status, end_reason, end_rule, started_at, ended_at);
    if run.tokens.is_none() && run.attempts.iter().all(|attempt| attempt.tokens.is_none()) {
        run.tokens = adds.tokens;
    }
    if run.cost_usd.is_none() && run.attempts.iter().all(|attempt| attempt.cost_usd.is_none()) {
        run.cost_usd = adds.cost_usd;
    }
    for (key, value) in &adds.tags {
        if run.tags.iter().all(|(known, _)| known != key) {
            run.tags.push((key.clone(), value.clone()));
        }
    }
}

/// Adds to the run's `final` what it does not have.
fn deliver(members: &[(&'static str, String)], run: &mut Trajectory<'_>) {
    let before = match &run.final_output {
        Final::Missing => "{}",
        Final::Json(text) => text.trim(),
    };
    let Some(inside) = before.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return;
    };
    let has = crate::ingest::scan::top_keys(before.as_bytes());
    let mut json = String::from("{");
    for (key, value) in members.iter().filter(|(key, _)| has.iter().all(|have| have != key)) {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&format!("\"{key}\":{value}"));
    }
    if json.len() > 1 && !inside.trim().is_empty() {
        json.push(',');
    }
    json.push_str(inside);
    json.push('}');
    run.final_output = Final::Json(json.into());
}
