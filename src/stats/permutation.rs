//! Label permutation within tasks: the p-value of any statistic.
//!
//! Owns: how relabelings are counted, when all are, when drawing may stop, and what
//! a tie is. Refuses: statistics (those of the gate are in `label_tests`) and
//! relabelings across tasks.

use super::exact::Tails;
use super::random::SplitMix64;
use super::relabel::{Bits, Design, Every, Shuffled};

/// Up to so many relabelings are all counted, and none is drawn.
const ALL_UP_TO: u64 = 20_000;

/// Statistics closer to each other than this share of their scale are equal.
const TIE: f64 = 1e-12;

/// Draws that share one stream of random numbers.
const CHUNK: u32 = 512;

/// When to stop drawing before all draws are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stop {
    /// Never.
    Never,
    /// As soon as no p-value of either tail, strict or mid, could be at most this
    /// level after all draws. Whether a p-value is at most the level, or at most a
    /// smaller one, is then what it would have been; its size is that of the draws
    /// made, and above the level.
    Above(f64),
}

/// How relabelings are drawn if there are too many to count them all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draws {
    /// The number of draws, B.
    pub count: u32,
    /// The seed of the random numbers.
    pub seed: u64,
    /// When to stop early.
    pub stop: Stop,
}

impl Draws {
    /// 9,999 draws of a seed, all of them made.
    pub fn seeded(seed: u64) -> Self {
        Self { count: 9_999, seed, stop: Stop::Never }
    }
}

/// What the relabelings say of a statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permuted {
    /// P-values that count ties in full: never liberal, whatever the number of draws.
    pub p: Tails,
    /// P-values that count half of the ties, the relabeling seen being one of them.
    pub mid: Tails,
    /// Relabelings counted, without the one seen if they were drawn.
    pub draws: u64,
    /// Whether all relabelings were counted rather than drawn.
    pub exhaustive: bool,
    /// Whether drawing stopped before all draws were made.
    pub stopped: bool,
}

/// The p-values of `statistic` under relabeling of runs within tasks (STATISTICS.md,
/// section 5.2).
///
/// `statistic` gets the numbers of the runs that are labelled as the candidate's,
/// task after task and as many per task as the candidate has; within a task their
/// order means nothing. Up to 20,000 relabelings are all counted:
/// `p = #{T* >= T} / N`. More are drawn: `p = (1 + #{T* >= T}) / (B + 1)`.
///
/// Values within 1e-12 of `scale`, or of the statistic seen if that is larger, are
/// ties. `scale` is what rounding errors of the statistic are relative to: the size
/// of the parts it is a sum or difference of; 0 where it has none. A relabeling for
/// which the statistic is NaN counts as a tie, so does every one if it is NaN or
/// infinite for the labels seen.
///
/// Assumes runs of one task exchangeable between arms if there is no difference. The
/// same design, draws and statistic give the same bytes anywhere: every 512 draws
/// have a stream of their own, between which alone drawing may stop.
pub fn permute(
    design: &Design,
    draws: Draws,
    scale: f64,
    mut statistic: impl FnMut(&[u32]) -> f64,
) -> Permuted {
    let seen = statistic(&design.candidate());
    let mut counts = Counts::of(seen, scale);
    if let Some(all) = design.relabelings(ALL_UP_TO) {
        let mut every = Every::new(design);
        loop {
            counts.add(statistic(every.current()));
            if !every.advance() {
                return counts.exhausted(all);
            }
        }
    }
    let mut shuffled = Shuffled::new(design);
    let mut made = 0;
    let mut chunk = 0;
    while made < draws.count && !counts.decided(draws) {
        let mut bits = Bits::new(SplitMix64::stream(draws.seed, chunk));
        shuffled.restart();
        let size = CHUNK.min(draws.count - made);
        for _ in 0..size {
            counts.add(statistic(shuffled.draw(&mut bits)));
        }
        made += size;
        chunk += 1;
    }
    counts.drawn(made, draws)
}

/// Relabelings with a statistic below, equal to and above the one seen.
struct Counts {
    seen: f64,
    tie: f64,
    below: u64,
    equal: u64,
    above: u64,
}

impl Counts {
    fn of(seen: f64, scale: f64) -> Self {
        Self { seen, tie: TIE * seen.abs().max(scale), below: 0, equal: 0, above: 0 }
    }

    #[inline]
    fn add(&mut self, statistic: f64) {
        let gap = statistic - self.seen;
        // Written so that NaN is a tie.
        if gap > self.tie {
            self.above += 1;
        } else if gap < -self.tie {
            self.below += 1;
        } else {
            self.equal += 1;
        }
    }

    /// The p-values if the relabeling seen is one of `all`, and among the counted.
    fn exhausted(&self, all: u64) -> Permuted {
        self.permuted((self.equal, all as f64), (all, true, false))
    }

    /// The p-values if the relabeling seen is one beside those drawn.
    fn drawn(&self, made: u32, draws: Draws) -> Permuted {
        let all = f64::from(made) + 1.0;
        let stopped = made < draws.count;
        self.permuted((self.equal + 1, all), (u64::from(made), false, stopped))
    }

    /// Whether every p-value would be above the level after all draws, even if no
    /// further one counted.
    fn decided(&self, draws: Draws) -> bool {
        let Stop::Above(level) = draws.stop else { return false };
        let all = f64::from(draws.count) + 1.0;
        let least = self.permuted((self.equal + 1, all), (0, false, false)).mid;
        least.less.min(least.greater) > level
    }

