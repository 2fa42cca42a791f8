//! The verdict of a gate as JUnit XML, which every CI server shows.
//!
//! No time, host or id: the same verdict gives the same bytes.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::finding::{guard_sentence, sentence, threshold_name, threshold_sentence};
use super::gate::{GateContext, head};
use super::mask::mask;
use super::safe::one_line;
use crate::compare::{Gate, Verdict};
use crate::metrics::Standing;

/// The name of report and suite.
const NAME: &str = "agenteval gate";

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    Skipped,
}

/// The report: a case for the pairing, the guard, and every gated figure, threshold and broken task.
#[must_use]
pub fn gate_junit(gate: &Gate, context: &GateContext) -> String {
    let mut suite = TestSuite::new(match &context.baseline {
        Some((name, _)) => safe(&format!("{NAME} against {name}")),
        None => NAME.to_owned(),
    });
    if let Some(pairing) = &gate.pairing {
        let end = if pairing.failures.is_empty() { End::Passed } else { End::Failed };
        let all = pairing.failures.join("; ");
        suite.add_test_case(case("pairing", "pairing", end, "pairing failed", &all));
    }
    for gated in &gate.metrics {
        let name = gated.metric.name;
        let (end, message) = match gated.verdict {
            Verdict::Pass | Verdict::Improved => (End::Passed, String::new()),
            Verdict::Regression => (End::Failed, format!("{name} regressed")),
            Verdict::Inconclusive => (End::Skipped, format!("{name} is inconclusive")),
        };
        suite.add_test_case(case("metric", name, end, &message, &sentence(gated, gate)));
    }
    if let Some(guard) = gate.guard {
        let end = if guard.fired { End::Failed } else { End::Passed };
        let text = guard_sentence(gate);
        suite.add_test_case(case("guard", "broken tasks", end, "tasks broke", &text));
    }
    for held in &gate.thresholds {
        let (end, message) = match held.standing {
            Standing::Met => (End::Passed, ""),
            Standing::Missed => (End::Failed, "threshold missed"),
            Standing::Unknown => (End::Skipped, "the figure has no value"),
        };
        let text = threshold_sentence(held);
        suite.add_test_case(case("threshold", &threshold_name(held), end, message, &text));
    }
    // Alone they do not fail a gate, so they fail no job that the gate lets pass.
    let end = if gate.verdict == Verdict::Regression { End::Failed } else { End::Skipped };
    for task in &gate.broken_tasks {
        let text = format!(
            "baseline {}/{}, candidate 0/{} trials completed",
            task.baseline, task.baseline, task.candidate
        );
        suite.add_test_case(case("broken_task", &task.task_id, end, "broken task", &text));
    }
    suite.set_system_out(safe(&head(gate, context)));
    let mut report = Report::new(NAME);
    report.add_test_suite(suite);
    let text = report.to_string().unwrap_or_default();
    // The schema that Jenkins checks knows no such attribute of the whole; the suite has it.
    text.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1)
}

fn case(class: &str, name: &str, end: End, message: &str, text: &str) -> TestCase {
    let mut status = match end {
        End::Passed => TestCaseStatus::success(),
        End::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        End::Skipped => TestCaseStatus::skipped(),
    };
    status.set_message(safe(message)).set_type(class).set_description(safe(text));
    let mut case = TestCase::new(safe(name), status);
    case.set_classname(format!("agenteval.gate.{class}"));
    // A case that passed has no place for its numbers but this.
    if end == End::Passed && !text.is_empty() {
        case.set_system_out(safe(text));
    }
    case
}

/// Text on one line, without what XML 1.0 cannot hold.
fn safe(text: &str) -> String {
    one_line(&mask(text)).replace(['\u{FFFE}', '\u{FFFF}'], "\u{FFFD}")
}
