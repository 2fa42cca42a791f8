//! The runs: a table for the script to fill, and the first ones as they are for readers without it.

use super::super::number::{plain, seconds};
use super::super::safe::shorten;
use super::page::{Keys, Page, PageRun};
use super::timeline;
use super::writer::Html;
use crate::evaluate::Outcome;

/// Runs in the static part of the page.
const FIRST: usize = 200;

/// Attempts of their timelines, all together.
const ATTEMPTS: usize = 4_000;

pub(super) fn section(page: &Page<'_>, keys: &Keys<'_>, html: &mut Html) {
    html.raw("<section id=runs aria-labelledby=runs-h><h2 id=runs-h>Runs</h2>\n");
    let all = page.analysis.runs.total();
    let shown = page.runs.len() as u64;
    if shown < all {
        html.raw("<p class=note-box>").number(shown).raw(" of ").number(all).raw(" runs are shown here: those that failed or passed a limit first, then those that did not end, then a stable sample of the others. All figures on this page are over all ");
        html.number(all).raw(" runs.</p>\n");
    }
    html.raw("<div id=runs-app class=js-only hidden></div>\n<div id=runs-static>\n");
    if page.runs.len() > FIRST {
        html.raw("<p class=muted>The first ").number(FIRST as u64);
        html.raw(" runs. The page's script shows the others, filters and sorts them.</p>\n");
    }
    html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=runs-h><table>\n<thead><tr><th scope=col>run<th scope=col>task<th scope=col>outcome<th scope=col class=n>steps<th scope=col class=n>attempts<th scope=col class=n>failed<th scope=col class=n>retries<th scope=col class=n>duration<th scope=col>errors</thead>\n");
    let mut room = ATTEMPTS;
    for (at, run) in page.runs.iter().enumerate().take(FIRST) {
        row(run, keys.key(at), &mut room, html);
    }
    html.raw("</table></div></div>\n</section>\n");
}

/// How the run ended, with the limit.
pub(super) fn outcome(run: &PageRun<'_>) -> String {
    match run.row.limit {
        Some(limit) => format!("{} ({})", run.row.outcome.name(), limit.name()),
        None => run.row.outcome.name().to_owned(),
    }
}

fn row(run: &PageRun<'_>, key: &str, room: &mut usize, html: &mut Html) {
    let row = run.row;
    let class = match row.outcome {
        Outcome::Failed | Outcome::OverLimit => "bad",
        Outcome::Completed => "good",
        _ => "open",
    };
    html.raw("<tbody><tr><th scope=row>").name(&shorten(row.run_id.as_deref().unwrap_or(key), 120));
    html.raw("<td>").name(&shorten(row.task_id.as_deref().unwrap_or("-"), 120));
    html.raw("<td><span").attr("class", &format!("tag {class}")).raw(">").text(&outcome(run));
    html.raw("</span>");
    let known = |number: u32| if row.steps_unknown { "-".to_owned() } else { number.to_string() };
    for number in [row.steps, row.attempts, row.failed_all, row.retries] {
        html.figure(&known(number));
    }
    html.figure(&row.duration_seconds.map_or("-".to_owned(), seconds)).raw("<td>");
    let kinds: Vec<String> = kinds(run).iter().map(|kind| shorten(kind, 60)).collect();
    html.raw("<span dir=auto>").text(&kinds.join(", ")).raw("</span>\n");
    html.raw("<tr class=more><td colspan=9>");
    let attempts = run.brief.attempts.len();
    if attempts > *room {
        html.raw("<span class=muted>its timeline is shown by the page's script</span>\n");
        return;
    }
    *room -= attempts;
    html.raw("<details").attr("id", &format!("run={key}")).raw("><summary>timeline of ");
    html.name(&shorten(row.run_id.as_deref().unwrap_or(key), 60)).raw("</summary>");
    facts(run, html);
    timeline::table(run, key, html);
    html.raw("</details>\n");
}

/// The types of a run's errors, each once.
pub(super) fn kinds<'p>(run: &PageRun<'p>) -> Vec<&'p str> {
    let mut kinds: Vec<&str> = run.row.errors.iter().map(|error| &*error.kind).collect();
    kinds.dedup();
    kinds
}

fn facts(run: &PageRun<'_>, html: &mut Html) {
    let row = run.row;
    let mut facts: Vec<String> = Vec::new();
    let labels = [
        ("trial", row.trial.as_deref()),
        ("agent", row.agent.as_deref()),
        ("model", row.model.as_deref()),
    ];
    for (name, label) in labels {
        facts.extend(label.map(|label| format!("{name} {}", shorten(label, 80))));
    }
    facts.extend(row.tokens.map(|tokens| format!("{} tokens", plain(tokens.total(), 0))));
    facts.extend(row.cost_usd.map(|cost| format!("${}", plain(cost, 4))));
    facts.extend(run.brief.end_reason.as_deref().map(|reason| format!("ended by {reason}")));
    facts.push(run.place.to_owned());
    html.raw("<p class=muted dir=auto>").text(&facts.join(", ")).raw("</p>");
}
