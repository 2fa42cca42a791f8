//! The row that is kept of a run: its labels, its outcome and its counts.

use super::names::{Name, Names};
use crate::model::{Place, RetrySource, Tokens, Trajectory};

/// How a run ended; every run has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The final output passed.
    Completed,
    /// It ended without.
    Failed,
    /// A limit was passed, whatever the final output is.
    OverLimit,
    /// Cancelled by a person or a caller.
    Cancelled,
    /// The record itself says that the run has not ended.
    Unfinished,
    /// The trace does not tell.
    Unknown,
}

impl Outcome {
    /// All outcomes, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Completed,
        Self::Failed,
        Self::OverLimit,
        Self::Cancelled,
        Self::Unfinished,
        Self::Unknown,
    ];

    /// The word in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::OverLimit => "over_limit",
            Self::Cancelled => "cancelled",
            Self::Unfinished => "unfinished",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the run counts in completion rates.
    #[must_use]
    pub const fn ended(self) -> bool {
        !matches!(self, Self::Unfinished | Self::Unknown)
    }
}

/// The limits of a config, in the order in which a passed one is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// `max_steps`.
    MaxSteps,
    /// `max_retry_per_step`.
    MaxRetryPerStep,
    /// `allowed_total_retries`.
    AllowedTotalRetries,
    /// `timeout_seconds`.
    TimeoutSeconds,
    /// `max_tokens_per_step`.
    MaxTokensPerStep,
    /// `max_total_tokens`.
    MaxTotalTokens,
    /// `max_cost_usd`.
    MaxCostUsd,
}

impl Limit {
    /// All limits, in order.
    pub const ALL: [Self; 7] = [
        Self::MaxSteps,
        Self::MaxRetryPerStep,
        Self::AllowedTotalRetries,
        Self::TimeoutSeconds,
        Self::MaxTokensPerStep,
        Self::MaxTotalTokens,
        Self::MaxCostUsd,
    ];

    /// The key in configs and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxSteps => "max_steps",
            Self::MaxRetryPerStep => "max_retry_per_step",
            Self::AllowedTotalRetries => "allowed_total_retries",
            Self::TimeoutSeconds => "timeout_seconds",
            Self::MaxTokensPerStep => "max_tokens_per_step",
            Self::MaxTotalTokens => "max_total_tokens",
            Self::MaxCostUsd => "max_cost_usd",
        }
    }
}

/// Counts over the mid-run of one run; n/a where the order of its steps is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MidRun {
    /// Attempts that passed or failed.
    pub judged: u32,
    /// Attempts that failed.
    pub failed: u32,
    /// Steps with a failed attempt.
    pub failed_steps: u32,
    /// Of those, the recovered ones.
    pub recovered_steps: u32,
}

/// Failed attempts of one run that have the same error type and the same tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorCount {
    /// The error's type, as mapped by the config.
    pub kind: Name,
    /// Name of the tool or node that failed, where one is recorded.
    pub tool: Option<Name>,
    /// How many attempts.
    pub attempts: u32,
}

/// What is kept of a run. All counts are of attempts unless they say steps.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Where the run stands in the input.
    pub place: Place,
    /// The run's id, where one is recorded.
    pub run_id: Option<Box<str>>,
    /// Its task's id, where one is recorded.
    pub task_id: Option<Name>,
    /// Which repetition of the task it is.
    pub trial: Option<Name>,
    /// The agent.
    pub agent: Option<Name>,
    /// The model.
    pub model: Option<Name>,
    /// Labels.
    pub tags: Box<[(Name, Name)]>,
    /// The run's status word, as recorded.
    pub status: Option<Name>,
    /// How it ended.
    pub outcome: Outcome,
    /// The limit that made it [`Outcome::OverLimit`].
    pub limit: Option<Limit>,
    /// Under `infra_errors: exclude`: not completed, and its last failed attempt is infra, so that
    /// it leaves completion and pass^k.
    pub infra_excused: bool,
    /// Whether the source says nothing of steps, so that no count of steps, attempts, retries and
    /// interventions is known.
    pub steps_unknown: bool,
    /// Steps.
    pub steps: u32,
    /// Attempts, implied ones among them.
    pub attempts: u32,
    /// Attempts that passed or failed and count in error rates.
    pub judged: u32,
    /// Of those, the failed ones.
    pub failed: u32,
    /// Failed attempts, also those that infra exclusion takes out of the rates.
    pub failed_all: u32,
    /// Failed attempts that infra exclusion takes out of the rates.
    pub infra_failed: u32,
    /// Whether the first attempt of the first step passed; `None` where it neither passed nor
    /// failed, is lost, excluded, or not known.
    pub first_step: Option<bool>,
    /// Counts over the mid-run; `None` where the order of steps is unknown.
    pub mid: Option<MidRun>,
    /// Retries, lost ones among them.
    pub retries: u32,
    /// Retries that are there as attempts.
    pub retries_present: u32,
    /// Of those, the ones that passed.
    pub retries_passed: u32,
    /// Inferred retries with the same input.
    pub retries_identical: u32,
    /// Inferred retries with another or unknown input.
    pub retries_revised: u32,
    /// How retries were told.
    pub retry_source: RetrySource,
    /// Attempts whose records are lost, told by attempt numbers.
    pub lost: u32,
    /// Attempts implied by a recorded count.
    pub implied: u32,
    /// Attempts equal to an earlier, passed attempt.
    pub repeated: u32,
    /// Whether any attempt records its input.
    pub has_input: bool,
    /// Whether an approval or a human took part.
    pub intervention: bool,
    /// Step of the first failed attempt, from 1; `None` without one, or with unknown order.
    pub first_failure: Option<u32>,
    /// Of a run that was not completed: the first step that failed and was not recovered.
    pub turned_at: Option<u32>,
    /// Steps with a failed attempt, by position, from 1.
    pub failed_steps: Box<[u32]>,
    /// Seconds from start to end.
    pub duration_seconds: Option<f64>,
    /// Tokens.
    pub tokens: Option<Tokens>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// Failed attempts by error type and tool, sorted.
    pub errors: Box<[ErrorCount]>,
    /// Attempts by step type, as recorded, sorted by name.
    pub step_types: Box<[(Name, u32)]>,
    /// Planned nodes never reached.
    pub never_reached: u32,
}

impl RunRow {
    /// A run of this task that should be there and is not: it ended without being completed, and
    /// nothing else is known of it.
    #[must_use]
    pub fn lost(task_id: &str) -> Self {
        let nothing = Trajectory::default();
        let blank = super::count::blank(&nothing, RetrySource::Recorded, &mut Names::default());
        Self { task_id: Some(task_id.into()), outcome: Outcome::Failed, ..blank }
    }

    /// The value of a label; the last of equal ones counts.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().rev().find(|(key, _)| &**key == name).map(|(_, value)| &**value)
    }

    /// Whether the run counts in completion rates and pass^k.
    #[must_use]
    pub fn counts_as_ended(&self) -> bool {
        self.outcome.ended() && !self.infra_excused
    }

    /// Whether it was completed.
    #[must_use]
    pub fn completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }
}

#[cfg(test)]
mod tests {
    use super::RunRow;

    #[test]
    fn the_last_of_equal_labels_counts() {
        let tags = [("team", "post"), ("team", "mail"), ("lang", "de")];
        let tags = tags.map(|(key, value)| (key.into(), value.into())).into();
        let row = RunRow { tags, ..RunRow::lost("t") };
        assert_eq!((row.tag("team"), row.tag("lang")), (Some("mail"), Some("de")));
        assert_eq!(row.tag("te"), None);
    }
}
