//! Records that contradict themselves.

use crate::diagnose::{Action, Case, Check, Grade, Rule, Settings, Sink};
use crate::model::{AttemptWord, MOST_AMOUNT, RunWord};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "contradictory_record",
    title: "a record contradicts itself",
    about: "A timeout that was measured at less than half or more than twice the time that its message names (or, without one, under a tenth of a second), a recorded duration far from the recorded times, an end before the start, a passed status beside an error, or a status of the run that says failed beside `success: true`, or success beside `success: false`.",
    remedy: "Find out which of the two is written wrongly; until then figures that read the field are doubtful.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

fn check(case: &Case<'_>, _: &Settings, sink: &mut Sink<'_>) {
    if !case.actions.is_empty() || case.run.status.is_some() {
        sink.examined(1);
    }
    for action in &case.actions {
        if let Some(evidence) = contradiction(action) {
            sink.at(action, evidence);
        }
    }
    let word = case.run.status.as_deref().map(RunWord::read);
    match (word, case.run.success) {
        (Some(RunWord::Failed), Some(true)) => {
            sink.about(Some("status"), "the status says failed, and success is true")
        }
        // `completed` may only mean that it is over.
        (Some(RunWord::Completed), Some(false)) if says_success(case) => {
            sink.about(Some("status"), "the status says success, and success is false");
        }
        _ => {}
    }
}

/// Whether the status claims more than an end.
fn says_success(case: &Case<'_>) -> bool {
    let word = case.run.status.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    ["success", "succeeded", "successful", "passed"].contains(&word.as_str())
}

fn contradiction(action: &Action<'_>) -> Option<String> {
    let attempt = action.attempt;
    let span = action.start.zip(action.end).and_then(|(start, end)| end.seconds_since(start));
    if span.is_some_and(|span| span < 0.0) {
        return Some("it ends before it starts".to_owned());
    }
    let recorded = attempt.duration_ms.map(|ms| ms / 1000.0).filter(|s| *s <= MOST_AMOUNT);
    if let (Some(recorded), Some(span)) = (recorded, span)
        && (recorded - span).abs() > 1.0
        && (recorded - span).abs() > 0.5 * recorded.max(span)
    {
        return Some(format!(
            "the recorded duration is {recorded:.1} s, from start to end are {span:.1} s"
        ));
    }
    let word = attempt.status.as_deref().map(AttemptWord::read);
    if word == Some(AttemptWord::Passed) && attempt.error.is_some() && !attempt.status_decides {
        let status = attempt.status.as_deref().unwrap_or_default();
        return Some(format!("the status is {status}, and there is an error"));
    }
    let seconds = recorded.or(span)?;
    let is_timeout = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.contains("timeout") || text.contains("timed out") || text.contains("timed_out")
    };
    let kind = attempt.error.as_ref().and_then(|error| error.kind.as_deref());
    if !kind.into_iter().chain(attempt.status.as_deref()).any(is_timeout) {
        return None;
    }
    match action.message().and_then(named_seconds) {
        Some(named) if seconds < named / 2.0 || seconds > named * 2.0 => {
            Some(format!("a timeout after {named} s by its message, measured at {seconds:.3} s"))
        }
        None if seconds < 0.1 => Some(format!("a timeout that was measured at {seconds:.3} s")),
        _ => None,
    }
}

/// The one time that a message names, in seconds: `30000 ms`, `5s`, `2 minutes`.
fn named_seconds(message: &str) -> Option<f64> {
    let mut found = None;
    let mut rest = message;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = &rest[at..];
        let length =
            digits.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(digits.len());
        let (number, behind) = digits.split_at(length);
        let behind = behind.trim_start();
        let word_end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let scale = match behind[..word_end].to_ascii_lowercase().as_str() {
            "ms" | "millis" | "milliseconds" => Some(0.001),
            "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
            "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
            _ => None,
        };
        if let (Some(scale), Ok(number)) = (scale, number.trim_end_matches('.').parse::<f64>()) {
            if found.is_some() {
                return None;
            }
            found = Some(number * scale);
        }
        rest = &digits[length..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::named_seconds;

    #[test]
    fn one_time_in_a_message_is_read_in_its_unit() {
        assert_eq!(named_seconds("no answer after 30000 ms"), Some(30.0));
        assert_eq!(named_seconds("timed out after 5s"), Some(5.0));
        assert_eq!(named_seconds("2 minutes passed"), Some(120.0));
        assert_eq!(named_seconds("error 504"), None);
        assert_eq!(named_seconds("after 5 s of 10 s"), None);
    }
}
