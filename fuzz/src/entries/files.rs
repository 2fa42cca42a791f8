//! Bytes as files: one by itself, of a format that is named, by a mapping, and several in a folder.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenteval::config::{Mapping, ReadOptions};
use agenteval::ingest::formats::{FORMATS, Format, mapped};
use agenteval::ingest::{
    MAX_RECORD, ReadError, Request, Tally, find, read, read_stream, suggest_mapping_of,
};

use super::look::{Depth, Look, Seen, adds_up, conclusions, figures, full};
use super::parted;

/// The most bytes of a compressed input that are read.
const MOST_PACKED: usize = 1 << 10;

fn request(format: Option<&'static Format>, options: ReadOptions) -> Request<'static> {
    let max_record = MAX_RECORD;
    Request { options, format, strict: false, threads: 1, progress: None, max_record }
}

/// What every reader keeps with expressions, and what only some read.
fn raw() -> ReadOptions {
    ReadOptions { raw_attempts: true, ..full().read_options(None) }
}

/// Reads bytes as one file.
fn told(data: &[u8], request: &Request<'_>, depth: Depth) -> Result<(Vec<Seen>, Tally), ReadError> {
    let packed = data.starts_with(b"\x1F\x8B") || data.starts_with(b"\x28\xB5\x2F\xFD");
    let look = Look { depth, bytes: (!packed).then_some(data.len() as u64) };
    let mut seen = Vec::new();
    // A little that unpacks to gigabytes takes its time, and is no finding.
    let data = if packed { &data[..data.len().min(MOST_PACKED)] } else { data };
    let stream = Box::new(Cursor::new(data.to_vec()));
    let tally = read_stream(stream, Path::new("input"), request, &look, &mut |run| seen.push(run))?;
    adds_up(&tally, seen.len());
    Ok((seen, tally))
}

/// Reads bytes twice, without and with texts of attempts, and looks at what was read in every way.
/// `None` where it cannot be read.
fn whole(data: &[u8], format: Option<&'static Format>, options: &ReadOptions) -> Option<Vec<Seen>> {
    let bare = ReadOptions { raw_attempts: false, ..options.clone() };
    let kept = ReadOptions { raw_attempts: true, ..options.clone() };
    let first = told(data, &request(format, bare), Depth::Judged);
    let second = told(data, &request(format, kept), Depth::Whole);
    match (first, second) {
        (Ok((first, _)), Ok((second, _))) => {
            assert_eq!(first.len(), second.len(), "runs with and without texts of attempts");
            for (one, other) in first.iter().zip(&second) {
                assert_eq!(one.row, other.row, "a run with and without texts of attempts");
            }
            Some(second)
        }
        (Err(_), Err(_)) => None,
        (first, second) => panic!("read but once: {:?} {:?}", first.err(), second.err()),
    }
}

/// Any file, by itself.
pub fn detect(data: &[u8]) {
    let seen = whole(data, None, &ReadOptions::default());
    let strict = Request { strict: true, ..request(None, ReadOptions::default()) };
    let strict = told(data, &strict, Depth::Judged);
    if let Some(seen) = seen {
        if let Ok((again, tally)) = strict {
            assert_eq!(tally.rejected(), 0, "a loss that --strict passes over");
            assert_eq!(again.len(), seen.len(), "runs with and without --strict");
        }
        let short = Request { max_record: 600, ..request(None, raw()) };
        drop(told(data, &short, Depth::Judged));
        figures(&conclusions(seen));
    } else {
        assert!(strict.is_err(), "read under --strict alone");
    }
}

/// The format that the first line names, and the rest.
fn named(data: &[u8]) -> Option<(&'static Format, &[u8])> {
    let end = data.iter().take(40).position(|b| *b == b'\n')?;
    let name = std::str::from_utf8(&data[..end]).ok()?;
    let format = FORMATS.iter().find(|format| format.name == name)?;
    Some((format, &data[end + 1..]))
}

/// The format that alone is to be fuzzed.
fn wanted() -> Option<&'static str> {
    static WANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    WANTED.get_or_init(|| std::env::var("FUZZ_FORMAT").ok()).as_deref()
}

