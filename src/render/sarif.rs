//! The verdict of a gate as SARIF 2.1.0, for code scanning.
//!
//! Code scanning shows a result at a file of the repository. That is the baseline: it is what the
//! repository holds of the runs, while the candidate's traces are made by the job and are gone after
//! it. Without a baseline the candidate's path stands there.

use std::collections::BTreeMap;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::finding::{Finding, Grave, Rule, findings};
use super::gate::GateContext;
use super::mask::mask;
use super::safe::one_line;
use crate::baseline::FOLDER;
use crate::compare::Gate;

/// Results that are written; code scanning takes no more of a run.
pub(super) const MOST: usize = 5_000;

/// A SARIF file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SarifLog {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [RunWire; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunWire {
    pub(super) tool: ToolWire,
    pub(super) results: Vec<ResultWire>,
    pub(super) column_kind: &'static str,
    pub(super) properties: PropertiesWire,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PropertiesWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<&'static str>,
    /// Results that were too many to write.
    pub(super) left_out: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ToolWire {
    pub(super) driver: DriverWire,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DriverWire {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) rules: Vec<RuleWire>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RuleWire {
    pub(super) id: &'static str,
    pub(super) short_description: TextWire,
    pub(super) full_description: TextWire,
    pub(super) default_configuration: LevelWire,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct LevelWire {
    pub(super) level: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct TextWire {
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResultWire {
    pub(super) rule_id: &'static str,
    pub(super) rule_index: usize,
    pub(super) level: &'static str,
    pub(super) message: TextWire,
    pub(super) locations: [LocationWire; 1],
    pub(super) partial_fingerprints: BTreeMap<&'static str, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LocationWire {
    pub(super) physical_location: PhysicalWire,
    pub(super) logical_locations: [LogicalWire; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalWire {
    pub(super) artifact_location: ArtifactWire,
    pub(super) region: RegionWire,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ArtifactWire {
    pub(super) uri: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RegionWire {
    pub(super) start_line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) byte_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) byte_length: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalWire {
    pub(super) name: String,
    pub(super) fully_qualified_name: String,
    pub(super) kind: &'static str,
}

/// Every rule with its id, its level and what it means.
const RULES: [(Rule, &str, Grave, &str, &str); 7] = [
    (
        Rule::PairingFailed,
        "pairing-failed",
        Grave::Error,
        "The runs cannot all be paired by task",
        "Tasks of the baseline have no candidate run, runs are there twice, or no task is on both sides.",
    ),
    (
        Rule::MetricRegression,
        "metric-regression",
        Grave::Error,
        "A gated figure is worse than the baseline",
        "The test tells the harm from chance, and the harm may be as large as the margin.",
    ),
    (
        Rule::GuardFired,
        "tasks-broke",
        Grave::Error,
        "Single tasks lost more completions than chance explains",
        "A few tasks broke hard, whatever the mean over all tasks does.",
    ),
    (
        Rule::ThresholdMissed,
        "threshold-missed",
        Grave::Error,
        "A figure is beyond a bound of the config",
        "The value is beyond the bound; the message says whether its whole interval is.",
    ),
    (
        Rule::BrokenTask,
        "broken-task",
        Grave::Warning,
        "A task worked in all baseline trials and in no candidate trial",
        "One task alone does not fail a gate; it is an error where the gate fails.",
    ),
    (
        Rule::Inconclusive,
        "inconclusive",
        Grave::Warning,
        "The runs do not decide",
        "They show neither that the figure is worse nor that it is not; the message says what would.",
    ),
    (
        Rule::NewErrorType,
        "new-error-type",
        Grave::Note,
        "Failed attempts are of a type that the baseline does not have",
        "An error type with its tool that only candidate runs have.",
    ),
];

/// The verdict for code scanning.
#[must_use]
pub fn gate_sarif(gate: &Gate, context: &GateContext) -> SarifLog {
    let found = findings(gate);
    let artifact = artifact(context);
    let results: Vec<ResultWire> =
        found.iter().take(MOST).map(|finding| result(finding, context, &artifact)).collect();
    let rules =
        RULES.iter().map(|(_, id, grave, short, full)| rule(id, level(*grave), short, full));
    let properties = PropertiesWire {
        verdict: Some(gate.verdict.name()),
        left_out: found.len() - results.len(),
    };
    log(rules.collect(), results, properties)
}

/// A rule that results refer to.
pub(super) fn rule(id: &'static str, level: &'static str, short: &str, full: &str) -> RuleWire {
    let text = |text: &str| TextWire { text: text.to_owned() };
    RuleWire {
        id,
        short_description: text(short),
        full_description: text(full),
        default_configuration: LevelWire { level },
    }
}

/// The file around rules and results.
pub(super) fn log(
    rules: Vec<RuleWire>,
    results: Vec<ResultWire>,
    properties: PropertiesWire,
) -> SarifLog {
    let driver = DriverWire { name: "agenteval", version: env!("CARGO_PKG_VERSION"), rules };
    SarifLog {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [RunWire {
            tool: ToolWire { driver },
            column_kind: "unicodeCodePoints",
            properties,
            results,
        }],
    }
}

fn level(grave: Grave) -> &'static str {
    match grave {
        Grave::Error => "error",
        Grave::Warning => "warning",
        Grave::Note => "note",
    }
}

fn result(finding: &Finding, context: &GateContext, artifact: &str) -> ResultWire {
    let known = RULES.iter().position(|(rule, ..)| *rule == finding.rule);
    let rule_index = known.unwrap_or_default();
    let id = RULES[rule_index].1;
    let safe = |text: &str| one_line(&mask(text));
    // The same finding against the same baseline's name is one alert over all runs of CI.
    let baseline = context.baseline.as_ref().map_or("", |(name, _)| name);
    let print = xxh3_64(format!("{id}\n{baseline}\n{}", finding.subject).as_bytes());
    let (kind, name) = match &finding.task {
        Some(task) => ("object", safe(task)),
        None => ("member", safe(&finding.subject)),
    };
    ResultWire {
        rule_id: id,
        rule_index,
        level: level(finding.grave),
        message: TextWire { text: message(&finding.message) },
        locations: [LocationWire {
            physical_location: PhysicalWire {
                artifact_location: ArtifactWire { uri: artifact.to_owned() },
                region: RegionWire { start_line: 1, byte_offset: None, byte_length: None },
            },
            logical_locations: [LogicalWire {
                fully_qualified_name: format!("{id}/{name}"),
                name,
                kind,
            }],
        }],
        partial_fingerprints: BTreeMap::from([("agentevalFinding/v1", format!("{print:016x}"))]),
    }
}

/// A text that is no link and has no placeholder, whatever names are in it (SARIF, 3.11.5 and 6).
pub(super) fn message(text: &str) -> String {
    one_line(&mask(text)).replace("](", "] (").replace('{', "{{").replace('}', "}}")
}

/// The file that results are shown at, as a URI reference.
fn artifact(context: &GateContext) -> String {
    let path = match &context.baseline {
        Some((name, _)) => {
            let folder = context.store.as_deref().unwrap_or(FOLDER);
            format!("{}/{name}.json", folder.trim_end_matches(['/', '\\']))
        }
        None => match context.candidate.first().map(String::as_str) {
            None | Some("-") => "stdin".to_owned(),
            Some(path) => path.to_owned(),
        },
    };
    uri(&mask(&path))
}

/// A path as a URI reference: `file:` for an absolute one, else relative to the repository.
pub(super) fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./");
    let mut out = match path {
        "" => return ".".to_owned(),
        p if p.starts_with('/') => "file://".to_owned(),
        p if p.as_bytes().get(1) == Some(&b':') => "file:///".to_owned(),
        _ => String::new(),
    };
    let drive = out.len() == "file:///".len();
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            b':' if drive && at == 1 => out.push(':'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{RULES, message, uri};

    #[test]
    fn a_message_holds_no_link_and_no_placeholder() {
        assert_eq!(message("[x](http://y) {0}\u{1b}"), "[x] (http://y) {{0}}\\u{{1b}}");
    }

    #[test]
    fn paths_become_uri_references() {
        assert_eq!(uri("./a b/数.json"), "a%20b/%E6%95%B0.json");
        assert_eq!(uri("/x/y#z"), "file:///x/y%23z");
        assert_eq!(uri("C:\\x\\a:b"), "file:///C:/x/a%3Ab");
        assert_eq!(uri("javascript:x"), "javascript%3Ax");
    }

    #[test]
    fn rules_stand_in_the_order_of_findings_each_once() {
        assert!(RULES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
