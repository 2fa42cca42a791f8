//! Which attempts belong to one step (`METRICS.md`, "Which attempts belong together").
//!
//! Owns the order of records and the three rules, in their order: recorded numbers, counts and
//! keys; a repeated request id; a failed action followed by the same one. Refuses to judge: it
//! asks which records passed and failed.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::attempt::Verdict;
use crate::model::{Attempt, RetrySource, Trajectory, is_model_turn};

/// The steps of a run: which records they hold, in order.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    /// Records in the order in which they ran, as indices into `Trajectory::attempts`.
    pub(super) order: Vec<u32>,
    /// Step of each record, in the order of `order`; steps count from 0 in order of their first
    /// record. [`NO_STEP`] for a record that is no step.
    pub(super) step_of: Vec<u32>,
    /// Number of each record among the attempts of its step: as recorded, else counted on from the
    /// highest before it.
    pub(super) numbers: Vec<u32>,
    /// Number of steps.
    pub(super) steps: u32,
    /// How it was told.
    pub(super) source: Option<RetrySource>,
    /// For each record in `order`: whether rule 3 made it a retry, and then whether the input is the same.
    pub(super) inferred: Vec<Option<bool>>,
}

/// A record whose place among the steps is known.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    /// Index into `Trajectory::attempts`.
    pub(super) at: usize,
    /// Position of its step in the run, from 1.
    pub(super) position: u32,
    /// Its number among the attempts of its step, from 1.
    pub(super) number: u32,
}

/// Stands for the step of a record that is none.
pub(super) const NO_STEP: u32 = u32::MAX;

impl Grouping {
    /// Sorts the records by index, else by start, else leaves them as in the file.
    pub(super) fn sort(&mut self, run: &Trajectory<'_>) {
        let attempts = &run.attempts;
        self.order.clear();
        self.order.extend((0..attempts.len()).map(|at| u32::try_from(at).unwrap_or(u32::MAX)));
        if attempts.iter().all(|attempt| attempt.index.is_some_and(f64::is_finite)) {
            let key = |at: u32| {
                let attempt = &attempts[at as usize];
                (attempt.index.unwrap_or_default(), attempt.attempt.unwrap_or(1))
            };
            if !self.order.is_sorted_by(|a, b| key(*a) <= key(*b)) {
                self.order.sort_by(|a, b| {
                    let (a, b) = (key(*a), key(*b));
                    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
                });
            }
        } else if attempts.iter().all(|attempt| attempt.started_at.is_some()) {
            let times: Option<Vec<_>> = attempts
                .iter()
                .map(|attempt| attempt.started_at.as_ref().and_then(crate::model::Stamp::time))
                .collect();
            // Times with and without a zone have no common order.
            if let Some(times) = times
                && times.iter().all(|time| time.zoned == times[0].zoned)
            {
                self.order.sort_by_key(|at| times[*at as usize]);
            }
        }
    }

