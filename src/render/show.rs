//! One run as a timeline.

use serde::Serialize;

use super::doc::{Column, Doc, Table};
use super::figures::plural;
use super::mask::mask;
use super::number::{count, plain, seconds};
use super::safe::{one_line, shorten};
use crate::evaluate::{Timeline, TimelineAttempt, Verdict};
use crate::model::RetrySource;

/// Characters of an error's message that are shown.
const MESSAGE: usize = 300;

/// A run's timeline in JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineWire {
    run_id: Option<String>,
    task_id: Option<String>,
    trial: Option<String>,
    model: Option<String>,
    place: String,
    outcome: &'static str,
    limit: Option<&'static str>,
    status: Option<String>,
    end_reason: Option<String>,
    retries: &'static str,
    duration_seconds: Option<f64>,
    tokens: Option<f64>,
    cost_usd: Option<f64>,
    steps: Vec<StepWire>,
    /// Of a run that was not completed: the first step that failed and was not recovered.
    turned_at: Option<u32>,
    never_reached: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct StepWire {
    step: u32,
    r#type: String,
    name: Option<String>,
    attempts: Vec<AttemptWire>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct AttemptWire {
    attempt: u32,
    #[serde(skip_serializing_if = "is_one")]
    times: u32,
    verdict: &'static str,
    status: Option<String>,
    implied: bool,
    retry: Option<&'static str>,
    error: Option<ErrorWire>,
    offset_seconds: Option<f64>,
    duration_ms: Option<f64>,
    tokens: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ErrorWire {
    r#type: String,
    message: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(times: &u32) -> bool {
    *times == 1
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Neither => "neither",
    }
}

fn retry(attempt: &TimelineAttempt) -> Option<&'static str> {
    match attempt.same_input {
        Some(true) => Some("identical"),
        Some(false) => Some("revised"),
        None => (attempt.number > 1).then_some("recorded"),
    }
}

/// The message of an error: masked, and cut to a bounded length.
fn message(text: &str) -> String {
    // Cut before masking too, so that a huge text costs little; masking may need what follows.
    let start: String = text.chars().take(MESSAGE * 8).collect();
    let masked = mask(&start);
    let mut cut: String = masked.chars().take(MESSAGE).collect();
    if cut.len() < masked.len() || start.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// The timeline for JSON.
#[must_use]
pub fn timeline_wire(timeline: &Timeline, place: &str) -> TimelineWire {
    let row = &timeline.row;
    let text = |text: Option<&str>| text.map(mask);
    let round = |value: Option<f64>| super::json::rounded(value, 6);
    TimelineWire {
        run_id: text(row.run_id.as_deref()),
        task_id: text(row.task_id.as_deref()),
        trial: text(row.trial.as_deref()),
        model: row.model.as_deref().map(mask),
        place: place.to_owned(),
        outcome: row.outcome.name(),
        limit: row.limit.map(|limit| limit.name()),
        status: text(row.status.as_deref()),
        end_reason: timeline.end_reason.as_deref().map(message),
        retries: source(row.retry_source),
        duration_seconds: round(row.duration_seconds),
        tokens: round(row.tokens.map(|tokens| tokens.total())),
        cost_usd: super::json::rounded(row.cost_usd, 9),
        steps: timeline
            .steps
            .iter()
            .map(|step| StepWire {
                step: step.position,
                r#type: mask(&step.kind),
                name: step.name.as_deref().map(mask),
                attempts: step
                    .attempts
                    .iter()
                    .map(|attempt| AttemptWire {
                        attempt: attempt.number,
                        times: attempt.times,
                        verdict: verdict(attempt.verdict),
                        status: attempt.status.as_deref().map(mask),
                        implied: attempt.implied,
                        retry: retry(attempt),
                        error: attempt.error_type.as_ref().map(|kind| ErrorWire {
                            r#type: mask(kind),
                            message: attempt.error_message.as_deref().map(message),
                        }),
                        offset_seconds: round(attempt.offset_seconds),
                        duration_ms: round(attempt.duration_ms),
                        tokens: round(attempt.tokens),
                    })
                    .collect(),
            })
            .collect(),
        turned_at: row.turned_at,
        never_reached: timeline.never_reached.iter().map(|node| mask(node)).collect(),
    }
}

fn source(source: RetrySource) -> &'static str {
    match source {
        RetrySource::Recorded => "recorded",
        RetrySource::Inferred => "inferred",
    }
}

/// The timeline for people.
#[must_use]
pub fn timeline_doc(timeline: &Timeline, place: &str) -> Doc {
    let row = &timeline.row;
    let mut doc = Doc::default();
    let mut head = vec![format!("run {}", row.run_id.as_deref().unwrap_or(place))];
    let labels = [
        ("task", row.task_id.as_deref()),
        ("trial", row.trial.as_deref()),
        ("model", row.model.as_deref()),
    ];
    head.extend(labels.iter().filter_map(|(name, text)| {
        text.map(|text| format!("{name} {}", shorten(&one_line(text), 60)))
    }));
    head.push(match row.limit {
        Some(limit) => format!("{} ({})", row.outcome.name(), limit.name()),
        None => row.outcome.name().to_owned(),
    });
    doc.title(head.join("   "));
    doc.line(facts(timeline, place));
    doc.table(Table {
        columns: vec![
            Column::right("step"),
            Column::right("attempt"),
            Column::elastic("action"),
            Column::left("verdict"),
            Column::right("at"),
            Column::right("took"),
            Column::elastic("error"),
        ],
        rows: timeline
            .steps
            .iter()
            .flat_map(|step| step.attempts.iter().map(move |attempt| (step, attempt)))
            .map(|(step, attempt)| {
                let action = match &step.name {
                    Some(name) => format!("{} {name}", step.kind),
                    None => step.kind.clone(),
                };
                vec![
                    step.position.to_string(),
                    numbers(attempt),
                    action,
                    verdict_cell(attempt),
                    attempt
                        .offset_seconds
                        .map(|s| format!("{} s", plain(s, 1)))
                        .unwrap_or_default(),
                    attempt.duration_ms.map(|ms| seconds(ms.max(0.0) / 1e3)).unwrap_or_default(),
                    error_cell(attempt),
                ]
            })
            .collect(),
    });
    if let Some(turn) = turning_point(timeline) {
        doc.line(turn);
    }
    if !timeline.never_reached.is_empty() {
        doc.line(format!("never reached: {}", timeline.never_reached.join(", ")));
    }
    doc
}

fn facts(timeline: &Timeline, place: &str) -> String {
    let row = &timeline.row;
    let number = |n: u32, noun: &str| format!("{} {}", count(n.into()), plural(n.into(), noun));
    let mut facts = vec![
        number(row.steps, "step"),
        number(row.attempts, "attempt"),
        format!("{} failed", count(row.failed_all.into())),
        match row.retries {
            1 => format!("1 retry ({})", source(row.retry_source)),
            n => format!("{} retries ({})", count(n.into()), source(row.retry_source)),
        },
    ];
    facts.extend(row.duration_seconds.map(seconds));
    facts.extend(row.tokens.map(|tokens| format!("{} tokens", plain(tokens.total(), 0))));
    facts.extend(row.cost_usd.map(|cost| format!("${}", plain(cost, 4))));
    facts.extend(row.status.as_deref().map(|status| format!("status {status}")));
    facts.extend(
        timeline.end_reason.as_deref().map(|reason| format!("ended by {}", message(reason))),
    );
    facts.push(place.to_owned());
    facts.join(", ")
}

fn numbers(attempt: &TimelineAttempt) -> String {
    match attempt.times {
        1 => attempt.number.to_string(),
        times => format!("{}-{}", attempt.number, attempt.number.saturating_add(times - 1)),
    }
}

fn verdict_cell(attempt: &TimelineAttempt) -> String {
    let word = match (attempt.verdict, attempt.status.as_deref()) {
        (Verdict::Neither, Some(status)) => shorten(&one_line(status), 20),
        (verdict_, _) => verdict(verdict_).to_owned(),
    };
    match (attempt.implied, retry(attempt)) {
        (true, _) => format!("{word} (implied)"),
        (false, Some(kind @ ("identical" | "revised"))) => format!("{word} ({kind} retry)"),
        (false, Some(_)) => format!("{word} (retry)"),
        (false, None) => word,
    }
}

fn error_cell(attempt: &TimelineAttempt) -> String {
    match (&attempt.error_type, attempt.error_message.as_deref()) {
        // A type that was read from the head of the message stands there already.
        (Some(kind), Some(text)) if text.trim_start().starts_with(kind.as_str()) => message(text),
        (Some(kind), Some(text)) => format!("{kind}: {}", message(text)),
        (Some(kind), None) => kind.clone(),
        _ => String::new(),
    }
}

/// Where the run went wrong.
fn turning_point(timeline: &Timeline) -> Option<String> {
    let at = timeline.row.turned_at?;
    let step = timeline.steps.iter().find(|step| step.position == at)?;
    let name = step.name.as_deref().unwrap_or(&step.kind);
    Some(format!("went wrong at step {at} ({name}): it failed and was not recovered"))
}
