//! A row as it may be stored: labels without secrets, amounts that are numbers.

use std::collections::BTreeMap;

use super::judging::sha256_hex;
use crate::evaluate::{ErrorCount, Name, RunRow};
use crate::model::mask;

/// The row with its labels masked as reports mask them, and amounts dropped that are no finite number.
///
/// Ids that differ stay different: a masked run or task id ends in `~` and 8 digits of a hash, so
/// that tasks pair and do not fall together. Whoever compares other runs with a baseline masks
/// their rows first, with this. Nothing changes in most rows.
#[must_use]
pub fn masked_row(row: &RunRow) -> RunRow {
    let mut row = row.clone();
    if let Some(masked) = row.run_id.as_deref().and_then(masked_apart) {
        row.run_id = Some(masked.into());
    }
    for id in [&mut row.task_id, &mut row.trial].into_iter().flatten() {
        if let Some(masked) = masked_apart(id) {
            *id = masked.into();
        }
    }
    for label in [&mut row.agent, &mut row.model].into_iter().flatten() {
        let masked = mask(label);
        if masked != **label {
            *label = masked.into();
        }
    }
    row.status.iter_mut().for_each(replace);
    for (key, value) in &mut row.tags {
        // Only together do `api_key` and its value look like a secret.
        let pair = format!("{key}={value}");
        let masked = mask(&pair);
        replace(key);
        *value = match masked.strip_prefix(&format!("{key}=")) {
            Some(masked) if masked != &**value => masked.into(),
            _ => mask(value).into(),
        };
    }
    row.errors = errors(&row.errors);
    row.step_types = step_types(&row.step_types);
    row.duration_seconds = row.duration_seconds.filter(|seconds| seconds.is_finite());
    row.cost_usd = row.cost_usd.filter(|cost| cost.is_finite());
    row.tokens = row.tokens.filter(|tokens| tokens.total().is_finite());
    row
}

/// The text masked, with 8 digits of its hash behind it so that texts that differ stay different;
/// `None` where there is nothing to mask.
pub(super) fn masked_apart(text: &str) -> Option<String> {
    let masked = mask(text);
    (masked != text).then(|| {
        let hash = sha256_hex(text.as_bytes());
        format!("{masked}~{}", hash.get(..8).unwrap_or_default())
    })
}

fn replace(label: &mut Name) {
    let masked = mask(label);
    if masked != **label {
        *label = masked.into();
    }
}

/// Types that are the same once masked are counted together, so that the list stays sorted.
fn errors(errors: &[ErrorCount]) -> Box<[ErrorCount]> {
    let mut all: BTreeMap<(Name, Option<Name>), u32> = BTreeMap::new();
    for error in errors {
        let key = (mask(&error.kind).into(), error.tool.as_deref().map(|tool| mask(tool).into()));
        let sum = all.entry(key).or_default();
        *sum = sum.saturating_add(error.attempts);
    }
    all.into_iter().map(|((kind, tool), attempts)| ErrorCount { kind, tool, attempts }).collect()
}

fn step_types(types: &[(Name, u32)]) -> Box<[(Name, u32)]> {
    let mut all: BTreeMap<Name, u32> = BTreeMap::new();
    for (kind, attempts) in types {
        let sum = all.entry(mask(kind).into()).or_default();
        *sum = sum.saturating_add(*attempts);
    }
    all.into_iter().collect()
}