    /// Puts each record that is a step into its step. `keeps` tells which records are steps; `judge`
    /// is asked for each in order, once its place is known: what belongs together hangs on what
    /// passed before, and an expression may read the place.
    pub(super) fn group(
        &mut self,
        run: &Trajectory<'_>,
        keeps: &dyn Fn(&Attempt<'_>) -> bool,
        judge: &mut dyn FnMut(Placed) -> Verdict,
    ) {
        self.step_of.clear();
        self.numbers.clear();
        self.inferred.clear();
        self.inferred.resize(self.order.len(), None);
        self.steps = 0;
        let attempts = &run.attempts;
        let source = if has_numbers(attempts) || repeats(attempts.iter().filter_map(key)) {
            self.by_keys(attempts, keeps, judge);
            RetrySource::Recorded
        } else if repeats(attempts.iter().filter_map(|attempt| attempt.request_id.as_deref())) {
            self.by_request(attempts, keeps, judge);
            RetrySource::Recorded
        } else {
            // A source that says its retries are recorded, and records none, has none.
            let infer = run.retry_source != Some(RetrySource::Recorded);
            self.by_inference(attempts, keeps, judge, infer);
            RetrySource::Inferred
        };
        self.source = Some(run.retry_source.unwrap_or(source));
    }

    /// Books the record at the next place as attempt `number` of `step`.
    fn put(&mut self, step: u32, number: u32) {
        self.step_of.push(step);
        self.numbers.push(number);
    }

    fn new_step(&mut self) -> u32 {
        self.steps += 1;
        self.steps - 1
    }

    /// Rule 1: attempt numbers, counts, nested attempts, repeated keys.
    fn by_keys(
        &mut self,
        attempts: &[Attempt<'_>],
        keeps: &dyn Fn(&Attempt<'_>) -> bool,
        judge: &mut dyn FnMut(Placed) -> Verdict,
    ) {
        let mut open: HashMap<Key<'_>, Latest> = HashMap::new();
        let mut alike: HashMap<(&str, Option<&str>), Latest> = HashMap::new();
        let mut nests: HashMap<u32, Latest> = HashMap::new();
        // Only a record without a key asks what is alike.
        let keyless = attempts.iter().any(|attempt| key(attempt).is_none());
        for place in 0..self.order.len() {
            let at = self.order[place] as usize;
            let attempt = &attempts[at];
            if !keeps(attempt) {
                self.put(NO_STEP, 0);
                continue;
            }
            let key = key(attempt);
            let named = (&*attempt.kind, attempt.name.as_deref());
            // What one record nests is one step, whatever passed in it.
            let nest = attempt.nested_in.and_then(|record| nests.get(&record));
            let joined = nest.or_else(|| match key {
                Some(key) => open.get(&key).filter(|latest| {
                    // A repeat of an id after a pass is a revisit, unless its number rises.
                    latest.verdict != Verdict::Passed
                        || attempt.attempt.is_some_and(|number| number > latest.highest)
                }),
                None => alike.get(&named).filter(|latest| {
                    attempt.attempt.is_some_and(|number| number > 1 && number > latest.highest)
                }),
            });
            let highest = joined.map_or(0, |latest| latest.highest);
            // A record with a count is the last of as many attempts.
            let counted = attempt.attempts_total.unwrap_or(0).max(highest.saturating_add(1));
            let number = attempt.attempt.unwrap_or(counted);
            let step = joined.map(|latest| latest.step).unwrap_or_else(|| self.new_step());
            let verdict = judge(Placed { at, position: step + 1, number });
            let latest = Latest { step, verdict, highest: highest.max(number) };
            self.put(step, number);
            if let Some(key) = key {
                open.insert(key, latest);
            }
            if let Some(record) = attempt.nested_in {
                nests.insert(record, latest);
            }
            if keyless {
                alike.insert(named, latest);
            }
        }
    }

    /// Rule 2: the same request id, or tool call id, again.
    fn by_request(
        &mut self,
        attempts: &[Attempt<'_>],
        keeps: &dyn Fn(&Attempt<'_>) -> bool,
        judge: &mut dyn FnMut(Placed) -> Verdict,
    ) {
        let mut open: HashMap<&str, (u32, u32)> = HashMap::new();
        for place in 0..self.order.len() {
            let at = self.order[place] as usize;
            let attempt = &attempts[at];
            if !keeps(attempt) {
                self.put(NO_STEP, 0);
                continue;
            }
            let known = attempt.request_id.as_deref().and_then(|id| open.get(id)).copied();
            let (step, number) = match known {
                Some((step, number)) => (step, number.saturating_add(1)),
                None => (self.new_step(), 1),
            };
            judge(Placed { at, position: step + 1, number });
            self.put(step, number);
            if let Some(id) = attempt.request_id.as_deref() {
                open.insert(id, (step, number));
            }
        }
    }

    /// Rule 3: a failed action, directly followed by one of the same type and name.
    fn by_inference(
        &mut self,
        attempts: &[Attempt<'_>],
        keeps: &dyn Fn(&Attempt<'_>) -> bool,
        judge: &mut dyn FnMut(Placed) -> Verdict,
        infer: bool,
    ) {
        // The last action, with its step and number; model turns in between do not break the chain,
        // and actions that are no steps by the config do.
        let mut last: Option<(usize, Verdict, u32, u32)> = None;
        for place in 0..self.order.len() {
            let at = self.order[place] as usize;
            let attempt = &attempts[at];
            let (kept, turn) = (keeps(attempt), attempt.turn || is_model_turn(&attempt.kind));
            if turn || !kept {
                if kept {
                    let step = self.new_step();
                    judge(Placed { at, position: step + 1, number: 1 });
                    self.put(step, 1);
                } else {
                    self.put(NO_STEP, 0);
                }
                if !turn {
                    last = None;
                }
                continue;
            }
            let repeated = last.filter(|(before, verdict, _, _)| {
                let before = &attempts[*before];
                infer
                    && *verdict == Verdict::Failed
                    && before.kind == attempt.kind
                    && before.name == attempt.name
            });
            let (step, number) = match repeated {
                Some((before, _, step, number)) => {
                    let same = attempt.input.is_some() && attempt.input == attempts[before].input;
                    self.inferred[place] = Some(same);
                    (step, number.saturating_add(1))
                }
                None => (self.new_step(), 1),
            };
            let verdict = judge(Placed { at, position: step + 1, number });
            self.put(step, number);
            last = Some((at, verdict, step, number));
        }
    }
}

/// The latest record of a step, for deciding what joins it.
#[derive(Clone, Copy)]
struct Latest {
    step: u32,
    verdict: Verdict,
    /// The highest number in the step so far.
    highest: u32,
}

/// What makes records one step: `step_id`, else `node_id`, else `index`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key<'k> {
    Step(&'k str),
    Node(&'k str),
    Index(u64),
}

fn key<'k>(attempt: &'k Attempt<'_>) -> Option<Key<'k>> {
    if let Some(id) = attempt.step_id.as_deref() {
        return Some(Key::Step(id));
    }
    if let Some(id) = attempt.node_id.as_deref() {
        return Some(Key::Node(id));
    }
    // -0 and 0 are one index.
    attempt.index.map(|index| Key::Index((index + 0.0).to_bits()))
}

fn has_numbers(attempts: &[Attempt<'_>]) -> bool {
    attempts
        .iter()
        .any(|a| a.attempt.is_some() || a.attempts_total.is_some() || a.nested_in.is_some())
}

fn repeats<K: std::hash::Hash + Eq>(mut keys: impl Iterator<Item = K>) -> bool {
    let mut seen = HashSet::new();
    keys.any(|key| !seen.insert(key))
}
