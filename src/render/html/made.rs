//! How the figures were made: config, inputs, methods, bounds of the page, warnings.

use std::collections::BTreeMap;

use super::super::number::count;
use super::page::Page;
use super::writer::Html;
use crate::compare::Mode;
use crate::metrics::{DEFINITIONS, DRAWS, SEED};

/// Inputs and warnings that are listed.
const LISTED: usize = 200;

pub(super) fn section(page: &Page<'_>, html: &mut Html) {
    html.raw("<section id=made aria-labelledby=made-h><h2 id=made-h>How the figures were made</h2>\n<dl class=made>\n");
    config(page, html);
    baseline(page, html);
    let mut row = |name: &'static str, text: String| {
        html.raw("<dt>").text(name).raw("<dd dir=auto>").text(&text).raw("\n");
    };
    row("retries", format!("{} (how retries were told)", page.analysis.retries.name()));
    row(
        "versions",
        format!("agenteval {}, definitions of figures {DEFINITIONS}", env!("CARGO_PKG_VERSION")),
    );
    for (name, given) in [("commit", &page.stamp.commit), ("time", &page.stamp.time)] {
        if let Some(given) = given {
            row(name, given.clone());
        }
    }
    row(
        "contents",
        match page.contents {
            true => "of traces are in this page (--include-content): cut, and secrets masked as far as patterns tell them".to_owned(),
            false => "of traces are not in this page: no inputs, outputs, reasoning, and of errors the type alone (--include-content adds them)".to_owned(),
        },
    );
    html.raw("</dl>\n");
    inputs(page, html);
    methods(page, html);
    warnings(page, html);
    html.raw("</section>\n");
}

fn config(page: &Page<'_>, html: &mut Html) {
    html.raw("<dt>config<dd>");
    match &page.parts.config {
        Some(config) => {
            if let Some(name) = &config.task_name {
                html.name(name).raw(", ");
            }
            html.raw("sha256 <code>").text(&config.sha256).raw("</code>\n");
        }
        None => _ = html.raw("none: the defaults\n"),
    }
}

fn baseline(page: &Page<'_>, html: &mut Html) {
    let Some((gate, context)) = page.gate else { return };
    let Some((name, sha256)) = &context.baseline else { return };
    html.raw("<dt>baseline<dd>").name(name).raw(", sha256 <code>").text(sha256).raw("</code>");
    if let Some(pairing) = &gate.pairing {
        html.text(&match pairing.mode {
            Mode::Paired => {
                format!(
                    ", {} of {} tasks paired",
                    count(pairing.paired as u64),
                    count(pairing.of_baseline as u64)
                )
            }
            Mode::Unpaired => ", not paired: compared as two samples".to_owned(),
        });
    }
    let level = format!("{:.4}", gate.levels.harm);
    let level = level.trim_end_matches('0');
    html.text(&format!("; p of harm is held against {level}")).raw("\n");
}

fn inputs(page: &Page<'_>, html: &mut Html) {
    let inputs = &page.parts.inputs;
    html.raw("<h3 id=inputs-h>Inputs</h3>\n<div class=scroll tabindex=0 role=group aria-labelledby=inputs-h><table><thead><tr><th scope=col>file<th scope=col>format<th scope=col class=n>runs<th scope=col class=n>steps<th scope=col class=n>attempts<th scope=col class=n>rejected<th scope=col>left out</thead>\n<tbody>\n");
    for input in inputs.iter().take(LISTED) {
        html.raw("<tr><th scope=row>").name(&input.path).cell(input.format.unwrap_or("-"));
        for number in [input.runs, input.steps, input.attempts, input.rejected] {
            html.raw("<td class=n>").number(number);
        }
        html.raw("<td dir=auto>").text(input.left_out.as_deref().unwrap_or_default()).raw("\n");
    }
    html.raw("</tbody></table></div>\n");
    if inputs.len() > LISTED {
        html.raw("<p class=muted>and ")
            .number((inputs.len() - LISTED) as u64)
            .raw(" more files</p>\n");
    }
}

fn methods(page: &Page<'_>, html: &mut Html) {
    let mut methods: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (metric, figure) in &page.analysis.figures {
        if let Some(interval) = &figure.interval {
            methods.entry(interval.method).or_default().push(metric.name);
        }
    }
    let tests = page.gate.iter().flat_map(|(gate, _)| &gate.metrics);
    let mut tested: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for gated in tests {
        if !gated.evidence.test.is_empty() {
            tested.entry(gated.evidence.test).or_default().push(gated.metric.name);
        }
    }
    for (title, methods) in [("Methods of the 95% intervals", methods), ("Tests", tested)] {
        if methods.is_empty() {
            continue;
        }
        html.raw("<h3>").text(title).raw("</h3><dl class=made>");
        for (method, names) in methods {
            html.raw("<dt>").text(method).raw("<dd>").text(&names.join(", ")).raw("\n");
        }
        html.raw("</dl>\n");
    }
    html.raw("<p class=muted>Bootstrap: ").number(DRAWS as u64).raw(" draws, seed ");
    html.text(&SEED.to_string()).raw(".</p>\n");
}

fn warnings(page: &Page<'_>, html: &mut Html) {
    let warnings = &page.parts.warnings;
    html.raw("<h3>Warnings</h3>\n");
    if warnings.is_empty() {
        html.raw("<p>None.</p>\n");
        return;
    }
    html.raw("<ul class=plainlist>\n");
    for warning in warnings.iter().take(LISTED) {
        html.raw("<li dir=auto><code>").text(&warning.code).raw("</code> ").text(&warning.message);
        if warning.count > 1 {
            html.raw(" <span class=muted>").number(warning.count).raw(" times</span>");
        }
        if !warning.place.is_empty() {
            html.raw(" <span class=muted>").name(&warning.place).raw("</span>");
        }
        html.raw("\n");
    }
    html.raw("</ul>\n");
    if warnings.len() > LISTED {
        html.raw("<p class=muted>and ").number((warnings.len() - LISTED) as u64).raw(" more</p>\n");
    }
}
