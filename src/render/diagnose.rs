//! What rules found, as a document, as JSON and as SARIF.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::attribution::{
    AttributionWire, LabelsWire, attribution_doc, attribution_wire, labels_doc, labels_wire,
};
use super::doc::{Column, Doc, Table};
use super::figures::plural;
use super::json::rounded;
use super::mask::mask;
use super::number::{count, percent};
use super::safe::one_line;
use super::sarif::{self, SarifLog};
use crate::diagnose::{Diagnosis, Finding, Grade, KEPT, RULES, Rule};

/// Findings of one rule that text shows; JSON has all that are kept.
const SHOWN: usize = 5;

/// What is known of a run beside its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiagnosedRun {
    /// Its id, else its task and trial, else its place.
    pub label: String,
    /// Its task.
    pub task_id: Option<String>,
    /// `FILE:LINE` or `FILE@BYTE`.
    pub place: String,
    /// The file.
    pub file: String,
    /// Its line, from 1; 0 where it has none.
    pub line: u64,
}

/// A diagnosis with what its findings refer to.
pub struct DiagnosisPage<'d> {
    /// What was found.
    pub diagnosis: &'d Diagnosis,
    /// Number of runs.
    pub runs: u64,
    /// Names the run at a place among the rows.
    pub name: &'d dyn Fn(u32) -> DiagnosedRun,
    /// How grave a rule's findings are.
    pub grade: &'d dyn Fn(&Rule) -> Grade,
    /// The rules that fail the command, with a finding.
    pub denied: &'d [&'static str],
}

