//! How far people and the config agree on the rows of a sheet.

use std::collections::{BTreeMap, BTreeSet};

use super::figure::Figure;
use super::read::{Rating, Ratings};
use super::wire::{Key, KeyStratum, Verdict};
use crate::stats::{Estimate, JudgeAgreement, RatedStratum, judge_agreement, rater_agreement};

/// The level of all intervals.
pub const LEVEL: f64 = 0.95;

/// What one person filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rater {
    /// The name of the sheet.
    pub name: String,
    /// Rows with pass or fail.
    pub rated: u64,
    /// Rows with `unsure`.
    pub unsure: u64,
    /// Rows of the key without a word, or not in the sheet.
    pub blank: u64,
}

/// How far two people agree on the rows that both rated.
#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    /// Who.
    pub raters: (String, String),
    /// The table, pass first.
    pub counts: [[u64; 2]; 2],
    /// Share of equal verdicts; `None` where they rated no row together.
    pub agreement: Option<Estimate>,
    /// Cohen's kappa; `None` without rows, or where all verdicts are one.
    pub kappa: Option<Estimate>,
}

/// People against the config.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Each person.
    pub raters: Vec<Rater>,
    /// Rows that were drawn.
    pub rows: u64,
    /// Rows on which people agree by majority.
    pub scored: u64,
    /// Rows on which as many people pass as fail: they are left out.
    pub split: u64,
    /// Rows that nobody passed or failed: they are left out.
    pub unrated: u64,
    /// What the rows stand for, with the number of those that are scored.
    pub strata: Vec<(KeyStratum, u64)>,
    /// Scored rows: the config's verdict first, then the people's; pass first.
    pub counts: [[u64; 2]; 2],
    /// The strata with a scored row.
    pub rated: Vec<RatedStratum>,
    /// The figures; `None` where a stratum has no scored row, since nothing then stands for it.
    pub agreement: Option<JudgeAgreement>,
    /// People among themselves, each pair.
    pub between: Vec<Between>,
}

/// The figures of a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Share of equal verdicts.
    pub agreement: Figure,
    /// Cohen's kappa.
    pub kappa: Figure,
    /// Of what people pass, the share that the config passes.
    pub sensitivity: Figure,
    /// Of what people fail, the share that the config fails.
    pub specificity: Figure,
    /// The rate that people would find.
    pub corrected: Figure,
}

impl Score {
    /// Its figures, each with its interval or why there is none.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let Some(found) = self.agreement else {
            let missing = || self.missing();
            return Figures {
                agreement: missing(),
                kappa: missing(),
                sensitivity: missing(),
                specificity: missing(),
                corrected: missing(),
            };
        };
        Figures {
            agreement: found.agreement.into(),
            kappa: Figure::or_missing(found.kappa, ONE_VERDICT),
            sensitivity: Figure::or_missing(found.sensitivity, "people passed none"),
            specificity: Figure::or_missing(found.specificity, "people failed none"),
            corrected: found.corrected.into(),
        }
    }
}

impl Score {
    /// The share that the config passes, of everything that was drawn from.
    #[must_use]
    pub fn rate_by_config(&self) -> Option<f64> {
        let all: f64 = self.strata.iter().map(|(stratum, _)| number(stratum.size)).sum();
        let passed = self.strata.iter().filter(|(stratum, _)| stratum.judge == Verdict::Pass);
        let passed: f64 = passed.map(|(stratum, _)| number(stratum.size)).sum();
        (all > 0.0).then(|| passed / all)
    }

    /// Why there are no figures.
    #[must_use]
    pub fn missing(&self) -> Figure {
        let unrated = self.strata.iter().find(|(_, scored)| *scored == 0);
        match unrated.filter(|_| self.scored > 0) {
            Some((stratum, _)) => {
                Figure::missing(&format!("the stratum {} has no rated row", stratum.judge.name()))
            }
            None => Figure::missing("no row is scored"),
        }
    }
}

impl Between {
    /// Share of equal verdicts.
    #[must_use]
    pub fn agreement(&self) -> Figure {
        Figure::or_missing(self.agreement, "they rated no row together")
    }

    /// Cohen's kappa.
    #[must_use]
    pub fn kappa(&self) -> Figure {
        let none = self.agreement.is_none();
        Figure::or_missing(
            self.kappa,
            if none { "they rated no row together" } else { ONE_VERDICT },
        )
    }
}

/// Why there is no kappa.
const ONE_VERDICT: &str = "both give one and the same verdict";

/// Why sheets and key do not go together.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// A row that the key does not have.
    #[error(
        "{rater}: the row `{id}` is not in the key; give the key that was written with this sheet"
    )]
    UnknownRow {
        /// The sheet.
        rater: String,
        /// The row.
        id: String,
    },
    /// A key that is not as it was written.
    #[error("the key is damaged: {0}; draw a new sheet")]
    Damaged(String),
}

