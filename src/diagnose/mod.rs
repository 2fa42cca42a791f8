//! Why runs fail: rules over trajectories, each with a stable code, its evidence and its remedy.
//!
//! Owns what a rule sees ([`Case`] of one run, [`Facts`] of all), what it says ([`Finding`]), how
//! common that is, and the list of rules; each rule is one file. Refuses to judge runs, which is done
//! before, and to guess where a trace does not say: a rule that lacks its fields examines nothing.

mod attribution;
mod budgets;
mod case;
mod commands;
mod facts;
mod finding;
mod labels;
mod names;
mod readiness;
mod rules;
mod schemas;
mod settings;

pub use attribution::{Attribution, Parting, Turn, TurnSign, attribute};
pub use budgets::{Amount, Budget, Cut, LEAST, budgets};
pub use case::{Action, Case};
pub use facts::{CallFact, Facts, RunFacts, StepFact, steps};
pub use finding::{Diagnosis, Examined, Finding, Grade, KEPT, RunFindings, Sink};
pub use labels::{AGENT_LABEL, Accuracy, LabelScore, Labelled, STEP_LABEL, Share, score_labels};
pub use readiness::{Advice, NodeReadiness, readiness};
pub use rules::RULES;
pub use schemas::{SchemaError, ToolSchemas};
pub use settings::{RuleSetting, Settings};

use crate::evaluate::RunRow;

/// What a rule looks at.
#[derive(Clone, Copy)]
pub enum Check {
    /// One run at a time.
    Run(fn(&Case<'_>, &Settings, &mut Sink<'_>)),
    /// All runs together.
    Set(fn(&Facts<'_>, &Settings, &mut Sink<'_>)),
}

/// One rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name in configs, flags and output; it never changes.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// When it fires, and what it needs.
    pub about: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// How grave it is unless the config says otherwise.
    pub grade: Grade,
    /// The number that it goes by, where it has one, and what it means.
    pub limit: Option<(f64, &'static str)>,
    /// The check.
    pub check: Check,
}

/// The rule with this code.
#[must_use]
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.code == code)
}

/// What the rules over one run find in it, and what rules over all runs need of it.
#[must_use]
pub fn look(case: &Case<'_>, settings: &Settings) -> RunFindings {
    let mut found = RunFindings::default();
    for rule in RULES.iter().filter(|rule| settings.asks(rule)) {
        if let Check::Run(check) = rule.check {
            check(case, settings, &mut Sink::of(rule, settings, &mut found));
        }
    }
    found.facts = RunFacts::of(case);
    found
}

/// What all rules say of a set of runs; `found` goes with `rows`.
#[must_use]
pub fn conclude(rows: &[RunRow], mut found: Vec<RunFindings>, settings: &Settings) -> Diagnosis {
    let facts: Vec<RunFacts> = found.iter_mut().map(|run| std::mem::take(&mut run.facts)).collect();
    let mut over_all = RunFindings::default();
    for rule in RULES.iter().filter(|rule| settings.asks(rule)) {
        if let Check::Set(check) = rule.check {
            let facts = Facts { rows, runs: &facts };
            check(&facts, settings, &mut Sink::of(rule, settings, &mut over_all));
        }
    }
    let attribution = attribute(rows, &facts);
    let labels = score_labels(rows, &facts, &attribution);
    Diagnosis { attribution, labels, ..Diagnosis::of(found, over_all, settings) }
}
