//! The timeline of one run as a table, for readers without the script.

use std::collections::{BTreeMap, BTreeSet};

use super::super::number::{plain, seconds};
use super::failures::WENT_WRONG;
use super::page::PageRun;
use super::writer::Html;
use crate::evaluate::{BriefAttempt, RecordedText, Verdict};

/// Attempts of one run in the static part of the page; the script shows all.
const MOST: usize = 60;

/// How a verdict is called, with how it came to be.
pub(super) fn verdict(run: &PageRun<'_>, attempt: &BriefAttempt) -> String {
    let word = match (attempt.verdict, attempt.status) {
        (Verdict::Passed, _) => "passed".to_owned(),
        (Verdict::Failed, _) => "failed".to_owned(),
        (Verdict::Neither, Some(status)) => run.brief.word(status).to_owned(),
        (Verdict::Neither, None) => "neither".to_owned(),
    };
    let how = match (attempt.implied, attempt.same_input, attempt.number) {
        (true, ..) => " (implied)",
        (false, Some(true), _) => " (identical retry)",
        (false, Some(false), _) => " (revised retry)",
        (false, None, 2..) => " (retry)",
        (false, None, _) => "",
    };
    format!("{word}{how}")
}

/// The table; each step has the address that links go to, at its first failed attempt if it has one.
pub(super) fn table(run: &PageRun<'_>, key: &str, html: &mut Html) {
    html.raw("<table class=timeline><thead><tr><th scope=col class=n>step<th scope=col class=n>attempt<th scope=col>action<th scope=col>verdict<th scope=col class=n>at<th scope=col class=n>took<th scope=col>error</thead><tbody>\n");
    let texts = texts(run);
    let mut named = 0;
    let failing: BTreeSet<u32> = run
        .brief
        .attempts
        .iter()
        .take(MOST)
        .filter(|attempt| attempt.verdict == Verdict::Failed)
        .filter_map(|attempt| run.brief.steps.get(attempt.step as usize))
        .map(|step| step.position)
        .collect();
    let lost = run.brief.attempts.iter().rposition(|attempt| {
        let step = run.brief.steps.get(attempt.step as usize).map(|step| step.position);
        attempt.verdict == Verdict::Failed && step.is_some() && step == run.row.turned_at
    });
    for (place, attempt) in run.brief.attempts.iter().enumerate().take(MOST) {
        let Some(step) = run.brief.steps.get(attempt.step as usize) else { continue };
        let failed = attempt.verdict == Verdict::Failed;
        html.raw(if failed { "<tr class=failed" } else { "<tr" });
        if named != step.position && (failed || !failing.contains(&step.position)) {
            named = step.position;
            html.attr("id", &format!("run={key}&step={named}"));
        }
        html.raw("><td class=n>").number(step.position.into()).raw("<td class=n>");
        html.text(&match attempt.times {
            0 | 1 => attempt.number.to_string(),
            times => format!("{}-{}", attempt.number, attempt.number.saturating_add(times - 1)),
        });
        html.raw("<td class=a><span class=muted>").name(run.brief.word(step.kind)).raw("</span>");
        if let Some(name) = step.name {
            html.raw(" ").name(run.brief.word(name));
        }
        html.cell(&verdict(run, attempt));
        let at = attempt.offset_seconds.map(|at| format!("{} s", plain(at, 1)));
        let took = attempt.duration_ms.map(|ms| seconds(ms.max(0.0) / 1e3));
        html.figure(at.as_deref().unwrap_or_default()).figure(took.as_deref().unwrap_or_default());
        html.raw("<td class=e>");
        if let Some(error) = attempt.error {
            html.name(run.brief.word(error));
        }
        if lost == Some(place) {
            html.raw(" <span class=\"tag bad\">").text(WENT_WRONG).raw("</span>");
        }
        if let Some(texts) = texts.get(&Some(attempt.record)).filter(|_| !attempt.implied) {
            said(texts, html);
        }
        html.raw("\n");
    }
    html.raw("</tbody></table>");
    let more = run.brief.attempts.len().saturating_sub(MOST) as u64 + run.brief.left_out;
    if more > 0 {
        html.raw("<p class=muted>and ").number(more).raw(" more attempts</p>");
    }
    if let Some(texts) = texts.get(&None) {
        html.raw("<p>What the run delivered:</p>");
        said(texts, html);
    }
    if !run.brief.never_reached.is_empty() {
        html.raw("<p dir=auto>never reached: ")
            .text(&run.brief.never_reached.join(", "))
            .raw("</p>");
    }
}

/// The texts of a run by record; of the run as a whole under `None`.
fn texts<'p>(run: &PageRun<'p>) -> BTreeMap<Option<u32>, Vec<&'p RecordedText>> {
    let mut all: BTreeMap<Option<u32>, Vec<&RecordedText>> = BTreeMap::new();
    for text in run.contents.iter().flat_map(|contents| &contents.texts) {
        all.entry(text.record).or_default().push(text);
    }
    all
}

fn said(texts: &[&RecordedText], html: &mut Html) {
    html.raw("<details><summary>contents</summary>");
    for text in texts {
        html.raw("<p class=muted>").text(text.kind.name()).raw("</p><pre dir=auto>");
        html.lines(&text.text).raw("</pre>");
    }
    html.raw("</details>");
}
