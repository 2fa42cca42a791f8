//! The verdict of a gate as people read it, in a terminal and in the summary of a CI job.

use super::change::{Change, aligned, p_value, side, size, spoken_p, told};
use super::doc::{Column, Doc, Table};
use super::figures::plural;
use super::finding::{guard_sentence, new_error, notes, open, signature, threshold_sentence};
use super::mask::mask;
use super::number::count;
use super::report::WarningWire;
use super::safe::one_line;
use crate::compare::{BrokenTask, FallenTask, Gate, GatedMetric, Mode, PairingSummary, Verdict};
use crate::metrics::Standing;

/// What a report of a gate says beside the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateContext {
    /// Name and SHA-256 of the baseline; `None` without one.
    pub baseline: Option<(String, String)>,
    /// The folder of baselines, where one was named.
    pub store: Option<String>,
    /// The candidate's paths, as typed.
    pub candidate: Vec<String>,
    /// The options that decide how it was read and judged, as typed.
    pub reading: Vec<String>,
    /// What a reader should know, the notices of the gate among them.
    pub warnings: Vec<WarningWire>,
}

/// Broken tasks that are shown; JSON has all.
const BROKEN: usize = 10;
/// Errors that are shown of those that are new, and of those that are gone.
const ERRORS: usize = 5;
/// Names in a list.
const NAMED: usize = 3;
/// Warnings that are shown.
const WARNINGS: usize = 10;
/// The figure whose smallest difference stands in the first line.
const COMPLETION: &str = "final_completion_rate";

/// The verdict with what it rests on.
#[must_use]
pub fn gate_doc(gate: &Gate, context: &GateContext) -> Doc {
    let mut doc = Doc::default();
    doc.title(head(gate, context));
    doc.table(figures(gate));
    // Below the table, where a sentence has room.
    for gated in &gate.metrics {
        let open = open(gated);
        if !open.is_empty() {
            doc.line(format!("{}: {}", gated.metric.name, open.join("; ")));
        }
    }
    if let Some(pairing) = &gate.pairing {
        pairing_lines(pairing, &mut doc);
    }
    if gate.guard.is_some_and(|guard| guard.fired) {
        doc.line(format!("guard for broken tasks: {}", guard_sentence(gate)));
    }
    for held in &gate.thresholds {
        doc.line(threshold_sentence(held));
    }
    broken(&gate.broken_tasks, ["broken task", "baseline", "candidate"], &mut doc);
    if gate.guard.is_some_and(|guard| guard.fired) {
        fallen(gate, &mut doc);
    }
    error_lines(gate, &mut doc);
    if gate.verdict == Verdict::Inconclusive && !gate.metrics.is_empty() {
        doc.line("inconclusive: these runs show neither that it is worse nor that it is not");
    }
    for warning in context.warnings.iter().take(WARNINGS) {
        let place = match warning.place.as_str() {
            "" => String::new(),
            place => format!(" ({place})"),
        };
        let times = match warning.count {
            0 | 1 => String::new(),
            times => format!(" [{} times]", count(times)),
        };
        doc.warning(format!("{}: {}{place}{times}", warning.code, warning.message));
    }
    more(context.warnings.len(), WARNINGS, &mut doc);
    next_lines(gate, context, &mut doc);
    doc
}

/// The word that a verdict begins with.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Improved => "IMPROVED",
        Verdict::Inconclusive => "INCONCLUSIVE",
        Verdict::Regression => "FAIL",
    }
}

fn numbered(number: usize, noun: &str) -> String {
    format!("{} {}", count(number as u64), plural(number as u64, noun))
}

/// The first line: the verdict, what it counts, and what was compared.
#[must_use]
pub fn head(gate: &Gate, context: &GateContext) -> String {
    let with = |verdict| gate.metrics.iter().filter(|gated| gated.verdict == verdict).count();
    let held = |standing| gate.thresholds.iter().filter(|held| held.standing == standing).count();
    let mut counts = Vec::new();
    if gate.pairing.as_ref().is_some_and(|pairing| !pairing.failures.is_empty()) {
        counts.push("pairing failed".to_owned());
    }
    let mut add = |number: usize, text: String| {
        if number > 0 {
            counts.push(text);
        }
    };
    let regressions = with(Verdict::Regression);
    add(regressions, numbered(regressions, "regression"));
    let improved = with(Verdict::Improved);
    add(improved, format!("{improved} improved"));
    let passed = with(Verdict::Pass);
    add(passed, format!("{passed} pass"));
    let open = with(Verdict::Inconclusive);
    add(open, format!("{open} inconclusive"));
    let fired = gate.guard.is_some_and(|guard| guard.fired);
    add(usize::from(fired), "tasks broke".to_owned());
    for standing in [Standing::Missed, Standing::Met, Standing::Unknown] {
        let number = held(standing);
        add(number, format!("{} {}", numbered(number, "threshold"), standing.name()));
    }
    if counts.is_empty() {
        counts.push("nothing was compared".to_owned());
    }
    let mut against = vec![match &context.baseline {
        Some((name, sha256)) => {
            let short: String = sha256.chars().take(6).collect();
            format!("baseline {name}@{short}")
        }
        None => "no baseline: thresholds alone".to_owned(),
    }];
    against.extend(gate.pairing.as_ref().map(paired));
    against.extend(can_detect(gate));
    format!("{}  {}    {}", word(gate.verdict), counts.join(", "), against.join(", "))
}

