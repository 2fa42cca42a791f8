//! What a rule found, where, and how common it is.

use std::collections::BTreeMap;

use super::settings::Settings;
use super::{Action, Attribution, LabelScore, RULES, Rule, RunFacts};
use crate::evaluate::TimelineStep;

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Worth knowing.
    Note,
    /// Likely a fault.
    Warning,
    /// A fault that harms.
    Error,
}

impl Grade {
    /// Its word in configs and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Findings of one rule that are kept of one run; all are counted.
pub const KEPT: usize = 20;

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The rule.
    pub code: &'static str,
    /// The run, as its place among the rows; `None` where all runs together show it.
    pub run: Option<u32>,
    /// The step's position, from 1.
    pub step: Option<u32>,
    /// The attempt's number, from 1.
    pub attempt: Option<u32>,
    /// First byte and the byte after the last one of the record in its file, where known.
    pub bytes: Option<(u64, u64)>,
    /// The tool, node or field that it is about.
    pub subject: Option<String>,
    /// What was seen, as a lowercase fragment; not masked yet.
    pub evidence: String,
}

/// How much a rule looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Examined {
    /// Runs that have what the rule needs.
    pub runs: u64,
    /// Of those, the runs with a finding.
    pub affected: u64,
    /// Findings, those that are not kept among them.
    pub findings: u64,
}

/// What was found in one run.
#[derive(Debug, Default)]
pub struct RunFindings {
    pub(super) findings: Vec<Finding>,
    pub(super) examined: BTreeMap<&'static str, Examined>,
    /// What rules over all runs need of it.
    pub(super) facts: RunFacts,
}

/// Takes what one rule finds.
pub struct Sink<'s> {
    rule: &'static Rule,
    settings: &'s Settings,
    into: &'s mut RunFindings,
    kept: usize,
}

impl<'s> Sink<'s> {
    pub(super) fn of(
        rule: &'static Rule,
        settings: &'s Settings,
        into: &'s mut RunFindings,
    ) -> Self {
        Self { rule, settings, into, kept: 0 }
    }

    /// The number that the rule goes by: of the config, else its own.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.settings.limit(self.rule)
    }

    /// Says that a run has what the rule needs; for rules over all runs, how many have.
    pub fn examined(&mut self, runs: u64) {
        self.into.examined.entry(self.rule.code).or_default().runs += runs;
    }

    /// Says how many runs are affected, for rules over all runs.
    pub fn affected(&mut self, runs: u64) {
        self.into.examined.entry(self.rule.code).or_default().affected += runs;
    }

    /// Adds a finding at an action.
    pub fn at(&mut self, action: &Action<'_>, evidence: impl Into<String>) {
        self.add(Finding {
            code: self.rule.code,
            run: None,
            step: Some(action.step),
            attempt: Some(action.number),
            bytes: action.attempt.bytes,
            subject: Some(action.label().to_owned()),
            evidence: evidence.into(),
        });
    }

    /// Adds a finding at a step.
    pub fn step(&mut self, step: &TimelineStep, evidence: impl Into<String>) {
        self.add(Finding {
            code: self.rule.code,
            run: None,
            step: Some(step.position),
            attempt: None,
            bytes: None,
            subject: Some(step.name.clone().unwrap_or_else(|| step.kind.clone())),
            evidence: evidence.into(),
        });
    }

    /// Adds a finding about the run, or about all.
    pub fn about(&mut self, subject: Option<&str>, evidence: impl Into<String>) {
        self.add(Finding {
            code: self.rule.code,
            run: None,
            step: None,
            attempt: None,
            bytes: None,
            subject: subject.map(str::to_owned),
            evidence: evidence.into(),
        });
    }

    /// Adds a finding.
    pub fn add(&mut self, finding: Finding) {
        self.into.examined.entry(self.rule.code).or_default().findings += 1;
        if self.kept < KEPT || matches!(self.rule.check, super::Check::Set(_)) {
            self.kept += 1;
            self.into.findings.push(finding);
        }
    }
}

/// What all rules say of a set of runs.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// Everything found: by rule in the order of the list, then by run and step.
    pub findings: Vec<Finding>,
    /// How common each rule's findings are; every rule that was asked is there.
    pub examined: BTreeMap<&'static str, Examined>,
    /// Where passing and failing runs part, and the turning points of failed runs.
    pub attribution: Attribution,
    /// Turning points against labels, where runs carry some.
    pub labels: Option<LabelScore>,
}

impl Diagnosis {
    pub(super) fn of(found: Vec<RunFindings>, over_all: RunFindings, settings: &Settings) -> Self {
        let mut all =
            Self { findings: over_all.findings, examined: over_all.examined, ..Self::default() };
        for rule in RULES.iter().filter(|rule| settings.asks(rule)) {
            all.examined.entry(rule.code).or_default();
        }
        for (run, one) in (0..).zip(found) {
            for (code, examined) in one.examined {
                let sum = all.examined.entry(code).or_default();
                sum.runs += u64::from(examined.runs > 0);
                sum.affected += u64::from(examined.findings > 0);
                sum.findings += examined.findings;
            }
            let place = |finding| Finding { run: Some(run), ..finding };
            all.findings.extend(one.findings.into_iter().map(place));
        }
        let rank = |code: &str| RULES.iter().position(|rule| rule.code == code);
        all.findings.sort_by(|a, b| {
            (rank(a.code), a.run, a.step, a.attempt).cmp(&(rank(b.code), b.run, b.step, b.attempt))
        });
        all
    }
}
