//! What the integration tests share: where the checked data lies.

use std::path::PathBuf;

/// The path of `rel` in the shared folder: `AGENTEVAL_SHARED`, else `../shared`
/// beside the repository. Without the folder: `None`, and a failure under `CI`.
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
