//! The columns of a run table: which names are known, and what stands under them.
//!
//! Owns the lists of names (any case, exact after trimming; the first of a list that the header has
//! is taken) and the choice of the one column that decides how a run ended. Refuses names that only
//! look like known ones, and columns whose unit is not known.

const TASK: &[&str] = &[
    "task_id",
    "task",
    "task_name",
    "instance_id",
    "problem_id",
    "question_id",
    "sample_id",
    "case_id",
    "scenario_id",
];
const RUN: &[&str] =
    &["run_id", "trial_name", "trajectory_id", "trace_id", "episode_id", "rollout_id"];
const TRIAL: &[&str] = &[
    "trial",
    "trial_id",
    "epoch",
    "repeat",
    "repetition",
    "rollout",
    "attempt",
    "run",
    "run_number",
    "seed",
    "iteration",
];
const AGENT: &[&str] = &["agent", "agent_name", "alias", "scaffold", "system"];
const MODEL: &[&str] = &["model", "model_name", "model_id", "llm"];
/// What says true or false of a run's success.
const FLAGS: &[&str] = &[
    "score_binarized",
    "success",
    "succeeded",
    "is_success",
    "resolved",
    "is_resolved",
    "passed",
    "solved",
    "correct",
    "is_correct",
];
const SCORES: &[&str] = &["score", "reward", "cum_reward"];
/// What harnesses also write of runs that only came to their end, so that a score goes before it.
const WEAK_FLAGS: &[&str] = &["completed"];
const WORDS: &[&str] = &["outcome", "result", "verdict", "status"];
const STATUS: &[&str] = &["status", "run_status"];
/// Why the run stopped; of several, the first that says something.
const END_REASONS: &[&str] = &[
    "end_reason",
    "stop_reason",
    "termination_reason",
    "terminate_reason",
    "exit_status",
    "fatal_error_from",
    "error_type",
    "error",
    "usage_limit_hit",
    "limit_hit",
    "err_msg",
    "truncated",
];
const STARTED: &[&str] = &["started_at", "start_time"];
const ENDED: &[&str] = &["ended_at", "completed_at", "finished_at", "end_time"];
const MILLISECONDS: &[&str] = &["duration_ms", "wall_time_ms", "latency_ms", "elapsed_ms"];
const SECONDS: &[&str] = &[
    "duration_s",
    "duration_sec",
    "duration_seconds",
    "wall_time",
    "wall_time_s",
    "wall_time_seconds",
    "elapsed_s",
    "elapsed_seconds",
    "execution_time_s",
    "latency_s",
    "runtime_s",
    "stats.cum_step_elapsed",
];
const WITHOUT_UNIT: &[&str] = &["duration", "latency", "elapsed", "runtime", "time"];
const TOTAL_TOKENS: &[&str] =
    &["total_tokens", "tokens", "tokens_count", "token_count", "stats.cum_openai_total_tokens"];
const INPUT_TOKENS: &[&str] =
    &["input_tokens", "prompt_tokens", "tokens_in", "stats.cum_openai_prompt_tokens"];
const OUTPUT_TOKENS: &[&str] =
    &["output_tokens", "completion_tokens", "tokens_out", "stats.cum_openai_completion_tokens"];
/// Not part of the input tokens beside them.
const CACHE_READ: &[&str] = &["cache_read_tokens", "cache_read_input_tokens"];
const CACHE_WRITE: &[&str] =
    &["cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens"];
/// Part of the input tokens beside them.
const CACHED: &[&str] = &["cached_tokens", "cached_prompt_tokens"];
const COST: &[&str] = &[
    "cost_usd",
    "total_cost_usd",
    "cost",
    "total_cost",
    "generation_cost",
    "stats.cum_openai_total_cost",
];
/// What later analyses split and weigh runs by.
const LABELS: &[&str] = &[
    "task_family",
    "family",
    "category",
    "domain",
    "benchmark",
    "dataset",
    "split",
    "difficulty",
    "version",
    "task_source",
    "human_minutes",
    "human_source",
    "human_score",
    "invsqrt_task_weight",
    "equal_task_weight",
    "usage_limit_hit",
];
/// What only tables with a row per step have.
const STEPWISE: &[&str] =
    &["step", "step_id", "step_index", "node_id", "action", "observation", "tool_call_id"];

/// What records have that are more than a row, where a list stands there: a number of steps is a
/// column like any other.
pub(super) const LISTS: &[&str] = &[
    "steps",
    "messages",
    "trajectory",
    "traj",
    "history",
    "trace",
    "traces",
    "spans",
    "events",
    "turns",
    "ticks",
    "conversation",
    "conversations",
    "tool_calls",
];
/// What lines of logs have.
const LOGGED: &[&str] = &["event", "level", "levelname", "severity", "logger", "message", "msg"];
/// What the summary of a run has that AgentLab writes; its task stands in the name of its folder.
const SUMMARY: &[&str] = &["n_steps", "cum_reward", "terminated", "truncated"];

