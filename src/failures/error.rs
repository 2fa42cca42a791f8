//! Why a library of failures cannot be used, each with its remedy.

/// Why a library cannot be read or changed. All of them end a command with exit code 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// A file that is no sound failure; nothing is written then.
    #[error("{path}:{line}: {reason}")]
    Form {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and how to mend it.
        reason: String,
    },
    /// A file or folder that cannot be read or written, or that the library does not touch.
    #[error("cannot use {path}: {reason}")]
    Unusable {
        /// The path.
        path: String,
        /// Why.
        reason: String,
    },
    /// No failure has this id, or several have.
    #[error("{message}")]
    Id {
        /// What is wrong, with the ids that are near.
        message: String,
    },
    /// What somebody wants to write about a failure does not go together.
    #[error("{message}")]
    Annotation {
        /// What, and what to write instead.
        message: String,
    },
    /// More signatures than a library takes.
    #[error(
        "these runs have more than {most} signatures, so messages are no guide to what failed; give such errors one type with `error_types` in the config, or collect fewer runs"
    )]
    TooMany {
        /// The bound.
        most: usize,
    },
}
