//! One stream that is in no file: bytes in memory, a socket, what another program writes.
//!
//! Owns reading it as a file of that name would be read. Refuses zip archives, whose list of members
//! stands at their end, and looks at no file beside it.

use std::io::Read;
use std::path::Path;

use super::joins::Again;
use super::read::{Request, Session, Visitor};
use super::{ReadError, Tally, source};

/// Reads one stream, gz and zst undone, as [`read`](super::read()) reads a named file. `path` is the
/// name under which it is told; nothing is opened.
///
/// # Errors
/// A stream that cannot be read or recognised; with `strict`, the first thing that is lost.
pub fn read_stream<V: Visitor>(
    stream: Box<dyn Read + Send>,
    path: &Path,
    request: &Request<'_>,
    visitor: &V,
    collect: &mut dyn FnMut(V::Out),
) -> Result<Tally, ReadError> {
    let mut session = Session::new(request, visitor, collect, 1);
    let stream = source::piped(stream, path)?;
    session.stream(stream, path, true, Again::Never)?;
    session.finish()
}
