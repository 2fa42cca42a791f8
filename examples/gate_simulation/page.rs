//! The table on standard output, the page and the file with all cells.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::work::Tally;

/// What a cell has to keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    /// A rate of false alarms of at most this.
    AtMost(f64),
    /// A power of at least this.
    AtLeast(f64),
    /// Nothing.
    None,
}

/// One cell with what was counted.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) kind: &'static str,
    pub(crate) setting: String,
    pub(crate) tasks: String,
    pub(crate) trials: String,
    pub(crate) effect: String,
    pub(crate) tally: Tally,
    /// The count that is held against the bar.
    pub(crate) judged: u64,
    pub(crate) bar: Bar,
    /// The largest share of `pass`, where harm is as large as the margin.
    pub(crate) most_passes: Option<f64>,
    /// What was observed elsewhere.
    pub(crate) seen: Option<f64>,
}

impl Row {
    fn rate(&self) -> f64 {
        self.tally.share(self.judged)
    }

    /// How far from the bar, above 0 on the right side.
    pub(crate) fn reserve(&self) -> Option<f64> {
        match self.bar {
            Bar::AtMost(most) => Some(most - self.rate()),
            Bar::AtLeast(least) => Some(self.rate() - least),
            Bar::None => None,
        }
    }

    pub(crate) fn kept(&self) -> bool {
        let passes = self.tally.share(self.tally.pass);
        // Powers are held against bars in the three decimals that bars are written in.
        let least = if matches!(self.bar, Bar::AtLeast(_)) { -0.0005 } else { 0.0 };
        self.reserve().is_none_or(|reserve| reserve >= least)
            && self.most_passes.is_none_or(|most| passes <= most)
    }

    fn bar_text(&self) -> String {
        match self.bar {
            Bar::AtMost(most) => format!("<= {}", percent(most)),
            Bar::AtLeast(least) => format!(">= {}", percent(least)),
            Bar::None => String::new(),
        }
    }

    /// One line of a Markdown table.
    pub(crate) fn line(&self) -> String {
        let share = |count| percent(self.tally.share(count));
        let mut cells = vec![
            self.setting.clone(),
            self.tasks.clone(),
            self.trials.clone(),
            self.effect.clone(),
            share(self.tally.alone),
            share(self.tally.regression),
            share(self.tally.improved),
            share(self.tally.pass),
            self.bar_text(),
        ];
        if !self.kept() {
            cells.push("MISSED".to_owned());
        }
        format!("| {} |", cells.join(" | "))
    }
}

/// The head of tables of [`Row::line`].
pub(crate) const HEAD: &str =
    "| setting | tasks | trials | change | test alone | regression | improved | pass | bar |
|---|---|---|---|---|---|---|---|---|";

/// A share in per cent with one decimal.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// Full table of rows.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = format!("{HEAD}\n");
    for row in rows {
        text += &row.line();
        text.push('\n');
    }
    text
}

/// Names of the columns.
const COLUMNS: &str = "kind,setting,tasks,trials,change,repetitions,test_alone,regression,improved,pass,untested,bar,observed_by_design";

/// Rows as comma-separated values, after those of other kinds that were there.
pub(crate) fn csv(before: &str, rows: &[Row]) -> String {
    let mut text = format!("{COLUMNS}\n");
    let anew = |line: &str| {
        let kind = line.split(',').next().unwrap_or_default();
        line == COLUMNS || rows.iter().any(|row| row.kind == kind)
    };
    for line in before.lines().filter(|line| !anew(line)) {
        text += line;
        text.push('\n');
    }
    for row in rows {
        let share = |count| format!("{:.4}", row.tally.share(count));
        let seen = row.seen.map(|seen| seen.to_string()).unwrap_or_default();
        let fields = [
            row.kind.to_owned(),
            format!("\"{}\"", row.setting),
            row.tasks.clone(),
            row.trials.clone(),
            row.effect.clone(),
            row.tally.repetitions.to_string(),
            share(row.tally.alone),
            share(row.tally.regression),
            share(row.tally.improved),
            share(row.tally.pass),
            share(row.tally.untested),
            row.bar_text(),
            seen,
        ];
        text += &fields.join(",");
        text.push('\n');
    }
    text
}

