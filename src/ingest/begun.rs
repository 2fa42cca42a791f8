//! What is done with a stream by what its start told: it is put off, left out, or its account is opened.
//!
//! Owns the order of these decisions. Refuses to look again, and to read records.

use std::path::Path;

use super::formats::sidecars;
use super::formats::{self, Format, Unclaimed, harbor};
use super::joins::{Again, may_be_of_trial};
use super::json_rows::Objects;
use super::read::{Session, Visitor};
use super::rows::Table;
use super::small::Cut;
use super::split::Framing;
use super::starts::{Start, Told};
use super::{LeftOut, ReadError};

/// The open account of a file, and what its start told of how it is read.
#[derive(Default)]
pub(super) struct Begun {
    pub(super) file: u32,
    pub(super) table: Option<Table>,
    pub(super) objects: Option<Objects>,
    /// Its records, where they were told apart ahead.
    pub(super) cut: Option<Cut>,
}

/// How the records of a format are told apart in a file that starts like this.
pub(super) fn framing_of(format: &Format, told: Framing) -> Framing {
    match told {
        Framing::Elements if !format.splits_arrays => Framing::Values,
        told => told,
    }
}

impl<'s, V: Visitor> Session<'s, V> {
    /// Tells of a file without a run: an error where it was named, else it is left out.
    fn unusable(
        &mut self,
        path: &Path,
        named: bool,
        reason: String,
        what: LeftOut,
    ) -> Result<(), ReadError> {
        if named {
            return Err(ReadError::Unrecognised { path: path.to_owned(), reason });
        }
        self.leave_out(path, reason, what);
        Ok(())
    }

    /// Reads a stream by what its start told.
    pub(super) fn started(
        &mut self,
        start: Start<'s>,
        path: &Path,
        named: bool,
        again: Again,
    ) -> Result<(), ReadError> {
        let Start { feed, framing, told, cut, .. } = start;
        if let Some(damage) = feed.damage().filter(|_| !named && feed.bytes().is_empty()) {
            return self.cannot_read(path, damage.to_owned());
        }
        let mapping = self.request.options.mapping.as_deref();
        let format = match told {
            Told::Parquet => return self.parquet(feed, path, named),
            Told::Sidecar(kind) => return self.sidecar(feed, path, named, kind),
            Told::Format(format) => format,
            Told::Unclaimed(Unclaimed { what, reason }) => {
                if let Some(damage) = feed.damage().filter(|_| !named) {
                    return self.cannot_read(path, damage.to_owned());
                }
                if self.request.strict && !named && what == LeftOut::NeedsMap {
                    return Err(ReadError::unreadable_input(path, &reason));
                }
                return self.unusable(path, named, reason, what);
            }
        };
        let waits = sidecars::joins(format.name)
            || format.name == harbor::HARBOR.name
            || may_be_of_trial(path, format);
        if self.two_passes && waits {
            self.put_off(feed, path, format, again);
            return Ok(());
        }
        let is_table = mapping.is_none_or(|map| formats::mapped::is_table(map, feed.bytes()));
        let table =
            match Table::open(path, feed.bytes(), format).map(|table| table.filter(|_| is_table)) {
                Ok(table) => table,
                Err(reason) => return self.unusable(path, named, reason, LeftOut::NotATrace),
            };
        let inside = if table.is_none() { framing_of(format, framing) } else { framing };
        let objects = match Objects::open(feed.bytes(), inside, format) {
            Ok(objects) => objects,
            Err(reason) => return self.unusable(path, named, reason, LeftOut::NotATrace),
        };
        let file = self.begin(path, format);
        self.records(feed, framing, format, path, Begun { file, table, objects, cut })
    }
}
