//! What lists of messages share: model turns, and which tool message answers which call.
//!
//! Owns: the turn, and the pairing by call id in one pass, where ids may be missing or used again for
//! another call. Refuses: what a call or a result means; that is each format's own.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::value::RawValue;

use super::raw::object;
use crate::config::ReadOptions;
use crate::model::Attempt;

/// A message of the model, which is a turn and no step.
pub(crate) fn model_turn<'a>(content: Option<&'a RawValue>, options: &ReadOptions) -> Attempt<'a> {
    Attempt {
        kind: Cow::Borrowed("llm"),
        turn: true,
        raw: options.raw_attempts.then(|| {
            let content = content.map(RawValue::get);
            Cow::Owned(object(&[("role", Some("\"assistant\"")), ("content", content)]))
        }),
        ..Attempt::default()
    }
}

/// Calls that have no result yet; a call is known by its place among the run's attempts.
#[derive(Default)]
pub(crate) struct OpenCalls<'a> {
    by_id: HashMap<Cow<'a, str>, VecDeque<(usize, usize)>>,
    without_id: VecDeque<usize>,
    of_last_message: VecDeque<usize>,
    answered: HashSet<usize>,
    message: usize,
}

impl<'a> OpenCalls<'a> {
    /// Starts a message that has calls. Calls of earlier messages stay open under ids that are
    /// not used again.
    pub(crate) fn start_message(&mut self) {
        self.message += 1;
        self.of_last_message.clear();
    }

    /// Adds a call of the current message.
    pub(crate) fn add(&mut self, attempt: usize, id: Option<Cow<'a, str>>) {
        self.of_last_message.push_back(attempt);
        let Some(id) = id else {
            self.without_id.push_back(attempt);
            return;
        };
        let same_id = self.by_id.entry(id).or_default();
        // The same id in a later message is another call: what was open under it stays unanswered.
        if same_id.front().is_some_and(|(message, _)| *message != self.message) {
            same_id.clear();
        }
        same_id.push_back((self.message, attempt));
    }

    /// The call that a result answers: the open one with its id; without an id the next open one
    /// of the last message; with an id that no call has, the next open call without id.
    pub(crate) fn answer(&mut self, id: Option<&str>) -> Option<usize> {
        // An answer by position leaves the call in the queue of its id; it must not be found twice.
        loop {
            let found = match id {
                Some(id) => match self.by_id.get_mut(id).and_then(VecDeque::pop_front) {
                    Some((_, attempt)) => Some(attempt),
                    None => self.first_open(|calls| &mut calls.without_id),
                },
                None => self.first_open(|calls| &mut calls.of_last_message),
            }?;
            if self.answered.insert(found) {
                return Some(found);
            }
        }
    }

    fn first_open(&mut self, queue: fn(&mut Self) -> &mut VecDeque<usize>) -> Option<usize> {
        while let Some(attempt) = queue(self).pop_front() {
            if !self.answered.contains(&attempt) {
                return Some(attempt);
            }
        }
        None
    }
}

/// Takes away the request ids that stand on more than one call of a run.
///
/// A repeated id means one call recorded again (`METRICS.md`, rule 2 of retries). In message
/// lists it never does: a record of a call there is always a call of its own, and some
/// writers give out an id twice.
pub(crate) fn forget_repeated_ids(attempts: &mut [Attempt<'_>]) {
    let mut uses: HashMap<String, u32> = HashMap::new();
    for id in attempts.iter().filter_map(|attempt| attempt.request_id.as_deref()) {
        *uses.entry(id.to_owned()).or_default() += 1;
    }
    if uses.values().all(|count| *count < 2) {
        return;
    }
    for attempt in attempts {
        if attempt.request_id.as_deref().is_some_and(|id| uses.get(id).is_some_and(|n| *n > 1)) {
            attempt.request_id = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OpenCalls;

    #[test]
    fn an_id_used_again_answers_the_call_of_its_own_message() {
        let mut calls = OpenCalls::default();
        calls.start_message();
        calls.add(0, Some("x".into()));
        calls.start_message();
        calls.add(1, Some("x".into()));
        assert_eq!(calls.answer(Some("x")), Some(1));
        assert_eq!(calls.answer(Some("x")), None);
    }

    #[test]
    fn results_without_id_answer_in_order_and_each_call_once() {
        let mut calls = OpenCalls::default();
        calls.start_message();
        calls.add(0, Some("a".into()));
        calls.add(1, Some("b".into()));
        assert_eq!(calls.answer(None), Some(0));
        assert_eq!(calls.answer(Some("a")), None);
        assert_eq!(calls.answer(Some("b")), Some(1));
        assert_eq!(calls.answer(None), None);
    }
}
