//! People against the config: a sheet of runs or steps to rate blind, and how far both agree.
//!
//! Owns: the seeded, stratified draw, the sheet and the key as they are stored, reading filled sheets,
//! and the score. The sheet never holds a verdict of the config; the key does, and is kept apart.
//! Refuses to judge runs, which is done before, and to guess a rating: a word that is none is an error,
//! a blank one is counted and left out.

mod contents;
mod draw;
mod figure;
mod read;
mod score;
mod wire;

pub use contents::content;
pub use draw::{Draw, Unit, draw, ids};
pub use figure::Figure;
pub use read::{KeyError, Rating, Ratings, SheetError, read_key, read_sheet};
pub use score::{Between, Figures, LEVEL, Rater, Score, ScoreError, score};
pub use wire::{Key, KeyRow, KeyStratum, SHEET_COLUMNS, Sheet, SheetRow, UnitKind, Verdict};
