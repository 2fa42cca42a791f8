//! Counts one arranged run.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::attempt::Verdict;
use super::error_type::raw_type;
use super::group::NO_STEP;
use super::judge::{Judge, JudgeState, implied_before};
use super::measure;
use super::names::Names;
use super::outcome::{Facts, decide};
use super::row::{ErrorCount, MidRun, Outcome, RunRow};
use crate::config::{Blame, Infra, MidRun as Window};
use crate::model::{Attempt, RetrySource, Tokens, Trajectory, is_intervention, unmarked};

/// The type of a failed attempt that only a count tells of.
const UNKNOWN_RETRY: &str = "unknown_retry_error";

/// One attempt of a step, or several implied ones that are alike.
pub(super) struct Effective<'e> {
    /// Place in `Grouping::order`; for an implied attempt, that of the record that implies it.
    pub(super) place: u32,
    /// Whether only a recorded count tells of it.
    pub(super) implied: bool,
    /// How many attempts it stands for: 1, or more for implied ones.
    pub(super) times: u32,
    /// Its number among the attempts of its step, from 1; of the first it stands for.
    pub(super) number: u32,
    /// What became of it.
    pub(super) verdict: Verdict,
    /// Its error's type where it failed.
    pub(super) error: Option<ErrorName<'e>>,
}

/// What a failed attempt's error is called, and whose fault it is.
#[derive(Clone)]
pub(super) struct ErrorName<'e> {
    pub(super) kind: std::borrow::Cow<'e, str>,
    pub(super) infra: bool,
}

/// The attempts of one step, in order.
pub(super) fn effective<'e>(
    judge: &'e Judge<'_>,
    state: &JudgeState,
    run: &'e Trajectory<'_>,
    step: usize,
    out: &mut Vec<Effective<'e>>,
) {
    out.clear();
    let mut before: u32 = 0;
    for place in state.layout.of(step) {
        let at = state.grouping.order[*place as usize] as usize;
        let record = &run.attempts[at];
        let verdict = state.verdicts[at];
        let implied = implied_before(record, before);
        if implied > 0 {
            // The error that a passed record still carries is that of the latest attempt before it.
            let carries = judge.error(record).is_some() && verdict == Verdict::Passed;
            let known = carries.then(|| name(judge, record));
            let unknown = implied - u32::from(known.is_some());
            let mut push = |times: u32, number: u32, error: ErrorName<'e>| {
                out.push(Effective {
                    place: *place,
                    implied: true,
                    times,
                    number,
                    verdict: Verdict::Failed,
                    error: Some(error),
                });
            };
            let first = before.saturating_add(1);
            if unknown > 0 {
                push(unknown, first, mapped(judge, UNKNOWN_RETRY.into(), None));
            }
            if let Some(known) = known {
                push(1, first.saturating_add(unknown), known);
            }
        }
        before = before.saturating_add(implied).saturating_add(1);
        out.push(Effective {
            place: *place,
            implied: false,
            times: 1,
            number: state.grouping.numbers[*place as usize],
            verdict,
            error: (verdict == Verdict::Failed).then(|| name(judge, record)),
        });
    }
}

/// What the error of a record is called.
fn name<'e>(judge: &'e Judge<'_>, attempt: &'e Attempt<'_>) -> ErrorName<'e> {
    let error = judge.error(attempt);
    let message = error.and_then(|error| error.message.as_deref());
    mapped(judge, raw_type(error), message)
}

fn mapped<'e>(
    judge: &'e Judge<'_>,
    raw: std::borrow::Cow<'e, str>,
    message: Option<&str>,
) -> ErrorName<'e> {
    match judge.config.error_types.classify(&raw, message) {
        Some(rule) => ErrorName {
            kind: rule.kind.map_or(raw.clone(), std::borrow::Cow::Borrowed),
            infra: rule.blame == Some(Blame::Infra),
        },
        None => ErrorName { kind: raw, infra: false },
    }
}

