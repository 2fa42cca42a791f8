//! What a rater reads of a run or step, without what tells how it was judged.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::evaluate::{ContentKind, Contents};
use crate::model::{Final, Trajectory, mask};

/// Characters of one row; a cell of a spreadsheet holds 32,767.
const MOST: usize = 20_000;
/// Characters of what a run delivered.
const MOST_FINAL: usize = 4_000;

/// Fields of a result that are, or give away, a verdict.
const VERDICTS: [&str; 12] = [
    "score",
    "scores",
    "reward",
    "success",
    "status",
    "passed",
    "pass",
    "verdict",
    "grade",
    "correct",
    "end_reason",
    "is_correct",
];

/// The texts of a run, or of one of its records, masked and bounded, one a paragraph. Scores, statuses
/// and reasons of an end are left out: the sheet is blind.
#[must_use]
pub fn content(run: &Trajectory<'_>, record: Option<u32>) -> String {
    let mut out = String::new();
    let mut room = MOST;
    let mut left_out = 0_u64;
    let mut put = |head: String, text: &str| {
        let length = text.chars().count() + head.len();
        if length > room {
            left_out += 1;
            return;
        }
        room -= length;
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&head);
        out.push_str(text);
    };
    let contents = Contents::of(run);
    for text in &contents.texts {
        let Some(at) = text.record.filter(|at| record.is_none_or(|record| record == *at)) else {
            continue;
        };
        let attempt = run.attempts.get(at as usize);
        let name = attempt.map(|attempt| attempt.name.as_deref().unwrap_or(&attempt.kind));
        let name = name.map(mask).unwrap_or_default();
        // People count from 1.
        let number = u64::from(at) + 1;
        put(format!("[{number} {name}] {}: ", text.kind.name()), &text.text);
    }
    if record.is_none()
        && let Some(text) = delivered(run)
    {
        put(format!("[{}] ", ContentKind::Final.name()), &text);
    }
    left_out += contents.left_out;
    if left_out > 0 {
        out.push_str(&format!("\n[{left_out} texts more: see the trace]"));
    }
    out
}

/// What the run delivered, without verdicts.
fn delivered(run: &Trajectory<'_>) -> Option<String> {
    let Final::Json(text) = &run.final_output else { return None };
    let text = match serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
        Ok(mut fields) => {
            fields.retain(|key, _| !VERDICTS.contains(&key.to_ascii_lowercase().as_str()));
            if fields.is_empty() {
                return None;
            }
            serde_json::to_string(&fields).ok()?
        }
        Err(_) => text.to_string(),
    };
    // More is read than is kept: a secret may begin near the cut.
    let head: String = text.chars().take(MOST_FINAL * 2).collect();
    Some(mask(&head).chars().take(MOST_FINAL).collect())
}

#[cfg(test)]
mod tests {
    use super::content;
    use crate::model::{Attempt, Final, Trajectory};

    #[test]
    fn a_result_is_shown_without_its_score_and_steps_one_by_one() {
        let attempt = |name: &'static str| Attempt {
            name: Some(name.into()),
            raw: Some(r#"{"input": {"q": 1}, "output": "ok", "score": 1}"#.into()),
            ..Attempt::default()
        };
        let run = Trajectory {
            attempts: vec![attempt("a"), attempt("b")],
            end_reason: Some("failed the test".into()),
            final_output: Final::Json(r#"{"score": 0, "answer": 42, "Status": "error"}"#.into()),
            ..Trajectory::default()
        };
        assert_eq!(content(&run, Some(1)), "[2 b] input: {\"q\": 1}\n[2 b] output: ok");
        let all = content(&run, None);
        assert!(all.ends_with("[final] {\"answer\":42}"), "{all}");
        assert!(!all.contains("score") && !all.contains("failed"), "{all}");
    }
}
