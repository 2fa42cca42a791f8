//! Harbor: the result of one trial, which is a run by itself only where its trajectory is not there.
//!
//! Owns the trial's `result.json` (rewards, exception, times, tokens) as a run whose steps are not
//! known, and as what is said of the trajectory in `agent/` beside it; and the summary of a job, which
//! is told and gives no run. Refuses: the trial's whole time, which includes the building of images,
//! where the agent's own is recorded.

use std::borrow::Cow;
use std::path::Path;

use serde_json::value::RawValue;

use super::kept;
use super::raw::{Entries, amount, is_true, label, number, object, quoted, raw_fields, read, text};
use super::sidecars::{Head, Said, Sidecar, Whose};
use super::{Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{EndRule, Final, Issue, Score, ScoreValue, Stamp, Tokens, Trajectory};

/// The results of Harbor's trials.
pub const HARBOR: Format = Format {
    name: "harbor",
    about: "the result of a Harbor trial",
    detect,
    wrappers: &["trial_results"],
    splits_arrays: true,
    reader: Reader::Whole(read_trial),
    archive: None,
    misspelt: None,
};

/// The summary of a Harbor job.
pub(super) const JOB: Sidecar = Sidecar {
    name: "job",
    about: "the summary of a Harbor job",
    alone: "give the folder of the job, whose trials have their own results",
    detect: |look| look.has(&["n_total_trials", "stats"]) && !look.has(&["trial_results"]),
    read: read_job,
};

fn detect(probe: &Probe<'_>) -> bool {
    const BESIDE: [&str; 5] =
        ["verifier_result", "agent_result", "agent_info", "task_checksum", "exception_info"];
    BESIDE.iter().any(|key| probe.any_has(&["trial_name", "task_name", key]))
        || probe.any_has(&["n_total_trials", "stats", "trial_results"])
}

raw_fields! {
    /// One trial.
    Trial {
        id, task_name, trial_name, source, config, agent_info, agent_result, verifier_result,
        exception_info, started_at, finished_at, agent_execution, step_results, reward_valid,
    }
}
raw_fields! {
    /// How it was started.
    Config { job_id, agent }
}
raw_fields! {
    /// Who ran.
    Agent { name, version, model_info, model_name }
}
raw_fields! {
    /// What it used.
    Used { n_input_tokens, n_cache_tokens, n_output_tokens, cost_usd }
}
raw_fields! {
    /// What the verifier says.
    Verified { rewards }
}
raw_fields! {
    /// What ended it.
    Exception { exception_type, exception_message }
}
raw_fields! {
    /// From when to when.
    Span { started_at, finished_at }
}
raw_fields! {
    /// One step of a trial of several steps.
    Step { step_name, verifier_result }
}
raw_fields! {
    /// A name.
    Named { name }
}
raw_fields! {
    /// The head of a job.
    Job { n_total_trials, stats }
}
raw_fields! {
    /// Its counts.
    Stats { n_retries, n_errors }
}

fn read_trial<'r>(record: &Record<'r>, _: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let trial: Trial<'r> = quick::from_slice(record.bytes)?;
    if trial.trial_name.is_none() {
        return Err(Refusal::of("not_a_trial", "the record has no `trial_name`"));
    }
    let mut issues = Vec::new();
    let mut run = run_of(&trial);
    run.place = record.place;
    run.steps_unknown = true;
    if trial.reward_valid.is_some_and(|valid| valid.get() == "false") {
        let message = "rewards that Harbor says are not valid decide nothing";
        issues.push(Issue::note("invalid_reward", record.place, message));
    }
    Ok(Parsed { runs: vec![run], issues })
}

/// What a result says of the trajectory beside it; `None` where it cannot be read.
pub(crate) fn head(bytes: &[u8]) -> Option<Head> {
    let trial: Trial<'_> = quick::from_slice(bytes).ok()?;
    trial.trial_name?;
    let run = run_of(&trial);
    let mut delivers = Vec::new();
    if let [Score { value: ScoreValue::Number(number), .. }] = run.scores.as_slice() {
        delivers.extend(serde_json::to_string(number).ok().map(|json| ("score", json)));
    }
    delivers.extend(run.status.as_deref().map(|status| ("status", quoted(status))));
    delivers.extend(run.end_reason.as_deref().map(|reason| ("end_reason", quoted(reason))));
    Some(Head { task: None, place: Whose::BelowFolder, adds: kept::run(run), delivers })
}