/// What counting one step gives to the counts of the run.
#[derive(Debug, Default)]
pub(super) struct StepCounts {
    /// Its position in the run, from 1.
    pub(super) position: u32,
    judged: u32,
    failed: u32,
    /// Failed attempts, those that infra exclusion takes out too.
    pub(super) failed_all: u32,
    pub(super) recovered: bool,
}

/// Turns an arranged run into its row.
pub(super) fn row(judge: &Judge<'_>, state: &mut JudgeState, run: &Trajectory<'_>) -> RunRow {
    let exclude = judge.config.infra_errors == Infra::Exclude;
    let source = state.grouping.source.unwrap_or(RetrySource::Inferred);
    let last_pass = (source == RetrySource::Inferred).then(|| last_passes(state, run));
    let mut step_types: BTreeMap<&str, u32> = BTreeMap::new();
    let mut errors: BTreeMap<String, BTreeMap<Option<&str>, u32>> = BTreeMap::new();
    let mut steps = std::mem::take(&mut state.counted);
    steps.clear();
    let mut row = blank(run, source, &mut state.names);
    let (mut most_retries, mut first_step) = (0, None);
    let mut last_failed: Option<(u32, bool)> = None;
    let mut attempts = Vec::new();
    for (position, step) in (1..).zip(0..state.grouping.steps as usize) {
        effective(judge, state, run, step, &mut attempts);
        let Some(first) = attempts.first() else { continue };
        let mut counts = StepCounts { position, ..StepCounts::default() };
        let present: u32 = attempts.iter().fold(0, |sum, a| sum.saturating_add(a.times));
        // Only a recorded number can tell of attempts that are not there.
        let recorded = |attempt: &Effective<'_>| {
            let at = state.grouping.order[attempt.place as usize] as usize;
            run.attempts[at].attempt
        };
        let highest = attempts.iter().filter_map(recorded).max().unwrap_or(1);
        let retries = highest.saturating_sub(1).max(present.saturating_sub(1));
        let lost = retries.saturating_add(1).saturating_sub(present);
        let lost_first = first.number > 1;
        let mut failed_before = false;
        let mut first_failed = None;
        for (nth, attempt) in attempts.iter().enumerate() {
            let record = &run.attempts[state.grouping.order[attempt.place as usize] as usize];
            let infra = attempt.error.as_ref().is_some_and(|error| error.infra);
            let times = attempt.times;
            add(&mut row.attempts, times);
            add(step_types.entry(&record.kind).or_default(), times);
            add(&mut row.implied, if attempt.implied { times } else { 0 });
            row.intervention |= is_intervention(&record.kind);
            row.has_input |= record.input.is_some();
            let is_retry = nth > 0 || lost_first;
            add(&mut row.retries_present, if is_retry { times } else { times - 1 });
            match attempt.verdict {
                Verdict::Neither => {}
                Verdict::Passed => {
                    add(&mut counts.judged, 1);
                    add(&mut row.retries_passed, u32::from(is_retry));
                    counts.recovered |= failed_before;
                }
                Verdict::Failed => {
                    add(&mut counts.failed_all, times);
                    if infra && exclude {
                        add(&mut row.infra_failed, times);
                    } else {
                        add(&mut counts.judged, times);
                        add(&mut counts.failed, times);
                    }
                    if let Some(error) = &attempt.error {
                        let tools = match errors.get_mut(&*error.kind) {
                            Some(tools) => tools,
                            None => errors.entry(error.kind.to_string()).or_default(),
                        };
                        add(tools.entry(record.name.as_deref()).or_default(), times);
                    }
                    failed_before = true;
                    first_failed.get_or_insert((attempt.place, attempt.implied));
                    if last_failed.is_none_or(|(place, _)| attempt.place >= place) {
                        last_failed = Some((attempt.place, infra));
                    }
                }
            }
            if let Some(Some(same)) =
                (!attempt.implied).then(|| state.grouping.inferred[attempt.place as usize])
            {
                add(if same { &mut row.retries_identical } else { &mut row.retries_revised }, 1);
            }
        }
        if position == 1 && !lost_first {
            let excluded = exclude && first.error.as_ref().is_some_and(|error| error.infra);
            first_step = match first.verdict {
                Verdict::Passed => Some(true),
                Verdict::Failed if !excluded => Some(false),
                _ => None,
            };
        }
        add(&mut row.retries, retries);
        add(&mut row.lost, lost);
        most_retries = most_retries.max(retries);
        if let (Some(last_pass), Some((failed, implied))) = (&last_pass, first_failed) {
            // Inferred attempts: a later action of the same type and name passed in the run.
            let record = &run.attempts[state.grouping.order[failed as usize] as usize];
            let key = (&*record.kind, record.name.as_deref());
            // An implied attempt came before the record that tells of it.
            let later = |place: &u32| if implied { *place >= failed } else { *place > failed };
            counts.recovered = last_pass.get(&key).is_some_and(later);
        }
        add(&mut row.judged, counts.judged);
        add(&mut row.failed, counts.failed);
        add(&mut row.failed_all, counts.failed_all);
        steps.push(counts);
    }
    row.repeated = Repeats::of(state, run).count;
    row.steps = state.grouping.steps;
    row.duration_seconds = measure::duration(run, &mut state.notes);
    row.tokens = measure::tokens(run, &mut state.notes);
    row.cost_usd = measure::cost(run, &mut state.notes);
    let facts = Facts {
        steps: row.steps,
        attempts: row.attempts,
        retries: row.retries,
        errors: row.failed_all,
        most_retries,
        duration_seconds: row.duration_seconds,
        tokens: row.tokens,
        most_tokens: run
            .attempts
            .iter()
            .filter_map(|attempt| attempt.tokens)
            .filter(Tokens::usable)
            .map(|tokens| tokens.total())
            .max_by(f64::total_cmp),
        cost_usd: row.cost_usd,
    };
    (row.outcome, row.limit) = decide(judge, state, run, &facts);
    row.infra_excused = exclude && !row.completed() && last_failed.is_some_and(|(_, infra)| infra);
    if !run.order_unknown {
        row.first_step = first_step;
        row.mid = Some(mid_run(judge.config.mid_run, row.outcome, row.steps, &steps));
        let failed = steps.iter().filter(|step| step.failed_all > 0).map(|step| step.position);
        row.failed_steps = failed.collect();
        row.first_failure = row.failed_steps.first().copied();
        let lost = steps.iter().find(|step| step.failed_all > 0 && !step.recovered);
        row.turned_at = lost.map(|step| step.position).filter(|_| !row.completed());
    }
    state.counted = steps;
    let mut counted = Vec::new();
    for (kind, tools) in errors {
        counted.extend(tools.into_iter().map(|(tool, attempts)| ErrorCount {
            kind: state.names.share(&kind),
            tool: tool.map(|tool| state.names.share(tool)),
            attempts,
        }));
    }
    row.errors = counted.into();
    row.step_types = step_types.into_iter().map(|(kind, n)| (state.names.share(kind), n)).collect();
    row
}

