//! What failed, where, and which runs to open.

use super::super::figures::plural;
use super::super::number::{count, percent};
use super::super::safe::shorten;
use super::page::{Keys, Page};
use super::writer::{Html, fragment};
use crate::metrics::{FailureGroup, StepRisk};

/// Groups that are listed.
const GROUPS: usize = 60;

/// Groups that are seen at once; the others are folded.
const OPEN: usize = 12;

/// Steps that are named of a group.
const STEPS: usize = 4;

/// Steps that are listed of all.
const RISKS: usize = 40;

/// The word for a step that nobody recovered from.
pub(super) const WENT_WRONG: &str = "went wrong here: not recovered";

pub(super) fn section(page: &Page<'_>, keys: &Keys<'_>, html: &mut Html) {
    html.raw("<section id=failures aria-labelledby=failures-h><h2 id=failures-h>Failures by signature</h2>\n");
    let groups = page.failures;
    if groups.is_empty() {
        html.raw("<p>No attempt failed.</p></section>\n");
        return;
    }
    html.raw("<p class=muted>Failed attempts by error type and tool, those in most runs that were not completed first. Over all runs.</p>\n");
    let (first, rest) = groups.split_at(groups.len().min(OPEN));
    table(page, first, keys, html);
    let (rest, left) = rest.split_at(rest.len().min(GROUPS - OPEN));
    if !rest.is_empty() {
        html.raw("<details><summary>").number(rest.len() as u64).raw(" more</summary>\n");
        table(page, rest, keys, html);
        html.raw("</details>\n");
    }
    if !left.is_empty() {
        let attempts = left.iter().map(|group| group.attempts).sum();
        html.raw("<p class=muted>and ").number(left.len() as u64);
        html.raw(" rarer signatures with ").number(attempts).raw(" failed attempts</p>\n");
    }
    html.raw("</section>\n");
}

fn table(page: &Page<'_>, groups: &[FailureGroup], keys: &Keys<'_>, html: &mut Html) {
    html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=failures-h><table>\n<thead><tr><th scope=col>error @ tool<th scope=col class=n>runs<th scope=col class=n>not completed<th scope=col class=n>attempts<th scope=col>where (step: runs)<th scope=col>runs to open</thead>\n<tbody>\n");
    for group in groups {
        let kind = shorten(&group.kind, 160);
        html.raw("<tr><th scope=row>").name(&kind);
        if let Some(tool) = &group.tool {
            html.raw(" <span class=muted>@ ").name(&shorten(tool, 120)).raw("</span>");
        }
        html.raw("<td class=n>").number(group.runs).raw("<td class=n>").number(group.runs_lost);
        html.raw("<td class=n>").number(group.attempts);
        html.raw("<td>").text(&places(group)).raw("<td class=links>");
        for (place, step) in &group.examples {
            let Some((at, run)) = keys.at(*place) else { continue };
            let key = keys.key(at);
            html.raw("<a").attr("href", &format!("#run={}&step={step}", fragment(key)));
            html.raw(">").name(&shorten(run.row.run_id.as_deref().unwrap_or(key), 60)).raw("</a> ");
        }
        // Runs that are not shown have no timeline to open.
        if !page.runs.is_empty() {
            html.raw("<button type=button class=\"link js-only\" hidden")
                .attr("data-error", &group.kind);
            html.attr("aria-label", &format!("show all runs with {kind}")).raw(">all</button>");
        }
        html.raw("\n");
    }
    html.raw("</tbody></table></div>\n");
}

/// The steps where most runs of a group failed.
fn places(group: &FailureGroup) -> String {
    let mut steps: Vec<(u32, u64)> =
        group.steps.iter().map(|(step, runs)| (*step, *runs)).collect();
    steps.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let shown = steps.iter().take(STEPS).map(|(step, runs)| format!("{step}: {}", count(*runs)));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if steps.len() > STEPS {
        text.push_str(&format!(", and {} more", count((steps.len() - STEPS) as u64)));
    }
    if text.is_empty() { "order unknown".to_owned() } else { text }
}

pub(super) fn steps(page: &Page<'_>, html: &mut Html) {
    if page.risks.is_empty() {
        return;
    }
    html.raw("<section aria-labelledby=steps-h><h2 id=steps-h>Where runs fail and end</h2>\n");
    if let Some(step) = page.analysis.riskiest {
        html.raw("<p>Riskiest step: <b>").number(step.step.into()).raw("</b>. ");
        html.number(step.failed)
            .raw(" of the ")
            .number(step.reached)
            .raw(" runs that reach it have a failed attempt there.</p>\n");
    }
    let shown: Vec<&StepRisk> = page.risks.iter().take(RISKS).collect();
    html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=steps-h><table class=narrow>\n<thead><tr><th scope=col class=n>step<th scope=col class=n>runs that reach it<th scope=col class=n>fail there<th scope=col class=n>share<th scope=col class=n>went wrong for good</thead>\n<tbody>\n");
    for risk in &shown {
        html.raw("<tr><th scope=row class=n>").number(risk.step.into());
        html.raw("<td class=n>").number(risk.reached).raw("<td class=n>").number(risk.failed);
        html.figure(&share(risk)).raw("<td class=n>").number(risk.lost).raw("\n");
    }
    html.raw("</tbody></table></div>\n");
    let rest = page.risks.get(RISKS..).unwrap_or_default();
    if !rest.is_empty() {
        let failed: u64 = rest.iter().map(|risk| risk.failed).sum();
        html.raw("<p class=muted>and ").number(rest.len() as u64).raw(" later ");
        html.text(&plural(rest.len() as u64, "step")).raw(", where runs fail ");
        html.number(failed).raw(" times</p>\n");
    }
    html.raw("</section>\n");
}

#[expect(clippy::cast_precision_loss, reason = "shown as a percentage")]
fn share(risk: &StepRisk) -> String {
    if risk.reached == 0 {
        "-".to_owned()
    } else {
        percent(risk.failed as f64 / risk.reached as f64)
    }
}
