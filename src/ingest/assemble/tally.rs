//! What became of things that are smaller than a record: spans, calls, blocks.
//!
//! Owns counts by code and rule, told as issues at the end. A record's own fate is told by
//! `Fate`; this is for what is inside one.

use std::collections::BTreeMap;

use crate::model::{Issue, Place, Severity};

/// Counts by code and rule. The message of an issue is its rule.
#[derive(Debug, Default)]
pub struct Tally {
    counts: BTreeMap<(&'static str, &'static str), Issue>,
}

impl Tally {
    /// Counts something once; the first place is kept.
    pub fn count(
        &mut self,
        code: &'static str,
        severity: Severity,
        place: Place,
        rule: &'static str,
    ) {
        self.add(code, severity, place, rule, 1);
    }

    /// Counts something `count` times; nothing if that is 0.
    pub fn add(
        &mut self,
        code: &'static str,
        severity: Severity,
        place: Place,
        rule: &'static str,
        count: u64,
    ) {
        if count == 0 {
            return;
        }
        let issue = self.counts.entry((code, rule)).or_insert_with(|| Issue {
            code,
            severity,
            place,
            message: rule.into(),
            count: 0,
        });
        issue.count += count;
        issue.place = issue.place.min(place);
    }

    /// Takes over the counts of another.
    pub fn merge(&mut self, other: Self) {
        for ((code, rule), issue) in other.counts {
            self.add(code, issue.severity, issue.place, rule, issue.count);
        }
    }

    /// The issues, by code and rule.
    pub fn into_issues(self) -> impl Iterator<Item = Issue> {
        self.counts.into_values()
    }
}
