//! Why runs fail: what rules found and what to do about it, where completed and failed runs part,
//! where failed runs turned, how errors add up, and what failed runs used.
//!
//! What is listed is bounded whatever the runs hold. Evidence names types, tools and counts; the one
//! rule whose evidence quotes values has it left out of a page without contents.

use std::collections::BTreeMap;

use super::super::attribution::LEVEL;
use super::super::budgets::{amount, limit_row, share};
use super::super::figures::plural;
use super::super::number::{count, percent, plain};
use super::super::safe::shorten;
use super::errors_add_up;
use super::page::{Keys, Page};
use super::writer::{Html, fragment};
use crate::diagnose::{
    Attribution, Budget, Diagnosis, Examined, Finding, Grade, LEAST, Parting, RULES, Rule,
    Settings, Turn, TurnSign,
};
use crate::evaluate::RunRow;
use crate::horizon::Accumulation;
use crate::metrics::Rank;

/// Findings that are listed of a rule.
const FINDINGS: usize = 8;

/// Actions that are listed where none, or few, part the runs.
const NEAREST: usize = 3;

/// Actions that are listed at most.
const PARTINGS: usize = 12;

/// Places at which runs turned that are listed.
const TURNS: usize = 12;

/// Runs that are named of a place.
const EXAMPLES: usize = 4;

/// What a page says of why runs fail.
#[derive(Debug, Clone, Copy)]
pub struct Why<'p> {
    /// What rules found.
    pub diagnosis: &'p Diagnosis,
    /// The runs of which rules were asked, by their place in the diagnosis.
    pub asked: &'p [(Rank, RunRow)],
    /// How they were asked.
    pub settings: &'p Settings,
    /// How errors add up, over all runs.
    pub horizon: &'p Accumulation,
    /// The survival chart (inline SVG).
    pub survival: &'p str,
    /// What failed runs used, over all runs.
    pub budgets: &'p [Budget],
    /// The share of completed runs that keeps the limits.
    pub quantile: f64,
}

pub(super) fn section(page: &Page<'_>, keys: &Keys<'_>, html: &mut Html) {
    let why = page.why;
    html.raw("<section id=why aria-labelledby=why-h><h2 id=why-h>Why runs fail</h2>\n");
    let (asked, all) = (why.asked.len() as u64, page.analysis.runs.total());
    if asked < all {
        html.raw("<p class=note-box>Rules, partings and turning points are over ").number(asked);
        html.raw(" of ").number(all).raw(" runs: whole tasks, chosen by their ids and not by how their runs ended. <code>agenteval diagnose</code> asks of all.</p>\n");
    }
    rules(page, keys, html);
    partings(&why.diagnosis.attribution, html);
    turns(page, keys, html);
    errors_add_up::part(why, html);
    budgets(why, html);
    html.raw("</section>\n");
}

/// A number of runs in words.
fn runs(number: u64) -> String {
    format!("{} {}", count(number), plural(number, "run"))
}

fn rules(page: &Page<'_>, keys: &Keys<'_>, html: &mut Html) {
    let why = page.why;
    let seen = |rule: &Rule| why.diagnosis.examined.get(rule.code).copied();
    let asked = || RULES.iter().filter_map(|rule| Some((rule, seen(rule)?)));
    let mut fired: Vec<(&Rule, Examined)> = asked().filter(|(_, seen)| seen.findings > 0).collect();
    fired.sort_by(|(a, x), (b, y)| {
        let share = |seen: &Examined| portion(seen.affected, seen.runs).unwrap_or(0.0);
        let grade = |rule: &Rule| why.settings.grade(rule);
        grade(b).cmp(&grade(a)).then_with(|| share(y).total_cmp(&share(x)))
    });
    html.raw("<h3 id=rules-h>What rules found</h3>\n");
    if fired.is_empty() {
        html.raw("<p>No rule found anything.</p>\n");
    } else {
        html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=rules-h><table>\n<thead><tr><th scope=col>rule<th scope=col>level<th scope=col class=n>runs affected<th scope=col class=n>share<th scope=col class=n>findings<th scope=col>what to do</thead>\n");
        for (rule, seen) in &fired {
            entry(page, rule, *seen, keys, html);
        }
        html.raw("</table></div>\n");
    }
    let codes = |wanted: &dyn Fn(&Examined) -> bool| {
        let codes: Vec<&str> =
            asked().filter(|(_, seen)| wanted(seen)).map(|(rule, _)| rule.code).collect();
        codes.join(", ")
    };
    for (told, codes) in [
        ("Found nothing: ", codes(&|seen| seen.runs > 0 && seen.findings == 0)),
        ("No run has what these rules need: ", codes(&|seen| seen.runs == 0 && seen.findings == 0)),
    ] {
        if !codes.is_empty() {
            html.raw("<p class=muted>").text(told).text(&codes).raw("</p>\n");
        }
    }
}

