//! Scores of a sample: letters, numbers, truth values, and maps of them.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::wire;
use crate::ingest::formats::raw::{Entries, label, object, quoted, raw_fields, read};
use crate::model::{Score, ScoreValue};

raw_fields! {
    /// One scorer's verdict.
    Verdict { value }
}

/// All scores of a sample, in recorded order. A map gives one score per key, `scorer.key`.
pub(super) fn scores<'a>(sample: &wire::Sample<'a>) -> Vec<Score<'a>> {
    let mut found = Vec::new();
    if let Some(scores) = sample.scores {
        match read::<Entries<'a>>(scores) {
            Some(entries) => {
                for (name, verdict) in entries.0 {
                    take(name, verdict, &mut found);
                }
            }
            None => take(Cow::Borrowed(""), scores, &mut found),
        }
    } else if let Some(score) = sample.score {
        take(Cow::Borrowed(""), score, &mut found);
    }
    found
}

fn take<'a>(name: Cow<'a, str>, verdict: &'a RawValue, found: &mut Vec<Score<'a>>) {
    let value = match read::<Verdict<'a>>(verdict) {
        None => verdict, // The verdict is the bare value.
        Some(Verdict { value: Some(value) }) => value,
        Some(Verdict { value: None }) => {
            found.push(Score { name, value: ScoreValue::Unreadable(Cow::Borrowed("null")) });
            return;
        }
    };
    let Some(parts) = read::<Entries<'a>>(value) else {
        found.push(Score { name, value: score_value(value) });
        return;
    };
    for (key, part) in parts.0 {
        let name = Cow::Owned(format!("{name}.{key}"));
        found.push(Score { name, value: score_value(part) });
    }
}

fn score_value(value: &RawValue) -> ScoreValue<'_> {
    match label(value) {
        Some(written) => ScoreValue::from_text(written),
        None => ScoreValue::Unreadable(Cow::Borrowed(value.get())),
    }
}

/// One score's value as JSON text; `null` for a number that JSON cannot write.
fn json(value: &ScoreValue<'_>) -> String {
    match value {
        ScoreValue::Number(number) => {
            serde_json::to_string(number).unwrap_or_else(|_| "null".to_owned())
        }
        ScoreValue::Unreadable(text) => quoted(text),
    }
}

/// `score` and `scores` of the final output: the value where there is one score, and all by name.
pub(super) fn as_json(scores: &[Score<'_>]) -> (Option<String>, Option<String>) {
    let single = match scores {
        [only] => Some(json(&only.value)),
        _ => None,
    };
    let values: Vec<String> = scores.iter().map(|score| json(&score.value)).collect();
    let members: Vec<_> =
        scores.iter().zip(&values).map(|(s, v)| (s.name.as_ref(), Some(v.as_str()))).collect();
    (single, (!members.is_empty()).then(|| object(&members)))
}
