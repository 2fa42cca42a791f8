//! Why a baseline cannot be used, each with its remedy.

/// Why a baseline cannot be read, found or changed. All of them end a command with exit code 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// There is none of this name; the only fault that `--baseline-missing warn` lets pass.
    #[error("there is no baseline `{name}` in {store}; {hint}")]
    Missing {
        /// The name.
        name: String,
        /// The store's folder.
        store: String,
        /// The nearest name, and those that exist.
        hint: String,
    },
    /// A name that no baseline can have.
    #[error("`{name}` cannot be the name of a baseline: {reason}")]
    Name {
        /// The name as given.
        name: String,
        /// What is wrong with it, and what to write instead.
        reason: String,
    },
    /// A baseline without runs.
    #[error("{path}: this is an empty baseline, there is no run to compare with; save it anew")]
    Empty {
        /// The file.
        path: String,
    },
    /// A file of another version, or of something else.
    #[error("{path}: {reason}")]
    Form {
        /// The file.
        path: String,
        /// What is wrong, where, and how to mend it.
        reason: String,
    },
    /// A file or folder that cannot be read, or that this store does not touch.
    #[error("cannot use {path}: {reason}")]
    Unusable {
        /// The path.
        path: String,
        /// Why.
        reason: String,
    },
    /// Runs that cannot be added to a baseline.
    #[error("cannot pool these runs into `{name}`: {reason}")]
    Pool {
        /// The baseline.
        name: String,
        /// Why not.
        reason: String,
    },
}