fn entry(page: &Page<'_>, rule: &Rule, seen: Examined, keys: &Keys<'_>, html: &mut Html) {
    let grade = page.why.settings.grade(rule);
    let class = match grade {
        Grade::Error => "bad",
        Grade::Warning => "open",
        Grade::Note => "plain",
    };
    html.raw("<tbody><tr><th scope=row>").text(rule.title).raw(" <code class=muted>");
    html.text(rule.code).raw("</code><td><span").attr("class", &format!("tag {class}"));
    html.raw(">").text(grade.name()).raw("</span>");
    html.figure(&format!("{} of {}", count(seen.affected), count(seen.runs)));
    html.figure(&portion(seen.affected, seen.runs).map_or_else(|| "n/a".to_owned(), percent));
    html.raw("<td class=n>").number(seen.findings).raw("<td class=note>").text(rule.remedy);
    html.raw("\n<tr class=more><td colspan=6><details><summary>");
    let found: Vec<&Finding> = page
        .why
        .diagnosis
        .findings
        .iter()
        .filter(|finding| finding.code == rule.code)
        .take(FINDINGS)
        .collect();
    if seen.findings > found.len() as u64 {
        html.raw("the first ").number(found.len() as u64).raw(" of ");
    }
    html.number(seen.findings).raw(" ").text(&plural(seen.findings, "finding"));
    html.raw("</summary><ul class=plainlist>\n");
    for finding in found {
        line(page, finding, keys, html);
    }
    html.raw("</ul></details>\n");
}

fn line(page: &Page<'_>, finding: &Finding, keys: &Keys<'_>, html: &mut Html) {
    html.raw("<li dir=auto>");
    if let Some(run) = finding.run {
        link(page, run, finding.step, keys, html);
    }
    if let Some(step) = finding.step {
        html.raw(" step ").number(step.into());
    }
    if let Some(attempt) = finding.attempt.filter(|attempt| *attempt > 1) {
        html.raw(" attempt ").number(attempt.into());
    }
    if let Some(subject) = &finding.subject {
        html.raw(" ").name(&shorten(subject, 80));
    }
    if finding.run.is_some() || finding.subject.is_some() {
        html.raw(": ");
    }
    // Values of the trace are in it only where the page was asked for contents.
    html.raw("<bdi>").text(&shorten(&finding.evidence, 300)).raw("</bdi>\n");
}

/// A run by its name, which opens it where the page has it.
fn link(page: &Page<'_>, run: u32, step: Option<u32>, keys: &Keys<'_>, html: &mut Html) {
    let Some((rank, row)) = page.why.asked.get(run as usize) else { return };
    let shown = keys.at(*rank);
    let key = shown.map(|(at, _)| keys.key(at));
    let task = || match (&row.task_id, &row.trial) {
        (Some(task), Some(trial)) => Some(format!("{task} trial {trial}")),
        (task, _) => task.as_deref().map(str::to_owned),
    };
    let id = row.run_id.as_deref().filter(|id| !id.trim().is_empty()).map(str::to_owned);
    let name = id.or_else(task).or_else(|| key.map(str::to_owned));
    let name = shorten(name.as_deref().unwrap_or("a run without a name"), 60);
    match key {
        Some(key) => {
            let step = step.map_or_else(String::new, |step| format!("&step={step}"));
            html.raw("<a").attr("href", &format!("#run={}{step}", fragment(key))).raw(">");
            html.name(&name).raw("</a>");
        }
        None => _ = html.name(&name),
    }
}

fn partings(found: &Attribution, html: &mut Html) {
    html.raw("<h3 id=part-h>Where completed and failed runs of the same tasks part</h3>\n");
    if found.tasks == 0 {
        html.raw("<p>No task has both a completed run and one that failed, so there is nothing to compare.</p>\n");
        return;
    }
    let told = found.partings.iter().take_while(|one| one.p_adjusted <= LEVEL).count();
    let head = format!(
        "{} of {} {}, {} tested within tasks, among the runs that got that far. ",
        runs(found.runs),
        count(found.tasks),
        plural(found.tasks, "task"),
        match found.tested {
            1 => "1 action".to_owned(),
            number => format!("{} actions", count(number)),
        }
    );
    html.raw("<p>").text(&head);
    html.raw(match (found.tested, told) {
        (0, _) => "No action is common enough, and rare enough, to be tested.",
        (_, 0) => "<b>None is told from chance</b> after the correction for how many were tested; the nearest:",
        _ => "A part is where to look first, and not yet a cause.",
    });
    html.raw("</p>\n");
    let shown: Vec<&Parting> = found.partings.iter().take(told.clamp(NEAREST, PARTINGS)).collect();
    if shown.is_empty() {
        return;
    }
    html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=part-h><table class=narrow>\n<thead><tr><th scope=col>action<th scope=col class=n>step<th scope=col class=n>failed runs with it<th scope=col class=n>completed runs with it<th scope=col class=n>p<th scope=col class=n>p (Holm)</thead>\n<tbody>\n");
    for one in shown {
        let of = |(with, of): (u64, u64)| {
            let share =
                portion(with, of).map_or_else(String::new, |s| format!(" ({})", percent(s)));
            format!("{}/{}{share}", count(with), count(of))
        };
        html.raw("<tr><th scope=row>").name(&shorten(&one.action, 120));
        html.figure(&one.step.map_or_else(|| "any".to_owned(), |step| count(step.into())));
        html.figure(&of(one.failed)).figure(&of(one.completed));
        html.figure(&p(one.p)).figure(&p(one.p_adjusted)).raw("\n");
    }
    html.raw("</tbody></table></div>\n");
    if told > PARTINGS {
        html.raw("<p class=muted>and ").number((told - PARTINGS) as u64);
        html.raw(" more that are told from chance (<code>agenteval diagnose</code>)</p>\n");
    }
}

