//! One figure over sets of runs that follow each other.

use super::catalogue::Metric;
use super::figure::{Figure, Set};
use crate::evaluate::RunRow;

/// One figure over several sets.
#[derive(Debug, Clone)]
pub struct Trend {
    /// The figure.
    pub metric: &'static Metric,
    /// The sets, in order.
    pub points: Vec<TrendPoint>,
}

/// One set of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendPoint {
    /// What it is called.
    pub name: String,
    /// When it was made, RFC 3339, where that is known.
    pub time: Option<String>,
    /// Its runs.
    pub runs: u64,
    /// The figure of its runs.
    pub figure: Figure,
}

impl Trend {
    /// A trend without a set.
    #[must_use]
    pub fn new(metric: &'static Metric) -> Self {
        Self { metric, points: Vec::new() }
    }

    /// Adds a set of runs.
    pub fn add(&mut self, name: String, time: Option<String>, rows: &[&RunRow]) {
        let figure = Set::new(rows.to_vec()).figure(self.metric);
        self.points.push(TrendPoint { name, time, runs: rows.len() as u64, figure });
    }

    /// Puts the sets in the order of their times where all have one, else leaves them as added.
    pub fn sort(&mut self) {
        if self.points.iter().all(|point| point.time.is_some()) {
            self.points.sort_by(|a, b| a.time.cmp(&b.time));
        }
    }
}
