//! The timeline of one run: a row a step, a bar an attempt.

use std::collections::BTreeSet;

use super::canvas::{Anchor, Canvas, safe};
use super::measure;
use super::rows::{Columns, Scale};
use super::style::{Ink, LEFT, ROW, SMALL};
use crate::evaluate::{Timeline, TimelineAttempt, TimelineStep, Verdict};
use crate::render::figures::plural;
use crate::render::{count, seconds};

/// Steps of a long run that are drawn at its start, and at its end.
const ENDS: usize = 15;
/// Error types of one step that are named.
const MOST_KINDS: usize = 3;
/// Attempts of a step that are drawn.
const MOST_ATTEMPTS: usize = 100;

/// Draws one run.
pub(super) fn draw(width: u32, timeline: &Timeline) -> Canvas {
    let row = &timeline.row;
    let name = row.run_id.as_deref().or(row.task_id.as_deref()).unwrap_or("(without an id)");
    let title = format!("Run {}: {}", safe(name), row.outcome.name());
    let mut facts = Vec::new();
    facts.extend(
        row.task_id
            .as_deref()
            .filter(|task| *task != name)
            .map(|task| format!("task {}", safe(task))),
    );
    facts.extend(row.limit.map(|limit| format!("passed {}", limit.name())));
    for (number, noun) in [(row.steps, "step"), (row.attempts, "attempt")] {
        facts.push(format!("{} {}", count(u64::from(number)), plural(u64::from(number), noun)));
    }
    facts.push(format!("{} failed", count(u64::from(row.failed_all))));
    facts.extend(row.duration_seconds.map(seconds));
    let timed = timed(timeline);
    let how = match timed {
        true => "bars: attempts in time",
        false => "bars: attempts in order, not in time: not all begin at a recorded time",
    };
    let mut canvas = Canvas::new(width, &title, &format!("{}\n{how}", facts.join(", ")));
    if timeline.steps.is_empty() {
        canvas.sentence("This run has no step.");
        return canvas;
    }
    steps(&mut canvas, timeline, timed);
    legend(&mut canvas, timeline);
    if !timeline.never_reached.is_empty() {
        canvas.note(&format!("never reached: {}", safe(&timeline.never_reached.join(", "))));
    }
    canvas.height += 8.0;
    canvas
}

/// Whether every recorded attempt says when it began and how long it took.
fn timed(timeline: &Timeline) -> bool {
    let mut recorded =
        timeline.steps.iter().flat_map(|step| &step.attempts).filter(|a| !a.implied).peekable();
    let usable = |number: Option<f64>| number.is_some_and(|n| n.is_finite() && n >= 0.0);
    recorded.peek().is_some() && recorded.all(|a| usable(a.offset_seconds) && usable(a.duration_ms))
}

fn ink(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::Passed => Ink::Main,
        Verdict::Failed => Ink::Bad,
        Verdict::Neither => Ink::Neutral,
    }
}

fn name(step: &TimelineStep) -> String {
    let name = step.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&step.kind);
    format!("{} {name}", step.position)
}