fn p(value: f64) -> String {
    if value < 0.0001 { "<0.0001".to_owned() } else { plain(value, 4) }
}

fn turns(page: &Page<'_>, keys: &Keys<'_>, html: &mut Html) {
    let turns = &page.why.diagnosis.attribution.turns;
    if turns.is_empty() {
        return;
    }
    html.raw("<h3 id=turns-h>Where to look first in failed runs</h3>\n");
    let mut places: BTreeMap<(TurnSign, &str), Vec<&Turn>> = BTreeMap::new();
    let signed = |turn: &&Turn| turn.sign != TurnSign::FirstAction;
    for turn in turns.iter().filter(signed) {
        places.entry((turn.sign, &turn.action)).or_default().push(turn);
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by(|(a, x), (b, y)| y.len().cmp(&x.len()).then(a.cmp(b)));
    if !places.is_empty() {
        html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=turns-h><table class=narrow>\n<thead><tr><th scope=col>action<th scope=col>how it is known<th scope=col class=n>runs<th scope=col>runs to open</thead>\n<tbody>\n");
        for ((sign, action), turns) in places.iter().take(TURNS) {
            html.raw("<tr><th scope=row>").name(&shorten(action, 120)).cell(sign.told());
            html.raw("<td class=n>").number(turns.len() as u64).raw("<td class=links>");
            for turn in turns.iter().take(EXAMPLES) {
                link(page, turn.run, Some(turn.step), keys, html);
                html.raw(" ");
            }
            html.raw("\n");
        }
        html.raw("</tbody></table></div>\n");
        if places.len() > TURNS {
            html.raw("<p class=muted>and ").number((places.len() - TURNS) as u64);
            html.raw(" rarer places</p>\n");
        }
    }
    let without = turns.iter().filter(|turn| !signed(turn)).count() as u64;
    if without > 0 {
        html.raw("<p class=muted>").text(&runs(without));
        html.raw(" failed without any sign of where.</p>\n");
    }
}

fn budgets(why: &Why<'_>, html: &mut Html) {
    html.raw("<h3 id=budgets-h>What failed runs used, and limits that completed runs keep</h3>\n");
    if why.budgets.is_empty() {
        html.raw("<p>No ended run records steps, retries, tokens, time or cost.</p>\n");
        return;
    }
    html.raw("<div class=scroll tabindex=0 role=group aria-labelledby=budgets-h><table>\n<thead><tr><th scope=col>amount<th scope=col class=n>completed runs<th scope=col class=n>median of these<th scope=col class=n>of others<th scope=col class=n>used by failed runs<th scope=col class=n>share of all<th scope=col>limit in the config<th scope=col class=n>cuts rightly<th scope=col class=n>cuts wrongly</thead>\n<tbody>\n");
    for budget in why.budgets {
        let show = |value: Option<f64>| {
            value.map_or_else(|| "n/a".to_owned(), |value| amount(budget.amount, value))
        };
        html.raw("<tr><th scope=row>").text(budget.amount.name());
        html.figure(&format!("{} of {}", count(budget.completed), count(budget.runs)));
        html.figure(&show(budget.median.0)).figure(&show(budget.median.1));
        html.figure(&amount(budget.amount, budget.by_failed));
        html.figure(&share(budget).map_or_else(|| "n/a".to_owned(), percent));
        match limit_row(budget).as_deref() {
            Some([key, limit, right, _, _, elsewhere, ..]) => {
                html.raw("<td><code>").text(key).raw("</code> <b>").text(limit).raw("</b>");
                html.figure(right).figure(elsewhere).raw("\n");
            }
            _ => {
                let why = format!("none: fewer than {LEAST} completed runs");
                html.raw("<td class=muted>").text(&why).figure("-").figure("-").raw("\n");
            }
        }
    }
    html.raw("</tbody></table></div>\n<p class=muted>Each limit is one that ");
    html.text(&percent(why.quantile));
    html.raw(" of completed runs keep. Cuts rightly: failed runs beyond it; wrongly: completed runs beyond a limit that is read from other tasks.</p>\n");
}

#[expect(clippy::cast_precision_loss, reason = "shown as a percentage")]
fn portion(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}
