//! The words that traces use for statuses and step types.

/// What the status word of an attempt says (`METRICS.md`, "Passed or failed").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptWord {
    /// The attempt passed.
    Passed,
    /// The attempt failed.
    Failed,
    /// Running, waiting, skipped, cancelled or refused: neither passed nor failed.
    Neither,
    /// A word in no list.
    Unknown,
}

impl AttemptWord {
    /// Reads a status word, in any case.
    #[must_use]
    pub fn read(word: &str) -> Self {
        const NEITHER: [&str; 9] = [
            "running",
            "pending",
            "in_progress",
            "skipped",
            "cancelled",
            "canceled",
            "denied",
            "rejected",
            "declined",
        ];
        const FAILED: [&str; 6] =
            ["failed", "error", "timeout", "timed_out", "exception", "invalid"];
        const PASSED: [&str; 7] =
            ["completed", "complete", "success", "succeeded", "passed", "ok", "done"];
        let word = word.trim();
        let is = |list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known));
        if is(&PASSED) {
            Self::Passed
        } else if is(&FAILED) {
            Self::Failed
        } else if is(&NEITHER) || starts_with_waiting(word) {
            Self::Neither
        } else {
            Self::Unknown
        }
    }
}

/// What the status word of a run says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunWord {
    /// The record itself says that the run has not ended.
    Unfinished,
    /// Cancelled or interrupted.
    Cancelled,
    /// Ended as completed.
    Completed,
    /// Ended as failed.
    Failed,
    /// A word in no list.
    Unknown,
}

impl RunWord {
    /// Reads a status word, in any case.
    #[must_use]
    pub fn read(word: &str) -> Self {
        const UNFINISHED: [&str; 4] = ["running", "pending", "in_progress", "paused"];
        const CANCELLED: [&str; 3] = ["cancelled", "canceled", "interrupted"];
        const COMPLETED: [&str; 6] = ["completed", "success", "succeeded", "passed", "ok", "done"];
        const FAILED: [&str; 7] =
            ["failed", "error", "crashed", "aborted", "timeout", "timed_out", "max_steps"];
        let word = word.trim();
        let is = |list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known));
        if is(&COMPLETED) {
            Self::Completed
        } else if is(&FAILED) {
            Self::Failed
        } else if is(&UNFINISHED) || starts_with_waiting(word) {
            Self::Unfinished
        } else if is(&CANCELLED) {
            Self::Cancelled
        } else {
            Self::Unknown
        }
    }
}

fn starts_with_waiting(word: &str) -> bool {
    word.get(..7).is_some_and(|head| head.eq_ignore_ascii_case("waiting"))
}

/// Whether a step type is a model turn or message, which never breaks and never is an inferred retry.
#[must_use]
pub fn is_model_turn(kind: &str) -> bool {
    const TURNS: [&str; 7] =
        ["llm", "model", "message", "assistant", "user", "thought", "reasoning"];
    TURNS.iter().any(|turn| kind.eq_ignore_ascii_case(turn))
}

/// Whether a step type is an approval or a human's step: one of the words of the type,
/// split at anything but letters, is `approval` or `human`.
#[must_use]
pub fn is_intervention(kind: &str) -> bool {
    kind.split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| word.eq_ignore_ascii_case("approval") || word.eq_ignore_ascii_case("human"))
}

#[cfg(test)]
mod tests {
    use super::{AttemptWord, RunWord, is_intervention};

    #[test]
    fn words_are_read_in_any_case() {
        assert_eq!(AttemptWord::read("OK"), AttemptWord::Passed);
        assert_eq!(AttemptWord::read("Timed_Out"), AttemptWord::Failed);
        assert_eq!(AttemptWord::read("WAITING_FOR_APPROVAL"), AttemptWord::Neither);
        assert_eq!(AttemptWord::read("max_steps"), AttemptWord::Unknown);
        assert_eq!(RunWord::read("Max_Steps"), RunWord::Failed);
        assert_eq!(RunWord::read("waiting"), RunWord::Unfinished);
        assert_eq!(RunWord::read("complete"), RunWord::Unknown);
        assert_eq!(RunWord::read("等待"), RunWord::Unknown);
    }

    #[test]
    fn approvals_and_human_steps_are_told_by_their_words() {
        assert!(is_intervention("human_input") && is_intervention("Approval"));
        assert!(!is_intervention("humanoid") && !is_intervention("tool"));
    }
}
