//! Real runs: the same agent against itself, and agents that are known to differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use agenteval::compare::{Gate, GateOptions, Verdict};
use agenteval::config::EvalConfig;
use agenteval::evaluate::{Outcome, RunRow};
use agenteval::model::resolve_metric;

use crate::binary::{ALPHA, options};
use crate::kinds::MOST_FALSE;
use crate::page::percent;
use crate::random::Random;
use crate::work::{Effort, Tally, repeat};

/// Splits of every agent.
const SPLITS: u64 = 1_000;

/// Agents with fewer tasks of two runs or more are left out.
const LEAST_TASKS: usize = 75;

/// How many times as many splits decide where few do not.
const AGAIN: u64 = 5;

/// Runs of one agent by task.
type Runs = BTreeMap<String, Vec<RunRow>>;

fn read(path: &Path) -> Result<BTreeMap<String, Runs>, String> {
    let wrong = |error: String| format!("{}: {error}", path.display());
    let mut file = csv::Reader::from_path(path).map_err(|error| wrong(error.to_string()))?;
    let head = file.headers().map_err(|error| wrong(error.to_string()))?.clone();
    let column = |name: &str| {
        head.iter().position(|field| field == name).ok_or_else(|| wrong(format!("no `{name}`")))
    };
    let (alias, task, run) = (column("alias")?, column("task_id")?, column("run_id")?);
    let (score, duration) = (column("score_binarized")?, column("duration_s")?);
    let mut agents: BTreeMap<String, Runs> = BTreeMap::new();
    for record in file.records() {
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let field = |at: usize| record.get(at).unwrap_or_default();
        let mut row = RunRow::lost(field(task));
        row.run_id = Some(field(run).into());
        row.outcome = if field(score) == "1" { Outcome::Completed } else { Outcome::Failed };
        row.duration_seconds = field(duration).parse().ok();
        let runs = agents.entry(field(alias).to_owned()).or_default();
        runs.entry(field(task).to_owned()).or_default().push(row);
    }
    Ok(agents)
}

/// Both halves of every task with two runs at least; the odd one goes to either.
fn halves(runs: &Runs, random: &mut Random) -> (Vec<RunRow>, Vec<RunRow>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for runs in runs.values().filter(|runs| runs.len() > 1) {
        let mut order: Vec<&RunRow> = runs.iter().collect();
        random.shuffle(&mut order);
        let odd = order.len() % 2 == 1 && random.chance(0.5);
        let half = order.len() / 2 + usize::from(odd);
        before.extend(order.iter().take(half).map(|row| (*row).clone()));
        after.extend(order.iter().skip(half).map(|row| (*row).clone()));
    }
    (before, after)
}

/// A gate of one figure.
fn gate(before: &[RunRow], after: &[RunRow], figure: &str, full: bool) -> Gate {
    let mut config = EvalConfig::default();
    config.gate.metrics = resolve_metric(figure).map(|metric| vec![metric]);
    let tests = if full { agenteval::compare::TestOptions::default() } else { options(ALPHA) };
    Gate::of(Some(before), after, &config, &GateOptions { tests, ..GateOptions::default() })
}

const COMPLETION: &str = "final_completion_rate";
const DURATION: &str = "duration_seconds";

/// The tables, and whether every bar is kept.
pub(crate) fn run(path: &Path, effort: Effort) -> Result<(String, bool), String> {
    let agents = read(path)?;
    let mut kept = true;
    let mut text = String::from(
        "| agent | tasks | completion: regression | test alone | guard | improved | duration: test alone |\n|---|---|---|---|---|---|---|\n",
    );
    for (agent, runs) in &agents {
        let tasks = runs.values().filter(|runs| runs.len() > 1).count();
        if agent == "human" || tasks < LEAST_TASKS {
            continue;
        }
        let flag = u64::from;
        let tally = repeat(&format!("metr {agent}"), SPLITS, effort.threads, |random| {
            let (before, after) = halves(runs, random);
            let completion = gate(&before, &after, COMPLETION, false);
            let duration = gate(&before, &after, DURATION, false);
            let p = |gate: &Gate| gate.metrics.first().and_then(|metric| metric.harm.p_harm);
            let mut other = [0; 16];
            other[0] = flag(completion.guard.is_some_and(|guard| guard.fired));
            other[1] = flag(p(&duration).is_some_and(|p| p <= ALPHA));
            Tally {
                alone: flag(p(&completion).is_some_and(|p| p <= ALPHA)),
                regression: flag(completion.verdict == Verdict::Regression),
                improved: flag(completion.verdict == Verdict::Improved),
                other,
                ..Tally::default()
            }
        });
        let mut rate = tally.share(tally.regression);
        let mut again = String::new();
        if rate + (rate * (1.0 - rate) / SPLITS as f64).sqrt() > MOST_FALSE {
            let name = format!("metr {agent}, again");
            let tally = repeat(&name, AGAIN * SPLITS, effort.threads, |random| {
                let (before, after) = halves(runs, random);
                let verdict = gate(&before, &after, COMPLETION, false).verdict;
                Tally { regression: flag(verdict == Verdict::Regression), ..Tally::default() }
            });
            rate = tally.share(tally.regression);
            again = format!("; of {} more splits {}", AGAIN * SPLITS, percent(rate));
        }
        kept &= rate <= MOST_FALSE;
        let share = |count| percent(tally.share(count));
        let _ = writeln!(
            text,
            "| {agent} | {tasks} | {}{again} | {} | {} | {} | {} |",
            share(tally.regression),
            share(tally.alone),
            share(tally.other[0]),
            share(tally.improved),
            share(tally.other[1])
        );
    }
    text += "\n| baseline | candidate | tasks | difference | p of harm | verdict | expected |\n|---|---|---|---|---|---|---|\n";
    let (new, old) = ("Claude 3.5 Sonnet (New)", "Claude 3.5 Sonnet (Old)");
    for (before, after, expected) in [(new, old, true), ("o1", new, false)] {
        let all = |agent: &str| -> Result<Vec<RunRow>, String> {
            let runs = agents.get(agent).ok_or_else(|| format!("no agent `{agent}`"))?;
            Ok(runs.values().flatten().cloned().collect())
        };
        let (b, c) = (all(before)?, all(after)?);
        let gate = gate(&b, &c, COMPLETION, true);
        let Some(metric) = gate.metrics.first() else { return Err("no figure".to_owned()) };
        let p = metric.harm.p_harm.unwrap_or(1.0);
        let verdict = metric.verdict;
        kept &= if expected {
            gate.verdict == Verdict::Regression && p <= 2e-4
        } else {
            !matches!(verdict, Verdict::Regression | Verdict::Improved)
        };
        let _ = writeln!(
            text,
            "| {before} | {after} | {} | {:+.3} | {p:.2e} ({}) | {}, guard p {:.4}; the whole: {} | {} |",
            metric.evidence.tasks.0,
            metric.evidence.difference.unwrap_or_default(),
            metric.evidence.test,
            verdict.name(),
            gate.guard.map_or(1.0, |guard| guard.p),
            gate.verdict.name(),
            if expected { "regression" } else { "no difference" }
        );
    }
    Ok((text, kept))
}
