//! The score of a review against tables that were worked out by hand.
use agenteval::review::{
    Key, KeyRow, KeyStratum, Rating, Ratings, Score, UnitKind, Verdict, score,
};
use agenteval::stats::{Estimate, RatedStratum, Uncorrected, corrected_rate, rater_agreement};

/// A key whose rows are those of a table, and the sheet that one person filled in. `sizes` is how many
/// runs the config passes and fails; `counts` has the config's verdict first, pass first.
fn filled(sizes: [u64; 2], counts: [[u64; 2]; 2]) -> (Key, Ratings) {
    let mut key = Key {
        schema: "agenteval.review-key/1".to_owned(),
        unit: UnitKind::Runs,
        seed: 42,
        config_sha256: String::new(),
        strata: Vec::new(),
        rows: Vec::new(),
    };
    let mut sheet = Ratings { rater: "ann".to_owned(), ratings: Default::default() };
    for ((judge, size), row) in Verdict::BOTH.into_iter().zip(sizes).zip(counts) {
        key.strata.push(KeyStratum { judge, size, drawn: row.iter().sum() });
        for (person, number) in Verdict::BOTH.into_iter().zip(row) {
            for _ in 0..number {
                let id = format!("s-{:04}", key.rows.len());
                sheet.ratings.insert(id.clone(), Rating::Verdict(person));
                key.rows.push(KeyRow { id, judge });
            }
        }
    }
    (key, sheet)
}

fn scored(sizes: [u64; 2], counts: [[u64; 2]; 2]) -> Score {
    let (key, sheet) = filled(sizes, counts);
    let found = score(&key, &[sheet]).unwrap();
    assert_eq!(found.counts, counts);
    found
}

#[track_caller]
fn is(found: Estimate, value: f64, low: f64, high: f64) {
    let interval = found.interval.unwrap();
    for (got, wanted) in [(found.value, value), (interval.low, low), (interval.high, high)] {
        assert!((got - wanted).abs() < 2e-6, "{got} is not {wanted}: {found:?}");
    }
}

/// 500 runs that the config passes and 500 that it fails; 50 of each are rated.
///
/// |            | people pass | people fail | of all runs |
/// | config pass | 40         | 10          | 0.40, 0.10  |
/// | config fail | 5          | 45          | 0.05, 0.45  |
#[test]
fn an_even_draw_equals_the_hand_worked_table() {
    let found = scored([500, 500], [[40, 10], [5, 45]]).agreement.unwrap();
    // 0.40 + 0.45; Wilson of 85 of 100, since the effective 102 rows are no more than there are.
    is(found.agreement, 0.85, 0.767_164, 0.906_940);
    // Chance: 0.5 * 0.45 + 0.5 * 0.55 = 0.5, so kappa = (0.85 - 0.5) / (1 - 0.5) = 0.7.
    // Derivatives: z(pass, pass) = (0.5 - 0.15 * 0.95) / 0.25 = 1.43, z(pass, fail) = -0.15 * 0.95 / 0.25
    // = -0.57, z(fail, pass) = -0.63, z(fail, fail) = 1.37: both rows of the table differ by 2.
    // Variance: 0.25 * (4 * 0.8 * 0.2) / 50 + 0.25 * (4 * 0.1 * 0.9) / 50 = 0.0032 + 0.0018 = 0.005.
    // 0.7 +- 1.959964 * 0.0707107.
    is(found.kappa.unwrap(), 0.7, 0.561_410, 0.838_590);
    // 0.40 / 0.45 and 0.45 / 0.55; Wilson of 40 of 45 and of 45 of 55.
    is(found.sensitivity.unwrap(), 40.0 / 45.0, 0.765_009, 0.951_595);
    is(found.specificity.unwrap(), 45.0 / 55.0, 0.696_695, 0.898_123);
    assert!((found.apparent - 0.5).abs() < 1e-12);
    // (0.5 + 0.818182 - 1) / (0.888889 + 0.818182 - 1) = 0.318182 / 0.707071 = 0.45 = 0.40 + 0.05.
    // Variance: 0.25 * 0.16 / 50 + 0.25 * 0.09 / 50 = 0.00125 of the ratings, and of the runs
    // (0.5 * 0.35^2 + 0.5 * 0.35^2) / 1000 = 0.0001225: 0.0013725 in all.
    is(found.corrected.unwrap(), 0.45, 0.377_389, 0.522_611);
}

