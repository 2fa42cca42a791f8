//! What agenteval's own `convert` says in `extra.agenteval` of a trajectory and of its steps.
//!
//! Owns that such a trajectory is read back as the run that it was made of: outcome, errors, retries
//! and all else that ATIF has no place for. Only a trajectory that is marked `complete` is read so: what
//! others, or older versions, left there is no record of a run.

use serde_json::value::RawValue;

use super::super::kept;
use super::super::native::{head_as_read, step_as_read};
use super::super::raw::{is_true, raw_fields, read as value};
use crate::model::{Attempt, Trajectory};

raw_fields! {
    /// What writers add.
    Extra { agenteval }
}
raw_fields! {
    /// The mark of a run, and of a step those of its parts.
    Own { complete, model_turn, calls }
}
raw_fields! {
    /// Whether a call had an id in its source: `tool_call_id` is that of ATIF.
    Id { request_id }
}

/// The run without its attempts, where a trajectory holds it.
pub(super) fn head(extra: Option<&RawValue>) -> Option<Trajectory<'static>> {
    let raw = value::<Extra<'_>>(extra?)?.agenteval?;
    is_true(value::<Own<'_>>(raw)?.complete).then_some(())?;
    head_as_read(raw.get()).map(kept::run)
}

/// The attempts of a step in their order: its turn, and its calls.
pub(super) fn attempts(extra: Option<&RawValue>) -> Option<Vec<Attempt<'static>>> {
    let raw = value::<Extra<'_>>(extra?)?.agenteval?;
    let own = value::<Own<'_>>(raw)?;
    let mut attempts = Vec::new();
    if is_true(own.model_turn) {
        attempts.push(kept::attempt(step_as_read(raw.get())?));
    }
    for raw in own.calls.and_then(value::<Vec<&RawValue>>).unwrap_or_default() {
        let mut call = kept::attempt(step_as_read(raw.get())?);
        if value::<Id<'_>>(raw)?.request_id.is_none() {
            call.request_id = None;
        }
        attempts.push(call);
    }
    (!attempts.is_empty()).then_some(attempts)
}
