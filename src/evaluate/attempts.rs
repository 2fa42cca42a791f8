//! The attempts of one run as rows: what the table `steps` holds.
//!
//! Owns one row an attempt, with what makes every figure of attempts a sum over rows: how many
//! attempts it stands for, whether it is judged, whether it stands in the mid-run, whether its step
//! was recovered. Counts nothing anew: the rules are those of `count.rs`, and a test holds the sums
//! equal. Texts are as recorded: whoever shows them masks and escapes them.

use super::attempt::Verdict;
use super::count::{Repeats, effective, in_mid_run};
use super::judge::{Judge, JudgeState};
use super::row::RunRow;
use crate::config::Infra;
use crate::model::{ErrorOrigin, RetrySource, Stamp, Time, Tokens, Trajectory, usable_amount};

/// One attempt of a step, or several that only a recorded count tells of.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptRow {
    /// Position of its step in the run, from 1.
    pub step: u32,
    /// The step's recorded key: `step_id`, else `node_id`.
    pub step_id: Option<Box<str>>,
    /// Its number among the attempts of its step, from 1; of the first it stands for.
    pub attempt: u32,
    /// How many attempts it stands for: 1, or more for implied ones.
    pub attempts: u32,
    /// Whether only a recorded count tells of it.
    pub implied: bool,
    /// Step type, as recorded.
    pub kind: Box<str>,
    /// Name of the tool, node or model.
    pub name: Option<Box<str>>,
    /// Status word, as recorded.
    pub status: Option<Box<str>>,
    /// What became of it.
    pub verdict: Verdict,
    /// Whether it counts in error rates: it passed, or failed and is not excluded as infra.
    pub judged: bool,
    /// Whether it is the first attempt of the first step; `None` where the order is unknown.
    pub is_first: Option<bool>,
    /// Whether its step stands in the mid-run; `None` where the order is unknown.
    pub mid_run: Option<bool>,
    /// How many of the attempts that it stands for are retries.
    pub retries: u32,
    /// How retries of its run were told, where it is one.
    pub retry_source: Option<RetrySource>,
    /// For an inferred retry: whether the input is the same.
    pub same_input: Option<bool>,
    /// For a step with a failed attempt: whether it was recovered.
    pub recovered: Option<bool>,
    /// Whether it equals an earlier, passed attempt of its run.
    pub repeated: bool,
    /// Its error's type, as mapped by the config, where it failed.
    pub error_type: Option<Box<str>>,
    /// Whether that error is an infrastructure's.
    pub infra: bool,
    /// Its error's message, where one is recorded.
    pub error_message: Option<Box<str>>,
    /// How the error is known.
    pub error_origin: Option<ErrorOrigin>,
    /// Id of the request or of the tool call.
    pub request_id: Option<Box<str>>,
    /// Start.
    pub started_at: Option<Time>,
    /// End.
    pub ended_at: Option<Time>,
    /// Seconds that it took: as recorded, else from start to end.
    pub duration_seconds: Option<f64>,
    /// Tokens.
    pub tokens: Option<Tokens>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
}

impl Judge<'_> {
    /// Judges one run and gives its attempts too, in the order of its steps. A source that knows no
    /// steps has none.
    pub fn attempts(
        &self,
        state: &mut JudgeState,
        run: &Trajectory<'_>,
    ) -> (RunRow, Vec<AttemptRow>) {
        let row = self.row(state, run);
        let rows = if run.steps_unknown { Vec::new() } else { rows(self, state, run, &row) };
        (row, rows)
    }
}

fn rows(
    judge: &Judge<'_>,
    state: &JudgeState,
    run: &Trajectory<'_>,
    row: &RunRow,
) -> Vec<AttemptRow> {
    let repeats = Repeats::of(state, run);
    let mut rows = Vec::new();
    let mut attempts = Vec::new();
    for step in 0..state.grouping.steps as usize {
        effective(judge, state, run, step, &mut attempts);
        let Some(counts) = state.counted.get(step) else { continue };
        let lost_first = attempts.first().is_some_and(|first| first.number > 1);
        let inside = in_mid_run(judge.config.mid_run, row.outcome, row.steps, counts.position);
        for (nth, attempt) in attempts.iter().enumerate() {
            let record = &run.attempts[state.grouping.order[attempt.place as usize] as usize];
            let recorded = !attempt.implied;
            let failed = attempt.verdict == Verdict::Failed;
            let infra = attempt.error.as_ref().is_some_and(|error| error.infra);
            let excluded = failed && infra && judge.config.infra_errors == Infra::Exclude;
            let retry = nth > 0 || lost_first;
            let retries = if retry { attempt.times } else { attempt.times - 1 };
            let text = |text: &Option<std::borrow::Cow<'_, str>>| {
                text.as_deref().filter(|_| recorded).map(Into::into)
            };
            // An implied attempt has the message that its record carries only where it has its type.
            let error = judge.error(record).filter(|_| recorded);
            let time = |stamp: &Option<Stamp<'_>>| {
                stamp.as_ref().and_then(Stamp::time).filter(|_| recorded)
            };
            let (started_at, ended_at) = (time(&record.started_at), time(&record.ended_at));
            let spent = || started_at.zip(ended_at).and_then(|(from, to)| to.seconds_since(from));
            let measured = record.duration_ms.filter(|_| recorded).map(|ms| ms / 1e3);
            rows.push(AttemptRow {
                step: counts.position,
                step_id: record.step_id.as_deref().or(record.node_id.as_deref()).map(Into::into),
                attempt: attempt.number,
                attempts: attempt.times,
                implied: attempt.implied,
                kind: (&*record.kind).into(),
                name: record.name.as_deref().map(Into::into),
                status: text(&record.status),
                verdict: attempt.verdict,
                judged: attempt.verdict != Verdict::Neither && !excluded,
                is_first: (!run.order_unknown)
                    .then_some(counts.position == 1 && nth == 0 && !lost_first),
                mid_run: (!run.order_unknown).then_some(inside),
                retries,
                retry_source: (retries > 0).then_some(row.retry_source),
                same_input: state.grouping.inferred[attempt.place as usize].filter(|_| recorded),
                recovered: (counts.failed_all > 0).then_some(counts.recovered),
                repeated: recorded && repeats.contains(attempt.place),
                error_type: attempt.error.as_ref().map(|error| (&*error.kind).into()),
                infra,
                error_message: error.and_then(|error| error.message.as_deref()).map(Into::into),
                error_origin: error.map(|error| error.origin),
                request_id: text(&record.request_id),
                started_at,
                ended_at,
                duration_seconds: measured.or_else(spent).filter(|seconds| usable_amount(*seconds)),
                tokens: record.tokens.filter(|tokens| recorded && tokens.usable()),
                cost_usd: record.cost_usd.filter(|cost| recorded && usable_amount(*cost)),
            });
        }
    }
    rows
}
