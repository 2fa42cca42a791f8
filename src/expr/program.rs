//! A compiled expression: what was written, what it reads, and the rewritten tree.

use cel::IdedExpr;

use super::error::ExprError;
use super::field::{FieldPath, Root};
use super::parse;

/// A compiled expression; shared between threads, each with its own [`Evaluator`](super::Evaluator).
#[derive(Debug)]
pub struct Program {
    source: String,
    paths: Vec<FieldPath>,
    pub(super) tree: IdedExpr,
    /// Names under which the paths are bound, and under which their presence is.
    pub(super) names: Vec<(String, String)>,
}

impl Program {
    /// Compiles an expression that may read the given roots.
    ///
    /// # Errors
    ///
    /// An expression that is not CEL, is too long or nested too deeply, names what does not exist,
    /// or cannot give true or false; with its place in the source.
    pub fn compile(source: &str, roots: &[Root]) -> Result<Self, ExprError> {
        let (tree, paths) = parse::compile(source, roots)?;
        let names = (0..paths.len()).map(|at| (value_name(at), presence_name(at))).collect();
        Ok(Self { source: source.to_owned(), paths, tree, names })
    }

    /// The expression as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What it reads, each place once, in the order of the source.
    #[must_use]
    pub fn paths(&self) -> &[FieldPath] {
        &self.paths
    }

    /// Whether it reads this root.
    #[must_use]
    pub fn reads(&self, root: Root) -> bool {
        self.paths.iter().any(|path| path.root == root)
    }

    /// Whether it reads more of an attempt than the eight fields that are always there
    /// ([`SUBTASK_FIELDS`](super::SUBTASK_FIELDS)), so that the attempt's own JSON is needed.
    #[must_use]
    pub fn reads_raw_attempt(&self) -> bool {
        self.paths.iter().any(|path| {
            path.root == Root::Subtask && !(path.is_computed() && path.segments.len() == 1)
        })
    }
}

/// The variable that holds the value of a path; `@` keeps it out of the way of written names.
pub(super) fn value_name(at: usize) -> String {
    format!("@p{at}")
}

/// The variable that says whether a path is there.
pub(super) fn presence_name(at: usize) -> String {
    format!("@h{at}")
}
