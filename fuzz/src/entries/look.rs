//! Looking at runs as every command does, and the figures over them.

use std::sync::OnceLock;

use agenteval::baseline::masked_row;
use agenteval::config::EvalConfig;
use agenteval::convert::{atif, mask_json, native};
use agenteval::diagnose::{Case, RunFindings, Settings, conclude, look};
use agenteval::evaluate::{Brief, Contents, Judge, JudgeState, RunRow};
use agenteval::horizon::error_places;
use agenteval::ingest::{Tally, Visitor};
use agenteval::metrics::{Analysis, Failures, Rank};
use agenteval::model::{Place, Trajectory};
use agenteval::render::one_line;

/// A config that asks for what the default does not.
const FULL: &str = r#"{
  "task_name": "fuzz", "max_steps": 4,
  "evaluation": {
    "max_retry_per_step": 1, "allowed_total_retries": 2, "timeout_seconds": 5,
    "subtask_passed": "subtask.result != null || subtask.attempt < 3 && subtask.error == null || subtask.duration_ms > 1",
    "final_passed": "final.output != null && run.errors < 5 || final.score >= 0.5 || run.tokens > 100"
  },
  "limits": {"max_tokens_per_step": 2000, "max_total_tokens": 9000, "max_cost_usd": 0.02},
  "infra_errors": "exclude", "pass_score": 0.5, "steps": "all", "exit_codes": "ignore",
  "mid_run": "after_first", "attempts_count": "tries", "side_effects": ["send_*"],
  "error_types": [{"match": "(?i)timeout|Error", "type": "x", "blame": "infra"}]
}"#;

/// That config, read once.
pub(super) fn full() -> &'static EvalConfig {
    static CONFIG: OnceLock<EvalConfig> = OnceLock::new();
    CONFIG.get_or_init(|| {
        EvalConfig::from_json(FULL.as_bytes(), "full.json").expect("a sound config")
    })
}

/// What holds without a config, made once.
pub(super) fn plain() -> &'static EvalConfig {
    static CONFIG: OnceLock<EvalConfig> = OnceLock::new();
    CONFIG.get_or_init(EvalConfig::default)
}

/// How much is done with each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// It is judged.
    Judged,
    /// It is judged by both configs, diagnosed, shown, and written in every form.
    Whole,
}

/// What was seen of a run.
pub(super) struct Seen {
    /// Its row without a config, its place left out.
    pub(super) row: RunRow,
    /// Its row by the full config, its place left out.
    pub(super) by_full: Option<RunRow>,
    /// What rules find.
    pub(super) found: RunFindings,
    /// The run in the native form.
    pub(super) native: String,
}

/// Looks at each run.
pub(super) struct Look {
    pub(super) depth: Depth,
    /// Bytes of the file, beyond which no attempt can stand; `None` for what is compressed.
    pub(super) bytes: Option<u64>,
}

impl Visitor for Look {
    type Out = Seen;
    type State = (JudgeState, JudgeState);

    fn state(&self) -> Self::State {
        (Judge::new(plain()).state(), Judge::new(full()).state())
    }

    fn visit(&self, (state, by_full): &mut Self::State, run: &Trajectory<'_>) -> Seen {
        for (from, to) in run.attempts.iter().filter_map(|attempt| attempt.bytes) {
            assert!(from <= to, "an attempt ends before it begins");
            let inside = self.bytes.is_none_or(|bytes| to <= bytes);
            assert!(inside, "an attempt outside of its file");
        }
        let judge = Judge::new(plain());
        if self.depth == Depth::Judged {
            let row = placeless(judge.row(state, run));
            return Seen {
                row,
                by_full: None,
                found: RunFindings::default(),
                native: String::new(),
            };
        }
        let timeline = judge.timeline(state, run);
        let settings = Settings::of(full());
        let found = look(&Case::of(run, &timeline), &settings);
        let rank = Rank::of(&timeline.row);
        let mut failures = Failures::default();
        failures.add(&timeline, rank);
        drop(failures.into_groups());
        drop((Brief::of(&timeline), Contents::of(run), error_places(&timeline)));
        let masked = masked_row(&timeline.row);
        assert_eq!(masked_row(&masked), masked, "what is masked stays as it is");
        let labels =
            [masked.run_id.as_deref(), masked.task_id.as_deref(), masked.status.as_deref()];
        for text in labels.into_iter().flatten() {
            let shown = one_line(text);
            assert!(!shown.chars().any(disturbs), "{shown:?} on one line");
        }
        let by_full = Judge::new(full()).row(by_full, run);
        let native = native(run, Some(timeline.row.retry_source));
        let masked = mask_json(&native);
        assert_eq!(mask_json(&masked), masked, "what is masked stays as it is");
        for text in [&native, &atif(run, Some(timeline.row.retry_source)), &masked] {
            assert!(!text.contains('\n'), "a run on several lines");
            let json = serde_json::from_str::<serde::de::IgnoredAny>(text);
            assert!(json.is_ok(), "no JSON was written: {json:?}");
        }
        Seen { row: placeless(timeline.row), by_full: Some(placeless(by_full)), found, native }
    }

    fn retire(&self, (state, by_full): Self::State) {
        drop((state.into_observations(), by_full.into_observations()));
    }
}

/// Whether a character could colour, clear or reorder a terminal.
fn disturbs(letter: char) -> bool {
    letter.is_control()
        || ('\u{202a}'..='\u{202e}').contains(&letter)
        || ('\u{2066}'..='\u{2069}').contains(&letter)
}

fn placeless(row: RunRow) -> RunRow {
    RunRow { place: Place::default(), ..row }
}

/// Every record is accounted for, and every run belongs to a file.
pub(super) fn adds_up(tally: &Tally, runs: usize) {
    for file in &tally.files {
        assert!(file.adds_up(), "records are lost: {file:?}");
    }
    let told: u64 = tally.files.iter().map(|file| file.runs).sum();
    assert_eq!(told, runs as u64, "runs of files, and runs that were seen");
    for issue in &tally.issues {
        drop(tally.locate(issue.place));
    }
}

/// Computes every figure over rows; none may be what cannot be shown.
pub(super) fn figures(rows: &[RunRow]) {
    let all: Vec<&RunRow> = rows.iter().collect();
    let analysis = Analysis::of(&all, None, None);
    for (metric, figure) in &analysis.figures {
        let name = metric.name;
        assert!(figure.value.is_none_or(f64::is_finite), "{name}: {figure:?}");
        if let Some(interval) = &figure.interval {
            assert!(interval.low.is_finite() && interval.high.is_finite(), "{name}: {figure:?}");
            assert!(interval.low < interval.high, "{name}: {figure:?}");
            assert!(
                figure.value.is_some_and(|value| interval.low <= value && value <= interval.high),
                "{name}: {figure:?}"
            );
        }
    }
}

/// Asks the rules over all runs too.
pub(super) fn conclusions(seen: Vec<Seen>) -> Vec<RunRow> {
    let (rows, found): (Vec<_>, Vec<_>) =
        seen.into_iter().map(|seen| (seen.row, seen.found)).unzip();
    drop(conclude(&rows, found, &Settings::of(full())));
    rows
}
