//! From what the user typed to streams of bytes: files, folders, globs, standard input, and what
//! is compressed.
//!
//! Owns the order of inputs (as given; a folder's files sorted by path) and the reasons why a path
//! is left out. Symbolic links inside folders are not followed, so that loops cannot form, and
//! hidden files are left out. Nothing is written anywhere.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::{FileTally, LeftOut, ReadError};

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path as shown to people; `-` for standard input.
    pub path: PathBuf,
    /// Named by the user, so that an unknown form is an error; one found in a folder or by a glob is only told.
    pub named: bool,
}

impl Source {
    /// Whether it is standard input, and no file of that name.
    #[must_use]
    pub fn is_input(&self) -> bool {
        is_input(&self.path)
    }
}

/// Whether a path means standard input.
pub(super) fn is_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What was found under the given paths.
#[derive(Debug, Default)]
pub struct Sources {
    /// What to read, in order.
    pub sources: Vec<Source>,
    /// What was left out, with the reason.
    pub left_out: Vec<FileTally>,
}

/// Finds the files that the given paths mean.
///
/// # Errors
/// A path that does not exist, a glob that is malformed or matches nothing, a folder that cannot be listed.
pub fn find(paths: &[PathBuf]) -> Result<Sources, ReadError> {
    let mut found = Sources::default();
    let mut seen = HashSet::new();
    for path in paths {
        if is_input(path) {
            found.add(path.clone(), true, &mut seen);
        } else if path.is_dir() {
            walk(path, usize::MAX, &mut found, &mut seen, |_| true)?;
        } else if path.exists() {
            found.add(path.clone(), true, &mut seen);
        } else if is_glob(path) {
            expand(path, &mut found, &mut seen)?;
        } else {
            return Err(ReadError::Unreadable {
                path: path.clone(),
                reason: "no such file or folder".to_owned(),
            });
        }
    }
    Ok(found)
}

fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// Walks from the last folder of the pattern that has no wildcard.
fn expand(
    pattern: &Path,
    found: &mut Sources,
    seen: &mut HashSet<PathBuf>,
) -> Result<(), ReadError> {
    let unreadable = |reason: String| ReadError::Unreadable { path: pattern.to_owned(), reason };
    let glob = globset::GlobBuilder::new(&pattern.to_string_lossy())
        .literal_separator(true)
        .build()
        .map_err(|error| unreadable(format!("malformed glob: {}", error.kind())))?
        .compile_matcher();
    let base: PathBuf = pattern.iter().take_while(|part| !is_glob(Path::new(part))).collect();
    let shown = if base.as_os_str().is_empty() { Path::new(".") } else { &base };
    if !shown.is_dir() {
        return Err(unreadable("the glob matches no file".to_owned()));
    }
    let before = found.sources.len() + found.left_out.len();
    let relative = base.as_os_str().is_empty();
    // Without `**` a match lies no deeper than the pattern has parts, so nothing below is walked.
    let any_depth = pattern.iter().any(|part| part.to_string_lossy().contains("**"));
    let depth = pattern.iter().count().saturating_sub(base.iter().count());
    let depth = if any_depth { usize::MAX } else { depth };
    walk(shown, depth, found, seen, |path| {
        glob.is_match(if relative { path.strip_prefix(".").unwrap_or(path) } else { path })
    })?;
    if found.sources.len() + found.left_out.len() == before {
        return Err(unreadable("the glob matches no file".to_owned()));
    }
    Ok(())
}

fn walk(
    folder: &Path,
    max_depth: usize,
    found: &mut Sources,
    seen: &mut HashSet<PathBuf>,
    wanted: impl Fn(&Path) -> bool,
) -> Result<(), ReadError> {
    let hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    let entries = walkdir::WalkDir::new(folder)
        .max_depth(max_depth)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || !hidden(entry.file_name()));
    // The folder of the file before, as given and as it is.
    let mut parents: Option<(PathBuf, PathBuf)> = None;
    for entry in entries {
        match entry {
            Ok(entry) if entry.file_type().is_file() => {
                if wanted(entry.path()) {
                    // It is no link, so that its folder and name tell it apart.
                    let parent = entry.path().parent().unwrap_or(folder);
                    if parents.as_ref().is_none_or(|(known, _)| known != parent) {
                        parents = Some((parent.to_owned(), identity(parent)));
                    }
                    let real = parents.as_ref().map(|(_, real)| real.join(entry.file_name()));
                    let real = real.unwrap_or_else(|| entry.path().to_owned());
                    found.add_known(entry.into_path(), real, false, seen);
                }
            }
            Ok(entry) if entry.path_is_symlink() && wanted(entry.path()) => found.leave_out(
                entry.into_path(),
                "a symbolic link, not followed".to_owned(),
                LeftOut::NotATrace,
            ),
            Ok(_) => {}
            Err(error) if error.depth() == 0 => {
                return Err(ReadError::Unreadable {
                    path: folder.to_owned(),
                    reason: error.to_string(),
                });
            }
            Err(error) => found.leave_out(
                error.path().unwrap_or(folder).to_owned(),
                error.to_string(),
                LeftOut::Unreadable,
            ),
        }
    }
    Ok(())
}

