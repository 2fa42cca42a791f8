//! The checked vectors: their cases by kind, and the tolerance each case states.

#![allow(dead_code, reason = "each test crate uses some of it")]

use serde_json::Value;

/// One case: its numbers by name, and its tolerance.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) input: Value,
    pub(crate) expected: Value,
    pub(crate) rel_tol: f64,
}

impl Case {
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.input[name].as_f64().unwrap_or_else(|| panic!("{}: no {name}", self.id))
    }

    pub(crate) fn whole(&self, name: &str) -> u64 {
        self.input[name].as_u64().unwrap_or_else(|| panic!("{}: no {name}", self.id))
    }

    pub(crate) fn expects(&self, name: &str, got: f64) {
        let expected = &self.expected[name];
        self.near(name, got, expected.as_f64().unwrap_or_else(|| panic!("{}: {name}", self.id)));
    }

    pub(crate) fn near(&self, name: &str, got: f64, expected: f64) {
        let off = (got - expected).abs();
        assert!(
            off <= self.rel_tol * expected.abs() || off <= 1e-12,
            "{} {name}: got {got:e}, expected {expected:e}",
            self.id
        );
    }
}

pub(crate) fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().expect("a list");
    list.iter().map(|value| value.as_f64().expect("a number")).collect()
}

/// Runs `check` on every case of `kind`, and fails unless there are `count` of them.
pub(crate) fn every(kind: &str, count: usize, check: impl Fn(&Case)) {
    let Some(path) = super::support::shared("stats/vectors.json") else { return };
    let text = std::fs::read_to_string(path).expect("the vectors can be read");
    let all: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    let mut ran = 0;
    for case in all["cases"].as_array().expect("a list of cases") {
        if case["kind"] == kind {
            check(&Case {
                id: case["id"].as_str().expect("an id").to_owned(),
                input: case["input"].clone(),
                expected: case["expected"].clone(),
                rel_tol: case["rel_tol"].as_f64().expect("a tolerance"),
            });
            ran += 1;
        }
    }
    assert_eq!(ran, count, "cases of {kind}");
}