fn at(verdict: Verdict) -> usize {
    usize::from(verdict == Verdict::Fail)
}

/// Holds filled sheets against the key.
///
/// # Errors
/// A row that the key does not have, and a key whose numbers do not go together.
pub fn score(key: &Key, sheets: &[Ratings]) -> Result<Score, ScoreError> {
    check(key)?;
    let known: BTreeSet<&str> = key.rows.iter().map(|row| row.id.as_str()).collect();
    for sheet in sheets {
        if let Some(id) = sheet.ratings.keys().find(|id| !known.contains(id.as_str())) {
            let id = id.chars().take(60).collect();
            return Err(ScoreError::UnknownRow { rater: sheet.rater.clone(), id });
        }
    }
    let mut counts = [[0_u64; 2]; 2];
    let (mut split, mut unrated) = (0, 0);
    for row in &key.rows {
        let mut votes = [0_u64; 2];
        for sheet in sheets {
            if let Some(Rating::Verdict(verdict)) = sheet.ratings.get(&row.id) {
                votes[at(*verdict)] += 1;
            }
        }
        match votes {
            [0, 0] => unrated += 1,
            [pass, fail] if pass == fail => split += 1,
            [pass, fail] => counts[at(row.judge)][usize::from(fail > pass)] += 1,
        }
    }
    let scored_of = |stratum: &KeyStratum| counts[at(stratum.judge)].iter().sum::<u64>();
    let strata: Vec<(KeyStratum, u64)> =
        key.strata.iter().map(|stratum| (*stratum, scored_of(stratum))).collect();
    let rated: Vec<RatedStratum> = strata
        .iter()
        .filter(|(_, scored)| *scored > 0)
        .map(|(stratum, _)| {
            let mut cells = [[0.0; 2]; 2];
            cells[at(stratum.judge)] = counts[at(stratum.judge)].map(number);
            RatedStratum { size: number(stratum.size), cells }
        })
        .collect();
    let complete = strata.iter().all(|(_, scored)| *scored > 0);
    Ok(Score {
        raters: sheets.iter().map(|sheet| rater(key, sheet)).collect(),
        rows: key.rows.len() as u64,
        scored: counts.iter().flatten().sum(),
        split,
        unrated,
        agreement: complete.then(|| judge_agreement(&rated, LEVEL)).flatten(),
        strata,
        counts,
        rated,
        between: pairs(sheets),
    })
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs and steps")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Refuses a key that was edited into nonsense.
fn check(key: &Key) -> Result<(), ScoreError> {
    let mut ids = BTreeSet::new();
    let mut drawn = [0_u64; 2];
    for row in &key.rows {
        if !ids.insert(&row.id) {
            let id: String = row.id.chars().take(60).collect();
            return Err(ScoreError::Damaged(format!("it has the row `{id}` twice")));
        }
        drawn[at(row.judge)] += 1;
    }
    let mut told = BTreeMap::new();
    for stratum in &key.strata {
        let sound = stratum.size > 0
            && stratum.drawn <= stratum.size
            && drawn[at(stratum.judge)] == stratum.drawn
            && told.insert(stratum.judge, ()).is_none();
        if !sound {
            let name = stratum.judge.name();
            return Err(ScoreError::Damaged(format!(
                "the numbers of its stratum `{name}` do not fit its rows"
            )));
        }
    }
    let untold =
        Verdict::BOTH.iter().any(|judge| drawn[at(*judge)] > 0 && !told.contains_key(judge));
    if untold {
        return Err(ScoreError::Damaged("a stratum of its rows is missing".to_owned()));
    }
    Ok(())
}

fn rater(key: &Key, sheet: &Ratings) -> Rater {
    let mut rater = Rater { name: sheet.rater.clone(), rated: 0, unsure: 0, blank: 0 };
    for row in &key.rows {
        match sheet.ratings.get(&row.id) {
            Some(Rating::Verdict(_)) => rater.rated += 1,
            Some(Rating::Unsure) => rater.unsure += 1,
            Some(Rating::Blank) | None => rater.blank += 1,
        }
    }
    rater
}

fn pairs(sheets: &[Ratings]) -> Vec<Between> {
    let mut all = Vec::new();
    for (nth, first) in sheets.iter().enumerate() {
        for second in sheets.iter().skip(nth + 1) {
            let mut counts = [[0_u64; 2]; 2];
            for (id, rating) in &first.ratings {
                if let (Rating::Verdict(a), Some(Rating::Verdict(b))) =
                    (rating, second.ratings.get(id))
                {
                    counts[at(*a)][at(*b)] += 1;
                }
            }
            let found = rater_agreement(counts.map(|row| row.map(number)), LEVEL);
            all.push(Between {
                raters: (first.rater.clone(), second.rater.clone()),
                counts,
                agreement: found.map(|(agreement, _)| agreement),
                kappa: found.and_then(|(_, kappa)| kappa),
            });
        }
    }
    all
}