fn paired(pairing: &PairingSummary) -> String {
    match pairing.mode {
        Mode::Paired => format!(
            "{} of {} paired",
            count(pairing.paired as u64),
            numbered(pairing.of_baseline, "task")
        ),
        Mode::Unpaired => "not paired: compared as two samples".to_owned(),
    }
}

/// The smallest harm of completion, else of the first figure, that would most likely have shown.
fn can_detect(gate: &Gate) -> Option<String> {
    let completion = gate.metrics.iter().find(|gated| gated.metric.name == COMPLETION);
    let chosen = completion.or(gate.metrics.first())?;
    let harm = size(chosen.metric, &chosen.evidence, chosen.detectable?);
    let of = if completion.is_some() { "" } else { chosen.metric.name };
    Some(format!("can detect >= {harm} {of}").trim_end().to_owned())
}

fn figures(gate: &Gate) -> Table {
    let changes: Vec<Change> = gate
        .metrics
        .iter()
        .map(|gated| Change::of(gated.metric, &gated.evidence, told(gated, gate.levels)))
        .collect();
    let row = |gated: &GatedMetric, change: String| {
        vec![
            gated.metric.name.to_owned(),
            side(gated.metric, gated.evidence.baseline),
            side(gated.metric, gated.evidence.candidate),
            change,
            p_value(spoken_p(gated)),
            gated.verdict.name().to_owned(),
            notes(gated).join("; "),
        ]
    };
    Table {
        columns: vec![
            Column::left("metric"),
            Column::right("baseline"),
            Column::right("candidate"),
            Column::left("change (95% CI)"),
            Column::right("p(adj)"),
            Column::left("verdict"),
            Column::note("note"),
        ],
        rows: gate
            .metrics
            .iter()
            .zip(aligned(&changes))
            .map(|(gated, change)| row(gated, change))
            .collect(),
    }
}

/// Some names of a list, and how many more there are.
pub(super) fn named<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let number = names.len();
    let shown: Vec<String> = names.take(NAMED).map(|name| format!("`{name}`")).collect();
    let more = match number.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {} more", count(more as u64)),
    };
    format!("{}{more}", shown.join(", "))
}

/// That runs are there twice, where that is allowed.
pub(super) fn twice(pairing: &PairingSummary) -> String {
    let number = pairing.duplicates.len();
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} {verb} there more than once, and counted each time", numbered(number, "run"))
}

pub(super) fn pairing_lines(pairing: &PairingSummary, doc: &mut Doc) {
    for why in &pairing.failures {
        doc.line(format!("pairing failed: {why}"));
    }
    if pairing.failures.is_empty() && pairing.mode == Mode::Paired {
        let left = &pairing.baseline_only;
        if !left.is_empty() {
            doc.line(format!(
                "left out: {} of the baseline without a candidate run ({})",
                numbered(left.len(), "task"),
                named(left.iter().map(String::as_str))
            ));
        }
        if !pairing.duplicates.is_empty() {
            doc.line(twice(pairing));
        }
        let (before, after) = pairing.without_task;
        if (before, after) != (0, 0) {
            doc.line(format!(
                "left out, without a task id: {} of the baseline, {} of the candidate",
                numbered(before, "run"),
                numbered(after, "run")
            ));
        }
    }
    if !pairing.candidate_only.is_empty() && pairing.mode == Mode::Paired {
        doc.line(format!(
            "new, so not compared: {} ({})",
            numbered(pairing.candidate_only.len(), "task"),
            named(pairing.candidate_only.iter().map(String::as_str))
        ));
    }
}

