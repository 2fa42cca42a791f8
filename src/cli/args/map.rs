//! The arguments of `agenteval map`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Map {
    #[command(subcommand)]
    pub(crate) command: MapCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum MapCommand {
    /// Draft a mapping from the fields and values of a file
    Suggest {
        /// A file of JSON, JSON lines or CSV
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// List the mappings that ship with the program
    List,
    /// Print one of them, to start from
    Show {
        /// Its name
        name: String,
    },
}
