//! Zip archives: those of a format that has its own, and all others, which are read like folders.
//!
//! Owns which members are read and in which order. Refuses archives inside archives, archives whose
//! members share bytes, members beyond [`formats::MEMBER_LIMIT`] and damaged ones; each is told, and
//! costs no other. Of a large member that is no trace, only the start is unpacked: a small archive may
//! hold terabytes of zeros.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use super::formats::{self, Format};
use super::joins::Again;
use super::read::{BLOCK, Session, Visitor};
use super::source::{self, Source};
use super::{ReadError, block, starts};
use crate::model::{Issue, Place};

impl<V: Visitor> Session<'_, V> {
    pub(super) fn archive(
        &mut self,
        mut archive: zip::ZipArchive<File>,
        source: &Source,
    ) -> Result<(), ReadError> {
        let mut members: Vec<(String, usize)> = Vec::new();
        let mut nameless = 0_usize;
        for index in 0..archive.len() {
            match archive.name_for_index(index) {
                Some(Ok(name)) => members.push((name.into_owned(), index)),
                _ => nameless += 1,
            }
        }
        if nameless > 0 {
            let reason = format!("{nameless} members whose names cannot be read");
            self.cannot_read(&source.path, reason)?;
        }
        let listed: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        let known = formats::FORMATS.iter().find_map(|format| {
            format.archive.filter(|(is, _)| is(&listed)).map(|(_, read)| (format, read))
        });
        if let Some((format, read)) = known {
            return self.known_archive(&mut archive, &source.path, format, read);
        }
        if archive.has_duplicate_names() {
            let reason = "several members have the same name: only the last of each is read";
            self.cannot_read(&source.path, reason.to_owned())?;
        }
        // An archive of any size could otherwise hold the same bytes any number of times.
        if archive.has_overlapping_files().unwrap_or(false) {
            let reason = "its members overlap, as in no archive that is made to be read";
            return match source.named {
                true => Err(ReadError::Unreadable {
                    path: source.path.clone(),
                    reason: format!("damaged zip archive: {reason}"),
                }),
                false => self.cannot_read(&source.path, reason.to_owned()),
            };
        }
        // Any other archive is a folder: its members are read as files.
        members.sort_unstable();
        self.two_passes = self.request.format.is_none();
        self.many = true;
        for (name, index) in members.iter().filter(|(name, _)| !name.ends_with('/')) {
            let path = source.path.join(name);
            match self.looked_at(&mut archive, *index, &path) {
                Ok(bytes) if source::is_zip(&bytes) => {
                    let reason = "an archive inside an archive: unpack it and give it by itself";
                    self.cannot_read(&path, reason.to_owned())?;
                }
                Ok(bytes) => match source::decompress(Box::new(Cursor::new(bytes)), &path) {
                    Ok(stream) => {
                        let again = Again::Member(source.path.clone(), *index);
                        self.stream(stream, &path, false, again)?;
                    }
                    Err(ReadError::Unreadable { reason, .. }) => self.cannot_read(&path, reason)?,
                    Err(error) => self.cannot_read(&path, error.to_string())?,
                },
                Err(reason) => self.cannot_read(&path, reason)?,
            }
        }
        Ok(())
    }

    /// The bytes of a member; no more than detection looks at where that finds nothing to read.
    fn looked_at(
        &self,
        archive: &mut zip::ZipArchive<File>,
        index: usize,
        path: &Path,
    ) -> Result<Vec<u8>, String> {
        if self.request.format.is_some() || self.request.options.mapping.is_some() {
            return member(archive, index);
        }
        // One byte more than detection sees tells whether the member ends there, and is sound.
        let head = unpack(archive, index, BLOCK as u64 + 1)?;
        let seen = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
        if head.len() <= BLOCK
            || !(source::is_packed(seen)
                || seen.starts_with(b"PAR1")
                || starts::is_known(path, seen))
        {
            return Ok(head);
        }
        member(archive, index)
    }

    fn known_archive(
        &mut self,
        archive: &mut zip::ZipArchive<File>,
        path: &Path,
        format: &Format,
        read: formats::ReadArchive,
    ) -> Result<(), ReadError> {
        let file = self.begin(path, format);
        let place = Place { file, ..Place::default() };
        let mut found: Vec<block::Outcome<V::Out>> = Vec::new();
        let mut state = self.take_state();
        read(archive, place, &self.request.options, &mut |parsed| {
            found.push(match parsed {
                Ok(parsed) => {
                    let outs: Vec<V::Out> =
                        parsed.runs.iter().map(|run| self.visitor.visit(&mut state, run)).collect();
                    (Ok((outs, parsed.issues)), false)
                }
                Err((place, refusal)) => {
                    (Err(Issue::rejected(refusal.code, place, refusal.message)), false)
                }
            });
        });
        self.put_state(state);
        self.take_in(file, found)
    }
}

/// The bytes of a member, held in memory because an archive cannot be read from another thread.
pub(super) fn member(archive: &mut zip::ZipArchive<File>, index: usize) -> Result<Vec<u8>, String> {
    let bytes = unpack(archive, index, formats::MEMBER_LIMIT + 1)?;
    if bytes.len() as u64 > formats::MEMBER_LIMIT {
        return Err("the member is larger than 1 GiB".to_owned());
    }
    Ok(bytes)
}

/// The first bytes of a member. The declared size may lie, so the bound holds for what really comes out.
fn unpack(archive: &mut zip::ZipArchive<File>, index: usize, most: u64) -> Result<Vec<u8>, String> {
    let damaged = |error: &dyn std::fmt::Display| format!("damaged archive member: {error}");
    let entry = archive.by_index(index).map_err(|error| damaged(&error))?;
    let mut bytes = Vec::new();
    entry.take(most).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
    Ok(bytes)
}
