//! The figures with their counts, intervals and definitions.

use super::super::figures::{counts, figure_value, interval, note};
use super::page::Page;
use super::writer::Html;
use crate::metrics::{Counts, Figure, Metric, Shape};
use crate::model::{Better, Unit};

pub(super) fn section(page: &Page<'_>, html: &mut Html) {
    html.raw("<section id=metrics aria-labelledby=metrics-h><h2 id=metrics-h>Metrics</h2>\n<div class=scroll tabindex=0 role=group aria-labelledby=metrics-h><table>\n<thead><tr><th scope=col>metric<th scope=col class=n>value<th scope=col>95% interval<th scope=col class=wide><span class=sr>interval drawn</span><th scope=col class=n>counts<th scope=col>note</thead>\n<tbody>\n");
    let analysis = page.analysis;
    for (metric, figure) in &analysis.figures {
        if matches!(metric.shape, Shape::Distribution(_)) {
            continue;
        }
        html.raw("<tr><th scope=row class=metric><details class=def><summary>").text(metric.name);
        html.raw("</summary><p>").text(metric.definition).raw(".<p>").text(direction(metric));
        html.raw(" No value where ").text(metric.undefined).raw(".");
        if let Some(interval) = &figure.interval {
            html.raw("<p>Interval: ").text(interval.method);
            html.raw(if figure.runs_as_clusters { ", runs as clusters." } else { "." });
        }
        html.raw("</details>");
        let class = if figure.value.is_none() { "n muted" } else { "n strong" };
        html.raw("<td").attr("class", class).raw(">").text(&figure_value(metric, figure.value));
        html.raw("<td class=nowrap>").text(&interval(metric, figure)).raw("<td class=wide>");
        drawn(metric, figure, html);
        html.figure(&counts(figure)).raw("<td class=note>");
        html.text(&note(metric, figure, analysis, None)).raw("\n");
    }
    html.raw("</tbody></table></div>\n");
    let distributions = &analysis.distributions;
    counted("Errors by type", &distributions.error_type, "failed attempts", html);
    counted("Attempts by step type", &distributions.step_type, "attempts", html);
    html.raw("</section>\n");
}

fn direction(metric: &Metric) -> &'static str {
    match metric.info().better {
        Better::Higher => "Higher is better.",
        Better::Lower => "Lower is better.",
        Better::Neither => "It only describes.",
    }
}

/// A share and its interval on a line from 0 to 1.
fn drawn(metric: &Metric, figure: &Figure, html: &mut Html) {
    let (Unit::Ratio, Some(value)) = (metric.info().unit, figure.value) else { return };
    let at = |share: f64| format!("{:.1}", share.clamp(0.0, 1.0) * 100.0);
    html.raw("<svg class=ci viewBox=\"-2 0 104 12\" aria-hidden=true><path class=rule d=\"M0 6H100M0 3V9M100 3V9\"/>");
    if let Some(interval) = &figure.interval {
        html.raw("<path class=span")
            .attr("d", &format!("M{} 6H{}", at(interval.low), at(interval.high)));
        html.raw("/>");
    }
    html.raw("<circle r=3 cy=6").attr("cx", &at(value)).raw("/></svg>");
}

/// Names that are listed of a distribution.
const NAMES: usize = 12;

#[expect(clippy::cast_precision_loss, reason = "shown as a percentage")]
fn counted(title: &'static str, counts: &Counts, of: &'static str, html: &mut Html) {
    let total: u64 = counts.values().sum();
    if total == 0 {
        return;
    }
    let mut names: Vec<(&str, u64)> = counts.iter().map(|(name, n)| (&**name, *n)).collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    html.raw("<h3>").text(title).raw("</h3><ul class=shares>");
    for (name, number) in names.iter().take(NAMES) {
        let name = super::super::safe::shorten(name, 80);
        html.raw("<li>").name(&name).raw(" <b>");
        html.text(&format!("{:.0}%", *number as f64 / total as f64 * 100.0)).raw("</b> <span>");
        html.number(*number).raw("</span>\n");
    }
    let rest: u64 = names.iter().skip(NAMES).map(|(_, n)| n).sum();
    if rest > 0 {
        html.raw("<li>").number((names.len() - NAMES) as u64).raw(" others <span>");
        html.number(rest).raw("</span>\n");
    }
    html.raw("<li class=muted>of ").number(total).raw(" ").text(of).raw("</ul>\n");
}
