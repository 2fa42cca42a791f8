//! Which runs could have been the candidate's: relabelings of runs inside tasks.
//!
//! Owns: [`Design`], its random relabelings and all of them in turn. Refuses:
//! moving a run from one task to another, which would mix up hard and easy tasks,
//! and any value of a run.

use super::random::SplitMix64;

/// How many runs each task has in each arm.
///
/// Runs are numbered over all tasks: task after task, and in a task those of the
/// baseline before those of the candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    tasks: Vec<Task>,
    runs: usize,
}

/// One task of a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Task {
    /// The number of its first run.
    pub(super) first: u32,
    /// Runs of the baseline.
    pub(super) baseline: u32,
    /// Runs of the candidate.
    pub(super) candidate: u32,
}

impl Task {
    fn runs(self) -> usize {
        self.baseline as usize + self.candidate as usize
    }
}

impl Design {
    /// The design of tasks with `(baseline, candidate)` runs; either may be 0, and
    /// then the runs of the task keep their label. `None` for 2^32 runs or more.
    pub fn new(sizes: impl IntoIterator<Item = (u32, u32)>) -> Option<Self> {
        let mut tasks = Vec::new();
        let mut first = 0_u32;
        for (baseline, candidate) in sizes {
            tasks.push(Task { first, baseline, candidate });
            first = first.checked_add(baseline)?.checked_add(candidate)?;
        }
        Some(Self { tasks, runs: first as usize })
    }

    /// The number of runs in both arms of all tasks.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// The numbers of the candidate's runs as they are, in ascending order.
    pub fn candidate(&self) -> Vec<u32> {
        let runs = |task: &Task| {
            let first = task.first + task.baseline;
            first..first + task.candidate
        };
        self.tasks.iter().flat_map(runs).collect()
    }

    /// How many relabelings there are, the one that was seen among them; `None` if
    /// more than `most`.
    pub fn relabelings(&self, most: u64) -> Option<u64> {
        self.tasks.iter().try_fold(1, |product: u64, task| {
            let smaller = u64::from(task.baseline.min(task.candidate));
            let runs = u64::from(task.baseline) + u64::from(task.candidate);
            let mut ways: u64 = 1;
            // Each partial product is itself a number of combinations, and they grow.
            for taken in 1..=smaller {
                ways = ways.checked_mul(runs - smaller + taken)? / taken;
                if ways > most {
                    return None;
                }
            }
            product.checked_mul(ways).filter(|&product| product <= most)
        })
    }

    pub(super) fn tasks(&self) -> &[Task] {
        &self.tasks
    }
}

/// Random relabelings, each as likely as any other.
pub(super) struct Shuffled<'a> {
    tasks: &'a [Task],
    /// All runs; those of a task stay together.
    order: Vec<u32>,
    /// Those labelled as the candidate's, task after task.
    chosen: Vec<u32>,
}

impl<'a> Shuffled<'a> {
    pub(super) fn new(design: &'a Design) -> Self {
        let chosen = Vec::with_capacity(design.candidate().len());
        Self { tasks: &design.tasks, order: (0..).take(design.runs).collect(), chosen }
    }

    /// Forgets the draws so far, so that those to come depend on their stream alone.
    pub(super) fn restart(&mut self) {
        for (place, run) in (0..).zip(&mut self.order) {
            *run = place;
        }
    }

    /// Draws the next relabeling: the numbers of the candidate's runs, task after
    /// task, in no order within a task.
    ///
    /// In each task as many runs as the smaller arm has are drawn without
    /// replacement (the first steps of Fisher and Yates), whatever order the draw
    /// before left them in. Uniform to within the runs of a task in 2^32.
    pub(super) fn draw(&mut self, random: &mut Bits) -> &[u32] {
        self.chosen.clear();
        let mut rest = self.order.as_mut_slice();
        for task in self.tasks {
            let (pool, others) = rest.split_at_mut(task.runs());
            rest = others;
            if (task.baseline, task.candidate) == (1, 1) {
                self.chosen.push(task.first + random.bit());
                continue;
            }
            let drawn = task.baseline.min(task.candidate) as usize;
            let mut left = task.baseline + task.candidate;
            for place in 0..drawn {
                pool.swap(place, place + random.below(left) as usize);
                left -= 1;
            }
            let (drawn, others) = pool.split_at(drawn);
            let candidate = if task.candidate <= task.baseline { drawn } else { others };
            self.chosen.extend_from_slice(candidate);
        }
        &self.chosen
    }
}

/// Random numbers in pieces, none of which is used twice.
pub(super) struct Bits {
    random: SplitMix64,
    /// The half of a word that is still unused, if any.
    half: Option<u32>,
    /// Unused single bits, the last one drawn being the lowest.
    bits: u64,
    bits_left: u32,
}