/// A diagnosis for JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "agenteval diagnosis")]
pub struct DiagnosisWire {
    /// Always `agenteval.diagnosis/1`.
    schema: &'static str,
    /// Runs that were looked at.
    runs: u64,
    /// Every rule that was asked.
    rules: BTreeMap<&'static str, RuleWire>,
    /// What was found: by rule, then by run and step.
    findings: Vec<FindingWire>,
    /// Where completed and other runs of the same tasks part.
    attribution: AttributionWire,
    /// Turning points against the steps that people labelled, where runs carry labels.
    labels: Option<LabelsWire>,
    /// Denied rules with a finding.
    denied: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct RuleWire {
    title: &'static str,
    about: &'static str,
    remedy: &'static str,
    level: &'static str,
    /// Runs that have what the rule needs.
    runs_examined: u64,
    /// Of those, the runs with a finding.
    runs_affected: u64,
    /// Their share; null where none was examined.
    share: Option<f64>,
    /// Findings, those beyond the kept ones of a run among them.
    findings: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct FindingWire {
    code: &'static str,
    level: &'static str,
    /// The run's id; null where all runs together show it.
    run: Option<String>,
    task_id: Option<String>,
    /// `FILE:LINE` or `FILE@BYTE` of the run.
    #[serde(rename = "where")]
    place: Option<String>,
    step: Option<u32>,
    attempt: Option<u32>,
    /// First byte and the byte after the last one of the record in its file, where the format tells.
    bytes: Option<[u64; 2]>,
    /// The tool, node or field.
    subject: Option<String>,
    evidence: String,
}

/// The answer for JSON.
#[must_use]
pub fn diagnosis_wire(page: &DiagnosisPage<'_>) -> DiagnosisWire {
    let rules = asked(page).map(|rule| (rule.code, rule_wire(page, rule))).collect();
    let finding = |finding: &Finding| {
        let run = finding.run.map(page.name);
        FindingWire {
            code: finding.code,
            level: level(page, finding.code),
            task_id: run.as_ref().and_then(|run| run.task_id.as_deref()).map(mask),
            place: run.as_ref().map(|run| mask(&run.place)),
            run: run.map(|run| mask(&run.label)),
            step: finding.step,
            attempt: finding.attempt,
            bytes: finding.bytes.map(|(from, to)| [from, to]),
            subject: finding.subject.as_deref().map(mask),
            evidence: mask(&finding.evidence),
        }
    };
    DiagnosisWire {
        schema: "agenteval.diagnosis/1",
        runs: page.runs,
        rules,
        findings: page.diagnosis.findings.iter().map(finding).collect(),
        attribution: attribution_wire(page),
        labels: page.diagnosis.labels.as_ref().map(labels_wire),
        denied: page.denied.to_vec(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs")]
fn rule_wire(page: &DiagnosisPage<'_>, rule: &Rule) -> RuleWire {
    let seen = page.diagnosis.examined.get(rule.code).copied().unwrap_or_default();
    let share = (seen.runs > 0).then(|| seen.affected as f64 / seen.runs as f64);
    RuleWire {
        title: rule.title,
        about: rule.about,
        remedy: rule.remedy,
        level: (page.grade)(rule).name(),
        runs_examined: seen.runs,
        runs_affected: seen.affected,
        share: rounded(share, 6),
        findings: seen.findings,
    }
}

fn asked<'p>(page: &'p DiagnosisPage<'_>) -> impl Iterator<Item = &'static Rule> + use<'p> {
    let examined = &page.diagnosis.examined;
    RULES.iter().filter(|rule| examined.contains_key(rule.code))
}

fn level(page: &DiagnosisPage<'_>, code: &str) -> &'static str {
    let rule = RULES.iter().find(|rule| rule.code == code);
    rule.map_or("note", |rule| (page.grade)(rule).name())
}

/// The answer for people.
#[must_use]
pub fn diagnosis_doc(page: &DiagnosisPage<'_>) -> Doc {
    let mut doc = Doc::default();
    let wires: Vec<(&Rule, RuleWire)> =
        asked(page).map(|rule| (rule, rule_wire(page, rule))).collect();
    let fired = wires.iter().filter(|(_, wire)| wire.findings > 0).count();
    doc.title(format!(
        "{} {}, {} rules asked, {} with findings",
        count(page.runs),
        plural(page.runs, "run"),
        wires.len(),
        fired
    ));
    if fired > 0 {
        doc.table(Table {
            columns: vec![
                Column::left("level"),
                Column::left("rule"),
                Column::right("runs"),
                Column::right("share"),
                Column::right("findings"),
                Column::note("what"),
            ],
            rows: wires.iter().filter(|(_, wire)| wire.findings > 0).map(row).collect(),
        });
    }
    for (rule, wire) in wires.iter().filter(|(_, wire)| wire.findings > 0) {
        doc.line("");
        doc.line(format!("{} ({}): {}", rule.code, wire.level, rule.title));
        let found: Vec<&Finding> =
            page.diagnosis.findings.iter().filter(|one| one.code == rule.code).collect();
        for finding in found.iter().take(SHOWN) {
            doc.line(format!("  {}", line(page, finding)));
        }
        let more = found.len().saturating_sub(SHOWN) as u64;
        if more > 0 {
            doc.line(format!("  {} more in --output json", count(more)));
        }
        let counted = wire.findings.saturating_sub(found.len() as u64);
        if counted > 0 {
            doc.line(format!(
                "  {} more are only counted: of a run and rule the first {KEPT} are kept",
                count(counted)
            ));
        }
        doc.line(format!("  do: {}", rule.remedy));
    }
    attribution_doc(page, &mut doc);
    if let Some(labels) = &page.diagnosis.labels {
        labels_doc(labels, &mut doc);
    }
    let idle: Vec<&str> = wires
        .iter()
        .filter(|(_, wire)| wire.runs_examined == 0)
        .map(|(rule, _)| rule.code)
        .collect();
    if !idle.is_empty() {
        doc.line("");
        doc.line(format!("nothing to look at for: {}", idle.join(", ")));
    }
    if !page.denied.is_empty() {
        doc.warning(format!("denied: {}", page.denied.join(", ")));
    }
    doc
}

fn row((rule, wire): &(&Rule, RuleWire)) -> Vec<String> {
    vec![
        wire.level.to_owned(),
        rule.code.to_owned(),
        format!("{}/{}", count(wire.runs_affected), count(wire.runs_examined)),
        wire.share.map_or_else(|| "n/a".to_owned(), percent),
        count(wire.findings),
        rule.title.to_owned(),
    ]
}

fn line(page: &DiagnosisPage<'_>, finding: &Finding) -> String {
    let mut parts = Vec::new();
    if let Some(run) = finding.run {
        parts.push(format!("run {}", (page.name)(run).label));
    }
    if let Some(step) = finding.step {
        let attempt = finding.attempt.filter(|number| *number > 1);
        let attempt = attempt.map_or_else(String::new, |number| format!(" attempt {number}"));
        parts.push(format!("step {step}{attempt}"));
    }
    if let Some(subject) = &finding.subject {
        parts.push(subject.clone());
    }
    let head = parts.join("  ");
    if head.is_empty() { finding.evidence.clone() } else { format!("{head}: {}", finding.evidence) }
}

/// The answer for code scanning: each finding at its trace.
#[must_use]
pub fn diagnosis_sarif(page: &DiagnosisPage<'_>) -> SarifLog {
    let rules: Vec<&'static Rule> = asked(page).collect();
    let findings = &page.diagnosis.findings;
    let result = |finding: &Finding| {
        let run = finding.run.map(page.name).unwrap_or_default();
        let rule_index = rules.iter().position(|rule| rule.code == finding.code);
        let safe = |text: &str| one_line(&mask(text));
        let subject = finding.subject.as_deref().unwrap_or(&run.label);
        let print = xxh3_64(
            format!("{}\n{}\n{:?}\n{subject}", finding.code, run.label, finding.step).as_bytes(),
        );
        sarif::ResultWire {
            rule_id: finding.code,
            rule_index: rule_index.unwrap_or_default(),
            level: level(page, finding.code),
            message: sarif::TextWire { text: sarif::message(&line(page, finding)) },
            locations: [sarif::LocationWire {
                physical_location: sarif::PhysicalWire {
                    artifact_location: sarif::ArtifactWire { uri: sarif::uri(&mask(&run.file)) },
                    region: sarif::RegionWire {
                        start_line: run.line.max(1),
                        byte_offset: finding.bytes.map(|(from, _)| from),
                        byte_length: finding.bytes.map(|(from, to)| to.saturating_sub(from)),
                    },
                },
                logical_locations: [sarif::LogicalWire {
                    fully_qualified_name: format!("{}/{}", finding.code, safe(subject)),
                    name: safe(subject),
                    kind: "object",
                }],
            }],
            partial_fingerprints: BTreeMap::from([(
                "agentevalFinding/v1",
                format!("{print:016x}"),
            )]),
        }
    };
    let results: Vec<sarif::ResultWire> = findings.iter().take(sarif::MOST).map(result).collect();
    let left_out = findings.len() - results.len();
    let rules = rules
        .iter()
        .map(|rule| sarif::rule(rule.code, (page.grade)(rule).name(), rule.title, rule.about));
    sarif::log(rules.collect(), results, sarif::PropertiesWire { verdict: None, left_out })
}
