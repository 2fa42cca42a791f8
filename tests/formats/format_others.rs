//! What files are that lie beside traces, as `inspect` tells it.

use std::collections::BTreeMap;

use crate::cli::{Folder, run};
use crate::support::shared;

/// A file that the list of expectations calls outcomes, but that holds predictions alone.
const NO_OUTCOMES: &str = "mini_swe_agent/v2_testdata_results.json";

#[test]
fn every_real_file_that_is_no_trace_is_told_as_what_it_is() {
    let Some(list) = shared("data/expected.json") else { return };
    let list: BTreeMap<String, String> =
        serde_json::from_slice(&std::fs::read(list).unwrap()).unwrap();
    let mut seen = 0;
    for (name, expected) in list {
        let wanted = match expected.split([':', ' ']).next().unwrap() {
            "sidecar" if name != NO_OUTCOMES => "sidecar",
            "sidecar" | "not" => "not_a_trace",
            "needs" => "needs_map",
            _ => continue,
        };
        let folder = Folder::new();
        let path = shared(&format!("data/{name}")).unwrap();
        let file = path.file_name().unwrap().to_str().unwrap();
        folder.file(file, std::fs::read(&path).unwrap());
        let found = run(&["inspect", &folder.at(""), "--output", "json"]).json();
        let input = &found["inputs"][0];
        assert_eq!(input["left_out_as"], wanted, "{name}: {}", input["left_out"]);
        let reason = input["left_out"].as_str().unwrap();
        if expected.contains("a ready mapping ships") {
            assert!(reason.contains("ready mapping `--map "), "{name}: {reason}");
        } else if wanted == "needs_map" {
            assert!(reason.contains("--map FILE"), "{name}: {reason}");
        }
        seen += 1;
    }
    assert!(seen > 25, "{seen} files");
}
