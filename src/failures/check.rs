//! Whether runs bring back what was fixed, or still have what was put up with for a time.

use std::collections::BTreeMap;

use super::failure::{Day, KnownFailure, Status};
use super::gather::Gathered;
use super::store::Library;

/// What is to be said of a failure that the runs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// It was fixed, and is back.
    Back,
    /// Its quarantine has ended, and it is still there.
    QuarantineEnded,
    /// The library does not have it.
    New,
    /// It is in quarantine.
    Quarantined,
    /// It is in the library and not mended, or nobody has looked at it.
    Known,
}

impl Finding {
    /// Its word in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Back => "back",
            Self::QuarantineEnded => "quarantine_ended",
            Self::New => "new",
            Self::Quarantined => "quarantined",
            Self::Known => "known",
        }
    }
}

/// One failure that the runs have.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<'c> {
    /// Its id.
    pub id: &'c str,
    /// What is to be said of it.
    pub finding: Finding,
    /// What the runs have of it.
    pub found: &'c Gathered,
    /// What the library has of it.
    pub known: Option<&'c KnownFailure>,
}

/// What runs have of a library, the gravest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Check<'c> {
    /// Every signature of the runs.
    pub all: Vec<Checked<'c>>,
}

impl Check<'_> {
    /// How many have this finding.
    #[must_use]
    pub fn count(&self, finding: Finding) -> u64 {
        self.all.iter().filter(|one| one.finding == finding).count() as u64
    }

    /// Whether something that was fixed is back, or a quarantine has ended and it is still there.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.count(Finding::Back) + self.count(Finding::QuarantineEnded) > 0
    }
}

/// Holds what was gathered against a library. A quarantine holds through its last day.
#[must_use]
pub fn check<'c>(
    library: &'c Library,
    found: &'c BTreeMap<String, Gathered>,
    today: &Day,
) -> Check<'c> {
    let mut all: Vec<Checked<'c>> = found
        .iter()
        .map(|(id, found)| {
            let known = library.get(id);
            let finding = match known.map(|known| &known.status) {
                None => Finding::New,
                Some(Status::Fixed) => Finding::Back,
                Some(Status::Quarantined(until)) if until < today => Finding::QuarantineEnded,
                Some(Status::Quarantined(_)) => Finding::Quarantined,
                Some(Status::New | Status::Known) => Finding::Known,
            };
            Checked { id, finding, found, known }
        })
        .collect();
    let runs = |one: &Checked<'_>| std::cmp::Reverse(one.found.seen.runs.count());
    all.sort_by(|a, b| (a.finding, runs(a), a.id).cmp(&(b.finding, runs(b), b.id)));
    Check { all }
}
