//! The runs as the page's script reads them: columns, and a line of short fields for each timeline.
//!
//! A timeline is read only when it is opened, so it is one string: attempts separated by `;`, their
//! fields by `,`, numbers in base 36, empty fields where nothing is known or nothing changed.
//! Words are in one list, in the order of their first use; word 0 is the empty one.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::json::rounded;
use super::super::safe::one_line;
use super::page::{Keys, Page, PageRun};
use super::runs::{kinds, outcome};
use super::writer::{Html, visible_lines};
use crate::evaluate::{BriefAttempt, BriefStep, Verdict, WordList};

#[derive(Serialize, Default)]
struct Data {
    version: u32,
    /// All runs, shown or not.
    of: u64,
    words: Vec<Box<str>>,
    /// What links call a run; empty where that is its id.
    key: Vec<String>,
    id: Vec<String>,
    task: Vec<u32>,
    trial: Vec<u32>,
    agent: Vec<u32>,
    model: Vec<u32>,
    status: Vec<u32>,
    tags: Vec<u32>,
    outcome: Vec<u32>,
    /// 0 for runs that failed or passed a limit, 1 for those that did not end, 2 for completed ones.
    class: Vec<u8>,
    /// -1 where nothing is known of steps.
    steps: Vec<i64>,
    attempts: Vec<i64>,
    failed: Vec<i64>,
    retries: Vec<i64>,
    seconds: Vec<Option<f64>>,
    tokens: Vec<Option<f64>>,
    cost: Vec<Option<f64>>,
    /// The step where it went wrong; 0 where it did not.
    turned: Vec<u32>,
    errors: Vec<Vec<u32>>,
    place: Vec<String>,
    end: Vec<u32>,
    never: Vec<Vec<u32>>,
    /// Attempts that are not in the line.
    more: Vec<u64>,
    line: Vec<String>,
}

/// The position of a label; that of the empty word where there is none.
fn label(words: &mut WordList, label: Option<&str>) -> u32 {
    label.map_or(0, |label| words.put(label))
}

/// Writes the runs, and their contents where they were asked for.
pub(super) fn write(page: &Page<'_>, keys: &Keys<'_>, html: &mut Html) {
    let mut data = Data { version: 1, of: page.analysis.runs.total(), ..Data::default() };
    let mut words = WordList::new(|word| one_line(word).into());
    words.put("");
    for (at, run) in page.runs.iter().enumerate() {
        push(&mut data, &mut words, run, keys.key(at));
    }
    data.words = words.into_words();
    html.data("runs-data", &data);
    if page.contents {
        html.data("contents-data", &contents(page));
    }
}

fn push(data: &mut Data, words: &mut WordList, run: &PageRun<'_>, key: &str) {
    let row = run.row;
    let id = one_line(row.run_id.as_deref().unwrap_or_default());
    data.key.push(if id == key { String::new() } else { key.to_owned() });
    data.id.push(id);
    data.task.push(label(words, row.task_id.as_deref()));
    data.trial.push(label(words, row.trial.as_deref()));
    data.agent.push(label(words, row.agent.as_deref()));
    data.model.push(label(words, row.model.as_deref()));
    // A longer status is something that was said.
    let status = row.status.as_deref().filter(|status| crate::evaluate::is_word(status));
    data.status.push(label(words, status));
    let tags: Vec<String> = row.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    data.tags.push(words.put(&tags.join(" ")));
    data.outcome.push(words.put(&outcome(run)));
    data.class.push(run.rank.class());
    let known = |number: u32| if row.steps_unknown { -1 } else { i64::from(number) };
    data.steps.push(known(row.steps));
    data.attempts.push(known(row.attempts));
    data.failed.push(known(row.failed_all));
    data.retries.push(known(row.retries));
    data.seconds.push(rounded(row.duration_seconds, 3));
    data.tokens.push(rounded(row.tokens.map(|tokens| tokens.total()), 0));
    data.cost.push(rounded(row.cost_usd, 6));
    data.turned.push(row.turned_at.unwrap_or_default());
    data.errors.push(kinds(run).iter().map(|kind| words.put(kind)).collect());
    data.place.push(one_line(run.place));
    data.end.push(label(words, run.brief.end_reason.as_deref()));
    data.never.push(run.brief.never_reached.iter().map(|node| words.put(node)).collect());
    data.more.push(run.brief.left_out);
    data.line.push(line(run, words));
}

