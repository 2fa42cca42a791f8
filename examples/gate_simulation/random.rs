//! Random numbers of the laws that the generators are written in.
//!
//! The same on every machine and any number of threads: each repetition has a stream of its own.

use std::f64::consts::TAU;

use agenteval::stats::SplitMix64;

/// One stream.
pub(crate) struct Random(SplitMix64);

impl Random {
    /// The stream of one repetition of a cell.
    pub(crate) fn of(seed: u64, repetition: u64) -> Self {
        Self(SplitMix64::stream(seed, repetition))
    }

    /// Above 0 and below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Whether something of this probability happens.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A whole number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.unit() * bound as f64) as usize).min(bound.saturating_sub(1))
    }

    /// A whole number of a range, both ends included.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (TAU * self.unit()).cos()
    }

    /// Lognormal with a mean of 1, whose log has this standard deviation.
    pub(crate) fn spread(&mut self, deviation: f64) -> f64 {
        (deviation * self.normal() - deviation * deviation / 2.0).exp()
    }

    /// Beta with this mean and `a + b = 1`: success rates of tasks whose runs have an intraclass
    /// correlation of .5 (Jöhnk 1964).
    pub(crate) fn rate(&mut self, mean: f64) -> f64 {
        loop {
            let x = self.unit().powf(1.0 / mean);
            let y = self.unit().powf(1.0 / (1.0 - mean));
            if x + y <= 1.0 && x + y > 0.0 {
                return x / (x + y);
            }
        }
    }

    /// Gamma with a scale of 1 (Marsaglia and Tsang 2000).
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * self.unit().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// Poisson, by counting how many arrivals fit; for means up to some hundreds.
    pub(crate) fn poisson(&mut self, mean: f64) -> u32 {
        let (mut left, mut count) = (mean, 0);
        loop {
            left += self.unit().ln();
            if left < 0.0 {
                return count;
            }
            count += 1;
        }
    }

    /// Negative binomial with variance `mean + dispersion mean^2`.
    pub(crate) fn negative_binomial(&mut self, mean: f64, dispersion: f64) -> u32 {
        let shape = 1.0 / dispersion;
        let rate = mean * self.gamma(shape) / shape;
        self.poisson(rate)
    }

    /// Puts values in random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for place in (1..values.len()).rev() {
            values.swap(place, self.below(place + 1));
        }
    }
}
