//! How often the regression gate errs, measured by simulation.
//!
//! `docs/gate-calibration.md` has the method and the results. The decisions are made by the gate's
//! own code (`agenteval::compare`); this program only draws runs and counts. The same command gives
//! the same figures on any number of threads.

mod binary;
mod figures;
mod kinds;
mod metr;
mod page;
mod random;
mod whole;
mod work;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use page::Row;
use work::{Effort, repeat};

/// Measures how often the regression gate errs.
#[derive(Debug, Parser)]
struct Options {
    /// Repetitions of a cell without a difference; of others a twentieth, but for `binary`
    /// [default: 2000 for binary, 1000 for guard, 5000 for the rest]
    #[arg(long)]
    reps: Option<u64>,
    /// What to simulate: binary, guard, steps, counts, amounts, zeros, pass_k, unequal,
    /// asymmetric, subset, unpaired, mix, whole, metr, speed, or all
    #[arg(long, default_value = "all", value_delimiter = ',')]
    kind: Vec<String>,
    /// Folder with the bars and the real runs
    #[arg(long, default_value = "../shared/stats")]
    shared: PathBuf,
    /// File with the bars [default: simulation_bar.json in the folder]
    #[arg(long)]
    bar: Option<PathBuf>,
    /// Threads; the figures do not depend on them
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Page whose tables of these kinds are replaced
    #[arg(long)]
    markdown: Option<PathBuf>,
    /// File whose cells of these kinds are replaced
    #[arg(long)]
    csv: Option<PathBuf>,
}

/// What a kind gives: its full table, its short one, whether it keeps every bar.
struct Found {
    full: String,
    short: String,
    kept: bool,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<bool, String> {
    let all = ["binary"].into_iter().chain(kinds::KINDS).chain(["mix", "whole", "metr", "speed"]);
    let all: Vec<&str> = all.collect();
    let mut chosen: Vec<&str> = Vec::new();
    for kind in options.kind.iter().flat_map(|kind| kind.split(',')) {
        match kind {
            "all" => chosen.extend(&all),
            "guard" => chosen.push("guard"),
            kind => chosen
                .push(all.iter().find(|known| **known == kind).ok_or(format!("no kind `{kind}`"))?),
        }
    }
    let mut kept = true;
    let mut cells = Vec::new();
    for kind in chosen {
        let start = Instant::now();
        let found = one(kind, options)?;
        let seconds = start.elapsed().as_secs_f64();
        kept &= found.kept;
        let word = if found.kept { "kept" } else { "MISSED" };
        let out = format!("## {kind}: {word}\n\n{}\n{}\n", found.short, found.full);
        std::io::stdout().write_all(out.as_bytes()).map_err(|error| error.to_string())?;
        let _ = writeln!(std::io::stderr(), "{kind}: {word}, {seconds:.0} s");
        if let Some(path) = &options.markdown {
            page::put(path, kind, &found.short).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        cells.extend(found.rows);
    }
    if let Some(path) = &options.csv {
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        std::fs::write(path, page::csv(&kept, &cells))
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(kept)
}

fn one(kind: &str, options: &Options) -> Result<Found, String> {
    let usual = match kind {
        "binary" => 2_000,
        "guard" => 1_000,
        _ => 5_000,
    };
    let repetitions = options.reps.unwrap_or(usual);
    let effort = Effort { repetitions, threads: options.threads };
    let bar = options.bar.clone().unwrap_or_else(|| options.shared.join("simulation_bar.json"));
    let told = |row: &Row| {
        let _ = writeln!(std::io::stderr(), "{}", row.line());
    };
    let rows = match kind {
        "binary" => binary::run(&binary::cells(&bar)?, effort, told),
        "guard" => return Ok(guard(&binary::cells(&bar)?, effort)),
        "mix" => whole::mix(effort, told),
        "whole" => whole::whole(effort, told),
        "metr" => {
            let (text, kept) = metr::run(&options.shared.join("metr/runs_jan2025.csv"), effort)?;
            return Ok(Found { full: String::new(), short: text, kept, rows: Vec::new() });
        }
        "speed" => {
            let seconds = whole::speed();
            let short = format!(
                "200 tasks x 5 trials x 6 figures, 9,999 draws each: {:.0} ms on one thread, the least of ten.",
                1e3 * seconds
            );
            return Ok(Found { full: String::new(), short, kept: seconds < 1.0, rows: Vec::new() });
        }
        kind => kinds::run(kind, effort, told),
    };
    let short = if kind == "binary" { page::summary(&rows) } else { page::by_setting(&rows) };
    let kept = rows.iter().all(Row::kept);
    Ok(Found { full: page::table(&rows), short, kept, rows })
}

/// Every form of the guard against the bars, and where few tasks break.
fn guard(bars: &[binary::Cell], effort: Effort) -> Found {
    let few = |tasks, trials, rate, drop| binary::Cell {
        tasks,
        trials,
        rate,
        change: binary::Change::Break,
        drop,
        bar: page::Bar::None,
        seen: None,
    };
    // Larger suites take long, and tell the forms apart no better.
    let mut cells: Vec<_> = bars.iter().filter(|cell| cell.tasks <= 50).cloned().collect();
    for (tasks, trials) in [(20, 3), (50, 3), (50, 5), (100, 5)] {
        cells.extend(
            [(0.8, 0.02), (0.8, 0.05), (0.95, 0.02), (0.95, 0.05)]
                .map(|(rate, drop)| few(tasks, trials, rate, drop)),
        );
    }
    let forms = binary::FORMS.len();
    let mut missed = vec![(0_u32, 0_u32); forms];
    let mut false_alarms = vec![Vec::new(); forms];
    let mut reserve = vec![f64::INFINITY; forms];
    let mut powers = vec![[const { Vec::new() }; 3]; forms];
    for cell in &cells {
        let once = |random: &mut random::Random| binary::by_form(&cell.draw(random));
        let tally = repeat(&cell.name(), effort.repetitions, effort.threads, once);
        let mut line = format!("{}:", cell.name());
        for form in 0..forms {
            let rate = tally.share(tally.other[form]);
            let _ = write!(line, " {:.1}", 100.0 * rate);
            match cell.bar {
                page::Bar::AtMost(most) => {
                    false_alarms[form].push(rate);
                    missed[form].0 += u32::from(rate > most);
                }
                page::Bar::AtLeast(least) => {
                    reserve[form] = f64::min(reserve[form], rate - least);
                    missed[form].1 += u32::from(rate < least);
                    let group = usize::from(cell.change == binary::Change::Break);
                    powers[form][group].push(rate);
                }
                page::Bar::None => powers[form][2].push(rate),
            }
        }
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    let mean = |rates: &[f64]| page::percent(rates.iter().sum::<f64>() / rates.len().max(1) as f64);
    let mut text = String::from(
        "| guard | levels: test, guard | false alarms: mean, worst | bars missed: false alarms, power | least reserve of power | mean power: spread | broken, -10pp | broken, -2 and -5pp |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (at, form) in binary::FORMS.iter().enumerate() {
        let worst = false_alarms[at].iter().copied().fold(0.0, f64::max);
        let _ = writeln!(
            text,
            "| {} | {}, {} | {}, {} | {}, {} | {:+.1} | {} | {} | {} |",
            form.name,
            form.test,
            form.guard,
            mean(&false_alarms[at]),
            page::percent(worst),
            missed[at].0,
            missed[at].1,
            100.0 * reserve[at],
            mean(&powers[at][0]),
            mean(&powers[at][1]),
            mean(&powers[at][2])
        );
    }
    Found { full: String::new(), short: text, kept: true, rows: Vec::new() }
}
