//! A timeline that is small enough to keep thousands of: what a page of many runs shows of each.
//!
//! Owns the bounds of one run's timeline and that its words (types, names, statuses) are masked and
//! kept once. Refuses contents: messages, inputs and outputs are `contents.rs`'s, and kept only
//! where they are asked for.

use super::attempt::Verdict;
use super::timeline::{Timeline, TimelineAttempt};
use super::word_list::WordList;
use crate::model::mask;

/// Attempts of one run that are kept; the others are counted.
pub const MOST_ATTEMPTS: usize = 2_000;

/// Planned nodes that are named of those never reached.
const MOST_NODES: usize = 50;

/// Characters of a word that are kept.
const MOST_WORD: usize = 200;

/// One run's timeline, compact and without contents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Brief {
    /// Types, names, statuses and error types, masked; others refer to them by position.
    pub words: Box<[Box<str>]>,
    /// The steps, in order.
    pub steps: Box<[BriefStep]>,
    /// The attempts of all steps, in order.
    pub attempts: Box<[BriefAttempt]>,
    /// Attempts that are not kept.
    pub left_out: u64,
    /// Why the run stopped, where that is recorded as a word and not as a text.
    pub end_reason: Option<Box<str>>,
    /// Planned nodes never reached; at most 50.
    pub never_reached: Box<[Box<str>]>,
}

/// One step of a [`Brief`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BriefStep {
    /// Its position, from 1.
    pub position: u32,
    /// Its type.
    pub kind: u32,
    /// Its name.
    pub name: Option<u32>,
}

/// One attempt of a [`Brief`], or several implied ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BriefAttempt {
    /// Which record of the run tells of it.
    pub record: u32,
    /// Its step, as a position in [`Brief::steps`].
    pub step: u32,
    /// Its number, from 1.
    pub number: u32,
    /// How many implied attempts it stands for.
    pub times: u32,
    /// Whether only a recorded count tells of it.
    pub implied: bool,
    /// For an inferred retry: whether the input is the same.
    pub same_input: Option<bool>,
    /// What became of it.
    pub verdict: Verdict,
    /// Its status, where it is a word.
    pub status: Option<u32>,
    /// Its error's type.
    pub error: Option<u32>,
    /// Seconds since the start of the run.
    pub offset_seconds: Option<f64>,
    /// Duration in milliseconds.
    pub duration_ms: Option<f64>,
    /// Tokens.
    pub tokens: Option<f64>,
}

impl Brief {
    /// What is kept of a timeline.
    #[must_use]
    pub fn of(timeline: &Timeline) -> Self {
        let mut words = WordList::new(cut);
        let mut steps = Vec::new();
        let mut attempts = Vec::new();
        let mut left_out = 0;
        for step in &timeline.steps {
            let room = MOST_ATTEMPTS - attempts.len();
            if room == 0 {
                left_out += step.attempts.len() as u64;
                continue;
            }
            left_out += step.attempts.len().saturating_sub(room) as u64;
            let at = u32::try_from(steps.len()).unwrap_or(u32::MAX);
            steps.push(BriefStep {
                position: step.position,
                kind: words.put(&step.kind),
                name: step.name.as_deref().map(|name| words.put(name)),
            });
            let kept = step.attempts.iter().take(room);
            attempts.extend(kept.map(|attempt| brief(attempt, at, &mut words)));
        }
        let nodes = timeline.never_reached.iter().take(MOST_NODES);
        Self {
            words: words.into_words().into(),
            steps: steps.into(),
            attempts: attempts.into(),
            left_out,
            end_reason: timeline.end_reason.as_deref().filter(|text| is_word(text)).map(cut),
            never_reached: nodes.map(|node| cut(node)).collect(),
        }
    }

    /// The word at a position; empty for one that is not there.
    #[must_use]
    pub fn word(&self, at: u32) -> &str {
        self.words.get(at as usize).map_or("", |word| word)
    }
}

fn brief(attempt: &TimelineAttempt, step: u32, words: &mut WordList) -> BriefAttempt {
    let status = attempt.status.as_deref().filter(|text| is_word(text));
    BriefAttempt {
        record: attempt.record,
        step,
        number: attempt.number,
        times: attempt.times,
        implied: attempt.implied,
        same_input: attempt.same_input,
        verdict: attempt.verdict,
        status: status.map(|status| words.put(status)),
        error: attempt.error_type.as_deref().map(|kind| words.put(kind)),
        offset_seconds: attempt.offset_seconds,
        duration_ms: attempt.duration_ms,
        tokens: attempt.tokens,
    }
}

/// Whether a text is a label such as `max_steps`, not something that was said.
pub(crate) fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    (1..=40).contains(&text.len()) && text.chars().all(plain)
}

fn cut(word: &str) -> Box<str> {
    // Cut before masking too, so that a huge word costs little; masking may need what follows.
    let head: String = word.chars().take(MOST_WORD * 8).collect();
    let masked = mask(&head);
    match masked.char_indices().nth(MOST_WORD) {
        Some((end, _)) => format!("{}…", masked.get(..end).unwrap_or_default()).into(),
        None => masked.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, is_word};

    #[test]
    fn words_are_masked_and_bounded_and_what_was_said_is_no_word() {
        let body = "Ab1".repeat(12);
        assert_eq!(&*cut(&format!("tool_sk-{body}")), &*format!("tool_sk-{body}"));
        assert!(!cut(&format!("key sk-{body}")).contains(&body));
        assert_eq!(cut(&"长".repeat(500)).chars().count(), 201);
        assert!(is_word("max_steps") && !is_word("等待"));
        assert!(!is_word("the user said no") && !is_word("") && !is_word(&"x".repeat(41)));
    }
}
