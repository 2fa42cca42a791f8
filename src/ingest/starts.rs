//! What the start of a stream tells of it: how its records are told apart, and of which format they are.
//!
//! Owns looking, which changes nothing, and so may be done ahead: small files are looked at several at
//! a time, on all threads, before their turn comes. Refuses to look ahead at what is no plain file of
//! known size, and to tell of errors: what cannot be opened ahead is opened, and told, in its turn.

use std::io::Read;
use std::path::Path;

use super::begun::framing_of;
use super::feed::Feed;
use super::formats::sidecars::{self, Sidecar};
use super::formats::{self, Format, Reader, Unclaimed};
use super::parallel::in_parallel;
use super::read::{BLOCK, Request};
use super::scan::{FirstObject, first_object};
use super::small::Cut;
use super::source::{Source, read_plain};
use super::split::Framing;

/// Bytes read at first.
const FIRST: usize = 64 << 10;

/// Files looked at together, at most.
const FILES: usize = 128;

/// Bytes of the files that are looked at together, and of those whose records are read together.
pub(super) const TOGETHER: usize = 12 << 20;

/// Bytes of a file that is looked at ahead.
const SMALL: usize = 512 << 10;

/// The start of a stream, and what it tells.
pub(super) struct Start<'p> {
    pub(super) feed: Feed<'p>,
    pub(super) framing: Framing,
    pub(super) told: Told,
    /// The object that it begins with.
    first: Option<FirstObject>,
    /// Its records, where it was looked at ahead and is whole.
    pub(super) cut: Option<Cut>,
}

/// What a stream is.
pub(super) enum Told {
    /// A table of Parquet.
    Parquet,
    /// A file that says more of runs that lie beside it.
    Sidecar(&'static Sidecar),
    /// Records of this format.
    Format(&'static Format),
    /// None of these.
    Unclaimed(Unclaimed),
}

/// The first blocks of a stream: small at first, because most files are.
pub(super) fn feed<'p>(request: &'p Request<'_>, stream: Box<dyn Read + Send>) -> Feed<'p> {
    let mut feed = Feed::new(stream, request.progress, request.max_record);
    for block in [FIRST, 8 * FIRST, BLOCK] {
        feed.fill(block);
    }
    after_mark(feed)
}

/// Passes over a byte order mark.
fn after_mark(mut feed: Feed<'_>) -> Feed<'_> {
    if feed.bytes().starts_with(b"\xEF\xBB\xBF") {
        feed.done(3);
    }
    feed
}

/// Reads the start of a stream and looks at it.
pub(super) fn look<'p>(
    request: &'p Request<'_>,
    stream: Box<dyn Read + Send>,
    path: &Path,
) -> Start<'p> {
    look_at(request, feed(request, stream), path)
}

/// Looks at the start of a stream.
fn look_at<'p>(request: &Request<'_>, feed: Feed<'p>, path: &Path) -> Start<'p> {
    let first = first_object(feed.bytes());
    let framing = match request.options.mapping.as_deref() {
        Some(mapping) => formats::mapped::framing(mapping, feed.bytes()),
        None => Framing::told(feed.bytes(), first.as_ref()),
    };
    let told = if feed.bytes().starts_with(b"PAR1") {
        Told::Parquet
    } else if let Some(format) = request.format {
        Told::Format(format)
    } else if let Some(kind) = sidecars::detect(feed.bytes(), first.as_ref()) {
        Told::Sidecar(kind)
    } else {
        match formats::detect_knowing(path, feed.bytes(), framing, first.as_ref()) {
            Ok(format) => Told::Format(format),
            Err(unclaimed) => Told::Unclaimed(unclaimed),
        }
    };
    Start { feed, framing, told, first, cut: None }
}

/// Whether a file that starts like this is of a known form.
pub(super) fn is_known(path: &Path, head: &[u8]) -> bool {
    let first = first_object(head);
    sidecars::detect(head, first.as_ref()).is_some()
        || formats::detect_knowing(path, head, Framing::told(head, first.as_ref()), first.as_ref())
            .is_ok()
}

/// Looks at the first of these sources, one at least, as many as are small and may share the threads;
/// `None` for each that waits for its turn.
pub(super) fn look_ahead<'p>(
    sources: &[Source],
    request: &'p Request<'_>,
) -> Vec<Option<Start<'p>>> {
    let small = |source: &Source| {
        if source.is_input() {
            return None;
        }
        let found = std::fs::metadata(&source.path).ok().filter(std::fs::Metadata::is_file)?;
        // What has no size may be no file of a disk, and without an end.
        usize::try_from(found.len()).ok().filter(|size| (1..=SMALL).contains(size))
    };
    let (mut sizes, mut bytes) = (Vec::new(), 0);
    if request.threads > 1 {
        for size in sources.iter().take(FILES).map_while(small) {
            bytes += size;
            if bytes > TOGETHER {
                break;
            }
            sizes.push(size);
        }
    }
    if sizes.len() < 2 {
        return sources.iter().take(1).map(|_| None).collect();
    }
    let look = |at: usize| {
        let path = &sources[at].path;
        let feed = Feed::whole(read_plain(path, sizes[at])?, request.progress, request.max_record);
        let mut start = look_at(request, after_mark(feed), path);
        if let Told::Format(format) = start.told
            && matches!(format.reader, Reader::Whole(_))
            && !request.strict
        {
            let framing = framing_of(format, start.framing);
            let (bytes, base) = (start.feed.bytes(), start.feed.offset());
            start.cut = Some(Cut::of(bytes, base, format, framing, start.first.as_ref()));
        }
        Some(start)
    };
    in_parallel(request.threads, sizes.len(), &look, None)
}
