//! Which calls are tries of one step, where results carry the number of their try.
//!
//! Owns one rule: a result that asks for another try is followed by the next call of that tool in a
//! later answer of the model, which has the next number whatever its result says. Calls of one
//! answer are never tries of each other. Refuses to guess where no result carries a number.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use crate::model::Attempt;

/// A step that waits for its next try.
struct Open<'a> {
    key: Cow<'a, str>,
    last: u32,
    turn: usize,
}

/// Gives the calls of a run the key of their step and the number of their try.
pub(super) fn number(attempts: &mut [Attempt<'_>]) {
    if attempts.iter().all(|attempt| attempt.attempt.is_none()) {
        return;
    }
    let mut open: HashMap<String, VecDeque<Open<'_>>> = HashMap::new();
    let mut turn = 0;
    for (place, attempt) in attempts.iter_mut().enumerate() {
        if attempt.turn {
            turn += 1;
            continue;
        }
        let Some(name) = attempt.name.as_deref() else { continue };
        let waiting = open.entry(name.to_owned()).or_default();
        let earlier = waiting.front().is_some_and(|step| step.turn < turn);
        let step = earlier.then(|| waiting.pop_front()).flatten();
        // A first try starts a step, whatever waits: the tool was asked for something else.
        let step = step.filter(|_| attempt.attempt != Some(1));
        let asked_again = attempt.attempt.is_some() && attempt.error.is_some();
        if step.is_none() && !asked_again {
            continue;
        }
        let number = attempt.attempt.or_else(|| Some(step.as_ref()?.last.saturating_add(1)));
        let key = step.map_or_else(|| Cow::Owned(format!("{name}#{}", place + 1)), |step| step.key);
        attempt.attempt = number;
        attempt.step_id = Some(key.clone());
        if let (true, Some(last)) = (asked_again, number) {
            waiting.push_back(Open { key, last, turn });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::number;
    use crate::model::{Attempt, ErrorInfo};

    fn turn() -> Attempt<'static> {
        Attempt { turn: true, ..Attempt::default() }
    }

    fn call(attempt: Option<u32>) -> Attempt<'static> {
        let error = attempt.map(|_| ErrorInfo::default());
        Attempt { name: Some("f".into()), attempt, error, ..Attempt::default() }
    }

    #[test]
    fn two_calls_at_once_that_fail_are_two_steps_with_a_retry_each() {
        let mut run =
            vec![turn(), call(Some(1)), call(Some(1)), turn(), call(Some(2)), call(None), turn()];
        number(&mut run);
        let found: Vec<_> =
            run.iter().map(|a| (a.step_id.as_deref().unwrap_or("-"), a.attempt)).collect();
        let expected = [
            ("-", None),
            ("f#2", Some(1)),
            ("f#3", Some(1)),
            ("-", None),
            ("f#2", Some(2)),
            ("f#3", Some(2)),
            ("-", None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn without_a_number_nothing_is_numbered() {
        let mut run = vec![turn(), call(None), turn(), call(None)];
        number(&mut run);
        assert!(run.iter().all(|a| a.attempt.is_none() && a.step_id.is_none()));
    }
}