/// `30.8 s, 2 attempts, ToolTimeout`.
fn text(step: &TimelineStep) -> String {
    let mut parts: Vec<String> = Vec::new();
    let known: Vec<f64> = step.attempts.iter().filter_map(|attempt| attempt.duration_ms).collect();
    let took: f64 = known.iter().sum::<f64>() / 1000.0;
    if !known.is_empty() && took.is_finite() && took >= 0.0 {
        parts.push(seconds(took));
    }
    let attempts: u64 = step.attempts.iter().map(|attempt| u64::from(attempt.times)).sum();
    if attempts > 1 {
        parts.push(format!("{} attempts", count(attempts)));
    }
    let mut kinds: Vec<&str> = Vec::new();
    for kind in step.attempts.iter().filter_map(|attempt| attempt.error_type.as_deref()) {
        if kinds.len() < MOST_KINDS && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    parts.extend(kinds.into_iter().map(str::to_owned));
    parts.join(", ")
}

/// Which steps of a long run are drawn: its ends, and those with a failed attempt.
fn shown(steps: &[TimelineStep]) -> BTreeSet<usize> {
    if steps.len() <= 4 * ENDS {
        return (0..steps.len()).collect();
    }
    let failed = |step: &TimelineStep| step.attempts.iter().any(|a| a.verdict == Verdict::Failed);
    let middle = (ENDS..steps.len() - ENDS).filter(|at| steps.get(*at).is_some_and(failed));
    (0..ENDS).chain(middle.take(2 * ENDS)).chain(steps.len() - ENDS..steps.len()).collect()
}

fn steps(canvas: &mut Canvas, timeline: &Timeline, timed: bool) {
    let all = &timeline.steps;
    let shown = shown(all);
    let seen = || all.iter().enumerate().filter(|(at, _)| shown.contains(at));
    let rows: Vec<(String, String)> = seen().map(|(_, step)| (name(step), text(step))).collect();
    let columns = Columns::of(
        canvas,
        rows.iter().map(|(name, _)| name.as_str()),
        rows.iter().map(|(_, text)| text.as_str()),
    );
    let attempts = || all.iter().flat_map(|step| step.attempts.iter().take(MOST_ATTEMPTS));
    let end = |a: &TimelineAttempt| Some(a.offset_seconds? + a.duration_ms? / 1000.0);
    let high = match timed {
        true => attempts().filter_map(end).fold(0.0, f64::max),
        false => attempts().count() as f64,
    };
    let high = if high > 0.0 && high.is_finite() { high } else { 1.0 };
    let scale = Scale { low: 0.0, high, from: columns.from, to: columns.to };
    let gaps = shown.iter().zip(shown.iter().skip(1)).filter(|(a, b)| **b > **a + 1).count();
    let (top, bottom) = (canvas.height, canvas.height + ROW * (rows.len() + gaps) as f64);
    if timed {
        scale.grid(canvas, (top, bottom), &|at| {
            if at == 0.0 { "0 s".to_owned() } else { seconds(at) }
        });
    }
    let mut rows = rows.into_iter();
    let (mut place, mut hidden) = (0.0, 0_u64);
    for (at, step) in all.iter().enumerate() {
        let row = if shown.contains(&at) { rows.next() } else { None };
        hidden += u64::from(row.is_none());
        if row.is_some() && hidden > 0 {
            let line = format!("… {} {} between", count(hidden), plural(hidden, "step"));
            canvas.text(LEFT, canvas.height + 16.0, SMALL, Anchor::Start, Ink::Muted, &line);
            canvas.height += ROW;
            hidden = 0;
        }
        let y = canvas.height + ROW / 2.0;
        for attempt in step.attempts.iter().take(MOST_ATTEMPTS) {
            let span = match (timed, attempt.offset_seconds, attempt.duration_ms) {
                (true, Some(from), Some(took)) => (from, from + took / 1000.0),
                (true, ..) => continue,
                (false, ..) => (place, place + 1.0),
            };
            place += 1.0;
            if row.is_some() {
                bar(canvas, scale, y, span, step, attempt);
            }
        }
        if let Some((name, text)) = row {
            columns.name(canvas, y, &name);
            columns.number(canvas, y, &text);
            let verdict = step.attempts.last().map_or("", |last| word(last.verdict));
            canvas.word(format!("{}: {verdict}. {}", safe(&name), safe(&text)));
            canvas.height += ROW;
        }
    }
    canvas.height += if timed { 26.0 } else { 8.0 };
}

fn bar(
    canvas: &mut Canvas,
    scale: Scale,
    y: f64,
    (from, to): (f64, f64),
    step: &TimelineStep,
    attempt: &TimelineAttempt,
) {
    let (left, right) = (scale.at(from), scale.at(to));
    let tip = format!(
        "{}, attempt {}: {}{}",
        safe(&name(step)),
        attempt.number,
        word(attempt.verdict),
        attempt.error_type.as_deref().map(|kind| format!(" ({})", safe(kind))).unwrap_or_default()
    );
    // What took no time must show all the same, and neighbours must stay apart.
    let width = (right - left - 1.0).max(2.5);
    let shape = canvas.rect(left, y - 7.0, width, 14.0, ink(attempt.verdict));
    shape.marks(&format!("step {} attempt {}", step.position, attempt.number), to - from, tip);
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Neither => "neither passed nor failed",
    }
}

/// What the colours of the bars mean.
fn legend(canvas: &mut Canvas, timeline: &Timeline) {
    canvas.height += 18.0;
    let (mut x, y) = (LEFT, canvas.height - 4.0);
    for verdict in [Verdict::Passed, Verdict::Failed, Verdict::Neither] {
        let mut attempts = timeline.steps.iter().flat_map(|step| &step.attempts);
        if attempts.any(|attempt| attempt.verdict == verdict) {
            canvas.rect(x, y - 9.0, 10.0, 10.0, ink(verdict));
            canvas.text(x + 15.0, y, SMALL, Anchor::Start, Ink::Muted, word(verdict));
            x += 15.0 + measure::width(word(verdict), SMALL) + 16.0;
        }
    }
}
