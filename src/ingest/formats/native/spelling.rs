//! Keys of native runs and steps that are not read, and are spelt almost like ones that are.
//!
//! A field that nobody reads is nobody's fault; one that is misspelt makes figures falsely good
//! (an `err` that should be an `error` never fails), so the first records of a file are looked over.

use std::borrow::Cow;

use super::step::KEYS;
use crate::ingest::scan::{keys_of_elements, top_keys};

/// Keys of a run that are read.
const RUN: [&str; 25] = [
    "run_id",
    "task_id",
    "trial",
    "agent",
    "model",
    "tags",
    "status",
    "end_reason",
    "score",
    "scores",
    "success",
    "started_at",
    "ended_at",
    "duration_ms",
    "tokens",
    "cost_usd",
    "final",
    "retry_source",
    "end_rule",
    "format_outcome",
    "order_unknown",
    "steps_unknown",
    "never_reached",
    "steps",
    "runs",
];

/// Keys of a step that the form knows without reading them.
const UNREAD: [&str; 2] = ["output", "reasoning"];

/// Keys that `agenteval convert` writes; nobody types them, so nothing is taken for one misspelt.
const WRITTEN: [&str; 12] = [
    "end_rule",
    "format_outcome",
    "order_unknown",
    "steps_unknown",
    "never_reached",
    "retry_source",
    "attempts_total",
    "nested_in",
    "input_hash",
    "error_origin",
    "status_decides",
    "model_turn",
];

/// Steps of a run that are looked over.
const LOOKED_OVER: usize = 20;

/// What is misspelt in a run and in its first steps, each as a sentence.
pub(super) fn misspelt(record: &[u8], keys: Option<&[String]>) -> Vec<String> {
    let step: Vec<&str> = KEYS.into_iter().chain(UNREAD).collect();
    let mut found = match keys {
        Some(keys) => near("a run", keys, &RUN),
        None => near("a run", &top_keys(record), &RUN),
    };
    let steps = keys_of_elements(record, "steps", LOOKED_OVER);
    let mut seen: Vec<&Vec<Cow<'_, str>>> = Vec::new();
    for keys in &steps {
        // Most steps of a run have the same keys.
        if !seen.contains(&keys) {
            found.extend(near("a step", keys, &step));
            seen.push(keys);
        }
    }
    found
}

/// Unknown keys that are near a known one which the object does not have.
fn near<K: AsRef<str>>(of: &str, keys: &[K], known: &[&str]) -> Vec<String> {
    let has = |name: &str| keys.iter().any(|key| key.as_ref() == name);
    let typed = |name: &&&str| !WRITTEN.contains(*name);
    let missing = || known.iter().filter(typed).filter(|name| !has(name));
    let meant = |key: &str| {
        missing()
            .map(|name| (strsim::normalized_damerau_levenshtein(key, name), *name))
            .filter(|(likeness, name)| {
                *likeness >= 0.75 || (key.len() >= 3 && name.starts_with(key))
            })
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name)
    };
    keys.iter()
        .map(AsRef::as_ref)
        .filter(|key| !known.contains(key))
        .filter_map(|key| {
            Some(format!("`{key}` of {of} is not read: did you mean `{}`?", meant(key)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::misspelt;

    #[test]
    fn only_what_is_nearly_a_key_is_told() {
        let record = br#"{"staus":"completed","note":1,"steps":[
            {"type":"tool","err":"boom","durationms":12,"latency":3,"error_code":5},
            {"type":"tool","error":null,"err":"kept beside it"}]}"#;
        assert_eq!(
            misspelt(record, None),
            [
                "`staus` of a run is not read: did you mean `status`?",
                "`err` of a step is not read: did you mean `error`?",
                "`durationms` of a step is not read: did you mean `duration_ms`?",
            ]
        );
        let keys = ["staus", "note", "steps"].map(str::to_owned);
        assert_eq!(misspelt(record, Some(&keys)), misspelt(record, None));
    }
}
