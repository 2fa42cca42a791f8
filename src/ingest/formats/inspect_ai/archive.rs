//! `.eval` archives: a zip of a head, samples, and a journal.
//!
//! Owns: which member is what, and reading one member at a time within a bound.
//! Refuses: members that stand outside the central directory (superseded ones), summaries and
//! the journal's copies, overlapping members, and members larger than the bound.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use serde_json::value::RawValue;

use super::chunks::{self, Chunked};
use super::log::Log;
use super::{sample, wire};
use crate::config::ReadOptions;
use crate::ingest::formats::{MEMBER_LIMIT, Parsed, Refusal};
use crate::ingest::quick;
use crate::model::{Issue, Place};

/// The least bytes of the header that stands before a member's data.
const LOCAL_HEADER: u64 = 30;
const HEADER: &str = "header.json";
const JOURNAL_START: &str = "_journal/start.json";

/// Where runs and refusals go.
pub(super) type Sink<'s> = dyn FnMut(Result<Parsed<'_>, (Place, Refusal)>) + 's;

/// Whether these are the members of a log.
pub(super) fn detect(names: &[&str]) -> bool {
    names
        .iter()
        .any(|name| *name == HEADER || *name == JOURNAL_START || !matches!(kind(name), Kind::Other))
}

/// What a member is.
enum Kind<'n> {
    /// A whole sample.
    Sample,
    /// The `sample.json` of a sample in parts, with the folder of its parts.
    ChunkedSample(&'n str),
    /// Anything else.
    Other,
}

