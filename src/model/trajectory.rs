//! A run as its source recorded it, before anything is judged.

use std::borrow::Cow;

use super::{Place, Stamp};

/// Text that is borrowed from the record where the format allows it.
type Text<'a> = Cow<'a, str>;

/// Key and value of what a run was labelled with, in recorded order.
pub type Tags<'a> = Vec<(Text<'a>, Text<'a>)>;

/// One execution of one task by one agent (also called trace, run, trial or episode).
///
/// Everything is as recorded: `None` means that the source does not say, which is
/// never the same as zero, empty or failed. Readers fill what they find; what it
/// means is decided in `evaluate/`.
#[derive(Debug, Clone, Default)]
pub struct Trajectory<'a> {
    /// Where the run stands in the input.
    pub place: Place,
    /// The run's own id, where one is recorded.
    pub run_id: Option<Text<'a>>,
    /// What was to be done; trials of one task share it.
    pub task_id: Option<Text<'a>>,
    /// Which repetition of the task this is, as recorded.
    pub trial: Option<Text<'a>>,
    /// The agent's name.
    pub agent: Option<Text<'a>>,
    /// The model's name; the main one where several are recorded.
    pub model: Option<Text<'a>>,
    /// Labels for `--by tag:KEY` and `run.tags`.
    pub tags: Tags<'a>,
    /// The run's status word, as recorded.
    pub status: Option<Text<'a>>,
    /// Why the run stopped, where the format keeps that apart from its status.
    pub end_reason: Option<Text<'a>>,
    /// What the format's own rules say of an open or interrupted end.
    pub end_rule: Option<EndRule>,
    /// Outcome that the format's own rules give (`Some(true)` completed, `Some(false)` failed),
    /// used after score and success flag and before the status word.
    pub format_outcome: Option<bool>,
    /// Scores of the run; a single unnamed score has the name `""`.
    pub scores: Vec<Score<'a>>,
    /// An explicit success flag.
    pub success: Option<bool>,
    /// Start of the run.
    pub started_at: Option<Stamp<'a>>,
    /// End of the run.
    pub ended_at: Option<Stamp<'a>>,
    /// The run's own duration in milliseconds, where it is recorded as such.
    pub duration_ms: Option<f64>,
    /// Tokens recorded for the run as a whole; used only where no attempt records any.
    pub tokens: Option<Tokens>,
    /// Cost in US dollars for the run as a whole; used only where no attempt records any.
    pub cost_usd: Option<f64>,
    /// What the run delivered.
    pub final_output: Final<'a>,
    /// Set where the source itself says how its retries were found (written by `convert`).
    pub retry_source: Option<RetrySource>,
    /// True where the order of the steps is unknown (checkpoints without plan or time):
    /// first-step and mid-run figures are then n/a for this run.
    pub order_unknown: bool,
    /// True where the source tells of runs alone (tables with a row a run): no figure of steps,
    /// attempts, retries and interventions is known, which is not the same as 0.
    pub steps_unknown: bool,
    /// Records that are no step but that rule 3 of retry inference must see are kept
    /// among the attempts with `turn` set; this says that the format mixes turns and calls.
    pub attempts: Vec<Attempt<'a>>,
    /// Named nodes of a plan that the run never reached.
    pub never_reached: Vec<Text<'a>>,
}

