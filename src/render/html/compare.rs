//! The candidate beside its baseline: figures, broken tasks, errors that are new or gone.

use super::super::change::{Change, p_value, side, size, spoken_p, told};
use super::super::doc::{Block, Doc};
use super::super::figures::plural;
use super::super::finding::{guard_sentence, notes, signature, threshold_sentence};
use super::super::gate::pairing_lines;
use super::super::number::count;
use super::page::Page;
use super::writer::Html;
use crate::compare::{ErrorSignature, Gate, Verdict};

/// Tasks and errors that are listed; JSON has all.
const LISTED: usize = 100;

pub(super) fn section(page: &Page<'_>, html: &mut Html) {
    let Some((gate, _)) = page.gate else { return };
    let Some(pairing) = &gate.pairing else { return };
    html.raw("<section id=compare aria-labelledby=compare-h><h2 id=compare-h>Comparison with the baseline</h2>\n");
    table(gate, html);
    html.raw("<p class=muted>A difference that the test cannot tell from none is <b>~</b>. The margin is how much worse is accepted. p is adjusted over all gated metrics (Holm).</p>\n");
    let mut lines = Doc::default();
    pairing_lines(pairing, &mut lines);
    if gate.guard.is_some_and(|guard| guard.fired) {
        lines.line(format!("guard for broken tasks: {}", guard_sentence(gate)));
    }
    for held in &gate.thresholds {
        lines.line(threshold_sentence(held));
    }
    for block in &lines.blocks {
        if let Block::Line(line) = block {
            html.raw("<p dir=auto>").text(line).raw("</p>\n");
        }
    }
    broken(gate, html);
    errors("New errors", &gate.errors.new, html);
    errors("Errors that are gone", &gate.errors.gone, html);
    html.raw("</section>\n");
}

fn table(gate: &Gate, html: &mut Html) {
    html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=compare-h><table>\n<thead><tr><th scope=col>metric<th scope=col class=n>baseline<th scope=col class=n>candidate<th scope=col class=n>change<th scope=col>95% interval<th scope=col class=n>p (adj)<th scope=col>verdict<th scope=col class=n>margin<th scope=col>note</thead>\n<tbody>\n");
    for gated in &gate.metrics {
        let evidence = &gated.evidence;
        let change = Change::of(gated.metric, evidence, told(gated, gate.levels));
        let margin = gated.margin.map(|margin| size(gated.metric, evidence, margin));
        let class = match gated.verdict {
            Verdict::Regression => "bad",
            Verdict::Improved => "good",
            Verdict::Inconclusive => "open",
            Verdict::Pass => "plain",
        };
        html.raw("<tr><th scope=row class=metric>").text(gated.metric.name);
        html.figure(&side(gated.metric, evidence.baseline));
        html.figure(&side(gated.metric, evidence.candidate));
        html.figure(&change.point).raw("<td class=nowrap>").text(&change.interval);
        html.figure(&p_value(spoken_p(gated)));
        html.raw("<td><span").attr("class", &format!("tag {class}")).raw(">");
        html.text(gated.verdict.name()).raw("</span>").figure(margin.as_deref().unwrap_or("-"));
        // The margin has a column of its own here.
        let notes = notes(gated).into_iter().filter(|note| !note.starts_with("margin "));
        html.raw("<td class=note>").text(&notes.collect::<Vec<_>>().join("; ")).raw("\n");
    }
    html.raw("</tbody></table></div>\n");
}

fn broken(gate: &Gate, html: &mut Html) {
    if gate.broken_tasks.is_empty() {
        return;
    }
    html.raw("<h3>Broken tasks</h3><p class=muted>All trials were completed in the baseline, and none now.</p>\n<div class=scroll tabindex=0 role=group aria-label=\"Broken tasks\"><table class=narrow><thead><tr><th scope=col>task<th scope=col class=n>baseline<th scope=col class=n>candidate<th scope=col class=js-only hidden>runs</thead><tbody>\n");
    for task in gate.broken_tasks.iter().take(LISTED) {
        let (before, after) = (count(task.baseline), count(task.candidate));
        html.raw("<tr><th scope=row>").name(&task.task_id);
        html.figure(&format!("{before}/{before}")).figure(&format!("0/{after}"));
        html.raw("<td class=js-only hidden><button type=button class=link")
            .attr("data-task", &task.task_id);
        html.attr("aria-label", &format!("show the runs of task {}", task.task_id));
        html.raw(">show</button>\n");
    }
    html.raw("</tbody></table></div>\n");
    more(gate.broken_tasks.len(), html);
}

fn errors(title: &'static str, errors: &[ErrorSignature], html: &mut Html) {
    if errors.is_empty() {
        return;
    }
    html.raw("<h3>").text(title).raw("</h3><ul class=plainlist>");
    for error in errors.iter().take(LISTED) {
        html.raw("<li>").name(&signature(error)).raw(" <span class=muted>");
        html.number(error.runs).raw(" ").text(&plural(error.runs, "run")).raw("</span>\n");
    }
    html.raw("</ul>\n");
    more(errors.len(), html);
}

pub(super) fn more(all: usize, html: &mut Html) {
    if all > LISTED {
        html.raw("<p class=muted>and ").number((all - LISTED) as u64).raw(" more</p>\n");
    }
}
