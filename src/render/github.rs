//! Annotations of GitHub Actions: commands on lines of their own, which GitHub shows at the job.

use super::finding::{Finding, Grave, findings};
use super::gate::GateContext;
use super::mask::mask;
use super::number::count;
use super::safe::{one_line, shorten};
use crate::compare::Gate;

/// Annotations of one kind; GitHub shows no more of a step.
const MOST: usize = 10;
/// Columns of a message, so that an id as long as a book does not fill the page.
const LONGEST: usize = 600;

/// A line for each error and warning that the gate found, at most ten of a kind; the last of ten
/// says how many more there are.
#[must_use]
pub fn gate_annotations(gate: &Gate, context: &GateContext) -> Vec<String> {
    let all = findings(gate);
    let against = context
        .baseline
        .as_ref()
        .map_or("agenteval gate".to_owned(), |(name, _)| format!("agenteval gate against {name}"));
    let mut lines = Vec::new();
    for (command, grave) in [("error", Grave::Error), ("warning", Grave::Warning)] {
        let of: Vec<&Finding> = all.iter().filter(|finding| finding.grave == grave).collect();
        let shown = if of.len() > MOST { MOST - 1 } else { of.len() };
        for finding in of.iter().take(shown) {
            let title = format!("{against}: {}", finding.title);
            lines.push(line(command, &title, &finding.message));
        }
        let left = of.len() - shown;
        if left > 0 {
            let message = format!("and {} more: the JSON report has all", count(left as u64));
            lines.push(line(command, &against, &message));
        }
    }
    // What the gate could not do, which no finding tells.
    let told = |code: &str| matches!(code, "baseline_missing" | "different_config" | "lost_runs");
    for warning in context.warnings.iter().filter(|warning| told(&warning.code)) {
        lines.push(line("warning", &format!("{against}: {}", warning.code), &warning.message));
    }
    lines
}

fn line(command: &str, title: &str, message: &str) -> String {
    let safe = |text: &str| shorten(&one_line(&mask(text)), LONGEST);
    format!("::{command} title={}::{}", property(&safe(title)), data(&safe(message)))
}

/// What a message must not hold as it is.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// What a property must not hold as it is.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn no_text_can_end_a_command_or_begin_another() {
        assert_eq!(
            line("error", "a: b, c", "x%0A::error::y\n::warning::z"),
            "::error title=a%3A b%2C c::x%250A::error::y\\n::warning::z"
        );
    }
}
