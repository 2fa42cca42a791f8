//! Arguments of `agenteval diagnose`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::Reading;

#[derive(Debug, ClapArgs)]
pub(crate) struct DiagnoseArgs {
    /// Files, folders, globs, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Exit with 1 where this rule finds something: a code, `all`, or `note`, `warning`, `error` and worse
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Take a rule out of what --deny names
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Show values of inputs and outputs in evidence, masked and cut
    #[arg(long)]
    pub(crate) include_content: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = DiagnoseForm::Table)]
    pub(crate) output: DiagnoseForm,
    /// Write a file as well; its ending picks the form (.json .md .txt .sarif)
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagnoseForm {
    Table,
    Json,
    Markdown,
    Sarif,
}