/// 800 runs that the config passes and 200 that it fails; 50 of each are rated, so a row of the
/// first stands for 16 runs and one of the second for 4.
///
/// |             | people pass | people fail | of all runs           |
/// | config pass | 45          | 5           | 0.8 * 0.9, 0.8 * 0.1  |
/// | config fail | 10          | 40          | 0.2 * 0.2, 0.2 * 0.8  |
#[test]
fn an_uneven_draw_is_weighted_by_the_sizes_of_its_strata() {
    let score = scored([800, 200], [[45, 5], [10, 40]]);
    let found = score.agreement.unwrap();
    let wanted = [[0.72, 0.08], [0.04, 0.16]];
    for (got, wanted) in found.shares.iter().flatten().zip(wanted.iter().flatten()) {
        assert!((got - wanted).abs() < 1e-12);
    }
    is(found.agreement, 0.88, 0.792_495, 0.933_692);
    // Chance: 0.8 * 0.76 + 0.2 * 0.24 = 0.656; (0.88 - 0.656) / 0.344. Unweighted it would be 0.7.
    is(found.kappa.unwrap(), 0.651_163, 0.479_532, 0.822_793);
    is(found.sensitivity.unwrap(), 0.72 / 0.76, 0.854_067, 0.982_257);
    // 0.16 / 0.24; its variance 0.64 * 0.694444 / 50 + 0.04 * 0.308642 / 50 = 0.0091358 is that of
    // 24.32 rows, fewer than the 45 there are: those that the config passes weigh four times as much.
    is(found.specificity.unwrap(), 2.0 / 3.0, 0.468_365, 0.819_506);
    assert!((found.apparent - 0.8).abs() < 1e-12);
    // (0.8 + 0.666667 - 1) / 0.614035 = 0.76 = 0.72 + 0.04. Variance: 0.64 * 0.09 / 50 + 0.04 * 0.16 / 50
    // = 0.00128, and (0.8 * 0.14^2 + 0.2 * 0.56^2) / 1000 = 0.0000784: 0.0013584.
    is(found.corrected.unwrap(), 0.76, 0.687_763, 0.832_237);

    // 600 of 1,000 other runs pass: (0.6 + 0.666667 - 1) / 0.614035.
    let others = corrected_rate(&score.rated, 600.0, 1_000.0, 0.95).unwrap();
    is(others, 0.434_286, 0.259_907, 0.608_664);
}

#[test]
fn two_agreeing_rows_of_each_stratum_told_a_corrected_rate_to_five_points() {
    let score = scored([800, 200], [[2, 0], [0, 2]]);
    let found = score.agreement.unwrap();
    // A stratum of 2 of 2 has the spread of 3 of 4: 0.75 * 0.25 / 2 = 0.09375. Of both: 0.64 * 0.09375
    // + 0.04 * 0.09375 = 0.06375, and of the runs (0.8 * 0.2^2 + 0.2 * 0.8^2) / 1000 = 0.00016.
    is(found.corrected.unwrap(), 0.8, 0.304_513, 1.0);
    let others = corrected_rate(&score.rated, 800.0, 1_000.0, 0.95).unwrap();
    assert_eq!(others.value, 0.8);
    let interval = others.interval.unwrap();
    assert!(interval.high - interval.low > 0.3, "{interval:?}");
    assert!(interval.method.contains("one more row"), "{interval:?}");
    assert!(found.kappa.unwrap().interval.unwrap().low < 0.6);
}

#[test]
fn the_rate_of_the_config_was_that_of_the_only_rated_stratum() {
    let (mut key, sheet) = filled([800, 200], [[10, 0], [0, 10]]);
    key.strata[1].drawn = 10;
    let mut passes = sheet.clone();
    for row in key.rows.iter().filter(|row| row.judge == Verdict::Fail) {
        passes.ratings.insert(row.id.clone(), Rating::Blank);
    }
    let found = score(&key, &[passes]).unwrap();
    assert_eq!(found.rate_by_config(), Some(0.8));
    assert_eq!((found.scored, found.agreement.is_none()), (10, true));
    let figures = found.figures();
    for figure in [figures.agreement, figures.kappa, figures.sensitivity, figures.corrected] {
        assert_eq!(figure.how, "n/a: the stratum fail has no rated row");
        assert_eq!((figure.value, figure.bounds), (None, None));
    }
}

#[test]
fn kappa_of_two_raters_has_the_interval_of_fleiss_cohen_and_everitt() {
    let (agreement, kappa) = rater_agreement([[40.0, 10.0], [5.0, 45.0]], 0.95).unwrap();
    is(agreement, 0.85, 0.767_164, 0.906_940);
    // The mean of z is 0.4 * 1.43 + 0.1 * -0.57 + 0.05 * -0.63 + 0.45 * 1.37 = 1.1, of z^2 1.7149:
    // the variance is (1.7149 - 1.21) / 100 = 0.005049.
    is(kappa.unwrap(), 0.7, 0.560_732, 0.839_268);
}