/// The column that decides how a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decider {
    /// True or false.
    Flag(usize),
    /// A number.
    Score(usize),
    /// A word.
    Word(usize),
}

impl Decider {
    pub(super) fn column(self) -> usize {
        match self {
            Self::Flag(at) | Self::Score(at) | Self::Word(at) => at,
        }
    }
}

/// Places of the known columns in the header.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) task: Option<usize>,
    pub(super) run: Option<usize>,
    pub(super) trial: Option<usize>,
    pub(super) agent: Option<usize>,
    pub(super) model: Option<usize>,
    pub(super) decider: Option<Decider>,
    pub(super) status: Option<usize>,
    pub(super) end_reasons: Vec<usize>,
    pub(super) started: Option<usize>,
    pub(super) ended: Option<usize>,
    /// With the milliseconds that 1 means.
    pub(super) duration: Option<(usize, f64)>,
    pub(super) without_unit: Option<usize>,
    pub(super) total: Option<usize>,
    pub(super) input: Option<usize>,
    pub(super) output: Option<usize>,
    pub(super) cache_read: Option<usize>,
    pub(super) cache_write: Option<usize>,
    pub(super) cached: Option<usize>,
    pub(super) cost: Option<usize>,
    pub(super) labels: Vec<usize>,
}

impl Columns {
    /// The columns under these names. Of equal names the last counts, as with keys of JSON objects.
    pub(super) fn of(names: &[String]) -> Self {
        let at = |known: &str| names.iter().rposition(|name| name.eq_ignore_ascii_case(known));
        let first = |list: &[&str]| list.iter().find_map(|known| at(known));
        let all = |list: &[&str]| list.iter().filter_map(|known| at(known)).collect::<Vec<_>>();
        let decider = (first(FLAGS).map(Decider::Flag))
            .or_else(|| first(SCORES).map(Decider::Score))
            // Beside whether the run ended the words of the outcome say more: unknown is not failed.
            .or_else(|| at("ended").and(at("outcome")).map(Decider::Word))
            .or_else(|| first(WEAK_FLAGS).map(Decider::Flag))
            .or_else(|| first(WORDS).map(Decider::Word));
        let duration = (first(MILLISECONDS).map(|at| (at, 1.0)))
            .or_else(|| first(SECONDS).map(|at| (at, 1000.0)));
        Self {
            task: first(TASK),
            run: first(RUN),
            trial: first(TRIAL),
            agent: first(AGENT),
            model: first(MODEL),
            decider,
            status: first(STATUS),
            end_reasons: all(END_REASONS),
            started: first(STARTED),
            ended: first(ENDED),
            duration,
            without_unit: first(WITHOUT_UNIT).filter(|_| duration.is_none()),
            total: first(TOTAL_TOKENS),
            input: first(INPUT_TOKENS),
            output: first(OUTPUT_TOKENS),
            cache_read: first(CACHE_READ),
            cache_write: first(CACHE_WRITE),
            cached: first(CACHED),
            cost: first(COST),
            labels: all(LABELS),
        }
    }

    /// Whether nothing that a run is told by is among the columns.
    pub(super) fn say_nothing(&self) -> bool {
        self.task.is_none() && self.run.is_none() && self.decider.is_none()
    }
}

/// Whether a header with these names is that of a run table: it names a task and an outcome, and
/// its rows are not steps.
pub(super) fn are_of_runs(names: &[String]) -> bool {
    let columns = Columns::of(names);
    let stepwise = |name: &String| STEPWISE.iter().any(|known| name.eq_ignore_ascii_case(known));
    columns.task.is_some() && columns.decider.is_some() && !names.iter().any(stepwise)
}

/// Whether an object with these keys is a row of a run table. A word such as `status` is too little
/// to tell: lines of logs have one. An `outcome` or `verdict` is none of theirs.
pub(super) fn are_of_flat_runs(names: &[String]) -> bool {
    let logged = |name: &String| LOGGED.iter().any(|known| name.eq_ignore_ascii_case(known));
    let decides = match Columns::of(names).decider {
        Some(Decider::Flag(_) | Decider::Score(_)) => true,
        Some(Decider::Word(at)) => names.get(at).is_some_and(|name| {
            name.eq_ignore_ascii_case("outcome") || name.eq_ignore_ascii_case("verdict")
        }),
        None => false,
    };
    decides && are_of_runs(names) && !names.iter().any(logged)
}

/// Whether an object with these keys is the summary of one run.
pub(super) fn are_of_summary(names: &[String]) -> bool {
    SUMMARY.iter().all(|known| names.iter().any(|name| name == known))
}
