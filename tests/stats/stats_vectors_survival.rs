//! The life tables of the checked vectors, at the tolerance that each case states.

use crate::vectors::{every, numbers};
use agenteval::stats::{Followed, kaplan_meier};

#[test]
fn kaplan_meier_matches_lifelines_but_for_intervals_where_all_or_none_are_left() {
    every("kaplan_meier", 6, |case| {
        let ends = numbers(&case.input["time"]).into_iter().zip(numbers(&case.input["event"]));
        let followed: Vec<Followed> = (0..)
            .zip(ends)
            .map(|(cluster, (time, event))| Followed {
                time: time as u32,
                event: event == 1.0,
                cluster,
            })
            .collect();
        let table = kaplan_meier(&followed, 0.95);
        let column = |name: &str, got: &dyn Fn(usize) -> f64| {
            let expected = case.expected[name].as_array().expect("a column");
            assert_eq!(expected.len(), table.len(), "{} {name}", case.id);
            for (at, expected) in expected.iter().enumerate() {
                match expected.as_f64() {
                    Some(expected) => case.near(name, got(at), expected),
                    None => assert_eq!((expected.as_str(), got(at)), (Some("inf"), f64::INFINITY)),
                }
            }
        };
        column("times", &|at| f64::from(table[at].time));
        column("at_risk", &|at| table[at].at_risk as f64);
        column("events", &|at| table[at].events as f64);
        column("survival", &|at| table[at].survival);
        column("greenwood_var_over_S2", &|at| table[at].variance);
        column("nelson_aalen", &|at| table[at].cumulative);
        column("discrete_hazard", &|at| table[at].hazard);
        let lows = numbers(&case.expected["ci95_loglog_lo"]);
        let highs = numbers(&case.expected["ci95_loglog_hi"]);
        for (line, (low, high)) in table.iter().zip(lows.into_iter().zip(highs)) {
            let (got_low, got_high) = line.interval.expect("an interval");
            if low == high {
                // The reference has no width where all or none are left; ours always has.
                assert!(got_low < got_high, "{}: {line:?}", case.id);
                assert!(got_low <= low && high <= got_high, "{}: {line:?}", case.id);
            } else {
                case.near("low", got_low, low);
                case.near("high", got_high, high);
            }
        }
    });
}
