//! The step that surely fails most, with how runs end in which it does.

use std::collections::BTreeMap;

use super::by_task::ByTask;
use crate::diagnose::{Check, Facts, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "weakest_link",
    title: "the step with the lowest success",
    about: "Of the tools and nodes that at least as many ended runs reach as the limit, the one whose steps pass least often in the end, by the upper bound (one-sided 95%, over tasks), where that is under 95%; with the completion of runs in which it fails and of those in which it does not.",
    remedy: "Look at this step first, and at whether runs fail because of it: that they fail together is no proof.",
    grade: Grade::Note,
    limit: Some((10.0, "ended runs that must reach a step")),
    check: Check::Set(check),
};

/// The success from which a step is no weak link.
const FINE: f64 = 0.95;

/// Two bounds of 95% on one side each are the ends of an interval of 90%.
const LEVEL: f64 = 0.90;

#[derive(Default)]
struct Link<'r> {
    steps: u64,
    passed: u64,
    tasks: ByTask<'r>,
    /// Ended runs in which one of its steps fails in the end: all, and completed.
    failed: (u64, u64),
    /// Ended runs in which all of them pass.
    well: (u64, u64),
}

impl Link<'_> {
    /// Ended runs that reach it.
    fn runs(&self) -> u64 {
        self.failed.0 + self.well.0
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs and steps")]
fn check(facts: &Facts<'_>, _: &Settings, sink: &mut Sink<'_>) {
    let mut links: BTreeMap<&str, Link<'_>> = BTreeMap::new();
    for (row, found) in facts.rows.iter().zip(facts.runs) {
        if !row.counts_as_ended() {
            continue;
        }
        let mut here: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for step in &found.steps {
            let Some(last) = step.last else { continue };
            let sums = here.entry(&step.label).or_default();
            sums.0 += u64::from(last);
            sums.1 += 1;
        }
        for (label, (passed, steps)) in here {
            let link = links.entry(label).or_default();
            link.passed += passed;
            link.steps += steps;
            link.tasks.add(row, passed as f64, steps as f64);
            let sums = if passed < steps { &mut link.failed } else { &mut link.well };
            sums.0 += 1;
            sums.1 += u64::from(row.completed());
        }
    }
    let limit = sink.limit();
    // By what its success is at most: a tool that failed once in three runs may be a fine one.
    let weakest = links
        .into_iter()
        .filter(|(_, link)| link.runs() as f64 >= limit)
        .filter_map(|(label, link)| Some((link.tasks.share(LEVEL)?.high, label, link)))
        .min_by(|(a, x, _), (b, y, _)| a.total_cmp(b).then(x.cmp(y)));
    let Some((high, label, link)) = weakest else { return };
    sink.examined(link.runs());
    if high >= FINE {
        return;
    }
    let mut evidence = format!(
        "{} of {} steps pass in the end ({:.1}%, at most {:.1}% by a one-sided 95% bound over tasks)",
        link.passed,
        link.steps,
        link.passed as f64 / link.steps.max(1) as f64 * 100.0,
        high * 100.0
    );
    let share = |(completed, of): (u64, u64)| {
        format!("{completed}/{of} ({:.1}%)", completed as f64 / of.max(1) as f64 * 100.0)
    };
    if link.failed.0 > 0 && link.well.0 > 0 {
        evidence.push_str(&format!(
            "; {} runs in which it fails are completed, {} of the others that reach it",
            share((link.failed.1, link.failed.0)),
            share((link.well.1, link.well.0))
        ));
    }
    sink.affected(link.failed.0);
    sink.about(Some(label), evidence);
}
