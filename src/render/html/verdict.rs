//! What a reader wants to know first: the verdict, and what it rests on.

use super::super::figures::{counts, figure_value, interval, plural, threshold_line};
use super::super::finding::{Grave, findings};
use super::super::gate;
use super::super::number::count;
use super::page::{Page, title};
use super::writer::Html;
use crate::compare::Verdict;
use crate::evaluate::Outcome;
use crate::metrics::metric;

/// Findings that are listed; the comparison below has all.
const FINDINGS: usize = 12;

/// The class of the verdict for the style, and its word.
pub(super) fn word(page: &Page<'_>) -> (&'static str, String) {
    if let Some((judged, _)) = page.gate {
        let class = match judged.verdict {
            Verdict::Regression => "bad",
            Verdict::Inconclusive => "open",
            Verdict::Pass | Verdict::Improved => "good",
        };
        return (class, gate::word(judged.verdict).to_owned());
    }
    let held = |verdict: &str| page.parts.thresholds.iter().any(|held| held.verdict == verdict);
    if held("missed") {
        ("bad", "THRESHOLD MISSED".to_owned())
    } else if held("unknown") {
        ("open", "NOT DECIDED".to_owned())
    } else if held("met") {
        ("good", "THRESHOLDS MET".to_owned())
    } else {
        ("plain", format!("{} completed", completion(page).0))
    }
}

/// The completion rate and its interval with counts.
fn completion(page: &Page<'_>) -> (String, String) {
    let name = "final_completion_rate";
    let shown = page.analysis.figures.iter().find(|(metric, _)| metric.name == name);
    match (shown, metric(name)) {
        (Some((metric, figure)), _) => (
            figure_value(metric, figure.value),
            match &figure.interval {
                Some(_) => {
                    format!("95% interval {}, {}", interval(metric, figure), counts(figure))
                }
                None => figure.reason.clone().unwrap_or_default(),
            },
        ),
        _ => {
            let completed = page.analysis.runs.get(Outcome::Completed);
            (format!("{} runs", count(completed)), String::new())
        }
    }
}

pub(super) fn section(page: &Page<'_>, html: &mut Html) {
    let (class, word) = word(page);
    html.raw("<section id=verdict aria-labelledby=title tabindex=-1><h1 id=title dir=auto>");
    html.name(&title(page)).raw("</h1>\n<p").attr("class", &format!("verdict {class}"));
    html.raw("><strong>").text(&word).raw("</strong> <span>");
    match page.gate {
        Some((judged, context)) => {
            let line = gate::head(judged, context);
            // The parts of the line are told apart by spaces, which a page would drop.
            let line = line.strip_prefix(word.as_str()).unwrap_or(&line).trim();
            html.text(&line.replacen("    ", " \u{b7} ", 1));
        }
        None => {
            let (value, counted) = completion(page);
            // The word of a page without thresholds is the value itself.
            let head =
                if class == "plain" { String::new() } else { format!("completed {value}, ") };
            html.text(&format!("{head}{counted}"));
        }
    }
    html.raw("</span></p>\n");
    reasons(page, html);
    facts(page, html);
    html.raw("</section>\n");
}

fn reasons(page: &Page<'_>, html: &mut Html) {
    let lines: Vec<(&'static str, String)> = match page.gate {
        Some((judged, _)) => findings(judged)
            .into_iter()
            .map(|finding| {
                let class = match finding.grave {
                    Grave::Error => "bad",
                    Grave::Warning => "open",
                    Grave::Note => "plain",
                };
                (class, finding.message)
            })
            .collect(),
        None => {
            let line = threshold_line;
            let class = |held: &super::super::report::ThresholdWire| match held.verdict {
                "missed" => "bad",
                "met" => "good",
                _ => "open",
            };
            let mut held: Vec<_> = page.parts.thresholds.iter().collect();
            held.sort_by_key(|held| match held.verdict {
                "missed" => 0,
                "met" => 2,
                _ => 1,
            });
            held.into_iter().map(|held| (class(held), line(held))).collect()
        }
    };
    if lines.is_empty() {
        return;
    }
    html.raw("<ul class=reasons>");
    for (class, line) in lines.iter().take(FINDINGS) {
        html.raw("<li").attr("class", class).raw(" dir=auto>").text(line).raw("\n");
    }
    if lines.len() > FINDINGS {
        html.raw("<li class=plain>and ").number((lines.len() - FINDINGS) as u64);
        html.raw(" more, in the sections below\n");
    }
    html.raw("</ul>\n");
}

fn facts(page: &Page<'_>, html: &mut Html) {
    let analysis = page.analysis;
    html.raw("<dl class=facts>");
    let mut fact = |name: &'static str, number: u64| {
        html.raw("<div><dt>").text(name).raw("<dd>").number(number).raw("</div>");
    };
    fact("runs", analysis.runs.total());
    fact("tasks", analysis.tasks.into());
    fact("attempts", analysis.attempts);
    for outcome in Outcome::ALL {
        let number = analysis.runs.get(outcome);
        if number > 0 {
            fact(outcome.name(), number);
        }
    }
    let rejected: u64 = page.parts.inputs.iter().map(|input| input.rejected).sum();
    if rejected > 0 {
        fact(if rejected == 1 { "record rejected" } else { "records rejected" }, rejected);
    }
    html.raw("</dl>\n");
    if let Some(filter) = &page.parts.filter {
        html.raw("<p class=muted dir=auto>Kept by --where: ").number(filter.kept).raw(" of ");
        html.number(filter.of).raw(" ").text(&plural(filter.of, "run")).raw(" (<code>");
        html.text(&filter.expression).raw("</code>)</p>\n");
    }
}