fn run_of<'r>(trial: &Trial<'r>) -> Trajectory<'r> {
    let config = trial.config.and_then(read::<Config<'r>>).unwrap_or_default();
    let agent = trial.agent_info.or(config.agent).and_then(read::<Agent<'r>>).unwrap_or_default();
    let model = agent.model_info.and_then(read::<Named<'r>>).and_then(|model| model.name);
    let exception = trial.exception_info.and_then(read::<Exception<'r>>);
    let reason = exception.as_ref().and_then(|exception| exception.exception_type).and_then(label);
    let used = trial.agent_result.and_then(read::<Used<'r>>).unwrap_or_default();
    let span = trial.agent_execution.and_then(read::<Span<'r>>).unwrap_or_default();
    let scores = scores(trial);
    let stamp = |raw: Option<&'r RawValue>| raw.and_then(text).map(Stamp::Text);
    let cancelled = reason.as_deref() == Some("CancelledError");
    let end_rule = match (&exception, cancelled) {
        _ if !scores.is_empty() => None,
        (_, true) => Some(EndRule::Cancelled),
        (None, _) if trial.finished_at.is_none() => Some(EndRule::Unfinished),
        _ => None,
    };
    let status = exception.is_some().then_some(Cow::Borrowed("error"));
    let mut tags = Vec::new();
    for (key, raw) in
        [("job", config.job_id), ("dataset", trial.source), ("agent_version", agent.version)]
    {
        tags.extend(raw.and_then(label).map(|value| (Cow::Borrowed(key), value)));
    }
    let score = match scores.as_slice() {
        [Score { value: ScoreValue::Number(number), .. }] => serde_json::to_string(number).ok(),
        _ => None,
    };
    let final_output = Final::Json(Cow::Owned(object(&[
        ("score", score.as_deref()),
        ("status", status.as_deref().map(quoted).as_deref()),
        ("end_reason", reason.as_deref().map(quoted).as_deref()),
    ])));
    Trajectory {
        run_id: trial.id.and_then(label),
        task_id: trial.task_name.and_then(label),
        trial: trial.trial_name.and_then(label),
        agent: agent.name.and_then(label),
        model: model.or(agent.model_name).and_then(label),
        tags,
        status,
        end_reason: reason,
        end_rule,
        scores,
        started_at: stamp(span.started_at.or(trial.started_at)),
        ended_at: stamp(span.finished_at.or(trial.finished_at)),
        tokens: tokens(&used),
        cost_usd: amount(used.cost_usd),
        final_output,
        ..Trajectory::default()
    }
}

/// The rewards of the trial, else those of its steps under their names.
fn scores<'r>(trial: &Trial<'r>) -> Vec<Score<'r>> {
    if trial.reward_valid.is_some_and(|valid| valid.get() == "false") {
        return Vec::new();
    }
    let whole = rewards(trial.verifier_result, None);
    if !whole.is_empty() {
        return whole;
    }
    let steps = trial.step_results.and_then(read::<Vec<Step<'r>>>).unwrap_or_default();
    steps
        .iter()
        .flat_map(|step| rewards(step.verifier_result, step.step_name.and_then(label)))
        .collect()
}

fn rewards<'r>(verified: Option<&'r RawValue>, step: Option<Cow<'r, str>>) -> Vec<Score<'r>> {
    let rewards = verified.and_then(read::<Verified<'r>>).and_then(|verified| verified.rewards);
    let entries = rewards.and_then(read::<Entries<'r>>).unwrap_or_default();
    entries
        .0
        .into_iter()
        .filter_map(|(name, raw)| {
            let value = match number(raw) {
                Some(number) => ScoreValue::Number(number),
                None if is_true(Some(raw)) => ScoreValue::Number(1.0),
                None => ScoreValue::from_text(label(raw)?),
            };
            let name = match &step {
                Some(step) => Cow::Owned(format!("{step}.{name}")),
                None => name,
            };
            Some(Score { name, value })
        })
        .collect()
}

fn tokens(used: &Used<'_>) -> Option<Tokens> {
    let (input, output) = (amount(used.n_input_tokens), amount(used.n_output_tokens));
    let cached = amount(used.n_cache_tokens).unwrap_or(0.0).min(input.unwrap_or(0.0));
    // Both are 0 where the agent does not count.
    (input.unwrap_or(0.0) + output.unwrap_or(0.0) > 0.0).then(|| Tokens {
        input: input.unwrap_or(0.0) - cached,
        cache_read: cached,
        output: output.unwrap_or(0.0),
        ..Tokens::default()
    })
}

fn read_job(bytes: &[u8], _: &Path) -> Said {
    let job: Job<'_> = match quick::from_slice(bytes) {
        Ok(job) => job,
        Err(error) => return Said { broken: vec![error.to_string()], ..Said::default() },
    };
    let stats = job.stats.and_then(read::<Stats<'_>>).unwrap_or_default();
    let counts =
        [("trials", job.n_total_trials), ("errors", stats.n_errors), ("retries", stats.n_retries)];
    let counts: Vec<String> = counts
        .into_iter()
        .filter_map(|(what, raw)| Some(format!("{} {what}", label(raw?)?)))
        .collect();
    Said { more: Some(format!("it counts {}", counts.join(", "))), ..Said::default() }
}
