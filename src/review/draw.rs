//! Which runs or steps are drawn, and in which order they are shown.
//!
//! Two strata, by the config's verdict, of which as many are drawn as of the other as far as there are:
//! what is rare is where a judge's errors show. Inside a stratum every k-th of a list is taken from a
//! random start on, the list in order of outcome, task or tool (groups and members shuffled): each unit
//! has the same chance, and each group its share.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::wire::{KeyStratum, Verdict};
use crate::stats::SplitMix64;

/// Something that can be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The config's verdict.
    pub judge: Verdict,
    /// What its share is kept of: outcome and task of a run, tool of a step.
    pub group: String,
}

/// What was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draw {
    /// Places among the units, shuffled.
    pub chosen: Vec<usize>,
    /// The strata that have units.
    pub strata: Vec<KeyStratum>,
}

/// Ids of the drawn rows, with a head of their own for each draw: a sheet is not scored by the key of
/// another. `identities` tell the drawn units apart.
#[must_use]
pub fn ids(identities: &[String], seed: u64) -> Vec<String> {
    let print = xxh3_64(format!("{seed}\n{}", identities.join("\n")).as_bytes());
    // A letter first: spreadsheets take digits for a date or a number.
    (1..=identities.len()).map(|nth| format!("s{:06x}-{nth:03}", print >> 40)).collect()
}

/// Draws up to `size` units; the same units, size and seed give the same draw.
#[must_use]
pub fn draw(units: &[Unit], size: usize, seed: u64) -> Draw {
    let mut strata = Vec::new();
    let mut chosen = Vec::new();
    let members = Verdict::BOTH.map(|judge| -> Vec<usize> {
        (0..units.len()).filter(|at| units.get(*at).is_some_and(|u| u.judge == judge)).collect()
    });
    let sizes = shares([members[0].len(), members[1].len()], size);
    for ((stream, judge), (members, wanted)) in
        (0..).zip(Verdict::BOTH).zip(members.into_iter().zip(sizes))
    {
        if members.is_empty() {
            continue;
        }
        let mut random = SplitMix64::stream(seed, stream);
        strata.push(KeyStratum { judge, size: members.len() as u64, drawn: wanted as u64 });
        let list = in_groups(units, members, &mut random);
        chosen.extend(every_kth(&list, wanted, &mut random));
    }
    shuffle(&mut chosen, &mut SplitMix64::stream(seed, 2));
    Draw { chosen, strata }
}

/// How many of two strata are drawn: the same number, and of the larger one more where the smaller is
/// used up.
fn shares([first, second]: [usize; 2], size: usize) -> [usize; 2] {
    let half = size.div_ceil(2);
    // Of the smaller one first: what it lacks goes to the other.
    if first <= second {
        let of_first = first.min(half);
        [of_first, second.min(size.saturating_sub(of_first))]
    } else {
        let of_second = second.min(half);
        [first.min(size.saturating_sub(of_second)), of_second]
    }
}

/// The members one group after the other, groups and members shuffled.
fn in_groups(units: &[Unit], members: Vec<usize>, random: &mut SplitMix64) -> Vec<usize> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in members {
        groups.entry(units.get(at).map_or("", |unit| &unit.group)).or_default().push(at);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    shuffle(&mut groups, random);
    for group in &mut groups {
        shuffle(group, random);
    }
    groups.into_iter().flatten().collect()
}

/// `wanted` members at equal distances from a random start.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places in a list, below 2^53"
)]
fn every_kth(list: &[usize], wanted: usize, random: &mut SplitMix64) -> Vec<usize> {
    let wanted = wanted.min(list.len());
    if wanted == 0 {
        return Vec::new();
    }
    let start = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let distance = list.len() as f64 / wanted as f64;
    let place = |nth: usize| (((nth as f64 + start) * distance) as usize).min(list.len() - 1);
    (0..wanted).filter_map(|nth| list.get(place(nth)).copied()).collect()
}

/// Fisher and Yates.
fn shuffle<T>(list: &mut [T], random: &mut SplitMix64) {
    for last in (1..list.len()).rev() {
        let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
        if let Some(other) = random.indices(1, bound).next() {
            list.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(pass: usize, fail: usize, groups: usize) -> Vec<Unit> {
        let unit = |at: usize| Unit {
            judge: if at < pass { Verdict::Pass } else { Verdict::Fail },
            group: format!("task-{}", at % groups),
        };
        (0..pass + fail).map(unit).collect()
    }

    #[test]
    fn the_rare_verdict_is_drawn_as_often_as_there_is_of_it() {
        assert_eq!(shares([90, 10], 40), [30, 10]);
        assert_eq!(shares([90, 50], 40), [20, 20]);
        assert_eq!(shares([0, 50], 40), [0, 40]);
        assert_eq!(shares([3, 2], 40), [3, 2]);
        assert_eq!(shares([9, 9], 1), [1, 0]);
    }

    #[test]
    fn no_unit_comes_twice_and_each_task_has_its_share() {
        let units = units(120, 30, 6);
        let drawn = draw(&units, 60, 7);
        let mut once = drawn.chosen.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), 60);
        for task in 0..6 {
            let of = |at: &&usize| **at < 120 && units[**at].group == format!("task-{task}");
            // 30 of 120 over six tasks of 20: five each.
            assert_eq!(drawn.chosen.iter().filter(of).count(), 5);
        }
    }

    #[test]
    fn each_unit_is_drawn_equally_often_whatever_the_size_of_its_task() {
        // One task of 15 runs, five of one run each; 5 of 20 are drawn: 1 in 4.
        let unit = |at: usize| Unit {
            judge: Verdict::Pass,
            group: if at < 15 { "big".to_owned() } else { format!("small-{at}") },
        };
        let units: Vec<Unit> = (0..20).map(unit).collect();
        let mut times = [0_u32; 20];
        for seed in 0..4_000 {
            draw(&units, 5, seed).chosen.into_iter().for_each(|at| times[at] += 1);
        }
        // 1,000 expected of each; five standard errors of 27.
        assert!(times.iter().all(|times| times.abs_diff(1_000) < 140), "{times:?}");
    }

    #[test]
    fn the_order_tells_no_verdict_and_the_seed_decides_it() {
        let units = units(40, 40, 1);
        let drawn = draw(&units, 80, 1);
        let first = drawn.chosen.iter().take(40).filter(|at| **at < 40).count();
        assert!((10..=30).contains(&first), "{first}");
        assert_eq!(drawn, draw(&units, 80, 1));
        assert_ne!(drawn.chosen, draw(&units, 80, 2).chosen);
    }
}