#[test]
fn a_corrected_rate_beyond_the_range_is_cut_to_it() {
    let cells = [[40.0, 10.0], [5.0, 45.0]];
    let strata = [RatedStratum { size: 100.0, cells }];
    // (0.1 + 0.818182 - 1) / 0.707071 is below 0.
    let few = corrected_rate(&strata, 10.0, 100.0, 0.95).unwrap();
    assert_eq!(few.value, 0.0);
    assert_eq!(few.interval.unwrap().low, 0.0);
    assert_eq!(corrected_rate(&strata, 0.0, 0.0, 0.95), Err(Uncorrected::NoRuns));
}

#[test]
fn a_judge_no_better_than_chance_gives_no_corrected_rate() {
    // Sensitivity 20/50, specificity 20/50: together 0.8.
    let found = scored([50, 50], [[20, 30], [30, 20]]).agreement.unwrap();
    assert_eq!(found.corrected, Err(Uncorrected::NoBetterThanChance));
    assert!(found.kappa.unwrap().value < 0.0);
    let found = scored([50, 50], [[50, 0], [50, 0]]).agreement.unwrap();
    assert_eq!(found.corrected, Err(Uncorrected::OneVerdict));
    assert!(found.specificity.is_none());
}

#[test]
fn blank_and_unsure_rows_are_counted_and_left_out() {
    let (key, mut sheet) = filled([500, 500], [[40, 10], [5, 45]]);
    let ids: Vec<String> = sheet.ratings.keys().cloned().collect();
    sheet.ratings.insert(ids[0].clone(), Rating::Blank);
    sheet.ratings.insert(ids[1].clone(), Rating::Unsure);
    sheet.ratings.remove(&ids[2]);
    let found = score(&key, &[sheet]).unwrap();
    let rater = &found.raters[0];
    assert_eq!((rater.rated, rater.unsure, rater.blank), (97, 1, 2));
    assert_eq!((found.scored, found.unrated, found.split), (97, 3, 0));
    assert_eq!(found.counts, [[37, 10], [5, 45]]);
    // 47 rows stand for the 500 that 50 stood for.
    let pass = found.agreement.unwrap().shares[0];
    assert!((pass[0] - 0.5 * 37.0 / 47.0).abs() < 1e-12);
}

#[test]
fn several_people_decide_by_majority_and_splits_are_left_out() {
    let (key, ann) = filled([50, 50], [[40, 10], [5, 45]]);
    let mut bob = Ratings { rater: "bob".to_owned(), ..ann.clone() };
    let ids: Vec<String> = ann.ratings.keys().cloned().collect();
    // Bob fails four runs that Ann and the config pass.
    for id in &ids[..4] {
        bob.ratings.insert(id.clone(), Rating::Verdict(Verdict::Fail));
    }
    let two = score(&key, &[ann.clone(), bob.clone()]).unwrap();
    assert_eq!((two.scored, two.split), (96, 4));
    assert_eq!(two.between[0].counts, [[41, 4], [0, 55]]);
    // (0.96 - (0.45 * 0.41 + 0.55 * 0.59)) / (1 - 0.509)
    let kappa = two.between[0].kappa.unwrap().value;
    assert!((kappa - 0.451 / 0.491).abs() < 1e-12, "{kappa}");
    let eve = Ratings { rater: "eve".to_owned(), ..bob.clone() };
    let three = score(&key, &[ann, bob, eve]).unwrap();
    assert_eq!((three.scored, three.split), (100, 0));
    assert_eq!(three.counts, [[36, 14], [5, 45]]);
    assert_eq!(three.between.len(), 3);
}

#[test]
fn keys_and_sheets_that_do_not_go_together_are_errors() {
    let (key, sheet) = filled([50, 50], [[40, 10], [5, 45]]);
    let mut other = sheet.clone();
    other.ratings.insert("x-1".to_owned(), Rating::Blank);
    let error = score(&key, &[other]).unwrap_err().to_string();
    assert!(error.contains("`x-1` is not in the key"), "{error}");
    let mut damaged = key.clone();
    damaged.strata[0].size = 3;
    assert!(score(&damaged, std::slice::from_ref(&sheet)).is_err());
    let mut damaged = key;
    damaged.rows.truncate(99);
    assert!(score(&damaged, &[sheet]).is_err());
}
