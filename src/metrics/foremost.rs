//! The first of many by rank, within a budget of weight, chosen while they pass by.
//!
//! Owns which runs a page shows where it cannot show all. The choice depends on the runs alone, not
//! on the order in which threads bring them, and memory stays within the budget.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::evaluate::{Outcome, RunRow};
use crate::model::Place;

/// Where a run stands among those that a page shows: runs that went wrong first, then those that
/// did not end, then completed ones; among equals by a hash, which makes a stable sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    class: u8,
    hash: u64,
    place: Place,
}

impl Rank {
    /// The rank of a run.
    #[must_use]
    pub fn of(row: &RunRow) -> Self {
        let class = match row.outcome {
            Outcome::Failed | Outcome::OverLimit => 0,
            Outcome::Cancelled | Outcome::Unfinished | Outcome::Unknown => 1,
            Outcome::Completed => 2,
        };
        let mut key = Vec::new();
        for label in [row.run_id.as_deref(), row.task_id.as_deref(), row.trial.as_deref()] {
            key.extend(label.unwrap_or_default().bytes());
            key.push(0xff);
        }
        for number in [u64::from(row.place.file), row.place.line, row.place.byte] {
            key.extend(number.to_le_bytes());
        }
        Self { class, hash: xxhash_rust::xxh3::xxh3_64(&key), place: row.place }
    }

    /// The rank of a run in a sample that does not look at how runs ended: tasks come in an order that
    /// their ids alone decide, and the runs of a task stay together.
    #[must_use]
    pub fn by_task(row: &RunRow) -> Self {
        const TASK: u64 = !0xffff_ffff;
        let own = Self::of(row).hash;
        let task = row.task_id.as_deref().map(|task| xxhash_rust::xxh3::xxh3_64(task.as_bytes()));
        Self { class: 0, hash: task.unwrap_or(own) & TASK | own & !TASK, place: row.place }
    }

    /// 0 for runs that failed or passed a limit, 1 for those that did not end, 2 for completed ones.
    #[must_use]
    pub fn class(&self) -> u8 {
        self.class
    }
}

/// Keeps the first by rank: as many as it takes for their weights to reach the budget.
#[derive(Debug)]
pub struct Foremost<T> {
    heap: BinaryHeap<Entry<T>>,
    weight: u64,
    budget: u64,
}

#[derive(Debug)]
struct Entry<T> {
    rank: Rank,
    weight: u64,
    item: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl<T> Foremost<T> {
    /// Keeps items up to a budget of weight.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        Self { heap: BinaryHeap::new(), weight: 0, budget }
    }

    /// Whether an item of this rank would be kept, as things are; one that is not now never will be.
    #[must_use]
    pub fn admits(&self, rank: Rank) -> bool {
        self.weight < self.budget || self.heap.peek().is_some_and(|worst| rank < worst.rank)
    }

    /// Offers an item.
    pub fn offer(&mut self, rank: Rank, weight: u64, item: T) {
        if !self.admits(rank) {
            return;
        }
        self.weight += weight;
        self.heap.push(Entry { rank, weight, item });
        while let Some(worst) = self.heap.peek() {
            if self.weight - worst.weight < self.budget {
                break;
            }
            self.weight -= worst.weight;
            self.heap.pop();
        }
    }

    /// What was kept, by rank.
    #[must_use]
    pub fn into_sorted(self) -> Vec<(Rank, T)> {
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().map(|entry| (entry.rank, entry.item)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Foremost, Rank};
    use crate::model::Place;

    fn rank(hash: u64) -> Rank {
        Rank { class: 0, hash, place: Place::default() }
    }

    #[test]
    fn the_choice_does_not_depend_on_the_order_in_which_items_come() {
        let weights = [5, 1, 9, 2, 2, 7, 1, 1, 30, 4];
        let kept = |order: &[u64]| {
            let mut foremost = Foremost::new(20);
            for at in order {
                foremost.offer(rank(*at), weights[usize::try_from(*at).unwrap()], *at);
            }
            foremost.into_sorted().into_iter().map(|(_, item)| item).collect::<Vec<_>>()
        };
        let forwards: Vec<u64> = (0..10).collect();
        let backwards: Vec<u64> = (0..10).rev().collect();
        let mixed = [4, 8, 0, 9, 2, 6, 1, 5, 3, 7];
        assert_eq!(kept(&forwards), [0, 1, 2, 3, 4, 5]);
        assert_eq!(kept(&backwards), kept(&forwards));
        assert_eq!(kept(&mixed), kept(&forwards));
    }
}