/// A file of the format that its first line names.
pub fn readers(data: &[u8]) {
    let Some((format, data)) = named(data) else { return };
    if wanted().is_some_and(|wanted| wanted != format.name) {
        return;
    }
    if let Some(seen) = whole(data, Some(format), &raw()) {
        figures(&conclusions(seen));
    }
}

/// Any file: what is read of it, written in the native form, reads back as the same.
pub fn convert(data: &[u8]) {
    let (format, data) = match named(data) {
        Some((format, rest)) => (Some(format), rest),
        None => (None, data),
    };
    let Ok((seen, _)) = told(data, &request(format, raw()), Depth::Whole) else { return };
    if seen.is_empty() {
        return;
    }
    let lines: Vec<&str> = seen.iter().map(|run| run.native.as_str()).collect();
    let native = lines.join("\n");
    let (again, tally) =
        told(native.as_bytes(), &request(None, raw()), Depth::Whole).expect("it can be read again");
    assert_eq!(tally.files[0].format, Some("native"), "{native}");
    assert_eq!((again.len(), tally.rejected()), (seen.len(), 0), "{native}");
    for (before, after) in seen.iter().zip(&again) {
        assert_eq!(before.row, after.row, "{}", before.native);
        assert_eq!(before.by_full, after.by_full, "{}", before.native);
    }
}

/// A field mapping, and records to be read by it.
pub fn mapping(data: &[u8]) {
    let (written, records) = parted(data);
    if let Ok(mapping) = Mapping::from_text(written, "map.json") {
        read_by(mapping, records);
    }
    drop(Mapping::from_text(written, "map.yaml"));
    if let Some(draft) = suggest_mapping_of(records, true) {
        let mapping = Mapping::from_text(draft.text.as_bytes(), "draft.json");
        read_by(mapping.expect("a draft is sound"), records);
    }
}

fn read_by(mapping: Mapping, records: &[u8]) {
    let options = ReadOptions { mapping: Some(Arc::new(mapping)), ..ReadOptions::default() };
    if let Some(seen) = whole(records, Some(&mapped::MAPPED), &options) {
        conclusions(seen);
    }
}

/// Where the files of a folder lie; removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Makes the files that the input names: each begins behind a line `@@ PATH`.
fn unpack(data: &[u8]) -> Option<Folder> {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let nth = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let root = std::env::temp_dir().join(format!("agenteval-fuzz-{}-{nth}", std::process::id()));
    let folder = Folder(root);
    let mut starts: Vec<usize> = data.starts_with(b"@@ ").then_some(0).into_iter().collect();
    starts.extend(
        data.windows(4).enumerate().filter(|(_, four)| *four == b"\n@@ ").map(|(at, _)| at + 1),
    );
    starts.truncate(24);
    for (nth, start) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).map_or(data.len(), |next| next - 1);
        let text = &data[start + 3..end];
        let line = text.iter().position(|b| *b == b'\n')?;
        // Nothing that a path could mean beyond names of folders and files.
        let safe = |b: &u8| {
            if b.is_ascii_alphanumeric() || b"-_./".contains(b) { char::from(*b) } else { '_' }
        };
        let path: String = text[..line].iter().take(200).map(safe).collect();
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).take(8);
        let path = folder.0.join(parts.collect::<PathBuf>());
        if path == folder.0 || std::fs::create_dir_all(path.parent()?).is_err() {
            continue;
        }
        // A name that is a file already stays as it is.
        drop(std::fs::write(&path, &text[line + 1..]));
    }
    folder.0.is_dir().then_some(folder)
}

/// Several files that lie beside each other.
pub fn folder(data: &[u8]) {
    let Some(folder) = unpack(data) else { return };
    let Ok(found) = find(std::slice::from_ref(&folder.0)) else { return };
    let mut all = Vec::new();
    for (options, depth) in [(ReadOptions::default(), Depth::Judged), (raw(), Depth::Whole)] {
        let mut seen = Vec::new();
        let look = Look { depth, bytes: None };
        let request = request(None, options);
        let tally = read(&found.sources, &request, &look, &mut |run| seen.push(run));
        let tally = tally.expect("files that were found are left out at worst");
        adds_up(&tally, seen.len());
        all.push(seen);
    }
    let rows = conclusions(all.pop().unwrap_or_default());
    // `attempts_count` differs between the two, so that only their number must be the same.
    assert_eq!(all[0].len(), rows.len(), "runs with and without texts of attempts");
}