fn line(run: &PageRun<'_>, words: &mut WordList) -> String {
    let own: Vec<u32> = run.brief.words.iter().map(|word| words.put(word)).collect();
    let word = |at: u32| own.get(at as usize).copied().unwrap_or_default();
    let mut out = String::with_capacity(run.brief.attempts.len() * 20);
    let mut before = None;
    for attempt in &run.brief.attempts {
        let Some(step) = run.brief.steps.get(attempt.step as usize) else { continue };
        if before.is_some() {
            out.push(';');
        }
        let start = out.len();
        let fresh = before != Some(attempt.step);
        before = Some(attempt.step);
        // The record is needed only where contents refer to it.
        fields(attempt, step, fresh, &word, run.contents.is_some(), &mut out);
        while out.len() > start && out.ends_with(',') {
            out.pop();
        }
    }
    out
}

fn fields(
    attempt: &BriefAttempt,
    step: &BriefStep,
    fresh: bool,
    word: &dyn Fn(u32) -> u32,
    said: bool,
    out: &mut String,
) {
    let own = |number: u32| fresh.then_some(u64::from(number));
    let more_than_one = |number: u32| Some(u64::from(number)).filter(|n| *n > 1);
    let retry = match (attempt.same_input, attempt.number) {
        _ if attempt.implied => 0,
        (Some(true), _) => 1,
        (Some(false), _) => 2,
        (None, 2..) => 3,
        (None, _) => 0,
    };
    let verdict = match attempt.verdict {
        Verdict::Passed => 0,
        Verdict::Failed => 1,
        Verdict::Neither => 2,
    };
    let status = attempt.status.filter(|_| attempt.verdict == Verdict::Neither);
    let all = [
        own(step.position),
        own(word(step.kind)),
        step.name.and_then(|name| own(word(name))),
        more_than_one(attempt.number),
        more_than_one(attempt.times),
        Some(verdict + 3 * u64::from(attempt.implied) + 6 * retry).filter(|code| *code > 0),
        status.map(|status| word(status).into()),
        attempt.error.map(|error| word(error).into()),
        attempt.offset_seconds.and_then(|at| whole(at * 1e3)),
        attempt.duration_ms.and_then(whole),
        attempt.tokens.and_then(whole),
        said.then_some(u64::from(attempt.record)),
    ];
    for field in all {
        if let Some(number) = field {
            base36(number, out);
        }
        out.push(',');
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and below what a float holds exactly"
)]
fn whole(number: f64) -> Option<u64> {
    let number = number.round();
    (0.0..9e15).contains(&number).then_some(number as u64)
}

fn base36(mut number: u64, out: &mut String) {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digits = [0; 13];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = DIGITS[(number % 36) as usize];
        number /= 36;
        if number == 0 || at == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().copied().map(char::from));
}

/// By shown run: record (-1 for the run as a whole), what it is, and the text.
type Said = BTreeMap<usize, Vec<(i64, &'static str, String)>>;

fn contents(page: &Page<'_>) -> Said {
    let mut all = Said::new();
    for (at, run) in page.runs.iter().enumerate() {
        let Some(contents) = run.contents else { continue };
        let text = |text: &crate::evaluate::RecordedText| {
            let record = text.record.map_or(-1, i64::from);
            (record, text.kind.name(), visible_lines(&text.text))
        };
        all.insert(at, contents.texts.iter().map(text).collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::base36;

    #[test]
    fn numbers_are_in_base_36() {
        let written = |number| {
            let mut out = String::new();
            base36(number, &mut out);
            out
        };
        assert_eq!([0, 35, 36, 1_000_000].map(written), ["0", "z", "10", "lfls"]);
        assert_eq!(written(u64::MAX), "3w5e11264sgsf");
    }
}
