//! The step that fails most, and what that costs.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnose::{Check, Facts, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "weakest_link",
    title: "the step with the lowest success",
    about: "Of the tools and nodes that at least as many runs reach as the limit, the one whose steps pass least often in the end, where that is under 95%; with the completion of runs in which it fails and of those in which it does not.",
    remedy: "Mend this step first: its share of the lost completions is the most that mending it can give back.",
    grade: Grade::Note,
    limit: Some((10.0, "runs that must reach a step")),
    check: Check::Set(check),
};

/// The success from which a step is no weak link.
const FINE: f64 = 0.95;

#[derive(Default)]
struct Link {
    steps: u64,
    passed: u64,
    /// Ended runs in which one of its steps fails in the end: all, and completed.
    failed: (u64, u64),
    /// Ended runs in which all of them pass.
    well: (u64, u64),
    runs: u64,
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs and steps")]
fn check(facts: &Facts<'_>, _: &Settings, sink: &mut Sink<'_>) {
    let mut links: BTreeMap<&str, Link> = BTreeMap::new();
    for (row, found) in facts.rows.iter().zip(facts.runs) {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut failing: BTreeSet<&str> = BTreeSet::new();
        for step in &found.steps {
            let Some(last) = step.last else { continue };
            let link = links.entry(&step.label).or_default();
            link.steps += 1;
            link.passed += u64::from(last);
            reached.insert(&step.label);
            if !last {
                failing.insert(&step.label);
            }
        }
        for label in reached {
            let link = links.entry(label).or_default();
            link.runs += 1;
            if row.counts_as_ended() {
                let sums = if failing.contains(label) { &mut link.failed } else { &mut link.well };
                sums.0 += 1;
                sums.1 += u64::from(row.completed());
            }
        }
    }
    let limit = sink.limit();
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    let known: Vec<(&str, Link)> =
        links.into_iter().filter(|(_, link)| link.runs as f64 >= limit).collect();
    let runs = known.iter().map(|(_, link)| link.runs).max().unwrap_or_default();
    sink.examined(runs);
    let weakest = known.iter().min_by(|(a, x), (b, y)| {
        share(x.passed, x.steps).total_cmp(&share(y.passed, y.steps)).then(a.cmp(b))
    });
    let Some((label, link)) = weakest else { return };
    let success = share(link.passed, link.steps);
    if success >= FINE {
        return;
    }
    let (bad, good) = (share(link.failed.1, link.failed.0), share(link.well.1, link.well.0));
    let lost = (good - bad).max(0.0) * link.failed.0 as f64;
    let ended = facts.rows.iter().filter(|row| row.counts_as_ended()).count() as f64;
    let mut evidence = format!(
        "{} of {} steps pass in the end ({:.1}%)",
        link.passed,
        link.steps,
        success * 100.0
    );
    if link.failed.0 > 0 && link.well.0 > 0 {
        evidence.push_str(&format!(
            "; {}/{} runs in which it fails are completed, {}/{} of the others: at most about {:.1} points of completion",
            link.failed.1, link.failed.0, link.well.1, link.well.0,
            lost / ended.max(1.0) * 100.0
        ));
    }
    sink.affected(link.failed.0);
    sink.about(Some(label), evidence);
}
