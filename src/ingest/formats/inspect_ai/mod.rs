//! Inspect AI logs: one `.json` object, or a `.eval` zip with a member for each sample.
//!
//! Owns: the log head, its samples and their events, and the mapping to runs. One sample in
//! one epoch is one run. Tool events are the steps; model events are turns; logs without such
//! events (older or trimmed ones) give their steps from the messages instead.
//! Refuses: aggregates (`results`, `reductions`, `stats`), which are figures and no runs.
//!
//! A log without samples gives no run and says so; it never counts as empty in silence.
//! Model calls of a scorer are turns too, as in the log's own `model_usage`.

mod archive;
mod chunks;
mod events;
mod log;
mod messages;
mod sample;
mod scores;
mod wire;

use super::raw::offset_in;
use super::{Format, Parsed, Probe, Reader, Record, Refusal};
use crate::config::ReadOptions;
use crate::ingest::quick;
use crate::model::{Issue, Place};

/// The format of Inspect AI logs, `.json` and `.eval`.
pub const INSPECT_AI: Format = Format {
    name: "inspect-ai",
    about: "an Inspect AI log (.json or .eval)",
    detect,
    wrappers: &[],
    splits_arrays: false,
    reader: Reader::Whole(read_log),
    archive: Some((archive::detect, archive::read)),
    misspelt: None,
};

fn detect(probe: &Probe<'_>) -> bool {
    !probe.in_array && probe.any_has(&["version", "status", "eval"])
}

fn read_log<'r>(record: &Record<'r>, options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let wire: wire::Log<'r> = quick::from_slice(record.bytes)?;
    if wire.eval.is_none() {
        return Err(Refusal::of("log_without_eval", "the log has no eval section"));
    }
    let log = log::Log::new(&wire);
    let samples: Vec<&'r serde_json::value::RawValue> = match wire.samples {
        None => Vec::new(),
        Some(samples) => quick::from_str(samples.get())
            .map_err(|error| Refusal::of("unreadable_samples", format!("samples: {error}")))?,
    };
    let mut parsed = Parsed::default();
    let mut seen = sample::Seen::default();
    for raw in &samples {
        let place =
            Place { byte: record.place.byte + offset_in(record.bytes, raw), ..record.place };
        let run = quick::from_str::<wire::Sample<'r>>(raw.get())
            .map_err(|error| Refusal::of("unreadable_sample", error.to_string()))
            .and_then(|wire| sample::run(&log, &wire, None, place, options, &mut seen));
        match run {
            Ok(run) => parsed.runs.push(run),
            Err(why) => parsed.issues.push(Issue::rejected(why.code, place, why.message)),
        }
    }
    log.tell(record.place, samples.len(), &mut parsed.issues);
    seen.tell(record.place, &mut parsed.issues);
    Ok(parsed)
}
