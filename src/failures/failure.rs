//! One failure of the library: its signature, what was seen, and what people say of it.

use std::fmt;

use super::seen::Seen;
use super::signature::Signature;
use crate::model::mask;

/// A day of the calendar, as `2026-03-31`; texts of it sort as days do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(String);

impl Day {
    /// Reads a day.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        (plain && text.parse::<jiff::civil::Date>().is_ok()).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What people have decided about a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nobody has looked yet.
    #[default]
    New,
    /// Looked at, and not mended.
    Known,
    /// Mended: it must not come back.
    Fixed,
    /// Put up with, this day included.
    Quarantined(Day),
}

impl Status {
    /// The words, in the order of lists.
    pub const WORDS: [&'static str; 4] = ["new", "known", "fixed", "quarantined"];

    /// Its word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Known => "known",
            Self::Fixed => "fixed",
            Self::Quarantined(_) => "quarantined",
        }
    }

    /// The last day of a quarantine.
    #[must_use]
    pub const fn until(&self) -> Option<&Day> {
        match self {
            Self::Quarantined(day) => Some(day),
            _ => None,
        }
    }
}

/// One failure of the library.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownFailure {
    /// What makes it this one.
    pub signature: Signature,
    /// What people have decided.
    pub status: Status,
    /// What people say of it, a line each.
    pub notes: Vec<String>,
    /// What the step or run should have given, as compact JSON.
    pub corrected_output: Option<String>,
    /// The task that it is right for, as stored; other tasks of the failure have another answer.
    pub corrected_task: Option<String>,
    /// What was seen of it.
    pub seen: Seen,
}

impl KnownFailure {
    /// One that nobody has looked at.
    #[must_use]
    pub fn new(signature: Signature, seen: Seen) -> Self {
        Self {
            signature,
            status: Status::New,
            notes: Vec::new(),
            corrected_output: None,
            corrected_task: None,
            seen,
        }
    }

    /// The task that the corrected output is right for: the one it was written for, else, where a hand
    /// wrote it into the file, that of the excerpt.
    #[must_use]
    pub fn corrected_for(&self) -> Option<&str> {
        let excerpt = || self.seen.excerpt.as_ref().and_then(|excerpt| excerpt.task.as_deref());
        self.corrected_output.as_ref()?;
        self.corrected_task.as_deref().or_else(excerpt)
    }

    /// The same with secrets masked in what people can write into the file by hand.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut masked = self.clone();
        masked.notes.iter_mut().for_each(|note| *note = mask(note));
        masked.corrected_output = self.corrected_output.as_deref().map(mask_json);
        masked.corrected_task = self.corrected_task.as_deref().map(mask);
        if let Some(excerpt) = &mut masked.seen.excerpt {
            excerpt.mask();
        }
        masked
    }
}

/// JSON with its secrets masked; where that would break it, all of it is.
#[must_use]
pub fn mask_json(json: &str) -> String {
    let masked = mask(json);
    let sound = serde_json::from_str::<serde::de::IgnoredAny>(&masked).is_ok();
    if sound { masked } else { "\"[masked]\"".to_owned() }
}