fn add(sum: &mut u32, more: u32) {
    *sum = sum.saturating_add(more);
}

/// A row with the run's labels and no counts.
pub(super) fn blank(run: &Trajectory<'_>, source: RetrySource, names: &mut Names) -> RunRow {
    RunRow {
        place: run.place,
        run_id: run.run_id.as_deref().map(|id| unmarked(id).into()),
        task_id: run.task_id.as_deref().map(|id| names.label(unmarked(id))),
        trial: run.trial.as_deref().map(|trial| names.label(unmarked(trial))),
        agent: run.agent.as_deref().map(|agent| names.share(unmarked(agent))),
        model: run.model.as_deref().map(|model| names.share(unmarked(model))),
        status: run.status.as_deref().map(|status| names.share(unmarked(status))),
        tags: run
            .tags
            .iter()
            .map(|(key, value)| (names.label(key), names.label(unmarked(value))))
            .collect(),
        outcome: Outcome::Unknown,
        limit: None,
        infra_excused: false,
        steps_unknown: run.steps_unknown,
        steps: 0,
        attempts: 0,
        judged: 0,
        failed: 0,
        failed_all: 0,
        infra_failed: 0,
        first_step: None,
        mid: None,
        retries: 0,
        retries_present: 0,
        retries_passed: 0,
        retries_identical: 0,
        retries_revised: 0,
        retry_source: source,
        lost: 0,
        implied: 0,
        repeated: 0,
        has_input: false,
        intervention: false,
        first_failure: None,
        turned_at: None,
        failed_steps: Box::default(),
        duration_seconds: None,
        tokens: None,
        cost_usd: None,
        errors: Box::default(),
        step_types: Box::default(),
        never_reached: u32::try_from(run.never_reached.len()).unwrap_or(u32::MAX),
    }
}

