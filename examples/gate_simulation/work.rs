//! Repetitions of a cell over threads, and what is counted of them.

use std::ops::{Add, AddAssign};

use crate::random::Random;

/// What a run of the simulation is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Repetitions of a cell without a difference.
    pub(crate) repetitions: u64,
    /// Threads.
    pub(crate) threads: usize,
}

/// Seed of everything.
const SEED: u64 = 20_260_101;

/// What the decisions of a cell were. Sums, so that the order of repetitions does not matter.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) repetitions: u64,
    /// p of harm at most alpha, whatever the margin says.
    pub(crate) alone: u64,
    pub(crate) regression: u64,
    pub(crate) improved: u64,
    pub(crate) pass: u64,
    /// Without any p.
    pub(crate) untested: u64,
    /// Whatever else a simulation counts.
    pub(crate) other: [u64; 16],
}

impl Add for Tally {
    type Output = Self;

    fn add(mut self, rest: Self) -> Self {
        self += rest;
        self
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, rest: Self) {
        self.repetitions += rest.repetitions;
        self.alone += rest.alone;
        self.regression += rest.regression;
        self.improved += rest.improved;
        self.pass += rest.pass;
        self.untested += rest.untested;
        for (sum, more) in self.other.iter_mut().zip(rest.other) {
            *sum += more;
        }
    }
}

impl Tally {
    /// A count as a share of the repetitions.
    pub(crate) fn share(&self, count: u64) -> f64 {
        count as f64 / self.repetitions.max(1) as f64
    }
}

/// Repeats a cell. Its name alone decides its random numbers.
pub(crate) fn repeat(
    name: &str,
    repetitions: u64,
    threads: usize,
    once: impl Fn(&mut Random) -> Tally + Sync,
) -> Tally {
    // FNV-1a.
    let seed = name.bytes().fold(0xCBF2_9CE4_8422_2325 ^ SEED, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let threads = threads.max(1) as u64;
    let part = |thread: u64| {
        let mut sum = Tally::default();
        for repetition in (thread..repetitions).step_by(threads as usize) {
            sum += once(&mut Random::of(seed, repetition));
            sum.repetitions += 1;
        }
        sum
    };
    if threads == 1 {
        return part(0);
    }
    let part = &part;
    std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        let parts = running.into_iter().map(|thread| thread.join().unwrap_or_default());
        parts.fold(Tally::default(), Add::add)
    })
}