/// One recorded execution of a step, in the order of the source.
#[derive(Debug, Clone, Default)]
pub struct Attempt<'a> {
    /// Key of the step, first choice.
    pub step_id: Option<Text<'a>>,
    /// Key of the step, second choice.
    pub node_id: Option<Text<'a>>,
    /// Key of the step, third choice, and its place in the run.
    pub index: Option<f64>,
    /// Number of this attempt among those of its step, from 1.
    pub attempt: Option<u32>,
    /// Number of attempts of the step where the source keeps only that count:
    /// this record is then the last of them and the others are implied.
    pub attempts_total: Option<u32>,
    /// For an attempt nested in a step: which record of the run nests it, so that all attempts of
    /// one record are one step.
    pub nested_in: Option<u32>,
    /// Step type as recorded (`tool`, `llm`, `plan`, ...).
    pub kind: Text<'a>,
    /// Name of the tool, node or model.
    pub name: Option<Text<'a>>,
    /// Status word as recorded.
    pub status: Option<Text<'a>>,
    /// Id of the request or of the tool call.
    pub request_id: Option<Text<'a>>,
    /// [`input_hash`](super::input_hash) of the input; `None` where it is absent or null.
    pub input: Option<u64>,
    /// The error; `Some` for any non-null value, also an empty one.
    pub error: Option<ErrorInfo<'a>>,
    /// True where the status word decides what passed and a kept `error` is only the last
    /// one known (checkpoints).
    pub status_decides: bool,
    /// Start of the attempt.
    pub started_at: Option<Stamp<'a>>,
    /// End of the attempt.
    pub ended_at: Option<Stamp<'a>>,
    /// Duration in milliseconds.
    pub duration_ms: Option<f64>,
    /// Tokens used by this attempt.
    pub tokens: Option<Tokens>,
    /// Cost of this attempt in US dollars.
    pub cost_usd: Option<f64>,
    /// True for a model turn of a format that mixes turns and tool calls: not a step
    /// unless the config says `"steps": "all"` or names its type.
    pub turn: bool,
    /// The attempt as JSON text, kept only where an expression or `show` reads it.
    pub raw: Option<Text<'a>>,
    /// First byte and the byte after the last one of what records it, in the (decompressed) file of the
    /// run's [`Place`]; filled only beside [`raw`](Self::raw), where the reader tells.
    pub bytes: Option<(u64, u64)>,
}

/// How an attempt failed, as recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorInfo<'a> {
    /// The source's own type of the error; `None` where it gives none.
    pub kind: Option<Text<'a>>,
    /// The message, or the whole text where the error is a text.
    pub message: Option<Text<'a>>,
    /// How the reader knows of the error.
    pub origin: ErrorOrigin,
}

/// How a reader knows of an error: recorded and inferred evidence stay apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorOrigin {
    /// A field that exists for it: an error object, a status, a span status.
    #[default]
    Recorded,
    /// Only a flag on the result says so (`is_error: true`), with nothing more.
    Flag,
    /// Read from the text of a result by the format's documented rule.
    Text,
    /// An exit code other than 0, subject to `exit_codes` in the config.
    ExitCode,
}

/// How the attempts of a run were told to belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetrySource {
    /// Attempt numbers, counts, or repeated ids are in the trace.
    Recorded,
    /// A failed action followed by the same one.
    Inferred,
}

/// What the format's own rules say of the end of a run, beside its status word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndRule {
    /// The run has an open end.
    Unfinished,
    /// The run was cancelled by a person or a caller.
    Cancelled,
}

/// One score of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Score<'a> {
    /// The scorer; empty for a single unnamed score.
    pub name: Text<'a>,
    /// Its value.
    pub value: ScoreValue<'a>,
}

/// The value of a score: letters and flags are numbers already (C = 1, P = 0.5, I = N = 0).
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreValue<'a> {
    /// A number; NaN passes no comparison.
    Number(f64),
    /// Something that is no number; it decides nothing and is told.
    Unreadable(Text<'a>),
}

impl<'a> ScoreValue<'a> {
    /// Reads a score written as text: a letter of Inspect's scale, a truth word, or a number.
    #[must_use]
    pub fn from_text(text: Text<'a>) -> Self {
        let number = match text.trim() {
            "C" => Some(1.0),
            "P" => Some(0.5),
            "I" | "N" => Some(0.0),
            t if t.eq_ignore_ascii_case("true") => Some(1.0),
            t if t.eq_ignore_ascii_case("false") => Some(0.0),
            t => t.parse().ok(),
        };
        number.map_or(Self::Unreadable(text), Self::Number)
    }
}

/// What a run delivered at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Final<'a> {
    /// The trace has no such field.
    #[default]
    Missing,
    /// JSON text, `null` among it.
    Json(Text<'a>),
}

/// Tokens, split so that nothing is counted twice.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tokens {
    /// Input tokens that no cache served.
    pub input: f64,
    /// Input tokens read from a cache.
    pub cache_read: f64,
    /// Input tokens written to a cache.
    pub cache_write: f64,
    /// Output tokens, reasoning included.
    pub output: f64,
    /// Tokens of which only the total is recorded.
    pub unsplit: f64,
}

impl Tokens {
    /// All tokens together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.input + self.cache_read + self.cache_write + self.output + self.unsplit
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.unsplit += other.unsplit;
    }
}
