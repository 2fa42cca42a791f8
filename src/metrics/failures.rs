//! Failed attempts grouped by what failed: error type and tool.
//!
//! Owns how often each signature is there, in which runs and at which steps. Counts are over all
//! runs that are added, in whatever order; examples are those of the lowest rank.

use std::collections::BTreeMap;

use super::foremost::Rank;
use crate::evaluate::{Timeline, Verdict};
use crate::model::mask;

/// Example runs of a group.
pub const EXAMPLES: usize = 5;

/// Failed attempts of one error type and tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    /// The error's type, masked.
    pub kind: Box<str>,
    /// The tool or node that failed, masked; `None` where none is recorded.
    pub tool: Option<Box<str>>,
    /// Runs that have it.
    pub runs: u64,
    /// Of those, the runs that were not completed.
    pub runs_lost: u64,
    /// Failed attempts that have it, implied ones among them.
    pub attempts: u64,
    /// Runs that have it by the position of the step; empty where the order is unknown.
    pub steps: BTreeMap<u32, u64>,
    /// Runs to look at, with the step where each has it first.
    pub examples: Vec<(Rank, u32)>,
}

/// Error type and tool.
type Signature = (Box<str>, Option<Box<str>>);

/// Groups failures while runs pass by.
#[derive(Debug, Default)]
pub struct Failures {
    groups: BTreeMap<Signature, Building>,
}

#[derive(Debug, Default)]
struct Building {
    runs: u64,
    runs_lost: u64,
    attempts: u64,
    steps: BTreeMap<u32, u64>,
    examples: BTreeMap<Rank, u32>,
}

impl Building {
    fn join(&mut self, other: Self) {
        self.runs += other.runs;
        self.runs_lost += other.runs_lost;
        self.attempts += other.attempts;
        for (step, runs) in other.steps {
            *self.steps.entry(step).or_default() += runs;
        }
        self.examples.extend(other.examples);
        while self.examples.len() > EXAMPLES {
            self.examples.pop_last();
        }
    }
}

impl Failures {
    /// Adds a run.
    pub fn add(&mut self, timeline: &Timeline, rank: Rank) {
        let row = &timeline.row;
        if row.failed_all == 0 {
            return;
        }
        // By signature: failed attempts, and the steps where they are, in order.
        let mut found: BTreeMap<Signature, (u64, Vec<u32>)> = BTreeMap::new();
        for step in &timeline.steps {
            for attempt in step.attempts.iter().filter(|a| a.verdict == Verdict::Failed) {
                let kind = attempt.error_type.as_deref().unwrap_or_default();
                let tool = attempt.failed_tool.as_deref().map(|tool| mask(tool).into());
                let (attempts, steps) = found.entry((mask(kind).into(), tool)).or_default();
                *attempts += u64::from(attempt.times);
                if steps.last() != Some(&step.position) {
                    steps.push(step.position);
                }
            }
        }
        for (signature, (attempts, steps)) in found {
            let group = self.groups.entry(signature).or_default();
            let first = steps.first().copied().unwrap_or_default();
            let steps = steps.into_iter().filter(|_| row.mid.is_some());
            group.join(Building {
                runs: 1,
                runs_lost: u64::from(!row.completed()),
                attempts,
                steps: steps.map(|step| (step, 1)).collect(),
                examples: BTreeMap::from([(rank, first)]),
            });
        }
    }

    /// Adds what was counted elsewhere; the order of joining does not matter.
    pub fn join(&mut self, other: Self) {
        for (signature, group) in other.groups {
            self.groups.entry(signature).or_default().join(group);
        }
    }

    /// The groups: those in most runs that were not completed first, then those in most runs.
    #[must_use]
    pub fn into_groups(self) -> Vec<FailureGroup> {
        let mut groups: Vec<FailureGroup> = self
            .groups
            .into_iter()
            .map(|((kind, tool), group)| FailureGroup {
                kind,
                tool,
                runs: group.runs,
                runs_lost: group.runs_lost,
                attempts: group.attempts,
                steps: group.steps,
                examples: group.examples.into_iter().collect(),
            })
            .collect();
        groups.sort_by(|a, b| {
            let by_size = (b.runs_lost, b.runs, b.attempts).cmp(&(a.runs_lost, a.runs, a.attempts));
            by_size.then_with(|| (&a.kind, &a.tool).cmp(&(&b.kind, &b.tool)))
        });
        groups
    }
}
