//! What fuzzing found worth keeping is read again: no panic, no broken promise, no hang.
//!
//! The inputs in `fixtures/fuzz/TARGET/` are the distilled corpora of `fuzz/`, whose README says how
//! they are made; what is done with them is the same code.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[path = "../../fuzz/src/entries/mod.rs"]
mod entries;

/// The most that one input may take, in a debug build on a busy machine; they take milliseconds.
const MOST: Duration = Duration::from_secs(20);

fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fuzz").join(target);
    let mut inputs: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    inputs
}

/// Hands every kept input of a target to its entry.
fn replay(target: &str) {
    let (_, entry) = entries::ENTRIES.iter().find(|(name, _)| *name == target).unwrap();
    let inputs = inputs(target);
    assert!(inputs.len() >= 10, "{target}: only {} inputs", inputs.len());
    for input in inputs {
        let data = std::fs::read(&input).unwrap();
        let began = Instant::now();
        // A panic names no input by itself.
        let ended = std::panic::catch_unwind(|| entry(&data));
        assert!(ended.is_ok(), "{}: see the panic above", input.display());
        assert!(began.elapsed() < MOST, "{}: {:?}", input.display(), began.elapsed());
    }
}

#[test]
fn baselines_of_any_bytes_are_told_or_hold() {
    replay("baselines");
}

#[test]
fn configs_of_any_text_are_told_or_judge() {
    replay("config");
}

#[test]
fn whatever_was_read_reads_back_from_the_native_form() {
    replay("convert");
}

#[test]
fn any_file_is_read_or_told() {
    replay("detect");
}

#[test]
fn any_expression_is_told_or_evaluated() {
    replay("expressions");
}

#[test]
fn any_folder_is_read_without_a_loss() {
    replay("folder");
}

#[test]
fn any_mapping_is_told_or_reads_any_record() {
    replay("mapping");
}

#[test]
fn every_reader_takes_any_bytes() {
    replay("readers");
}

#[test]
fn records_are_the_same_however_their_bytes_come() {
    replay("splitter");
}

#[test]
fn no_kept_input_belongs_to_no_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fuzz");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(entries::ENTRIES.iter().any(|(target, _)| *target == name), "{name}");
    }
}

#[test]
fn what_is_read_quickly_is_what_is_read_slowly() {
    replay("values");
}