/// Completion by number of tasks and trials: the worst of every bar.
pub(crate) fn summary(rows: &[Row]) -> String {
    let mut groups: BTreeMap<(usize, usize), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let size = |text: &str| text.parse::<usize>().unwrap_or_default();
        groups.entry((size(&row.tasks), size(&row.trials))).or_default().push(row);
    }
    let mut text = String::from(
        "| tasks x trials | worst false alarm | least reserve of power | power at -10pp, rate .8: spread / broken | worst false pass at -5pp | cells, missed |\n|---|---|---|---|---|---|\n",
    );
    for ((tasks, trials), rows) in groups {
        let worst = rows
            .iter()
            .filter(|row| matches!(row.bar, Bar::AtMost(_)))
            .map(|row| row.rate())
            .fold(0.0, f64::max);
        let reserve = rows
            .iter()
            .filter(|row| matches!(row.bar, Bar::AtLeast(_)))
            .filter_map(|row| row.reserve())
            .fold(f64::INFINITY, f64::min);
        let power = |effect: &str| {
            let row = rows.iter().find(|row| row.setting == "rate 0.8" && row.effect == effect);
            row.map(|row| percent(row.rate())).unwrap_or_default()
        };
        let passes = rows
            .iter()
            .filter(|row| row.most_passes.is_some())
            .map(|row| row.tally.share(row.tally.pass))
            .fold(0.0, f64::max);
        let missed = rows.iter().filter(|row| !row.kept()).count();
        let _ = writeln!(
            text,
            "| {tasks} x {trials} | {} | {:+.1} | {} / {} | {} | {}, {missed} |",
            percent(worst),
            100.0 * reserve,
            power("prop -0.1"),
            power("break -0.1"),
            percent(passes),
            rows.len()
        );
    }
    text
}

/// Rows without a difference by setting: the worst false alarm, and where; then the power at 50
/// tasks.
pub(crate) fn by_setting(rows: &[Row]) -> String {
    let mut text = String::from(
        "| setting | false alarms of the test, least to most (where) | of the gate, most | falsely improved, most | power of the test, 50 tasks |\n|---|---|---|---|---|\n",
    );
    let mut settings: Vec<&str> = Vec::new();
    for row in rows {
        if !settings.contains(&row.setting.as_str()) {
            settings.push(&row.setting);
        }
    }
    for setting in settings {
        let null: Vec<&Row> = rows
            .iter()
            .filter(|row| row.setting == setting && matches!(row.bar, Bar::AtMost(_)))
            .collect();
        let Some(worst) = null.iter().max_by(|a, b| a.rate().total_cmp(&b.rate())) else {
            continue;
        };
        let least = null.iter().map(|row| row.rate()).fold(1.0, f64::min);
        let most = |count: fn(&Tally) -> u64| {
            percent(null.iter().map(|r| r.tally.share(count(&r.tally))).fold(0.0, f64::max))
        };
        let telling = |row: &&Row| {
            row.setting == setting && row.bar == Bar::None && row.tasks.starts_with("50")
        };
        let power = |row: &Row| format!("{} x {}: {}", row.effect, row.trials, percent(row.rate()));
        let powers: Vec<String> = rows.iter().filter(telling).map(power).collect();
        let _ = writeln!(
            text,
            "| {setting} | {} to {} ({} x {}) | {} | {} | {} |",
            percent(least),
            percent(worst.rate()),
            worst.tasks,
            worst.trials,
            most(|tally| tally.regression),
            most(|tally| tally.improved),
            powers.join(", ")
        );
    }
    text
}

/// Puts a section into a page, between its marks; at the end where it has none.
pub(crate) fn put(page: &Path, section: &str, text: &str) -> std::io::Result<()> {
    let (open, close) = (format!("<!-- {section} -->"), format!("<!-- /{section} -->"));
    let whole = std::fs::read_to_string(page).unwrap_or_default();
    let inner = format!("{open}\n\n{}\n\n{close}", text.trim_end());
    let new = match (whole.find(&open), whole.find(&close)) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{inner}{}", &whole[..start], &whole[end + close.len()..])
        }
        _ => format!("{whole}\n{inner}\n"),
    };
    std::fs::write(page, new)
}