    fn permuted(
        &self,
        (equal, all): (u64, f64),
        (draws, exhaustive, stopped): (u64, bool, bool),
    ) -> Permuted {
        let tails = |ties: f64| Tails {
            less: (self.below as f64 + ties) / all,
            greater: (self.above as f64 + ties) / all,
        };
        let ties = equal as f64;
        Permuted { p: tails(ties), mid: tails(ties / 2.0), draws, exhaustive, stopped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many tasks of 5 + 5 runs that relabelings must be drawn.
    fn design() -> Design {
        Design::new([(5, 5); 8]).unwrap_or_else(|| panic!("too many runs"))
    }

    /// The sum of the squares of the chosen runs' numbers: largest as they are.
    fn squares(chosen: &[u32]) -> f64 {
        chosen.iter().map(|&run| f64::from(run).powi(2)).sum()
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
        let of = |seed| {
            permute(&design(), Draws::seeded(seed), 0.0, |chosen| {
                chosen.iter().map(|&run| f64::from(run * 7919 % 1009)).sum()
            })
        };
        let first = of(7);
        assert_eq!(first, of(7));
        assert_ne!(first, of(8));
        assert!(!first.exhaustive && !first.stopped && first.draws == 9_999);
    }

    /// Counts of a chunk do not depend on the chunks before it.
    #[test]
    fn chunks_can_be_drawn_in_any_order() {
        let above = |chunks: std::ops::Range<u64>| {
            let design = design();
            let mut shuffled = Shuffled::new(&design);
            let mut counts = Counts::of(30_000.0, 0.0);
            for chunk in chunks {
                let mut bits = Bits::new(SplitMix64::stream(1, chunk));
                shuffled.restart();
                (0..CHUNK).for_each(|_| counts.add(squares(shuffled.draw(&mut bits))));
            }
            counts.above
        };
        assert_eq!(above(0..4), above(0..1) + above(1..2) + above(2..4));
    }

    #[test]
    fn stopping_early_changes_no_decision_at_its_level_or_below() {
        let design = design();
        let mut stopped = 0;
        for shift in 0..40_u32 {
            let statistic = |chosen: &[u32]| {
                chosen.iter().map(|&run| f64::from((run * 7919 + shift * 104_729) % 1009)).sum()
            };
            let whole = permute(&design, Draws::seeded(2), 0.0, statistic);
            let draws = Draws { stop: Stop::Above(0.2), ..Draws::seeded(2) };
            let early = permute(&design, draws, 0.0, statistic);
            stopped += u32::from(early.stopped);
            for level in [0.2, 0.05] {
                for (early, whole) in [(early.p, whole.p), (early.mid, whole.mid)] {
                    assert_eq!(early.less <= level, whole.less <= level);
                    assert_eq!(early.greater <= level, whole.greater <= level);
                }
            }
            assert!(early.stopped || early == whole);
        }
        assert!((10..40).contains(&stopped), "{stopped} stopped");
    }

    /// Of 1 + 1 runs in three tasks, 8 relabelings; the candidate has all the larger.
    #[test]
    fn few_relabelings_are_all_counted() {
        let design = Design::new([(1, 1); 3]).unwrap_or_else(|| panic!("too many runs"));
        let got = permute(&design, Draws::seeded(1), 0.0, squares);
        assert_eq!((got.p, got.draws), (Tails { less: 1.0, greater: 0.125 }, 8));
        assert_eq!(got.mid, Tails { less: 0.9375, greater: 0.0625 });
        assert!(got.exhaustive);
    }

    #[test]
    fn rounding_makes_no_difference_and_no_number_counts_in_both_tails() {
        let small = Design::new([(1, 1)]).unwrap_or_else(|| panic!("too many runs"));
        let draws = Draws::seeded(1);
        let nearly = |chosen: &[u32]| 0.1 + f64::from(chosen[0]) * 1e-15;
        assert_eq!(permute(&small, draws, 0.0, nearly).p, Tails { less: 1.0, greater: 1.0 });
        let around_0 = |chosen: &[u32]| f64::from(chosen[0]) * 1e-15;
        assert_eq!(permute(&small, draws, 1.0, around_0).p.greater, 1.0);
        assert_eq!(permute(&small, draws, 0.0, around_0).p.greater, 0.5);
        let undefined = |chosen: &[u32]| if chosen[0] == 0 { f64::NAN } else { 1.0 };
        assert_eq!(permute(&small, draws, 0.0, undefined).p, Tails { less: 1.0, greater: 1.0 });
        for seen in [f64::NAN, f64::INFINITY] {
            let never = permute(&design(), draws, 1.0, |_| seen);
            assert_eq!(never.p, Tails { less: 1.0, greater: 1.0 });
        }
    }

    #[test]
    fn without_draws_or_runs_nothing_is_told() {
        let none = Draws { count: 0, ..Draws::seeded(1) };
        assert_eq!(permute(&design(), none, 0.0, squares).p, Tails { less: 1.0, greater: 1.0 });
        let empty = Design::new([]).unwrap_or_else(|| panic!("too many runs"));
        assert_eq!(permute(&empty, none, 0.0, squares).p, Tails { less: 1.0, greater: 1.0 });
    }
}