/// The latest place at which each type and name of action passed.
fn last_passes<'r>(
    state: &JudgeState,
    run: &'r Trajectory<'_>,
) -> HashMap<(&'r str, Option<&'r str>), u32> {
    let mut last = HashMap::new();
    for (place, at) in (0..).zip(&state.grouping.order) {
        if state.verdicts[*at as usize] == Verdict::Passed {
            let attempt = &run.attempts[*at as usize];
            last.insert((&*attempt.kind, attempt.name.as_deref()), place);
        }
    }
    last
}

/// Attempts that equal an earlier, passed attempt of the run in type, name and input.
pub(super) struct Repeats {
    /// By place in `Grouping::order`; empty where there is none.
    at: Vec<bool>,
    pub(super) count: u32,
}

impl Repeats {
    pub(super) fn of(state: &JudgeState, run: &Trajectory<'_>) -> Self {
        let mut passed: HashSet<(u64, &str, Option<&str>)> = HashSet::new();
        let mut repeats = Self { at: Vec::new(), count: 0 };
        for (place, at) in state.grouping.order.iter().enumerate() {
            let attempt = &run.attempts[*at as usize];
            let kept = state.grouping.step_of[place] != NO_STEP;
            let Some(input) = attempt.input.filter(|_| kept) else { continue };
            let action = (input, &*attempt.kind, attempt.name.as_deref());
            if passed.contains(&action) {
                repeats.at.resize(state.grouping.order.len(), false);
                repeats.at[place] = true;
                repeats.count += 1;
            }
            if state.verdicts[*at as usize] == Verdict::Passed {
                passed.insert(action);
            }
        }
        repeats
    }

    /// Whether the record at this place is one.
    pub(super) fn contains(&self, place: u32) -> bool {
        self.at.get(place as usize).copied().unwrap_or_default()
    }
}

/// Whether a step stands in the mid-run (`METRICS.md`, "First step, mid-run, end").
pub(super) fn in_mid_run(window: Window, outcome: Outcome, n: u32, position: u32) -> bool {
    let never_reached_its_end = matches!(
        outcome,
        Outcome::Failed | Outcome::OverLimit | Outcome::Cancelled | Outcome::Unfinished
    );
    position > 1
        && match window {
            Window::Auto => position < n || never_reached_its_end,
            Window::Interior => position < n,
            Window::AfterFirst => true,
            Window::Window { from, to } => {
                let at = (f64::from(position) - 0.5) / f64::from(n);
                from < at && at <= to
            }
        }
}

/// Sums over the mid-run.
fn mid_run(window: Window, outcome: Outcome, n: u32, steps: &[StepCounts]) -> MidRun {
    let mut mid = MidRun::default();
    for step in steps.iter().filter(|step| in_mid_run(window, outcome, n, step.position)) {
        add(&mut mid.judged, step.judged);
        add(&mut mid.failed, step.failed);
        if step.failed_all > 0 {
            mid.failed_steps += 1;
            mid.recovered_steps += u32::from(step.recovered);
        }
    }
    mid
}