/// Broken tasks, with their trials on both sides.
pub(super) fn broken(tasks: &[BrokenTask], heads: [&'static str; 3], doc: &mut Doc) {
    let line = |task: &BrokenTask| {
        (task.task_id.clone(), (task.baseline, task.baseline), (0, task.candidate))
    };
    task_table(heads, tasks.len(), tasks.iter().map(line), doc);
}

/// What the guard saw: tasks that completed fewer of their trials, the hardest drops first.
fn fallen(gate: &Gate, doc: &mut Doc) {
    let line = |task: &FallenTask| (task.task_id.clone(), task.baseline, task.candidate);
    let tasks = &gate.fallen_tasks;
    let heads = ["fallen task", "baseline", "candidate"];
    task_table(heads, tasks.len(), tasks.iter().map(line), doc);
}

/// The first tasks of a list, with the trials each completed of all on both sides.
fn task_table(
    [task, before, after]: [&'static str; 3],
    all: usize,
    lines: impl Iterator<Item = (String, (u64, u64), (u64, u64))>,
    doc: &mut Doc,
) {
    let share = |(passed, of): (u64, u64)| format!("{}/{}", count(passed), count(of));
    doc.table(Table {
        columns: vec![Column::elastic(task), Column::right(before), Column::right(after)],
        rows: lines
            .take(BROKEN)
            .map(|(id, before, after)| vec![id, share(before), share(after)])
            .collect(),
    });
    more(all, BROKEN, doc);
}

/// Says how much of a list is left out.
pub(super) fn more(all: usize, shown: usize, doc: &mut Doc) {
    if let Some(left) = all.checked_sub(shown).filter(|left| *left > 0) {
        doc.line(format!("and {} more (JSON has all)", count(left as u64)));
    }
}

fn error_lines(gate: &Gate, doc: &mut Doc) {
    let errors = &gate.errors;
    for error in errors.new.iter().take(ERRORS) {
        doc.line(format!("errors  {}", new_error(error)));
    }
    more(errors.new.len(), ERRORS, doc);
    for error in errors.gone.iter().take(ERRORS) {
        let runs = format!("{} {}", count(error.runs), plural(error.runs, "run"));
        doc.line(format!("errors  {} is gone (was in {runs})", signature(error)));
    }
    more(errors.gone.len(), ERRORS, doc);
    doc.blocks.extend(super::compare::mix_line(errors).map(super::doc::Block::Line));
}

/// What to do next: look at a broken task, or accept what is there.
fn next_lines(gate: &Gate, context: &GateContext, doc: &mut Doc) {
    let shell = |words: &[String]| {
        words.iter().map(|word| quoted(word)).collect::<Option<Vec<_>>>().map(|all| all.join(" "))
    };
    // What came from a pipe is gone.
    if context.candidate.iter().any(|path| path == "-") {
        return;
    }
    let Some(mut paths) = shell(&context.candidate) else { return };
    let mut flags = String::new();
    for pair in context.reading.chunks(2) {
        let [flag, value] = pair else { continue };
        let Some(value) = quoted(value) else { return };
        flags.push_str(&format!(" {flag} {value}"));
    }
    paths.push_str(&flags);
    let lost = |id: &String| {
        gate.pairing.as_ref().is_some_and(|pairing| pairing.baseline_only.contains(id))
    };
    let broken = gate.broken_tasks.iter().map(|task| &task.task_id);
    let fallen = gate.fallen_tasks.iter().map(|task| &task.task_id);
    let task = broken.chain(fallen).filter(|id| !lost(id)).find_map(|id| quoted(id));
    if let Some(task) = task {
        doc.command("next", format!("agenteval show {task} {paths}"));
    }
    let store = match &context.store {
        None => Some(String::new()),
        Some(store) => quoted(store).map(|store| format!(" --store {store}")),
    };
    let failed = gate.pairing.as_ref().is_some_and(|pairing| !pairing.failures.is_empty());
    if let (Verdict::Regression, false, Some((name, _)), Some(store)) =
        (gate.verdict, failed, &context.baseline, store)
        && let Some(name) = quoted(name)
    {
        doc.command(
            "accept",
            format!("agenteval baseline bless {name} {paths}{store} --reason \"...\""),
        );
    }
}

/// A word for a shell of POSIX; `None` where what is shown would not be what is meant, or where it
/// would read as a flag.
fn quoted(word: &str) -> Option<String> {
    if word.is_empty()
        || word.contains("[masked]")
        || one_line(&mask(word)) != word
        || (word.starts_with('-') && word != "-")
    {
        return None;
    }
    let plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%".contains(c);
    if word.chars().all(plain) {
        return Some(word.to_owned());
    }
    Some(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_of_a_trace_is_one_word_to_the_shell_or_none() {
        let shown = |word| quoted(word).unwrap_or_default();
        assert_eq!(shown("refund-014"), "refund-014");
        assert_eq!(shown("数据"), "数据");
        assert_eq!(shown("a b;rm $(x)`y`"), "'a b;rm $(x)`y`'");
        assert_eq!(shown("it's"), r"'it'\''s'");
        for word in ["", "-rf", "a\nb", "\u{1b}[31m", "x\u{202e}y"] {
            assert_eq!(quoted(word), None, "{word:?}");
        }
    }
}
