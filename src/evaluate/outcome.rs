//! How a run ended (`METRICS.md`, the table of outcomes), decided in a fixed order.

use super::judge::{Judge, JudgeState};
use super::row::{Limit, Outcome};
use super::run_fields::{RunFields, run_keys};
use crate::expr::{Field, FieldPath, Fields, Root, Segment, json_field, json_keys};
use crate::model::{EndRule, Final, RunWord, ScoreValue, Tokens, Trajectory, is_intervention};

/// What limits and expressions may ask of a run before its outcome is known.
pub(super) struct Facts {
    pub(super) steps: u32,
    pub(super) attempts: u32,
    pub(super) retries: u32,
    pub(super) errors: u32,
    pub(super) most_retries: u32,
    pub(super) duration_seconds: Option<f64>,
    pub(super) tokens: Option<Tokens>,
    /// The largest number of tokens of one attempt.
    pub(super) most_tokens: Option<f64>,
    pub(super) cost_usd: Option<f64>,
}

/// The outcome, and the limit that was passed.
pub(super) fn decide(
    judge: &Judge<'_>,
    state: &mut JudgeState,
    run: &Trajectory<'_>,
    facts: &Facts,
) -> (Outcome, Option<Limit>) {
    let word = run.status.as_deref().map(RunWord::read);
    let decided = decide_early(judge, state, run, facts, word);
    if let Some(decided) = decided {
        if let Some(evaluator) = &mut state.final_passed {
            evaluator.observe(&FinalFields { run, facts });
        }
        return decided;
    }
    if let Some(evaluator) = &mut state.final_passed {
        // A run that delivered nothing is not completed, whatever the expression says of nothing.
        let passed = evaluator.eval(&FinalFields { run, facts }) && !is_missing(&run.final_output);
        return (by(passed), None);
    }
    if let Some(passed) = by_score(judge, state, run) {
        return (by(passed), None);
    }
    if let Some(success) = run.success.or(run.format_outcome) {
        return (by(success), None);
    }
    let outcome = match word {
        Some(RunWord::Completed) => Outcome::Completed,
        Some(RunWord::Failed) => Outcome::Failed,
        Some(RunWord::Unknown) => {
            let word = run.status.as_deref().unwrap_or_default();
            state.notes.add("unknown_run_status", word, run.place);
            Outcome::Unknown
        }
        _ => Outcome::Unknown,
    };
    (outcome, None)
}

/// What goes before the final output: an open end, a cancellation, a limit.
fn decide_early(
    judge: &Judge<'_>,
    state: &mut JudgeState,
    run: &Trajectory<'_>,
    facts: &Facts,
    word: Option<RunWord>,
) -> Option<(Outcome, Option<Limit>)> {
    if word == Some(RunWord::Unfinished) || run.end_rule == Some(EndRule::Unfinished) {
        return Some((Outcome::Unfinished, None));
    }
    if word == Some(RunWord::Cancelled)
        || run.end_rule == Some(EndRule::Cancelled)
        || ends_in_refusal(state, run)
    {
        return Some((Outcome::Cancelled, None));
    }
    passed_limit(judge, state, run, facts).map(|limit| (Outcome::OverLimit, Some(limit)))
}

/// Whether the run delivered nothing: null is nothing too.
fn is_missing(output: &Final<'_>) -> bool {
    match output {
        Final::Missing => true,
        Final::Json(json) => json.trim() == "null",
    }
}

fn by(completed: bool) -> Outcome {
    if completed { Outcome::Completed } else { Outcome::Failed }
}

/// Whether the last event of the run is a rejected approval.
fn ends_in_refusal(state: &JudgeState, run: &Trajectory<'_>) -> bool {
    let last = state.grouping.order.last().and_then(|at| run.attempts.get(*at as usize));
    last.is_some_and(|attempt| {
        let refused = |status: &str| {
            ["rejected", "denied", "declined"]
                .iter()
                .any(|word| status.trim().eq_ignore_ascii_case(word))
        };
        is_intervention(&attempt.kind) && attempt.status.as_deref().is_some_and(refused)
    })
}

