//! What the integration tests share: where the fixtures and the checked data lie.

#![allow(dead_code, reason = "each test crate uses some of it")]

use std::path::{Path, PathBuf};

/// The text of a file below `fixtures/`.
pub(crate) fn fixture_text(rel: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(rel);
    text_at(&path)
}

/// The text of a file below `data/` in the shared folder; `None` without the folder.
pub(crate) fn shared_text(rel: &str) -> Option<String> {
    Some(text_at(&shared("data")?.join(rel)))
}

fn text_at(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path of `rel` in the shared folder: `AGENTEVAL_SHARED`, else `../shared`
/// beside the repository. Without the folder: `None`, and a failure under `CI`.
#[allow(dead_code, reason = "without tables one test crate uses none of it")]
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
pub(crate) fn shared(rel: &str) -> Option<PathBuf> {
    let root = std::env::var_os("AGENTEVAL_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")),
        PathBuf::from,
    );
    if root.is_dir() {
        return Some(root.join(rel));
    }
    assert!(std::env::var_os("CI").is_none(), "{} is not there", root.display());
    println!("skipped: ../shared is not there");
    None
}