/// Tells samples by their last part alone: sample ids may hold slashes.
fn kind(name: &str) -> Kind<'_> {
    let Some(inside) = name.strip_prefix("samples/") else { return Kind::Other };
    let ends_in_epoch = |stem: &str| {
        stem.rsplit_once("_epoch_").is_some_and(|(_, epoch)| {
            !epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if let Some(folder) = name.strip_suffix("/sample.json").filter(|folder| ends_in_epoch(folder)) {
        return Kind::ChunkedSample(folder);
    }
    match inside.strip_suffix(".json") {
        Some(stem) if ends_in_epoch(stem) => Kind::Sample,
        _ => Kind::Other,
    }
}

/// Reads an archive.
pub(super) fn read(
    archive: &mut zip::ZipArchive<File>,
    file: Place,
    options: &ReadOptions,
    sink: &mut Sink<'_>,
) {
    read_bounded(archive, file, options, MEMBER_LIMIT, sink);
}

fn read_bounded(
    archive: &mut zip::ZipArchive<File>,
    file: Place,
    options: &ReadOptions,
    bound: u64,
    sink: &mut Sink<'_>,
) {
    let names: Vec<String> = (0..archive.len())
        .map(|index| match archive.name_for_index(index) {
            Some(Ok(name)) => name.into_owned(),
            _ => String::new(),
        })
        .collect();
    let mut members = Members { archive, file, read: BTreeMap::new() };
    let find = |wanted: &str| names.iter().position(|name| name == wanted);
    let mut issues = Vec::new();

    let header = find(HEADER);
    let head = match header.or_else(|| find(JOURNAL_START)) {
        Some(index) => match members.get(index, bound).and_then(parse_member_at) {
            Ok((_, bytes)) => bytes,
            Err(refused) => {
                sink(Err(refused));
                b"{}".to_vec()
            }
        },
        None => b"{}".to_vec(),
    };
    let mut wire: wire::Log<'_> = quick::from_slice(&head).unwrap_or_default();
    if header.is_none() {
        // Without a header the log was never closed, whatever else the journal says.
        wire.status = quick::from_str::<&RawValue>("\"started\"").ok();
    }
    let log = Log::new(&wire);

    let mut parts = chunked(&names);
    let mut seen = sample::Seen::default();
    let mut samples = 0;
    for (index, name) in names.iter().enumerate() {
        let result = match kind(name) {
            Kind::Other => continue,
            Kind::Sample => {
                members.get(index, bound).and_then(parse_member_at).and_then(|(place, bytes)| {
                    let run = quick::from_slice::<wire::Sample<'_>>(&bytes)
                        .map_err(|error| Refusal::of("unreadable_sample", error.to_string()))
                        .and_then(|wire| sample::run(&log, &wire, None, place, options, &mut seen))
                        .map_err(|why| (place, why))?;
                    sink(Ok(Parsed { runs: vec![run], issues: Vec::new() }));
                    Ok(())
                })
            }
            Kind::ChunkedSample(folder) => {
                let parts = parts.remove(folder).unwrap_or_default();
                let mut left = bound;
                chunks::read(&parts, index, &log, options, &mut seen, sink, &mut |index| {
                    let (place, bytes) = members.get(index, left).and_then(parse_member_at)?;
                    left = left.saturating_sub(bytes.len() as u64);
                    Ok((place, bytes))
                })
            }
        };
        samples += 1;
        if let Err(refused) = result {
            sink(Err(refused));
        }
    }
    log.tell(file, samples, &mut issues);
    seen.tell(file, &mut issues);
    if wire.eval.is_none() {
        let message = "the archive has no readable head; its runs have no task and no model";
        issues.push(Issue::warning("log_without_head", file, message));
    }
    sink(Ok(Parsed { runs: Vec::new(), issues }));
}

/// The parts of samples in parts, by folder.
fn chunked(names: &[String]) -> BTreeMap<&str, Chunked> {
    let mut found: BTreeMap<&str, Chunked> = names
        .iter()
        .filter_map(|name| match kind(name) {
            Kind::ChunkedSample(folder) => Some((folder, Chunked::default())),
            _ => None,
        })
        .collect();
    for (index, name) in names.iter().enumerate() {
        let Some((folder, leaf)) = name.rsplit_once('/') else { continue };
        let Some((root, list)) = folder.rsplit_once('/') else { continue };
        if let Some(parts) = found.get_mut(root) {
            parts.add(list, leaf, index);
        }
    }
    found
}

/// A member's place and decompressed bytes, or why it is refused.
pub(super) type Member = Result<(Place, Vec<u8>), (Place, Refusal)>;

/// An archive whose members are read once each.
struct Members<'z> {
    archive: &'z mut zip::ZipArchive<File>,
    file: Place,
    /// Bytes of the archive that were read, by start: members that share bytes are how a small
    /// file holds endless ones.
    read: BTreeMap<u64, u64>,
}

impl Members<'_> {
    /// Decompresses one member of at most `bound` bytes.
    fn get(&mut self, index: usize, bound: u64) -> Member {
        let mut place = self.file;
        let unreadable = |place, error: &dyn std::fmt::Display| {
            (place, Refusal::of("unreadable_member", format!("the zip member is damaged: {error}")))
        };
        let entry = self.archive.by_index(index).map_err(|error| unreadable(place, &error))?;
        let start = entry.header_start();
        let end = start.saturating_add(LOCAL_HEADER).saturating_add(entry.compressed_size());
        place.byte = start;
        if self.read.range(..end).next_back().is_some_and(|(_, read_to)| *read_to > start) {
            let message = "the zip member shares bytes with another one";
            return Err((place, Refusal::of("overlapping_member", message)));
        }
        self.read.insert(start, end);
        let too_large = || {
            let message = format!("the zip member has more than {bound} bytes when decompressed");
            (place, Refusal::of("member_too_large", message))
        };
        if entry.size() > bound {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        // The declared size may lie, so the bound holds for what really comes out.
        entry
            .take(bound.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(place, &error))?;
        if bytes.len() as u64 > bound { Err(too_large()) } else { Ok((place, bytes)) }
    }
}

fn parse_member_at((place, bytes): (Place, Vec<u8>)) -> Member {
    match parse_member(bytes) {
        Ok(bytes) => Ok((place, bytes)),
        Err(why) => Err((place, why)),
    }
}

/// Makes sure that a member is one sound JSON value, so that its parts can be decoded late.
fn parse_member(bytes: Vec<u8>) -> Result<Vec<u8>, Refusal> {
    match quick::from_slice::<&RawValue>(&bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => crate::ingest::repair::repair(&bytes).map_err(|_| error.into()),
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail loudly")]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    #[test]
    fn a_member_beyond_the_bound_is_refused_and_the_others_are_read() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        let mut zip = zip::ZipWriter::new(&mut file);
        let options = zip::write::SimpleFileOptions::default();
        let big = format!(r#"{{"id": 1, "epoch": 1, "input": "{}"}}"#, "x".repeat(5000));
        for (name, text) in [
            ("header.json", r#"{"version":2,"status":"success","eval":{"task":"t"}}"#),
            ("samples/1_epoch_1.json", &big),
            ("samples/2_epoch_1.json", r#"{"id": 2, "epoch": 1}"#),
        ] {
            zip.start_file(name, options).expect("a member");
            zip.write_all(text.as_bytes()).expect("written");
        }
        zip.finish().expect("a zip");
        file.rewind().expect("rewound");
        let mut archive = zip::ZipArchive::new(file).expect("an archive");
        let (mut runs, mut refused) = (Vec::new(), Vec::new());
        let options = ReadOptions::default();
        read_bounded(&mut archive, Place::default(), &options, 1000, &mut |result| match result {
            Ok(parsed) => {
                runs.extend(parsed.runs.iter().map(|r| r.task_id.clone().map(|t| t.into_owned())));
            }
            Err((_, why)) => refused.push(why.code),
        });
        assert_eq!(runs, [Some("t/2".to_owned())]);
        assert_eq!(refused, ["member_too_large"]);
    }

    #[test]
    fn samples_are_told_by_their_last_part() {
        assert!(matches!(kind("samples/ctf/task_5_epoch_1.json"), Kind::Sample));
        assert!(matches!(
            kind("samples/ctf/5_epoch_2/sample.json"),
            Kind::ChunkedSample("samples/ctf/5_epoch_2")
        ));
        assert!(matches!(kind("samples/5_epoch_2/events/0.json"), Kind::Other));
        assert!(matches!(kind("samples/5_epoch_.json"), Kind::Other));
        assert!(matches!(kind("summaries.json"), Kind::Other));
    }
}