/// The path by which a file is known however it is given.
fn identity(path: &Path) -> PathBuf {
    if is_input(path) {
        return path.to_owned();
    }
    let empty = path.as_os_str().is_empty();
    let path = if empty { Path::new(".") } else { path };
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

impl Sources {
    fn add(&mut self, path: PathBuf, named: bool, seen: &mut HashSet<PathBuf>) {
        let real = identity(&path);
        self.add_known(path, real, named, seen);
    }

    fn add_known(
        &mut self,
        path: PathBuf,
        real: PathBuf,
        named: bool,
        seen: &mut HashSet<PathBuf>,
    ) {
        if seen.insert(real) {
            self.sources.push(Source { path, named });
        } else {
            self.leave_out(path, "the same file was given before".to_owned(), LeftOut::Repeated);
        }
    }

    fn leave_out(&mut self, path: PathBuf, reason: String, what: LeftOut) {
        self.left_out.push(FileTally::left_out(path, what, reason));
    }

    /// What `--strict` asks of what was found.
    ///
    /// # Errors
    /// The first thing that is there and cannot be read.
    pub fn require_readable(&self) -> Result<(), ReadError> {
        match self.left_out.iter().find(|file| file.unreadable()) {
            Some(file) => Err(ReadError::unreadable_input(
                &file.path,
                file.left_out.as_deref().unwrap_or_default(),
            )),
            None => Ok(()),
        }
    }
}

/// A stream of bytes, decompressed.
pub(super) enum Stream {
    /// Bytes of the file, or what its compression holds.
    Bytes(Box<dyn Read + Send>),
    /// A zip archive.
    Zip(zip::ZipArchive<File>),
}

/// Opens a source; gz, zst and zip are told by their first bytes.
///
/// # Errors
/// The file cannot be opened or read, or its compression is damaged at the start.
pub(super) fn open(path: &Path) -> Result<Stream, ReadError> {
    let fail = |reason: String| ReadError::Unreadable { path: path.to_owned(), reason };
    if is_input(path) {
        return piped(Box::new(io::stdin()), path).map(Stream::Bytes);
    }
    let mut file = File::open(path).map_err(|error| fail(error.to_string()))?;
    let mut head = [0; 4];
    let (length, error) = read_up_to(&mut file, &mut head);
    if let Some(error) = error {
        return Err(fail(error.to_string()));
    }
    if io::Seek::rewind(&mut file).is_err() {
        // A pipe cannot be rewound: what was read is put back.
        let head = io::Cursor::new(head.into_iter().take(length).collect::<Vec<u8>>());
        return piped(Box::new(head.chain(file)), path).map(Stream::Bytes);
    }
    if is_zip(&head) {
        let archive = zip::ZipArchive::new(file)
            .map_err(|error| fail(format!("damaged zip archive: {error}")))?;
        return Ok(Stream::Zip(archive));
    }
    decompress(Box::new(file), path).map(Stream::Bytes)
}

/// Whether a file that starts like this is a zip archive.
pub(super) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// Whether what starts like this is an archive, or compressed once more.
pub(super) fn is_packed(head: &[u8]) -> bool {
    is_zip(head) || is_gz(head) || is_zst(head)
}

/// All of a plain file of this size; `None` where it cannot be read or has grown, or is an archive or
/// compressed.
pub(super) fn read_plain(path: &Path, size: usize) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut head = [0; 4];
    let (length, error) = read_up_to(&mut file, &mut head);
    let head = head.get(..length).filter(|head| error.is_none() && !is_packed(head))?;
    let mut bytes = Vec::with_capacity(size + 1);
    bytes.extend_from_slice(head);
    file.take((size + 1).saturating_sub(length) as u64).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= size).then_some(bytes)
}

fn is_gz(head: &[u8]) -> bool {
    head.starts_with(b"\x1F\x8B")
}

fn is_zst(head: &[u8]) -> bool {
    head.starts_with(b"\x28\xB5\x2F\xFD")
}

/// What comes through a pipe. The list of a zip's members stands at its end, so it needs a file.
///
/// # Errors
/// The stream cannot be read, holds a zip archive, or its compression is damaged at the start.
pub(super) fn piped(
    mut stream: Box<dyn Read + Send>,
    path: &Path,
) -> Result<Box<dyn Read + Send>, ReadError> {
    let mut head = vec![0; 4];
    let (length, error) = read_up_to(&mut stream, &mut head);
    head.truncate(length);
    let from = if is_input(path) { "standard input" } else { "a pipe" };
    let reason = match error {
        Some(error) => error.to_string(),
        None if is_zip(&head) => {
            format!("a zip archive cannot be read from {from}: give it as a file")
        }
        None => {
            return decompress(Box::new(io::Cursor::new(head).chain(stream)), path);
        }
    };
    Err(ReadError::Unreadable { path: path.to_owned(), reason })
}

/// Undoes one layer of gz or zst, told by the first bytes.
///
/// # Errors
/// The stream cannot be read, or the decoder refuses its start.
pub(super) fn decompress(
    mut stream: Box<dyn Read + Send>,
    path: &Path,
) -> Result<Box<dyn Read + Send>, ReadError> {
    let fail = |error: io::Error| ReadError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let mut head = vec![0; 4];
    let (length, error) = read_up_to(&mut stream, &mut head);
    if let Some(error) = error {
        return Err(fail(error));
    }
    head.truncate(length);
    let (gz, zst) = (is_gz(&head), is_zst(&head));
    let whole = io::Cursor::new(head).chain(stream);
    Ok(if gz {
        Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
    } else if zst {
        Box::new(zstd::Decoder::new(whole).map_err(fail)?)
    } else {
        Box::new(whole)
    })
}

/// Fills `buffer` as far as the stream goes; with the error that stopped it, if one did.
pub(super) fn read_up_to(stream: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error)),
        }
    }
    (filled, None)
}
