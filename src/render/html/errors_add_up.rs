//! The survival chart with what it says of longer runs: the risk of a step, the half-life, whether
//! the risk is constant, and how far runs would get.

use super::super::horizon::{constant, ends, horizon_line, points};
use super::super::number::{count, percent};
use super::why::Why;
use super::writer::Html;
use crate::horizon::Projection;

pub(super) fn part(why: &Why<'_>, html: &mut Html) {
    html.raw("<h3 id=errors-h>How errors add up</h3>\n<div class=beside><figure><figcaption>Runs without a failed step</figcaption>");
    html.drawing(why.survival).raw("</figure>\n<div>");
    facts(why, html);
    html.raw("</div></div>\n");
}

fn facts(why: &Why<'_>, html: &mut Html) {
    let found = why.horizon;
    let Some(risk) = found.geometric else {
        html.raw("<p>No run tells the order of its steps, so no risk of a step is known.</p>");
        return;
    };
    html.raw("<dl class=made>");
    let mut fact = |name: &'static str, text: &str| {
        html.raw("<dt>").text(name).raw("<dd>").text(text).raw("\n");
    };
    fact(
        "risk per step",
        &format!(
            "{} {} ({} first failures in {} steps)",
            percent(risk.fit.hazard),
            ends(risk.interval(), points),
            count(risk.fit.events),
            count(risk.fit.exposure)
        ),
    );
    for (name, share) in [("half-life", 0.5), ("80% horizon", 0.8)] {
        fact(name, &horizon_line(found, share));
    }
    fact("constant risk?", &constant(found));
    html.raw("</dl>\n");
    if found.projections.iter().any(|at| at.withheld) {
        html.raw("<p>Beyond step ").number(found.survival.last.into());
        html.raw(" nothing is projected: the runs do not agree with a constant risk.</p>\n");
    }
    let shown: Vec<&Projection> = found.projections.iter().filter(|at| !at.withheld).collect();
    if shown.is_empty() {
        return;
    }
    html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=errors-h><table class=tight>\n<thead><tr><th scope=col class=n>steps<th scope=col class=n>seen<th scope=col class=n>constant risk<th scope=col class=n>changing risk</thead>\n<tbody>\n");
    let none = || "-".to_owned();
    for at in shown {
        html.raw("<tr><th scope=row class=n>").number(at.steps.into());
        html.figure(&at.seen.map_or_else(none, |(share, _)| percent(share)));
        html.figure(&at.geometric.map_or_else(none, |(share, interval)| {
            format!("{} {}", percent(share), ends(interval, points))
        }));
        html.figure(&at.weibull.map_or_else(none, percent)).raw("\n");
    }
    html.raw("</tbody></table></div>\n");
    if found.projections.iter().any(|at| at.extrapolated && !at.withheld) {
        html.raw("<p class=muted>Beyond step ").number(found.survival.last.into());
        html.raw(" no run was seen: what stands there is extrapolated.</p>\n");
    }
    html.raw("<p class=muted>Brackets: 95% intervals over tasks.</p>\n");
}
