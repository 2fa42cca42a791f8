//! Samples that an archive keeps in parts: `sample.json` beside folders of events and messages.
//!
//! Owns: joining the lists of events by the start that names each part. No public file of this
//! layout was at hand, so nothing is taken on trust: parts that do not follow one another from
//! 0, or that are no lists, refuse the sample with `chunked_sample_unsupported`.
//! Refuses: samples that have messages in parts and no events.

use serde_json::value::RawValue;

use super::archive::{Member, Sink};
use super::log::Log;
use super::sample::{self, Seen};
use super::wire;
use crate::config::ReadOptions;
use crate::ingest::formats::{Parsed, Refusal};
use crate::ingest::quick;
use crate::model::Place;

/// The members that hold the parts of one sample.
#[derive(Default)]
pub(super) struct Chunked {
    events: Vec<(u64, usize)>,
    messages: usize,
}

impl Chunked {
    /// Adds a member of one of the folders, if it is a part by its name.
    pub(super) fn add(&mut self, list: &str, leaf: &str, index: usize) {
        let start = leaf.strip_suffix(".json").and_then(|start| start.parse().ok());
        match (list, start) {
            ("events", Some(start)) => self.events.push((start, index)),
            ("messages", Some(_)) => self.messages += 1,
            _ => {}
        }
    }
}

/// Reads one sample in parts and gives its run to the sink.
pub(super) fn read(
    parts: &Chunked,
    index: usize,
    log: &Log<'_>,
    options: &ReadOptions,
    seen: &mut Seen,
    sink: &mut Sink<'_>,
    member: &mut dyn FnMut(usize) -> Member,
) -> Result<(), (Place, Refusal)> {
    let (place, bytes) = member(index)?;
    let unsupported = |why: &str| {
        let message = format!("the sample is kept in parts, and {why}; convert the log to .json");
        (place, Refusal::of("chunked_sample_unsupported", message))
    };
    let sample: wire::Sample<'_> = quick::from_slice(&bytes)
        .map_err(|error| (place, Refusal::of("unreadable_sample", error.to_string())))?;
    if parts.events.is_empty() && parts.messages > 0 && sample.events.is_none() {
        return Err(unsupported("has no events"));
    }
    let mut order = parts.events.clone();
    order.sort_unstable();
    let mut buffers = Vec::with_capacity(order.len());
    let mut next = 0;
    for (start, index) in order {
        let (_, bytes) = member(index)?;
        let events = quick::from_slice::<Vec<serde::de::IgnoredAny>>(&bytes)
            .map_err(|_| unsupported("a part is no list of events"))?;
        if start != next {
            return Err(unsupported("its parts do not follow one another"));
        }
        next = start + events.len() as u64;
        buffers.push(bytes);
    }
    let lists: Vec<&RawValue> = buffers
        .iter()
        .map(|bytes| quick::from_slice(bytes))
        .collect::<Result<_, _>>()
        .map_err(|_| unsupported("a part is no JSON"))?;
    let lists = (!lists.is_empty()).then_some(lists.as_slice());
    let run = sample::run(log, &sample, lists, place, options, seen).map_err(|why| (place, why))?;
    sink(Ok(Parsed { runs: vec![run], issues: Vec::new() }));
    Ok(())
}