impl Bits {
    pub(super) fn new(random: SplitMix64) -> Self {
        Self { random, half: None, bits: 0, bits_left: 0 }
    }

    #[inline]
    fn bit(&mut self) -> u32 {
        if self.bits_left == 0 {
            self.bits = self.random.next_u64();
            self.bits_left = u64::BITS;
        }
        let bit = u32::from(self.bits & 1 == 1);
        self.bits >>= 1;
        self.bits_left -= 1;
        bit
    }

    /// A number below `bound`, by multiplying and shifting.
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        let half = match self.half.take() {
            Some(half) => half,
            None => {
                let word = self.random.next_u64();
                self.half = Some(word as u32);
                (word >> 32) as u32
            }
        };
        ((u64::from(half) * u64::from(bound)) >> 32) as u32
    }
}

/// All relabelings in turn. Their number must be known to be small.
pub(super) struct Every<'a> {
    tasks: &'a [Task],
    /// The candidate's runs, task after task, in ascending order.
    chosen: Vec<u32>,
}

impl<'a> Every<'a> {
    /// Starts at the relabeling with the first runs of each task.
    pub(super) fn new(design: &'a Design) -> Self {
        let first = |task: &Task| task.first..task.first + task.candidate;
        Self { tasks: &design.tasks, chosen: design.tasks.iter().flat_map(first).collect() }
    }

    pub(super) fn current(&self) -> &[u32] {
        &self.chosen
    }

    /// Moves on to the next relabeling; after the last one back to the first, with
    /// `false`.
    pub(super) fn advance(&mut self) -> bool {
        let mut rest = self.chosen.as_mut_slice();
        for task in self.tasks {
            let (chosen, others) = rest.split_at_mut(task.candidate as usize);
            rest = others;
            if next_combination(chosen, *task) {
                return true;
            }
        }
        false
    }
}

/// The next combination of a task's runs in lexicographic order; after the last one
/// back to the first, with `false`.
fn next_combination(chosen: &mut [u32], task: Task) -> bool {
    // The last place can reach the task's last run, the one before it the run before.
    let mut highest = task.first + task.baseline + task.candidate;
    let mut at = None;
    for (place, &run) in chosen.iter().enumerate().rev() {
        highest -= 1;
        if run < highest {
            at = Some((place, run + 1));
            break;
        }
    }
    let (place, run) = at.unwrap_or((0, task.first));
    for (slot, run) in chosen.iter_mut().skip(place).zip(run..) {
        *slot = run;
    }
    at.is_some()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn design(sizes: &[(u32, u32)]) -> Design {
        Design::new(sizes.iter().copied()).unwrap_or_else(|| panic!("too many runs"))
    }

    #[test]
    fn every_relabeling_is_visited_once() {
        let design = design(&[(1, 2), (3, 0), (2, 2), (0, 1), (1, 1)]);
        assert_eq!(design.relabelings(36), Some(3 * 6 * 2));
        assert_eq!(design.relabelings(35), None);
        let mut every = Every::new(&design);
        let mut seen = BTreeMap::new();
        loop {
            *seen.entry(every.current().to_vec()).or_insert(0) += 1;
            if !every.advance() {
                break;
            }
        }
        assert_eq!(seen.len(), 36);
        assert!(seen.values().all(|&times| times == 1));
        assert_eq!(seen.get(&design.candidate()), Some(&1));
    }

    /// 2 of 5, 3 of 5 and 1 of 2: 200 relabelings, of each of which 200 draws are
    /// expected with a standard deviation of 14.
    #[test]
    fn each_relabeling_is_drawn_as_often_as_any_other() {
        let design = design(&[(3, 2), (2, 3), (1, 1), (2, 0)]);
        let mut shuffled = Shuffled::new(&design);
        let mut bits = Bits::new(SplitMix64::stream(3, 0));
        let mut seen: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        for _ in 0..40_000 {
            let mut chosen = shuffled.draw(&mut bits).to_vec();
            chosen.sort_unstable();
            *seen.entry(chosen).or_default() += 1.0;
        }
        assert_eq!(seen.len(), 200);
        let squared: f64 = seen.values().map(|count| (count - 200.0).powi(2) / 200.0).sum();
        // Chi-squared with 199 degrees of freedom is below 267 with probability .999.
        assert!(squared < 267.0, "{squared}");
    }

    #[test]
    fn more_relabelings_than_a_number_holds_are_more_than_any_limit() {
        assert_eq!(design(&[(u32::MAX / 2, u32::MAX / 2)]).relabelings(20_000), None);
        assert_eq!(design(&[(40, 40); 40]).relabelings(u64::MAX), None);
        assert_eq!(design(&[(u32::MAX - 1, 1)]).relabelings(20_000), None);
        assert_eq!(design(&[]).relabelings(1), Some(1));
        assert_eq!(Design::new([(u32::MAX, 1)]), None);
    }
}