/// The first limit that the run passed.
fn passed_limit(
    judge: &Judge<'_>,
    state: &mut JudgeState,
    run: &Trajectory<'_>,
    facts: &Facts,
) -> Option<Limit> {
    let limits = &judge.config.limits;
    let mut first = None;
    let mut check = |limit: Limit, bound: Option<f64>, value: Option<f64>| {
        let Some(bound) = bound else { return };
        match value {
            // Sums of floats may end a hair above what they mean.
            Some(value) if value > bound + bound.abs() * 1e-9 => first = first.or(Some(limit)),
            Some(_) => {}
            None => state.notes.add("limit_not_recorded", limit.name(), run.place),
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "limits above 2^53 are never reached")]
    let whole = |bound: Option<u64>| bound.map(|bound| bound as f64);
    let counted = |number: u32| (!run.steps_unknown).then(|| f64::from(number));
    check(Limit::MaxSteps, whole(limits.max_steps), counted(facts.steps));
    check(Limit::MaxRetryPerStep, whole(limits.max_retry_per_step), counted(facts.most_retries));
    check(Limit::AllowedTotalRetries, whole(limits.allowed_total_retries), counted(facts.retries));
    check(Limit::TimeoutSeconds, limits.timeout_seconds, facts.duration_seconds);
    check(Limit::MaxTokensPerStep, limits.max_tokens_per_step, facts.most_tokens);
    check(Limit::MaxTotalTokens, limits.max_total_tokens, facts.tokens.map(|t| t.total()));
    check(Limit::MaxCostUsd, limits.max_cost_usd, facts.cost_usd);
    first
}

/// Whether the scores say completed; `None` where no score decides.
fn by_score(judge: &Judge<'_>, state: &mut JudgeState, run: &Trajectory<'_>) -> Option<bool> {
    let reaches = |score: f64| score >= judge.config.pass_score - 1e-6;
    let named = judge.config.scorer.as_deref();
    let mut numbers = Vec::new();
    for score in &run.scores {
        match &score.value {
            ScoreValue::Number(number) => numbers.push((&*score.name, *number)),
            ScoreValue::Unreadable(_) => {
                state.notes.add("unreadable_score", &score.name, run.place)
            }
        }
    }
    if let Some(scorer) = named {
        let chosen = numbers.iter().find(|(name, _)| *name == scorer);
        if let Some((_, number)) = chosen {
            return Some(reaches(*number));
        }
        if !run.scores.is_empty() {
            state.notes.add("scorer_missing", scorer, run.place);
        }
        return None;
    }
    if numbers.len() > 1 {
        let name = |name: &'_ str| if name.is_empty() { "score" } else { name }.to_owned();
        let names: Vec<String> = numbers.iter().map(|(scorer, _)| name(scorer)).collect();
        state.notes.add("several_scores", &names.join(", "), run.place);
    }
    (!numbers.is_empty()).then(|| numbers.iter().all(|(_, number)| reaches(*number)))
}

/// What `final_passed` reads: `final`, and the figures of the run.
struct FinalFields<'f, 'a> {
    run: &'f Trajectory<'a>,
    facts: &'f Facts,
}

impl Fields for FinalFields<'_, '_> {
    fn get<'a>(&'a self, path: &FieldPath) -> Field<'a> {
        match (path.root, &self.run.final_output) {
            (Root::Final, Final::Missing) | (Root::Subtask, _) => Field::Missing,
            (Root::Final, Final::Json(json)) => json_field(json, &path.segments),
            (Root::Run, _) => self.run_fields().field(&path.segments),
        }
    }

    fn root_present(&self, root: Root) -> bool {
        match (root, &self.run.final_output) {
            (Root::Run, _) => true,
            (Root::Final, Final::Json(json)) => json.trim_start().starts_with('{'),
            _ => false,
        }
    }

    fn keys(&self, root: Root, segments: &[Segment], visit: &mut dyn FnMut(&str)) {
        match (root, &self.run.final_output) {
            (Root::Final, Final::Json(json)) => json_keys(json, segments, visit),
            (Root::Run, _) => run_keys(segments, visit),
            _ => {}
        }
    }
}

impl<'f, 'a> FinalFields<'f, 'a> {
    fn run_fields(&self) -> RunFields<'f, std::borrow::Cow<'a, str>> {
        let (run, facts) = (self.run, self.facts);
        RunFields {
            counts: (!run.steps_unknown).then_some([
                facts.steps,
                facts.attempts,
                facts.retries,
                facts.errors,
            ]),
            duration_seconds: facts.duration_seconds,
            tokens: facts.tokens.map(|tokens| tokens.total()),
            cost_usd: facts.cost_usd,
            status: run.status.as_deref(),
            task_id: run.task_id.as_deref(),
            model: run.model.as_deref(),
            tags: &run.tags,
        }
    }
}
